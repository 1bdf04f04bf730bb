"""What rules may do to a batch of rows, and what they did: the plan, texts and spans, and counts.

In: a `Batch` and a `Plan`. Out: the texts of its columns that rules may rewrite, and what is
protected in them; a batch with each row repeated for each draw; a `Tally`. `mode_each` and
`mode_chain` do the work, as pure functions. Always holds: their result depends on the batch alone,
not on earlier batches or on workers; a null is passed through; a protected span is never changed.
Whether a share takes a text depends on the text alone, and a larger share takes it too. The copies
of a row stand together. The tallies of batches, added in the order of their rows, give the tally of
all rows; a tally goes through JSON and back unchanged, since finished batches keep theirs on disk.
Costs a place for each copy of a row, whose values are shared; a tally has at most two examples a
rule and a thousand reasons.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from sears_dsl.data.batches import DRAW, Batch, Repeated, is_missing
from sears_dsl.data.columnar import ArrowValues, RecordBatchColumns
from sears_dsl.data.dataset import default_column, require_column
from sears_dsl.data.protection import Protection, Spans
from sears_dsl.data.span_columns import SpanColumn, moved_spans, placed_spans
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Edit, Scope, SpanMap, SpanMapChain, Unit
from sears_dsl.engine.noise.draws import Draw, below, number
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.words import WHOLE, print_share, read_share

Mode: TypeAlias = Literal["each", "chain"]
Touched: TypeAlias = Literal["keep", "drop", "error"]
_Read = TypeVar("_Read")

#: The name that stands for every column, among those of columns to keep.
ALL = "all"

# The name of the decision that is drawn for each text.
_SHARE = "share"
_EXAMPLES = 2
_MOST_REASONS = 1_000
# The counts of a rule, and of all rules together.
_OF_RULE = ("rows", "edits", "unrenderable", "left_out")
_COUNTS = ("rows", "changed", "characters", "records", "missing", "decomposed", "touched",
           "misplaced", "absent", "dropped", "undone")  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextShare:
    """A share of texts; about so many of them are taken, since each is decided by itself.

    Example:
        >>> half, all_of_them = TextShare.parse("50%"), TextShare()
        >>> [half.takes(text) for text in ("a", "b", "c", "d")], all_of_them.takes("c")
        ([True, False, False, True], True)
    """

    millionths: int = WHOLE  # how large it is
    seed: int = 0  # of what is drawn; another seed takes other texts

    @classmethod
    def parse(cls, written: str, *, seed: int = 0) -> TextShare:
        """What a person wrote, such as ``50%``: at most 100% and four decimals."""
        millionths = read_share(written)
        if millionths is None:
            raise UsageError(
                f"{written!r} is not a share of the texts",
                help="write a share above 0% and up to 100%, such as 50%",
            )
        return cls(millionths, seed)

    def takes(self, text: str) -> bool:
        """Whether rules may rewrite a text."""
        if self.millionths == WHOLE:
            return True
        return below(number(Draw(self.seed), _SHARE, text), WHOLE) < self.millionths

    def __str__(self) -> str:
        return print_share(self.millionths)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoices:
    """What a caller who applies rules to rows may choose."""

    # The text columns to rewrite; empty: the only one that can be meant.
    columns: tuple[str, ...] = ()
    # The column of ids; None: ``id`` if there is one, else row numbers.
    id_column: str | None = None
    scope: Scope = "first"  # rewrite the ``first`` instance of each rule, or ``all``
    # What a rule sees at once; None: what the rules ask for, else the ``text``
    unit: Unit | None = None
    # Columns whose content must stay intact. One that is also among ``columns`` is not rewritten. A
    # text, or each text of a list, protects every place where it occurs in the text to rewrite;
    # spans protect themselves.
    protect: tuple[str, ...] = ()
    # Columns that point into a text and are carried along to the rewritten text.
    spans: tuple[SpanColumn, ...] = ()
    # What to do where a rule would touch a span. ``keep``: leave the rule out of that row, in every
    # column; ``drop``: drop the row; ``error``: raise an error. In mode each, keep and drop both
    # leave out the rewrite.
    on_touched: Touched = "keep"
    # Other columns that records of mode each carry; ``all`` stands for all of them.
    keep: tuple[str, ...] = ()
    share: TextShare = TextShare()  # which texts are rewritten; the others stay as they are
    # How often each row comes, each time with other draws of what rules draw. If more than once, a
    # column ``draw`` numbers the copies from 0.
    draws: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(RowChoices):
    """The choices for rows whose columns are known; names that are given twice count once.

    UsageError: every column is protected.
    """

    # Whether records also carry the columns that only later rows have.
    keeps_all: bool = False

    def __post_init__(self) -> None:
        for name in ("columns", "protect", "spans", "keep"):
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))
        if self.on_touched not in get_args(Touched):
            wrong = f"--on-touched {self.on_touched!r} is not valid"
            raise UsageError(wrong, help="choose keep, drop or error")
        if not self.rewritten_columns:
            raise UsageError(
                f"nothing to rewrite: {', '.join(self.columns)} is protected",
                help="name another column with --column",
            )

    @property
    def rewritten_columns(self) -> tuple[str, ...]:
        """The columns that are rewritten and not protected."""
        return tuple(name for name in self.columns if name not in self.protect)

    @property
    def protection(self) -> Protection:
        """What stays intact in the columns that are rewritten."""
        columns = (name for name in self.protect if name not in self.columns)
        return Protection(tuple(columns), self.spans)

    def written(self, names: Sequence[str], *, mode: Mode) -> tuple[str, ...]:
        """The columns of the output, given the names of the columns of the input."""
        if mode == "chain":
            return (*names, DRAW) if self.draws > 1 else tuple(names)
        return (*_record_columns(self.rewritten_columns, draws=self.draws), *self.keep)

    def of_batch(self, batch: Batch) -> Plan:
        """The plan with the columns that only this batch has, if all are to be kept."""
        if not self.keeps_all:
            return self
        names = carried_columns(
            (ALL,), tuple(batch.columns), self.columns, self.id_column, draws=self.draws
        )
        return replace(self, keep=(*self.keep, *names))

    def require_columns(self, names: Sequence[str], *, where: str) -> None:
        """Refuse rows without a column that is looked at or pointed into."""
        pointed = (spec.text_column for spec in self.spans)
        for name in dict.fromkeys([*self.columns, *self.needed, *pointed]):
            require_column(names, name, where=where)

    @property
    def needed(self) -> tuple[str, ...]:
        """Every column that is looked at."""
        ids = (self.id_column,) if self.id_column else ()
        names = (*self.rewritten_columns, *self.protect, *ids, *self.keep)
        return tuple(dict.fromkeys([*names, *(name for s in self.spans for name in s.columns)]))


def make_plan(names: Sequence[str], first: Batch, chosen: RowChoices, *, where: str) -> Plan:
    """The plan for rows with columns of these names; a column that it needs must be among them.

    If no column is chosen, the first batch tells which one holds the text.
    """
    nothing = not first.rows and not names
    columns = chosen.columns or ("text" if nothing else default_column(first, where=where),)
    id_column = chosen.id_column or ("id" if "id" in names else None)
    carried: tuple[str, ...] = ()
    if not nothing:
        carried = carried_columns(chosen.keep, names, columns, id_column, draws=chosen.draws)
    choices = {each.name: getattr(chosen, each.name) for each in fields(RowChoices)}
    keeps_all = ALL in chosen.keep and ALL not in names
    choices |= {"columns": columns, "id_column": id_column, "keep": carried}
    plan = Plan(**choices, keeps_all=keeps_all)
    if not nothing:
        plan.require_columns(names, where=where)
    return plan


def carried_columns(
    keep: Sequence[str],
    names: Sequence[str],
    rewritten: Sequence[str],
    id_column: str | None,
    *,
    draws: int = 1,
) -> tuple[str, ...]:
    """The columns that records are to carry.

    ``all`` is every column but the ids and the rewritten column, if it is one alone: records have
    both already. A name with commas that is not a column stands for several. UsageError: another
    column has a name that records have already.

    Example:
        >>> carried_columns(["all"], ["id", "text", "label"], ["text"], "id")
        ('label',)
    """
    reserved = _record_columns(rewritten, draws=draws)
    columns: list[str] = []
    for name in keep:
        if name == ALL and name not in names:
            present = {id_column, *(rewritten if len(rewritten) == 1 else ())}
            columns += [other for other in names if other not in present]
        elif name in names or "," not in name:
            columns.append(name)
        else:
            columns += [part.strip() for part in name.split(",")]
    columns = [name for name in columns if name != id_column or name != "id"]
    clashing = [name for name in columns if name in reserved]
    if clashing:
        others = " ".join(f"--keep {name}" for name in columns if name not in reserved)
        raise UsageError(
            f"--keep {clashing[0]}: the output already has a column of that name",
            help=f"rename the column{f', or write {others}' if others else ''}",
        )
    return tuple(dict.fromkeys(columns))


def _record_columns(rewritten: Sequence[str], *, draws: int) -> tuple[str, ...]:
    """The columns that records have before those that are kept."""
    drawn = (DRAW,) if draws > 1 else ()
    column = ("column",) if len(rewritten) > 1 else ()
    return ("id", *drawn, "rule", *column, "original", "rewritten", "edits")


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one column that are there, and the rows of the batch that they stand in."""

    texts: list[str]
    rows: Sequence[int]

    def of_share(self, share: TextShare) -> Texts:
        """Those of a share."""
        places = [place for place, text in enumerate(self.texts) if share.takes(text)]
        if len(places) == len(self.texts):
            return self
        return self.at(places)

    def at(self, places: Sequence[int]) -> Texts:
        """Those at some places."""
        return Texts([self.texts[place] for place in places], [self.rows[p] for p in places])


