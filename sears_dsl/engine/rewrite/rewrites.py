"""The rewrites of a batch of rows, as columns and one by one, and edits for people to look at.

In: rewrites sorted by row and rule, as `RewriteColumns`. Out: `Rewrites`, a sequence that makes its
members when they are looked at, and that notebooks show with every change marked. Always holds: a
rewrite differs from its original; its edits are in order, disjoint and in bounds; equal rewrites of
a row are spliced once. Costs 28 bytes a rewrite and 12 an edit; a text costs a slice and a copy
when it is asked for.

To show edits, a text becomes `ShownPiece`s that mark the words that changed and nothing beside
them. A narrowed edit gives the same text, and leaves out only whole words, blanks and marks. Kept
and removed pieces make up the original, but for the blank that comes with an inserted word. Code
points follow characters that look the same as those that they replace.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import headed_sequences, number_sequences
from sears_dsl.engine.matches import Edit, Rewrite, apply_edits
from sears_dsl.engine.noise.characters import lookalikes
from sears_dsl.runtime.array_types import Int32Array, offsets_of, places_of

# Rewrites that an iteration makes at once.
_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class DistinctRewrites:
    r"""The distinct rewrites among some: those that turn one row into the same text count once.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.tagging.pinned import PinnedTagger
        >>> rules = parse('movie -> film\na movie -> a film\nbad -> good')
        >>> done = rules.compile(tagger=PinnedTagger()).apply(["a bad movie", "a movie"])
        >>> distinct = done.distinct()
        >>> distinct.ids.tolist(), distinct.rows.tolist(), distinct.texts
        ([0, 1, 2, 2], [0, 0, 1], ['a bad film', 'a good movie', 'a film'])
    """

    ids: Int32Array  # (rewrites,): which distinct rewrite each one is
    rows: Int32Array  # (distinct,): the row of each
    texts: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class RewriteColumns(Sequence[Rewrite]):
    """Rewrites, by row and then by rule; one is made an object when it is looked at."""

    rules: Int32Array  # (rewrites,): position of the rule
    rows: Int32Array  # (rewrites,): row of the batch
    originals: Sequence[str]
    # (rewrites + 1,): rewrite k has the edits edit_offsets[k] up to, not including, that of k + 1.
    edit_offsets: Int32Array
    edit_starts: Int32Array  # (edits,): first character of each in its row
    edit_ends: Int32Array  # (edits,): one past the last
    new_ids: Int32Array  # (edits,): what stands there instead, an index into new_texts
    new_texts: Sequence[str] = field(repr=False)  # distinct texts

    def __len__(self) -> int:
        return len(self.rules)

    @overload
    def __getitem__(self, index: int) -> Rewrite: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Rewrite]: ...
    def __getitem__(self, index: int | slice) -> Rewrite | Sequence[Rewrite]:
        some = self.select(np.array(range(len(self))[index], np.int32, ndmin=1))
        rules, rows = some.rules.tolist(), some.rows.tolist()
        columns = (rules, rows, some.originals, some.each_text(), some.edits())
        rewrites = list(map(Rewrite, *columns))
        return rewrites if isinstance(index, slice) else rewrites[0]

    def __iter__(self) -> Iterator[Rewrite]:
        for low in range(0, len(self), _AT_ONCE):
            yield from self[low : low + _AT_ONCE]

    @classmethod
    def of(cls, rewrites: Sequence[Rewrite]) -> RewriteColumns:
        """The columns of rewrites."""
        if isinstance(rewrites, RewriteColumns):
            return rewrites
        edits = [edit for rewrite in rewrites for edit in rewrite.edits]
        numbers: dict[str, int] = {}
        return cls(
            rules=np.array([rewrite.rule for rewrite in rewrites], np.int32),
            rows=np.array([rewrite.row for rewrite in rewrites], np.int32),
            originals=[rewrite.original for rewrite in rewrites],
            edit_offsets=np.cumsum([0, *(len(r.edits) for r in rewrites)]).astype(np.int32),
            edit_starts=np.array([edit.start for edit in edits], np.int32),
            edit_ends=np.array([edit.end for edit in edits], np.int32),
            new_ids=np.array(
                [numbers.setdefault(edit.new, len(numbers)) for edit in edits], np.int32
            ),
            new_texts=list(numbers),
        )

    @classmethod
    def merged(cls, parts: Sequence[RewriteColumns]) -> RewriteColumns:
        """One sequence out of several that are about different rows."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls.of([])
        shifts = np.cumsum([0, *(len(part.new_texts) for part in parts[:-1])]).astype(np.int32)
        both = cls(
            rules=np.concatenate([part.rules for part in parts]),
            rows=np.concatenate([part.rows for part in parts]),
            originals=[text for part in parts for text in part.originals],
            edit_offsets=offsets_of(
                np.concatenate([np.diff(part.edit_offsets) for part in parts]), np.int32
            ),
            edit_starts=np.concatenate([part.edit_starts for part in parts]),
            edit_ends=np.concatenate([part.edit_ends for part in parts]),
            new_ids=np.concatenate(
                [part.new_ids + by for part, by in zip(parts, shifts, strict=True)]
            ),
            new_texts=[text for part in parts for text in part.new_texts],
        )
        return both.select(np.argsort(both.rows, kind="stable").astype(np.int32))

    def select(self, chosen: Int32Array) -> RewriteColumns:
        """Some of the rewrites, in the order in which they are chosen."""
        offsets, edits = places_of(self.edit_offsets, chosen)
        originals = self.originals
        return RewriteColumns(
            rules=self.rules[chosen],
            rows=self.rows[chosen],
            originals=[originals[place] for place in chosen.tolist()],
            edit_offsets=offsets.astype(np.int32),
            edit_starts=self.edit_starts[edits],
            edit_ends=self.edit_ends[edits],
            new_ids=self.new_ids[edits],
            new_texts=self.new_texts,
        )

    # ------------------------------------------------------------ texts

    def texts(self) -> list[str]:
        """The rewritten text of each; equal edits of a row give the same object."""
        ids, examples = self._alike()
        spliced = self._spliced(examples)
        return [spliced[number] for number in ids.tolist()]

    def each_text(self) -> list[str]:
        """The rewritten text of each, for rewrites that are rarely alike."""
        return self._spliced(np.arange(len(self), dtype=np.int32))

    def distinct(self) -> DistinctRewrites:
        """Each row and text once; see `DistinctRewrites`."""
        ids, examples = self._alike()
        rows, spliced = self.rows[examples], self._spliced(examples)
        numbers: dict[str, int] = {}
        # Different edits may give one text.
        texts = [numbers.setdefault(text, len(numbers)) for text in spliced]
        pairs = np.stack([rows, np.array(texts, np.int32)], axis=1)
        merged, chosen = number_sequences(pairs.ravel(), 2 * np.arange(len(pairs) + 1))
        return DistinctRewrites(
            ids=merged[ids], rows=rows[chosen], texts=[spliced[place] for place in chosen.tolist()]
        )

    def _alike(self) -> tuple[Int32Array, Int32Array]:
        """A number for each rewrite, equal where row and edits are; and an example of each."""
        edits = (self.edit_starts, self.edit_ends, self.new_ids)
        if len(self.edit_starts) == len(self):  # one each
            table = np.stack([self.rows, *edits], axis=1)
            ids, examples = number_sequences(table.ravel(), 4 * np.arange(len(self) + 1))
            return ids, examples
        values, offsets = headed_sequences(self.rows, np.diff(self.edit_offsets), *edits)
        ids, examples = number_sequences(values, offsets)
        return ids, examples

    def _spliced(self, chosen: Int32Array) -> list[str]:
        """The texts of some rewrites."""
        first = self.edit_offsets[chosen]
        new_texts, originals = self.new_texts, self.originals
        single = self.edit_offsets[chosen + 1] - first == 1
        if single.all():
            columns = (self.edit_starts[first], self.edit_ends[first], self.new_ids[first])
            texts = map(originals.__getitem__, chosen.tolist())
            edits = zip(texts, *(column.tolist() for column in columns), strict=True)
            return [f"{text[:low]}{new_texts[new]}{text[high:]}" for text, low, high, new in edits]
        some = self.select(chosen)
        return list(map(apply_edits, some.originals, some.edits()))

    # ------------------------------------------------------------ edits

    def edits(self) -> list[tuple[Edit, ...]]:
        """The edits of each."""
        starts, ends = self.edit_starts.tolist(), self.edit_ends.tolist()
        news = map(self.new_texts.__getitem__, self.new_ids.tolist())
        edits = list(map(Edit, starts, ends, self.old_texts(), news))
        return [tuple(edits[low:high]) for low, high in pairwise(self.edit_offsets.tolist())]

    def old_texts(self) -> list[str]:
        """The text that each edit replaces."""
        counts = zip(self.originals, np.diff(self.edit_offsets).tolist(), strict=True)
        originals = [text for text, count in counts for _ in range(count)]
        bounds = zip(originals, self.edit_starts.tolist(), self.edit_ends.tolist(), strict=True)
        return [text[start:end] for text, start, end in bounds]


