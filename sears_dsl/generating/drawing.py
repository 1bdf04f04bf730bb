"""Which sentences of templates are written, and in which order.

In: templates with their sentences, a limit, a seed. Out: for each sentence that is written its
template and its number there. Always holds: a sentence that two choices of a template write comes
once; without a limit all come, in the order of the file and of their numbers; with one the first of
an order that depends on seed, template and number alone, so that ten sentences are the first ten of
a hundred; templates take turns as long as they have sentences, unless all sentences of all
templates are to be equally likely. Costs some 50 ns a sentence.

Source: NOISE_AND_TEMPLATES, point 19: by the numbers N(seed, 0, "template", its text, j).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.noise.draws import Draw, begun, mixed
from sears_dsl.generating.sentences import Numbers, Sentences
from sears_dsl.language.printer import print_template

#: What shares are equal of: templates, or sentences of whatever template.
By = Literal["template", "sentence"]


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Sentences in the order in which they are written, by template and number there."""

    templates: Numbers
    numbers: Numbers

    def __len__(self) -> int:
        return len(self.numbers)


def selected(
    templates: Sequence[Sentences],
    distinct: Sequence[Numbers],
    *,
    limit: int | None = None,
    by: By = "template",
    seed: int = 0,
) -> Selection:
    """The sentences that are written.

    Args:
        distinct: the numbers of each one's sentences, those left out that repeat an earlier one.
        limit: most sentences; None for all of them, in their own order.
        by: whether templates take turns, or all sentences are equally likely.
    """
    members = np.repeat(np.arange(len(templates)), [len(numbers) for numbers in distinct])
    numbers = np.concatenate([np.empty(0, np.int64), *distinct])
    if limit is None:
        return Selection(members, numbers)
    drawn = np.concatenate(
        [
            np.empty(0, np.uint64),
            *(
                _draws(each, of_template, seed)
                for each, of_template in zip(templates, distinct, strict=True)
            ),
        ]
    )
    order = np.lexsort((numbers, members, drawn))
    if by == "template":
        # The first of each template, then the second of each, and so on.
        turns = np.empty(len(order), np.int64)
        for template in range(len(templates)):
            own = order[members[order] == template]
            turns[own] = np.arange(len(own))
        order = np.lexsort((members, turns))
    return Selection(members[order[:limit]], numbers[order[:limit]])


def _draws(sentences: Sentences, numbers: Numbers, seed: int) -> NDArray[np.uint64]:
    """`draws.number` of some sentences of a template."""
    state = np.uint64(begun(Draw(seed), "template", print_template(sentences.template)))
    return mixed(mixed(numbers.astype(np.uint64) ^ state))