def present_texts(batch: Batch, column: str) -> Texts:
    """The texts of a column, nulls left out."""
    values = batch.columns.get(column, ())
    rows: Sequence[int]
    if set(map(type, values)) == {str}:
        texts, rows = list(values), range(len(values))
    else:
        texts, rows = _present(batch, column, values)
    try:
        "\n".join(texts).encode()
    except UnicodeEncodeError:
        _refuse_surrogates(batch, column, texts, rows)
    return Texts(texts, rows)


def _present(batch: Batch, column: str, values: Sequence[Any]) -> tuple[list[str], Sequence[int]]:
    """The values that are not null, and their rows."""
    texts: list[str] = []
    rows: list[int] = []
    for row, value in enumerate(values):
        if isinstance(value, str):
            texts.append(value)
            rows.append(row)
        elif not is_missing(value):
            raise DataError(
                f"row {batch.row_number(row)}: column {column} holds {value!r:.40}, of type "
                f"{type(value).__name__}, not text",
                help="choose a text column with --column",
            )
    return texts, rows


def _refuse_surrogates(batch: Batch, column: str, texts: list[str], rows: Sequence[int]) -> None:
    for text, row in zip(texts, rows, strict=True):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"row {batch.row_number(row)}: column {column} has half of a surrogate pair at "
                f"character {error.start}, which is not text",
                help="in its JSON, an escape \\ud8xx or \\udcxx lacks its other half",
            ) from error