def merge_rewrites(parts: Sequence[Sequence[Rewrite]]) -> Sequence[Rewrite]:
    """One sequence out of several that are about different rows; a single one stays as it is."""
    if len(parts) < 2:
        return parts[0] if parts else []
    return RewriteColumns.merged(list(map(RewriteColumns.of, parts)))


# Rows that a notebook shows before it only counts them.
_MOST_SHOWN = 50


class Rewrites(Sequence[Rewrite]):
    """Rewritten rows, by row and then by rule.

    Indexing and iterating make the `Rewrite`s then and there; counting them, and asking for one
    column, makes none.

    Args:
        rule_ids: the ids of the rules that were applied, or a function that gives them: ids of
            mined rules have to be printed first, and few callers want them.
        unrenderable: see below.

    Attributes:
        unrenderable: position of a rule → instances that it matched and could not rewrite, since
            a word has no inflection there or more than one, or no word would be left.

    Example:
        >>> from sears_dsl.engine.matches import Edit
        >>> done = Rewrite(0, 0, "a movie", "a film", (Edit(2, 7, "movie", "film"),))
        >>> rewrites = Rewrites([done], rule_ids=["film"])
        >>> len(rewrites), rewrites[0].text, rewrites.texts, rewrites.rows
        (1, 'a film', ['a film'], array([0], dtype=int32))
    """

    def __init__(
        self,
        rewrites: Sequence[Rewrite],
        *,
        rule_ids: Sequence[str] | Callable[[], Sequence[str]] = (),
        unrenderable: Mapping[int, int] | None = None,
    ) -> None:
        self._source = rewrites
        self._rule_ids = rule_ids
        counts = unrenderable if isinstance(unrenderable, Counter) else Counter(unrenderable or {})
        self.unrenderable: Counter[int] = counts

    @cached_property
    def columns(self) -> RewriteColumns:
        """The places of all edits, as arrays."""
        return RewriteColumns.of(self._source)

    @cached_property
    def rule_ids(self) -> Sequence[str]:
        """The ids of the rules that were applied."""
        return self._rule_ids() if callable(self._rule_ids) else self._rule_ids

    @property
    def rules(self) -> Int32Array:
        """The position of the rule of each rewrite, int32."""
        return self.columns.rules

    @property
    def rows(self) -> Int32Array:
        """The row of each rewrite, int32; it never falls."""
        return self.columns.rows

    @property
    def originals(self) -> Sequence[str]:
        """The row of each rewrite as it was given."""
        return self.columns.originals

    @cached_property
    def texts(self) -> list[str]:
        """The rewritten text of each; equal edits of a row give one string."""
        return self.columns.texts()

    def distinct(self) -> DistinctRewrites:
        """Each distinct pair of row and text once, and which of them each rewrite is."""
        return self.columns.distinct()

    def select(self, chosen: NDArray[np.integer]) -> Rewrites:
        """Some of the rewrites, in the order in which they are chosen; the counts stay."""
        columns = self.columns.select(chosen.astype(np.int32))
        return Rewrites(columns, rule_ids=lambda: self.rule_ids, unrenderable=self.unrenderable)

    def __len__(self) -> int:
        return len(self._source)

    @overload
    def __getitem__(self, index: int) -> Rewrite: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Rewrite]: ...

    def __getitem__(self, index: int | slice) -> Rewrite | Sequence[Rewrite]:
        return self._source[index]

    def __iter__(self) -> Iterator[Rewrite]:
        return iter(self._source)

    def __repr__(self) -> str:
        return f"<{len(self)} rewrites, {sum(self.unrenderable.values())} not renderable>"

    def _repr_html_(self) -> str:
        """A table for notebooks that marks what was removed and inserted."""
        rows = "".join(
            f"<tr><td>{rewrite.row}</td><td>{html.escape(self._name(rewrite.rule))}</td>"
            f"<td>{marked_html(rewrite.original, rewrite.edits)}</td></tr>"
            for rewrite in self[:_MOST_SHOWN]
        )
        more = len(self) - _MOST_SHOWN
        tail = f"<p>and {more:,} more</p>" if more > 0 else ""
        head = "<tr><th>row</th><th>rule</th><th>change</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>{tail}"

    def _name(self, rule: int) -> str:
        return self.rule_ids[rule] if rule < len(self.rule_ids) else str(rule)


