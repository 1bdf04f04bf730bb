"""Rules as a TextAttack transformation, for its attacks and augmenters.

In: rulesets. Out: a ``textattack.transformations.Transformation`` whose candidates are the rows
that the rules write. Always holds: a candidate's text is exactly the engine's, and its other
columns are untouched; TextAttack's index maps say which words stayed, so that its constraints
work. Costs the tagging of one text per call; only `rule_transformation` imports TextAttack.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.api.arguments import AnyRules, rulesets_of
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import UsageError
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.runtime.extras import import_tool
from sears_dsl.tagging.tagger import Tagger

WhichInstances: TypeAlias = Literal["first", "every"]
"""One candidate per rule, at its ``first`` instance in the text, or one at ``every`` instance."""

_INSTALL = "pip install textattack"


@dataclass(frozen=True, slots=True, eq=False)
class WordAlignment:
    """Which words of a text became which of another."""

    # int64 (old words,): the place of each old word in the new text; -1 if it was deleted
    new_of: NDArray[np.int64]
    changed: frozenset[int]  # places of new words that were inserted or replace others
    # Places of old words that were replaced or deleted. For an insertion it is the word before it,
    # or the first word
    touched: frozenset[int]


def align_words(before: Sequence[str], after: Sequence[str]) -> WordAlignment:
    """Align the words of a text and of its rewrite.

    Replaced words are paired in order; those left over count as inserted or deleted.

    Example:
        >>> found = align_words(["What", "color", "is", "it"], ["Which", "color", "'s", "it"])
        >>> found.new_of.tolist(), sorted(found.changed), sorted(found.touched)
        ([0, 1, 2, 3], [0, 2], [0, 2])
        >>> align_words(["a", "really", "good", "film"], ["a", "good", "film"]).new_of.tolist()
        [0, -1, 1, 2]
    """
    new_of = np.full(len(before), -1, np.int64)
    changed: set[int] = set()
    touched: set[int] = set()
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, first, last, new_first, new_last in blocks:
        paired = min(last - first, new_last - new_first)
        new_of[first : first + paired] = np.arange(new_first, new_first + paired)
        if kind == "equal":
            continue
        changed.update(range(new_first, new_last))
        touched.update(range(first, last) if last > first else [max(0, first - 1)])
    return WordAlignment(new_of, frozenset(changed), frozenset(touched))


def rule_transformation(
    rulesets: AnyRules, *, tagger: Tagger | None = None, instances: WhichInstances = "first"
) -> Any:
    """Make a TextAttack ``Transformation`` that rewrites by rules.

    A candidate is offered only if the pre-transformation constraints (`RepeatModification` and the
    like) let every word that it changes be modified. Greedy search, beam search and augmenters
    accept it; TextAttack restricts its word-importance searches to swaps of single words. The id of
    the rule is in ``attack_attrs["sears_rule"]`` of a candidate.

    Rules after which the label should change (`expect: flip`, `expect: label`) make no candidates,
    since an attack succeeds if the model's label changes.

    Args:
        rulesets: rulesets with the rules.
        tagger: None for the default one.
        instances: one candidate per rule, at its ``first`` instance as in the paper, or one at
            ``every`` instance.

    Raises:
        UsageError: TextAttack is not installed, or all rules change the label.
        RuleSyntaxError: rules that cannot be compiled.
    """
    if instances not in ("first", "every"):
        raise UsageError(f"instances={instances!r} is unknown", help="choose 'first' or 'every'")
    rulesets = rulesets_of(rulesets)
    label_keeping = [each.filter(lambda rule: rule.keeps_label) for each in rulesets]
    matcher = compile_with_sources(label_keeping, tagger=tagger)
    if not matcher.rules and any(ruleset.rules for ruleset in rulesets):
        raise UsageError(
            "all of these rules change the label, so none of them can attack a model",
            help="give rules that expect `same`; `sears audit` judges those that change the label",
        )
    base: Any = import_tool(
        "textattack.transformations.transformation", tool="TextAttack", install=_INSTALL
    ).Transformation
    attacked = import_tool(
        "textattack.shared.attacked_text", tool="TextAttack", install=_INSTALL
    ).AttackedText

    class RuleTransformation(base):  # type: ignore[misc]
        """Rewrites by the rules of rulesets."""

        def _get_transformations(self, current_text: Any, indices_to_modify: set[int]) -> list[Any]:
            return list(
                _candidates(
                    matcher, current_text, frozenset(indices_to_modify), instances, attacked
                )
            )

        def extra_repr_keys(self) -> list[str]:
            return ["rules", "instances"]

    transformation = RuleTransformation()
    transformation.rules = len(matcher.rules)
    transformation.instances = instances
    return transformation


def _candidates(
    matcher: Matcher,
    current: Any,
    allowed: frozenset[int],
    instances: WhichInstances,
    attacked: Callable[..., Any],
) -> Iterator[Any]:
    """The rewrites of an attacked text, column by column, each with its history."""
    texts = current.tokenizer_input
    columns = dict(
        zip(current.column_labels, (texts,) if isinstance(texts, str) else texts, strict=True)
    )
    for place, (column, text) in enumerate(columns.items()):
        for rule, rewritten in _rewrites(matcher, text, instances):
            inputs = OrderedDict({**columns, column: rewritten})
            alignment = _aligned(
                current.words_per_input, attacked(inputs).words_per_input, column=place
            )
            if alignment.touched <= allowed:
                history = _history(current, alignment, matcher.rule_ids[rule])
                yield attacked(inputs, attack_attrs=history)


def _rewrites(matcher: Matcher, text: str, instances: WhichInstances) -> Iterator[tuple[int, str]]:
    """Rule and new text of each rewrite, in the order of the rules."""
    for _, tokens in matcher.prepare([text]):
        matches = matcher.find(tokens, scope=instances)
        for index in np.argsort(matches.rules, kind="stable"):
            for rewrite in matcher.rewrites(tokens, matches.select(np.array([index]))):
                if rewrite.text != text:
                    yield rewrite.rule, rewrite.text


def _aligned(
    before: Sequence[Sequence[str]], after: Sequence[Sequence[str]], *, column: int
) -> WordAlignment:
    """The alignment over all columns, of which one was rewritten."""
    inner = align_words(before[column], after[column])
    first = sum(map(len, before[:column]))
    last = first + len(before[column])
    new_of = np.arange(sum(map(len, before)))
    new_of[last:] += len(after[column]) - len(before[column])
    new_of[first:last] = np.where(inner.new_of < 0, -1, inner.new_of + first)
    return WordAlignment(
        new_of,
        frozenset(place + first for place in inner.changed),
        frozenset(place + first for place in inner.touched),
    )


def _history(current: Any, alignment: WordAlignment, rule_id: str) -> dict[str, Any]:
    """What TextAttack's constraints and search methods read of a candidate."""
    attributes = current.attack_attrs
    new_of = alignment.new_of
    since_original = np.asarray(attributes["original_index_map"])
    earlier_indices = {
        int(new_of[place]) for place in attributes["modified_indices"] if new_of[place] >= 0
    }
    history = {
        "previous_attacked_text": current,
        "newly_modified_indices": set(alignment.changed),
        "modified_indices": earlier_indices | alignment.changed,
        # For deleted words, -1, this reads the last value.
        "original_index_map": np.append(new_of, -1)[since_original],
        "sears_rule": rule_id,
    }
    if "label_names" in attributes:
        history["label_names"] = attributes["label_names"]
    return history
