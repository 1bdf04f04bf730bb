"""Labels and answers: how each kind of them is written as text, and when two are equal.

In: a value from a model or a file, and a comparison. Out: the value as text, or whether two texts
mean the same answer. Always holds: a comparison is a string that includes its amount, so it passes
through files and options unchanged. Equal answers have equal text unless the comparison says
otherwise. What several models say together is one answer, which equals a label where the answer of
each model does by itself. What is not an answer of its kind becomes None, and the caller reports
where it stood. Costs microseconds an answer. Entities of a rewrite without edits cost an alignment
of both texts.

    exact        labels, character by character
    squad        free answers, compared as SQuAD's evaluation does; several may be right
    vqa          free answers, compared as VQA's evaluation does: what three of ten people said
    within:0.5   numbers that are at most this far apart; ``within:10%`` is of the right one
    set          several labels, in any order
    entities     places in the text with a label each; those of a rewritten text are carried back
"""

from __future__ import annotations

import json
import re
import string
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from enum import Enum
from math import isfinite
from typing import Any, TypeAlias

from sears_dsl.errors import UsageError

#: ``exact``, ``squad``, ``vqa``, ``set``, ``entities``, or ``within:`` with an amount.
Comparison: TypeAlias = str

#: Stands for the answer to a text that the model refused and the run skipped. It is never right.
REFUSED = "(refused by the model)"

COMPARISONS = "exact, squad, vqa, set, entities, or within:AMOUNT such as within:0.5 or within:10%"

#: How answers of the kinds that are not plain text are written in a file.
COMPARISON_FORMS = {
    "set": "write the labels of a row as a list, or with | between them; none is an empty list",
    "entities": "write [start, end, label] for each entity, in characters of the text, in a list",
    "within": "write one number for each row",
}

_WITHIN = re.compile(r"within:(\d+(?:\.\d+)?)(%?)")
_WHOLE = re.compile(r"-?(?:0|[1-9]\d*)\.0")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS)} | {"none": "0"}
# VQA's evaluation calls an answer right if three of ten people gave it.
_ENOUGH_PEOPLE = 3
_BETWEEN_LABELS = "|"
_TOGETHER = "(the models say "
_LABEL_KEYS = ("label", "entity_group", "entity", "type")
_PIECES = re.compile(r"\w+|\s+|[^\w\s]")


def check_comparison(comparison: str) -> Comparison:
    """The comparison of this name; `UsageError` if there is none.

    Example:
        >>> check_comparison("within:10%")
        'within:10%'
    """
    plain = ("exact", "squad", "vqa", "set", "entities")
    if comparison in plain or _WITHIN.fullmatch(str(comparison)):
        return comparison
    raise UsageError(f"{comparison!r} is not a comparison of answers", help=f"write {COMPARISONS}")


def is_free_text(comparison: Comparison) -> bool:
    """Whether answers are free text, whose words can be voted on."""
    return comparison in ("squad", "vqa")


def answer_text(value: Any, comparison: Comparison = "exact") -> str | None:
    """The text of one answer that a model gave or a file holds; None if it is no answer.

    Args:
        value: plain Python: a text, number, truth value, list or mapping.
        comparison: under ``within:`` numbers may have fractions. A ``set`` is a list of labels, or
            a text with ``|`` between them. ``entities`` are a list of ``[start, end, label]`` or of
            mappings with these, or that list as JSON.

    Example:
        >>> answer_text(["sports", "news"], "set"), answer_text(0.5, "within:1")
        ('news|sports', '0.5')
        >>> answer_text([{"start": 0, "end": 5, "entity_group": "LOC"}], "entities")
        '[[0, 5, "LOC"]]'
        >>> answer_text(0.5)
    """
    if comparison == "set":
        return _written_set(value)
    if comparison == "entities":
        return _written_entities(value)
    if comparison.startswith("within:"):
        return None if _number(value) is None else str(value)
    return label_text(value)