# ---------------------------------------------------------------- for people to look at


class ShownPiece(NamedTuple):
    """A part of a text to look at: ``same``, ``old`` (removed) or ``new`` (inserted).

    A ``note`` is not part of it: it has the code points of look-alikes in the ``new`` part before.
    """

    kind: Literal["same", "old", "new", "note"]
    text: str


def code_points(old: str, new: str) -> str:
    """The characters of a new text that look like others of the old one, with their code points.

    Empty if there are none, so that the change can be seen without a note.

    Example:
        >>> code_points("a film", "\u0430 f\u0456lm")
        'а U+0430, і U+0456'
        >>> code_points("a film", "a movie")
        ''
    """
    if old.isascii() and new.isascii():  # no two of these look alike
        return ""
    table, before = lookalikes(), set(old)
    alike = {table[each] for each in before if each in table} - before
    return ", ".join(f"{each} U+{ord(each):04X}" for each in dict.fromkeys(new) if each in alike)


def with_code_points(old: str, new: str) -> str:
    """A new text for a line of a report, with the code points of its look-alikes behind it.

    Example:
        >>> with_code_points("a film", "\u0430 film")
        'а film (а U+0430)'
        >>> with_code_points("a film", "a movie")
        'a movie'
    """
    points = code_points(old, new)
    return f"{new} ({points})" if points else new


