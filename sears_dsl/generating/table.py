"""Templates → a table of labelled sentences: which are written, and in which order.

In: rulesets with templates, a limit and a seed. Out: `GeneratedTable`, with the columns ``text``,
``label``, ``template`` and one for each slot, and the counts of each template. A slot's column is
empty in rows whose template has no such slot or whose sentence leaves it out, and it is never named
like another column. A sentence that two choices of a template write comes once.

Without a limit all sentences come, in the order of the file and of their numbers. With a limit the
first ones come, in an order that depends on seed, template and number alone: ten sentences are the
first ten of a hundred. Templates take turns while they have sentences, unless all sentences of all
templates are to be equally likely. Costs some 600 ns a sentence, half of it to find those that
repeat; a column that repeats few values holds each of them once.

Source: NOISE_AND_TEMPLATES, point 19: by the numbers N(seed, 0, "template", its text, j).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.data.batches import Repeated
from sears_dsl.engine.noise.draws import Draw, mixed, unit_state
from sears_dsl.errors import DataError, UsageError, counted
from sears_dsl.generating.parts import Numbers, Texts
from sears_dsl.generating.sentences import Contradiction, Sentences, contradictions
from sears_dsl.language.printer import print_template, template_ids
from sears_dsl.language.ruleset import Ruleset

#: What is equally likely under a limit: templates, or sentences of whatever template.
By = Literal["template", "sentence"]


def select_sentences(
    templates: Sequence[Sentences],
    distinct: Sequence[Numbers],
    *,
    limit: int | None = None,
    by: By = "template",
    seed: int = 0,
) -> tuple[Numbers, Numbers]:
    """Choose the sentences to write from each template's distinct numbers.

    Without a limit, all in their own order. With one, templates take turns or, by sentence, all
    sentences are equally likely. Returns each one's template, and its number there.
    """
    members = np.repeat(np.arange(len(templates)), [len(numbers) for numbers in distinct])
    numbers = np.concatenate([np.empty(0, np.int64), *distinct])
    if limit is None:
        return members, numbers
    draws = [_draws(*each, seed) for each in zip(templates, distinct, strict=True)]
    drawn = np.concatenate([np.empty(0, np.uint64), *draws])
    order = np.lexsort((numbers, members, drawn))
    if by == "template":
        # The first of each template, then the second of each, and so on.
        turns = np.empty(len(order), np.int64)
        for template in range(len(templates)):
            own = order[members[order] == template]
            turns[own] = np.arange(len(own))
        order = np.lexsort((members, turns))
    return members[order[:limit]], numbers[order[:limit]]


def _draws(sentences: Sentences, numbers: Numbers, seed: int) -> NDArray[np.uint64]:
    """The 64 bits of `draws.number` for each of these sentences."""
    state = np.uint64(unit_state(Draw(seed), "template", print_template(sentences.template)))
    return mixed(mixed(numbers.astype(np.uint64) ^ state))


Keep: TypeAlias = Callable[[Sequence[Mapping[str, str]]], Sequence[bool]]
"""Says of each row whether it is kept."""

TEXT, LABEL, TEMPLATE = "text", "label", "template"
_OWN = (TEXT, LABEL, TEMPLATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateCount:
    """How many distinct sentences a template has, and how many are written, rejected and empty.

    `repeated` counts the choices that write a sentence which earlier choices already write.
    """

    name: str
    label: str
    sentences: int
    repeated: int
    written: int
    rejected: int = 0
    empty: int = 0
    slots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedTable:
    """A table of sentences, and what each template gave, in the order of the files.

    `contradictions` are the sentences that come with different labels, from several templates.
    """

    columns: dict[str, Sequence[str]]
    templates: tuple[TemplateCount, ...]
    contradictions: tuple[Contradiction, ...] = ()

    def __len__(self) -> int:
        return len(self.columns[TEXT])

    @property
    def labels(self) -> Counter[str]:
        """How many rows have each label."""
        return Counter(self.columns[LABEL])

    @property
    def note_on_labels(self) -> str:
        """How many sentences have different labels, with one of them; "" if none has."""
        if not self.contradictions:
            return ""
        text, *places = self.contradictions[0]
        one, other = (
            f"{each.label} in {each.name}" for each in map(self.templates.__getitem__, places)
        )
        count = counted(len(self.contradictions), "sentence has", "sentences have")
        return f"{count} different labels: {text!r} is {one} and {other}"


def generate_table(
    rulesets: Sequence[Ruleset],
    *,
    limit: int | None = None,
    by: By = "template",
    seed: int = 0,
    keep: Keep | None = None,
) -> GeneratedTable:
    """Write the sentences of all templates of these rulesets, for `sears.generate`.

    `keep` filters the rows before the limit counts. It is called once for each template, with all
    of the template's rows.
    """
    draw = Draw(seed)
    templates = [
        Sentences(each, ruleset, draw) for ruleset in rulesets for each in ruleset.templates
    ]
    names = [name for ruleset in rulesets for name in template_ids(ruleset.templates)]
    _check(templates, names)
    distinct = [each.distinct for each in templates]
    column_of = _columns_of_slots(templates)
    accepted = distinct if keep is None else _accepted(names, templates, distinct, column_of, keep)
    chosen, chosen_numbers = select_sentences(templates, accepted, limit=limit, by=by, seed=seed)
    texts: Texts = np.empty(len(chosen), object)
    # The values of each column beside the text, and the place of each row's value among them.
    others = {
        name: ([""], np.zeros(len(chosen), np.int64))
        for name in (LABEL, TEMPLATE, *column_of.values())
    }
    counts = []
    of_templates = [chosen_numbers[chosen == number] for number in range(len(templates))]
    for number, (name, sentences) in enumerate(zip(names, templates, strict=True)):
        places, numbers = np.flatnonzero(chosen == number), of_templates[number]
        written = sentences.texts(numbers)
        texts[places] = written
        for column, (new, which) in _columns_beside(name, sentences, numbers, column_of).items():
            values, of_rows = others[column]
            of_rows[places] = which + len(values)
            values.extend(new)
        counts.append(
            TemplateCount(
                name=name,
                label=sentences.label,
                sentences=len(distinct[number]),
                repeated=len(sentences) - len(distinct[number]),
                written=len(numbers),
                rejected=len(distinct[number]) - len(accepted[number]),
                empty=sum(not text.strip() for text in written) if sentences.may_be_blank else 0,
                slots=tuple(column_of[choice.column] for choice in sentences.choices),
            )
        )
    columns: dict[str, Sequence[str]] = {TEXT: texts.tolist()}
    columns |= {name: Repeated(each, rows.tolist()) for name, (each, rows) in others.items()}
    return GeneratedTable(
        columns=columns,
        contradictions=tuple(contradictions(templates, of_templates)),
        templates=tuple(counts),
    )


def _accepted(
    names: Sequence[str],
    templates: Sequence[Sentences],
    distinct: Sequence[Numbers],
    column_of: Mapping[str, str],
    keep: Keep,
) -> list[Numbers]:
    """The numbers of each template's sentences that are kept."""
    accepted = []
    for name, sentences, numbers in zip(names, templates, distinct, strict=True):
        columns: dict[str, Sequence[str]] = {TEXT: sentences.texts(numbers).tolist()}
        for column, (values, places) in _columns_beside(
            name, sentences, numbers, column_of
        ).items():
            columns[column] = Repeated(values, places.tolist())
        of_rows = zip(*columns.values(), strict=True)
        rows = [dict(zip(columns, row, strict=True)) for row in of_rows]
        accepted.append(numbers[np.array(keep(rows), np.bool_)])
    if not any(map(len, accepted)):
        raise DataError(
            f"the oracle rejects all {sum(map(len, distinct)):,} sentences, so none is left",
            help="it has to return true for a sentence to keep, and false for one to reject",
        )
    return accepted