def label_text(value: Any) -> str | None:
    """The text of a single label; None if it is none.

    1.0 is the label 1, also as text: tables make floats of whole numbers, and write them so.

    A text or number that is the member of an ``Enum`` is the label of its value.

    Example:
        >>> label_text(True), label_text(1.0), label_text("1.0"), label_text(0.5)
        ('True', '1', '1', None)
    """
    if type(value) is str and not value.endswith(".0"):  # most labels, each compared many times
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Enum) and isinstance(value, str | int):
        value = value.value
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return str(int(value.removesuffix(".0")))
    return str(value) if isinstance(value, str | bool | int) else None


def _written_set(value: Any) -> str | None:
    values = value.split(_BETWEEN_LABELS) if isinstance(value, str) else value
    if isinstance(values, bool | int):
        values = [values]
    if not isinstance(values, Sequence) or isinstance(values, bytes):
        return None
    if not all(isinstance(each, str | bool | int) for each in values):
        return None
    return _BETWEEN_LABELS.join(
        sorted({(label_text(each) or "").strip() for each in values} - {""})
    )


def _written_entities(value: Any) -> str | None:
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else []
        except ValueError:
            return None
    if not isinstance(value, Sequence):
        return None
    entities = [_entity(each) for each in value]
    if None in entities:
        return None
    return json.dumps(sorted(filter(None, entities)), ensure_ascii=False)


def _entity(value: Any) -> tuple[int, int, str] | None:
    if isinstance(value, Mapping):
        label = next((value[key] for key in _LABEL_KEYS if key in value), "")
        parts: Sequence[Any] = (value.get("start"), value.get("end"), label)
    elif isinstance(value, Sequence) and not isinstance(value, str) and len(value) in (2, 3):
        parts = (*value, "")[:3]
    else:
        return None
    start, end, label = parts
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end):
        return None
    return start, end, label_text(label) or str(label)


def with_each_label(answer: str, change: Callable[[str], str], comparison: Comparison) -> str:
    """An answer of several labels, a set or entities, with a change to each label.

    Example:
        >>> with_each_label("news|sports", str.upper, "set")
        'NEWS|SPORTS'
        >>> with_each_label('[[0, 5, "loc"]]', str.upper, "entities")
        '[[0, 5, "LOC"]]'
    """
    if comparison == "set":
        labels: list[Any] = [change(each) for each in answer.split(_BETWEEN_LABELS) if each]
    else:
        labels = [(start, end, change(label)) for start, end, label in json.loads(answer)]
    return answer_text(labels, comparison) or ""


def counted_as(answer: str, comparison: Comparison) -> str | float:
    """What an answer counts as where equal ones are counted: numbers as such.

    Example:
        >>> counted_as("1.0", "within:1") == counted_as("1", "within:1"), counted_as("1.0", "squad")
        (True, '1.0')
    """
    number = _number(answer) if comparison.startswith("within:") else None
    return answer if number is None else number


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def frequent_answers(answers: Sequence[str]) -> tuple[str, ...]:
    """The answers that VQA counts as right: those that three people gave, else the most frequent.

    Example:
        >>> frequent_answers(["red"] * 6 + ["Red."] * 2 + ["maroon"] * 2)
        ('red',)
    """
    counts = Counter(map(normalized_visual_answer, answers))
    enough = [answer for answer, count in counts.items() if count >= _ENOUGH_PEOPLE]
    return tuple(enough or [counts.most_common(1)[0][0]])


def normalized_answer(answer: str) -> str:
    """An answer as SQuAD's evaluation compares it.

    Lower case, without ASCII punctuation, without the articles, single spaces.

    Example:
        >>> normalized_answer("The  Denver Broncos!")
        'denver broncos'
    """
    bare = answer.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def normalized_visual_answer(answer: str) -> str:
    """An answer as VQA's evaluation compares it: as SQuAD's, with numbers below ten as digits.

    Example:
        >>> normalized_visual_answer("Two dogs.")
        '2 dogs'
    """
    return " ".join(_DIGITS.get(word, word) for word in normalized_answer(answer).split())