def change(old: str, new: str) -> Iterator[ShownPiece]:
    """The pieces of a change: the old text, the new text, and what cannot be seen of it.

    Example:
        >>> [tuple(each) for each in change("a", "\u0430")]
        [('old', 'a'), ('new', 'а'), ('note', 'а U+0430')]
    """
    yield from _pieces_of("old", old)
    yield from _pieces_of("new", new)
    yield from _pieces_of("note", code_points(old, new))


def narrow_edit(edit: Edit) -> Edit:
    """The edit without the whole words, blanks and marks at its ends that it does not change.

    Example:
        >>> narrow_edit(Edit(0, 16, "What color is it", "Which color is it"))
        Edit(start=0, end=4, old='What', new='Which')
        >>> narrow_edit(Edit(5, 11, " movie", " film"))
        Edit(start=6, end=11, old='movie', new='film')
        >>> narrow_edit(Edit(0, 6, "great,", "big,"))
        Edit(start=0, end=5, old='great', new='big')
    """
    old, new = _words(edit.old), _words(edit.new)
    front, back = common_ends(old, new)
    start = edit.start + sum(map(len, old[:front]))
    old_part = "".join(old[front : len(old) - back])
    new_part = "".join(new[front : len(new) - back])
    return Edit(start, start + len(old_part), old_part, new_part)


def pieces(original: str, edits: Sequence[Edit]) -> Iterator[ShownPiece]:
    """The text with each change marked.

    The blank that goes with a removed word, or comes with an inserted one, is not marked.

    Example:
        >>> [tuple(each) for each in pieces("a really good film", [Edit(2, 9, "really ", "")])]
        [('same', 'a '), ('old', 'really'), ('same', ' '), ('same', 'good film')]
    """
    position = 0
    for start, _, old, new in map(narrow_edit, edits):
        yield from _pieces_of("same", original[position:start])
        if old.strip() and new.strip():
            yield from change(old, new)
        else:
            yield from _bared("old", old)
            yield from _bared("new", new)
        position = start + len(old)
    yield from _pieces_of("same", original[position:])


def _bared(kind: Literal["old", "new"], text: str) -> Iterator[ShownPiece]:
    """The piece without its outer blanks, which are ``same``; blanks alone stay one piece."""
    bare = text.strip()
    if not bare:
        yield from _pieces_of(kind, text)
        return
    first = text.index(bare)
    yield from _pieces_of("same", text[:first])
    yield ShownPiece(kind, bare)
    yield from _pieces_of("same", text[first + len(bare) :])


def _pieces_of(kind: Literal["same", "old", "new", "note"], text: str) -> Iterator[ShownPiece]:
    if text:
        yield ShownPiece(kind, text)


# A word, blank or mark; apostrophes and combining signs are part of their word.
_WORD = re.compile(r"""[^\s.,;:!?()\[\]{}"“”…—]+|.""", re.DOTALL)


def _words(text: str) -> list[str]:
    """The text in words, blanks and marks, so that joining gives it back."""
    return _WORD.findall(text)


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How many parts two sequences share at the start, and how many of the rest at the end.

    Example:
        >>> common_ends(["a", "good", "film"], ["a", "bad", "bad", "film"])
        (1, 1)
    """
    front = _common(old, new)
    return front, _common(reversed(old[front:]), reversed(new[front:]))


def _common(left: Iterable[object], right: Iterable[object]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def marked_html(original: str, edits: Sequence[Edit]) -> str:
    """The row as HTML with ``<del>`` and ``<ins>`` around what changed, and look-alikes noted.

    Example:
        >>> marked_html("a < movie", [Edit(4, 9, "movie", "film")])
        'a &lt; <del>movie</del><ins>film</ins>'
    """
    marks = {"same": "{}", "old": "<del>{}</del>", "new": "<ins>{}</ins>",
             "note": " <small>{}</small>"}  # fmt: skip
    return "".join(marks[kind].format(html.escape(text)) for kind, text in pieces(original, edits))