@dataclass(frozen=True, slots=True)
class ProtectedTexts:
    """What has to stay in the texts of one column."""

    # For each text the places in which no rule may change a character; None where no column
    # protects any.
    spans: list[Spans] | None
    absent: Mapping[int, str]  # row → which protected value its text does not contain
    misplaced: Mapping[int, str]  # row → which span is not where the row says


def protected_spans(batch: Batch, plan: Plan, column: str, texts: Texts) -> ProtectedTexts:
    """What has to stay in each text."""
    protection = plan.protection
    if not protection.columns:
        return ProtectedTexts(None, {}, {})
    spans: list[Spans] = []
    absent: dict[int, str] = {}
    misplaced: dict[int, str] = {}
    nothing = [None] * batch.rows
    columns = {name: batch.columns.get(name, nothing) for name in protection.needed}
    for text, row in zip(texts.texts, texts.rows, strict=True):
        cells = {name: values[row] for name, values in columns.items()}
        try:
            guard = protection.guard_of_columns(cells, column=column, text=text)
        except DataError as error:
            raise error.at(f"row {batch.row_number(row)}, ") from error
        spans.append(guard.protected)
        if guard.absent:
            absent[row] = guard.absent
        if guard.misplaced:
            misplaced[row] = guard.misplaced
    return ProtectedTexts(spans, absent, misplaced)


def spans_of(
    batch: Batch, specs: Sequence[SpanColumn], row: int, text: str
) -> list[tuple[int, int]] | str:
    """The spans of one row in its text, or a message about one that is not where the row says."""
    spans: list[tuple[int, int]] = []
    read = partial(placed_spans, text=text)
    for standing, nowhere, misplaced in _of_each_column(batch, specs, row, read):
        if nowhere or misplaced:
            return misplaced or nowhere
        spans += standing
    return spans