def joint_answer(answers: Sequence[str]) -> str:
    """What several models say of a row, as one answer: their answer, if all write the same.

    Example:
        >>> joint_answer(["good", "good"]), joint_answer(["good", "bad"])
        ('good', '(the models say ["good", "bad"])')
    """
    if len(set(answers)) == 1:
        return answers[0]
    return f"{_TOGETHER}{json.dumps(list(answers), ensure_ascii=False)})"


def each_answer(joint: str, models: int) -> tuple[str, ...]:
    """What each of so many models says, recovered from what `joint_answer` wrote.

    Example:
        >>> each_answer("good", 2), each_answer('(the models say ["good", "bad"])', 2)
        (('good', 'good'), ('good', 'bad'))
    """
    answers = _parts(joint)
    return answers if len(answers) == models else (joint,) * models


def _parts(joint: str) -> tuple[str, ...]:
    """The answers of several models, if they differ; an answer that all give is the only part."""
    if not joint.startswith(_TOGETHER):
        return (joint,)
    try:
        parts = json.loads(joint[len(_TOGETHER) : -1])
    except (ValueError, RecursionError):
        parts = None
    # Else it is a label that only begins so.
    is_joint = isinstance(parts, list) and all(isinstance(each, str) for each in parts)
    return tuple(parts) if is_joint and joint.endswith(")") else (joint,)


def each_equal(
    prediction: str, gold: str | Sequence[str], models: int, *, comparison: Comparison = "exact"
) -> list[bool]:
    """Of each of so many models whether its part of a prediction equals the gold label, or one.

    Example:
        >>> each_equal('(the models say ["1.4", "1.8"])', "1.0", 2, comparison="within:0.5")
        [True, False]
    """
    golds = (gold,) if isinstance(gold, str) else gold
    golds_of_each = [each_answer(each, models) for each in golds]
    return [
        answers_equal(own, [each[model] for each in golds_of_each], comparison=comparison)
        for model, own in enumerate(each_answer(prediction, models))
    ]


def answers_equal(
    prediction: str, gold: str | Sequence[str], *, comparison: Comparison = "exact"
) -> bool:
    """Whether a prediction equals the gold label, or one of the gold answers, by a comparison.

    Entities of a rewritten text have to be carried back first. Of what several models say together,
    each answer has to be equal.

    Example:
        >>> answers_equal("the cat.", ["A cat", "cats"], comparison="squad")
        True
        >>> answers_equal("the cat.", "cat")
        False
        >>> answers_equal("3.4", "3.0", comparison="within:0.5")
        True
        >>> answers_equal("b|a", "a|b", comparison="set")
        True
        >>> answers_equal('(the models say ["a cat", "cats"])', ["cat", "cats"], comparison="squad")
        True
    """
    golds = (gold,) if isinstance(gold, str) else gold
    # Right answers are most often written as one of the labels, which spares the rest.
    if comparison == "exact" and prediction in golds:
        return True
    models = len(_parts(prediction)) if prediction.startswith(_TOGETHER) else 1
    for each in golds:  # a loop takes half the time of a generator, and all answers go through it
        if each.startswith(_TOGETHER):
            models = max(models, len(_parts(each)))
    if models > 1:
        return all(each_equal(prediction, golds, models, comparison=comparison))
    if comparison == "exact":
        # What a rule or a template calls 1.0 is the label 1 too.
        return prediction in map(label_text, golds)
    if comparison.startswith("within:"):
        return any(_is_near(prediction, each, comparison) for each in golds)
    if comparison in ("set", "entities"):
        own: str | None = answer_text(prediction, comparison)
        return any(own == answer_text(each, comparison) for each in golds)
    normalized = normalized_answer if comparison == "squad" else normalized_visual_answer
    own = normalized(prediction)
    return any(own == normalized(each) for each in golds)


def is_right(answer: str, labels: Sequence[str], *, comparison: Comparison = "exact") -> bool:
    """Whether a model's answer to a row is one of the row's labels; a refusal never is.

    Example:
        >>> is_right("the cat", ["cat"], comparison="squad"), is_right(REFUSED, [REFUSED])
        (True, False)
    """
    return answer != REFUSED and answers_equal(answer, labels, comparison=comparison)