def _columns_beside(
    name: str, sentences: Sentences, numbers: Numbers, column_of: Mapping[str, str]
) -> dict[str, tuple[list[str], Numbers]]:
    """The columns beside the text: the values of each, and which of them each sentence has."""
    zeros = np.zeros(len(numbers), np.int64)
    columns = {LABEL: ([sentences.label], zeros), TEMPLATE: ([name], zeros)}
    members = zip(sentences.choices, sentences.members(numbers), strict=True)
    return columns | {column_of[choice.column]: values for choice, values in members}


def _check(templates: Sequence[Sentences], names: Sequence[str]) -> None:
    if not templates:
        raise UsageError(
            "these files have no templates",
            help='write one: template fine: "A {GOOD} film.", and `label: positive` under it; to '
            "apply rules to texts, use `sears apply`",
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UsageError(
            f"two files have a template {twice[0]}",
            help="give one of them another id, or generate from one file at a time",
        )


def _columns_of_slots(templates: Sequence[Sentences]) -> dict[str, str]:
    """The column of each slot: its name, with an underscore if that is one of our own columns.

    Where another slot has that name, it gets one more.
    """
    names = dict.fromkeys(choice.column for each in templates for choice in each.choices)
    columns = {}
    for name in names:
        column = name
        while column in _OWN or (column != name and column in names):
            column += "_"
        columns[name] = column
    return columns