def moved_values(
    batch: Batch, row: int, text: str, span_map: SpanMap | SpanMapChain, specs: Sequence[SpanColumn]
) -> dict[str, Any] | str:
    """The new values of the span columns of one row, or a message about a span that was lost."""
    new: dict[str, Any] = {}
    read = partial(moved_spans, original=text, carry=span_map.map)
    for moved in _of_each_column(batch, specs, row, read):
        if isinstance(moved, str):
            return moved
        new |= moved
    return new


def _of_each_column(
    batch: Batch,
    specs: Sequence[SpanColumn],
    row: int,
    read: Callable[[SpanColumn, Mapping[str, Any]], _Read],
) -> Iterator[_Read]:
    """What ``read`` gives for each span column of a row; an error says where it is."""
    for spec in specs:
        try:
            yield read(spec, {name: batch.value(name, row) for name in spec.columns})
        except DataError as error:
            place = f"row {batch.row_number(row)}, column {'/'.join(spec.columns)}: "
            raise error.at(place) from error


def row_name(batch: Batch, row: int, id_column: str | None) -> str:
    """How errors name a row: by its number and, if it has one, by its id, as in the summary."""
    number = f"row {batch.row_number(row)}"
    return number if id_column is None else f"{number} (id {batch.value(id_column, row)})"


@dataclass(frozen=True, slots=True)
class TallyExample:
    """A row before and after a rule."""

    original: str
    rewritten: str
    edits: tuple[Edit, ...]


@dataclass(slots=True)
class RuleTally:
    """What one rule did."""

    rows: int = 0  # rows that it changed
    edits: int = 0  # its edits
    unrenderable: int = 0  # instances that could not be rendered
    left_out: int = 0  # rows that it was left out of, since it would have touched a span there
    examples: list[TallyExample] = field(default_factory=list)  # the first of its rewrites

    def count(self, original: str, rewritten: str, edits: Sequence[Edit]) -> None:
        """Count the edits of one row."""
        self.edits += len(edits)
        if len(self.examples) < _EXAMPLES:
            self.examples.append(TallyExample(original, rewritten, tuple(edits)))

    def add(self, other: RuleTally) -> None:
        """Count what the rule did to later rows."""
        for name in _OF_RULE:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.examples = [*self.examples, *other.examples][:_EXAMPLES]