def _is_near(prediction: str, gold: str, comparison: Comparison) -> bool:
    amount, right, tolerance = _number(prediction), _number(gold), _WITHIN.fullmatch(comparison)
    if amount is None or right is None or tolerance is None:
        return False
    most = float(tolerance[1]) * (abs(right) / 100 if tolerance[2] else 1)
    # Rounding must not put 0.1 + 0.2 farther than 0.3 from 0.
    rounding = 4 * sys.float_info.epsilon * max(1.0, abs(right), abs(amount))
    return abs(amount - right) <= most + rounding


def carry_back(
    answer: str,
    original: str,
    rewritten: str,
    *,
    comparison: Comparison = "exact",
    edits: Sequence[tuple[int, int, str, str]] | None = None,
) -> str:
    """The answer to a rewritten text as an answer to its original.

    Only entities have a place in the text. One that the rewrite left alone gets its place in the
    original. One that overlaps new text covers all of the text that was replaced. Edits are
    (start, end, old, new) in characters of the original; without them the words are aligned.

    Example:
        >>> carry_back('[[7, 12, "LOC"]]', "In Paris.", "It's in Paris.", comparison="entities")
        '[[2, 7, "LOC"]]'
        >>> carry_back('[[8, 13, "LOC"]]', "In Paris.", "It's in Paris.", comparison="entities")
        '[[3, 8, "LOC"]]'
        >>> carry_back('[[3, 8, "LOC"]]', "In Paris?", "In Paris", comparison="entities")
        '[[3, 8, "LOC"]]'
        >>> carry_back('[[0, 3, "LOC"]]', "New York City", "NYC", comparison="entities")
        '[[0, 13, "LOC"]]'
    """
    if comparison != "entities" or original == rewritten:
        return answer
    if len(parts := _parts(answer)) > 1:
        return joint_answer(
            [carry_back(each, original, rewritten, comparison=comparison, edits=edits)
             for each in parts]
        )  # fmt: skip
    entities = json.loads(_written_entities(answer) or "[]")
    if not entities:
        return answer
    changes = (
        [step[1:] for step in steps_between(original, rewritten) if step[0] != "equal"]
        if edits is None
        else _changes_of(edits)
    )
    return json.dumps(
        [[*_place_before(changes, start, end), label] for start, end, label in entities],
        ensure_ascii=False,
    )


def steps_between(original: str, rewritten: str) -> list[tuple[str, int, int, int, int]]:
    """How one text becomes the other, word by word: difflib's opcodes with places in characters.

    Example:
        >>> steps_between("a fun movie", "a fun film")
        [('equal', 0, 6, 0, 6), ('replace', 6, 11, 6, 10)]
    """
    old, new = _PIECES.findall(original), _PIECES.findall(rewritten)
    at_old, at_new = [0], [0]
    for ends, pieces in ((at_old, old), (at_new, new)):
        for piece in pieces:
            ends.append(ends[-1] + len(piece))
    return [
        (kind, at_old[first], at_old[last], at_new[begin], at_new[end])
        for kind, first, last, begin, end in SequenceMatcher(
            None, old, new, autojunk=False
        ).get_opcodes()
    ]


def _changes_of(edits: Sequence[tuple[int, int, str, str]]) -> list[tuple[int, int, int, int]]:
    changes, shift = [], 0
    for start, end, _, new in edits:
        changes.append((start, end, start + shift, start + shift + len(new)))
        shift += len(new) - (end - start)
    return changes


def _place_before(
    changes: Sequence[tuple[int, int, int, int]], start: int, end: int
) -> tuple[int, int]:
    """Where start:end of a rewrite was in the original; part of a new text counts as all of it."""
    first, last = start, end
    for old_start, old_end, new_start, new_end in changes:
        if new_end <= start:
            first = start + old_end - new_end
        elif new_start <= start:
            first = old_start
        # A change that begins where the range ends comes after it, a deletion too.
        if new_start < end:
            last = end + old_end - new_end if new_end <= end else old_end
    return first, last
