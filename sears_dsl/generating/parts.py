r"""What a template writes, part by part, and what stays between parts around empty slots.

    template   She said "{VERY?} {GOOD}" here.
    parts      (start), `She said`, VERY?, GOOD, `here`, (end)
    before     `She said` nothing, VERY? ` "`, GOOD ` `, `here` `" `, the end `.`

In: the parts of a template, and the texts that each slot can write. Out: `Part`s, and what stands
between two of them. Always holds: an empty slot goes as a rule's deletion of its first word would
(`placing.RowEdits`), with a space or a mark beside it; words and members of other slots stay whole.
What stands between two parts depends on these two and the empty slots between them, and of a part
that ends with a letter or digit nothing else counts, unless it is an abbreviation (``Mr``). So a
text is put together from parts, whatever other slots hold. Costs some 20 µs for each pair of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.matches import Edit, apply_edits
from sears_dsl.engine.rewrite.placing import Placing, Replaced, RowEdits
from sears_dsl.engine.rewrite.spacing import ends_with_abbreviation
from sears_dsl.language.rule import Slot, SlotCopy

Numbers = NDArray[np.int64]
Texts = NDArray[np.object_]

# Stands for every text that ends, or begins, with a letter or digit.
_WORD = "a"
_NO_TEXT: Texts = np.array([""], object)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Words of the template, a slot, or an end of the template; and what stands before it.

    ``texts`` has all that it can write, one for each member of its choice; "" if it is empty.
    """

    before: str
    texts: Texts
    place: int | None = None  # which choice it writes; None where there is none
    optional: bool = False


def parts_of(
    written: Sequence[str | Slot | SlotCopy], slot: Callable[[Slot | SlotCopy], Part]
) -> tuple[Part, ...]:
    """The parts of a template; ``slot`` makes those of slots, before which nothing stands yet."""
    parts = [Part("", _NO_TEXT)]
    between = ""
    for each in written:
        if not isinstance(each, str):
            part = slot(each)
            parts.append(Part(between, part.texts, part.place, part.optional))
            between = ""
            continue
        places = [place for place, character in enumerate(each) if character.isalnum()]
        if places:
            low, high = places[0], places[-1] + 1
            parts.append(Part(between + each[:low], np.array([each[low:high]], object)))
            between = each[high:]
        else:
            between += each
    return (*parts, Part(between, _NO_TEXT))


def ending(text: str) -> str:
    """What counts of a text before empty slots."""
    if text[-1:].isalnum() and not ends_with_abbreviation(f"{text}."):
        return _WORD
    return text


def between(parts: Sequence[Part], end: str, text: str) -> str:
    """What stands between the first and the last of some parts, if those between are empty.

    ``end`` is the `ending` of what the first writes, and ``text`` what the last writes.
    """
    gaps = tuple(part.before for part in parts[1:])
    if len(gaps) == 1:
        return gaps[0]
    words = tuple(str(part.texts[1]) for part in parts[1:-1])
    return _without(end, gaps, words, _WORD if text[:1].isalnum() else text)


@lru_cache(maxsize=1 << 14)
def _without(left: str, gaps: tuple[str, ...], words: tuple[str, ...], right: str) -> str:
    """What is left of the gaps between two texts if the words between the gaps are deleted."""
    text = left + gaps[0]
    spans: list[tuple[int, int]] = []
    for word, gap in zip(words, gaps[1:], strict=True):
        spans.append((len(text), len(text) + len(word)))
        text += word + gap
    last = len(text)
    row = RowEdits(Placing(), text + right)
    # What is before the gaps stays as it is.
    row.edits += [Edit(0, len(left), left, left)] if left else []
    barriers = [*(start for start, _ in spans[1:]), last]
    for (start, end), barrier in zip(spans, barriers, strict=True):
        row.replace(Replaced(start, end, None, ""), barrier=barrier)
    whole = apply_edits(text + right, row.edits)
    return whole[len(left) : len(whole) - len(right)]


def blocks_of(parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
    """Pairs of neighbouring parts that are never empty; all between them may be."""
    first = 0
    for place, part in enumerate(parts[1:], start=1):
        if not part.optional:
            yield first, place
            first = place