@dataclass(slots=True)
class Tally:
    """What was done to rows; adding tallies in the order of the rows gives the whole."""

    rows: int = 0  # rows read
    changed: int = 0  # rows that at least one rule changed
    characters: int = 0  # characters of text looked at
    records: int = 0  # records (each) or rows (chain) given out
    # Rule id → what it did; rules that did nothing are absent.
    rules: dict[str, RuleTally] = field(default_factory=dict)
    missing: int = 0  # values of the rewritten columns that hold no text, which are passed over
    # Texts with decomposed characters (not in NFC), counted if rules hold composed ones.
    decomposed: int = 0
    # Rows that a rule was left out of, or all rules, since the rule would have touched a span.
    touched: int = 0
    misplaced: int = 0  # rows with a span that is not where the row says; none is rewritten
    absent: int = 0  # rows with a protected value that their text does not contain
    dropped: int = 0  # rows (chain) left out, since rules touch a span or one is misplaced
    undone: int = 0  # rows (chain) that are as they were, since rules undid what others had done
    # Id and reason of the first thousand rows that are touched, misplaced or absent.
    reasons: list[tuple[str, str]] = field(default_factory=list)

    def of(self, rule: str) -> RuleTally:
        """The tally of one rule."""
        return self.rules.setdefault(rule, RuleTally())

    def add(self, other: Tally) -> None:
        """Count later rows."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.reasons = [*self.reasons, *other.reasons][:_MOST_REASONS]
        for rule, tally in other.rules.items():
            self.of(rule).add(tally)

    def give_reasons(
        self,
        touched: Mapping[int, str],
        misplaced: Mapping[int, str],
        absent: Mapping[int, str],
        ids: Sequence[str],
        copies: int = 1,
    ) -> None:
        """Keep why rows of a batch were not rewritten, or not by all rules, or not protected.

        Of the copies of a row the first speaks for all.
        """
        touched, misplaced, absent = (
            {row - row % copies: why for row, why in sorted(reasons.items(), reverse=True)}
            for reasons in (touched, misplaced, absent)
        )
        self.touched, self.misplaced, self.absent = len(touched), len(misplaced), len(absent)
        first = sorted({**absent, **touched, **misplaced}.items())[:_MOST_REASONS]
        self.reasons = [(ids[row], why) for row, why in first]

    def to_json(self) -> dict[str, Any]:
        """The tally as values that JSON knows."""
        plain = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        rules = {
            rule: {
                **{name: getattr(of, name) for name in _OF_RULE},
                "examples": [(each.original, each.rewritten, each.edits) for each in of.examples],
            }
            for rule, of in self.rules.items()
        }
        return plain | {"rules": rules}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tally:
        """What `to_json` gave.

        Example:
            >>> tally = Tally(rows=3, reasons=[("7", "the span 'red' was touched")])
            >>> Tally.from_json(tally.to_json()) == tally
            True
        """
        rules = {}
        for rule, counts in value["rules"].items():
            examples = [
                TallyExample(original, rewritten, tuple(Edit(*edit) for edit in edits))
                for original, rewritten, edits in counts["examples"]
            ]
            rules[rule] = RuleTally(**{**counts, "examples": examples})
        reasons = [(row, why) for row, why in value["reasons"]]
        return cls(**{**value, "rules": rules, "reasons": reasons})


def count_texts(
    tally: Tally, matcher: Matcher, texts: Sequence[str], *, missing: int, copies: int
) -> None:
    """Count the texts of a column, and those in which rules may miss decomposed characters.

    The copies of a row, which stand together, count once.
    """
    texts = texts[::copies]
    tally.characters += sum(map(len, texts))
    tally.missing += missing // copies
    if matcher.composed:
        tally.decomposed += sum(not unicodedata.is_normalized("NFC", text) for text in texts)


def count_unrenderable(tally: Tally, rule_ids: Sequence[str], counts: Mapping[int, int]) -> None:
    """Count what a matcher found and could not render: rule position → instances."""
    for rule, count in counts.items():
        if count:
            tally.of(rule_ids[rule]).unrenderable += count


def repeat_rows(batch: Batch, draws: int, *, numbered: bool) -> Batch:
    """The batch with each row ``draws`` times; if ``numbered``, a column ``draw`` tells which.

    Example:
        >>> twice = repeat_rows(Batch(0, 2, {"text": ["a", "b"]}), 2, numbered=True)
        >>> list(twice.columns["text"]), list(twice.columns["draw"]), twice.row_number(3)
        (['a', 'a', 'b', 'b'], [0, 1, 0, 1], 2)
    """
    if draws == 1:
        return batch
    places = np.repeat(np.arange(batch.rows), draws).tolist()
    numbers = list(range(draws)) * batch.rows
    if numbered:
        require_no_draw(batch.columns)
    added = {DRAW: numbers} if numbered else {}
    columns: Mapping[str, Sequence[Any]]
    if isinstance(batch.columns, RecordBatchColumns):
        columns = batch.columns.at(places, added)
    else:
        repeated = {
            name: values.at(places) if isinstance(values, ArrowValues) else Repeated(values, places)
            for name, values in batch.columns.items()
        }
        columns = {**repeated, **added}
    return replace(
        batch, rows=len(places), columns=columns, source=columns, groups={}, copies=draws
    )


def draws_of(batch: Batch, rows: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Each draw, and which of some rows of a batch belong to it, by their places among these."""
    if batch.copies == 1:
        yield 0, range(len(rows))
        return
    numbers = np.asarray(rows, np.int64) % batch.copies
    for draw in range(batch.copies):
        yield draw, np.flatnonzero(numbers == draw).tolist()


def require_together(mode: str, *, keep: Sequence[str], draws: int, with_originals: bool) -> None:
    """Refuse a mode that does not exist, and options that do not go together."""
    if draws < 1:
        problem, advice = f"--draws {draws} is not valid", "it has to be 1 or more"
    elif draws > 1 and with_originals:
        problem = "originals belong to no draw, so --with-originals does not go with --draws"
        advice = "leave out --with-originals or --draws"
    elif mode not in get_args(Mode):
        problem, advice = f"there is no mode {mode!r}", "choose each or chain"
    elif keep and mode == "chain":
        problem = "--mode chain keeps all columns"
        advice = "leave out --keep, or choose --mode each"
    elif with_originals and mode == "each":
        problem = "--mode each writes the original beside each rewritten text anyway"
        advice = "leave out --with-originals, or choose --mode chain"
    else:
        return
    raise UsageError(problem, help=advice)


def require_no_draw(names: Iterable[str]) -> None:
    """Refuse rows that have a column ``draw`` of their own."""
    if DRAW in names:
        raise UsageError(
            "the rows already have a column draw, which is to number the draws",
            help="rename that column, or leave out --draws",
        )
