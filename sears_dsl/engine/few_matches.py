"""Few rows, matched and rewritten one by one without arrays of their tokens.

In: few texts (`FewRows`), or the matches of a few rows (`FewMatches`). Where all rules name words,
the instances in a text are found by its words (`WordRules`), else by the scan of `search`. Out: the
`Rewrite`s, by row and then by rule, that `search` and `Rendering.rewrites` give; None where these
have to be called. Always holds: a rule that names words can match only where one of them is a token
(`Prefilter`); new text is remembered, within bounds, by everything that it depends on
(`Renderer.new_text`). Costs a look-up for each token and each match whose like was seen before, and
the scan, or a test for each token and each rule with a word there. Arrays cost the same for one
token or match as for many. Threads may share one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import eq, itemgetter
from typing import NamedTuple

from sears_dsl.engine.arrays import ANCHORS, FOCUS, LEFT, ORDER, PATTERN
from sears_dsl.engine.compile.prefilter import NOTHING, TAGS, Prefilter, fold, required_words
from sears_dsl.engine.compile.program import ANCHOR_END, ANCHOR_START, Program, Variant, bind
from sears_dsl.engine.match.search import search_row, searches_rows
from sears_dsl.engine.matches import Binding, Edit, Instance, Matches, Rewrite, Scope, apply_edits
from sears_dsl.engine.rewrite.placing import (
    ALWAYS,
    Replaced,
    Surroundings,
    Unrendered,
    begins_sentence,
)
from sears_dsl.engine.rewrite.renderer import (
    MOST_WRITTEN,
    CompiledRules,
    EdgedText,
    Renderer,
    reads_context,
    render_untouching,
)
from sears_dsl.tagging.tagger import CuttingTagger
from sears_dsl.tagging.tokens import ListedTokens, Tokens, TokenType, has_contraction

# More matches are rendered faster by arrays.
_FEW = 48


class _Way(NamedTuple):
    """How the instances of one variant of a rule are rendered."""

    renderer: Renderer  # of the rule
    variant: Variant | None  # how elements lie on tokens; None where new text copies nothing
    left: int  # how many tokens before the replaced span new text may depend on
    right: int  # likewise behind it


class _Row(NamedTuple):
    """A row and its tokens."""

    text: str
    tokens: ListedTokens
    # For each place before, between and behind the tokens, whether two tokens touch there.
    touching: Sequence[bool]


class FewMatches:
    """Renders few matches, one by one."""

    def __init__(self, compiled: CompiledRules) -> None:
        self._compiled = compiled
        self._ways: dict[tuple[int, int], _Way] = {}
        self._written: dict[tuple[object, ...], EdgedText] = {}

    def rewrites(
        self,
        tokens: Tokens,
        matches: Matches,
        unrenderable: Counter[int],
        *,
        numbers: Sequence[int] | None = None,
    ) -> list[Rewrite] | None:
        """What `Rendering.rewrites` gives where nothing is protected.

        None for many matches, or matches of rules that draw. ``numbers`` are the positions that the
        rows of the tokens have for the caller.
        """
        rules = matches.rules.tolist() if len(matches) <= _FEW else []
        if len(rules) < len(matches) or not self._compiled.drawing_rules.isdisjoint(rules):
            return None
        columns = (matches.starts, matches.ends, matches.variants)
        instances = list(zip(rules, *(column.tolist() for column in columns), strict=True))
        by_row: dict[int, list[Instance]] = {}
        for row, instance in zip(matches.rows.tolist(), instances, strict=True):
            by_row.setdefault(row, []).append(instance)
        rewrites: list[Rewrite] = []
        for row, of_row in by_row.items():
            number = row if numbers is None else numbers[row]
            listed = tokens.list_row(row)
            rewrites += self.of_row(number, tokens.texts[row], listed, of_row, unrenderable)
        return rewrites

    def of_row(
        self,
        number: int,
        text: str,
        tokens: ListedTokens,
        instances: Sequence[Instance],
        unrenderable: Counter[int],
    ) -> list[Rewrite]:
        """The rewrites of one row; instances are sorted by rule and start, and no rule draws."""
        gaps = map(eq, tokens.ends, tokens.starts[1:])
        row = _Row(text, tokens, [False, *gaps, False])
        rewrites: list[Rewrite] = []
        for rule, of_rule in groupby(instances, itemgetter(0)):
            edits = self._edits(row, list(of_rule), unrenderable)
            if edits:
                rewrites.append(Rewrite(rule, number, text, apply_edits(text, edits), edits))
        return rewrites

    # ------------------------------------------------------------ inside

    def _edits(
        self, row: _Row, instances: Sequence[Instance], unrenderable: Counter[int]
    ) -> tuple[Edit, ...]:
        """The edits of a rule in a row."""
        edits: list[Edit] = []
        rule = instances[0][0]
        if len(instances) == 1:
            rendered = self._edit(row, *instances[0])
            if isinstance(rendered, Edit):
                return (rendered,)
            missing = [rendered]
        else:
            bindings = [
                self._binding(row, self._way(rule, variant), start, end)
                for _, start, end, variant in instances
            ]
            renderer = self._compiled.renderer(rule)
            edits, missing = render_untouching(renderer, row.text, row.tokens, bindings)
        counted = sum(each.is_counted for each in missing)
        if counted:
            unrenderable[rule] += counted
        return tuple(edits)

    def _edit(self, row: _Row, rule: int, start: int, end: int, variant: int) -> Edit | Unrendered:
        """The edit of the only instance of a rule in a row."""
        text, tokens, touching = row
        starts, ends = tokens.starts, tokens.ends
        way = self._ways.get((rule, variant)) or self._way(rule, variant)
        renderer, bound, left, right = way
        low, high = start - left, end + right
        between = text[starts[low] : ends[high - 1]] if low < high else ""
        opens = start < end and renderer.follows_case and begins_sentence(text, starts[start])
        key: tuple[object, ...] = (rule, opens, between)
        if bound is not None:
            key += (variant, touching[low], touching[high], *tokens.types[low:high])
        written = self._written.get(key)
        if written is None:
            binding = self._binding(row, way, start, end)
            written = renderer.written(text, tokens, binding)
            if len(self._written) >= MOST_WRITTEN:
                self._written.clear()
            self._written[key] = written
        new, left, right = written
        if isinstance(new, Unrendered):
            return new
        if start < end:
            first, last = starts[start], ends[end - 1]
            if not (
                left == ALWAYS
                or (touching[start] and left <= _kind(text[first - 1]))
                or (touching[end] and right <= _kind(text[last]))
            ):
                return Edit(first, last, text[first:last], new)
        around = Surroundings(barrier=len(text))
        previous = ends[start - 1] if start else None
        if start < end:
            span = Replaced(first, last, previous, new)
            return renderer.placing.placed(text, span, around)
        following = (starts[start], ends[start]) if start < len(starts) else None
        return renderer.placing.inserted(text, previous, following, new, around)

    def _binding(self, row: _Row, way: _Way, start: int, end: int) -> Binding:
        if way.variant is None:
            return Binding(start, end, ())
        return bind(
            way.variant, start, self._compiled.program.predicates, row.tokens.types.__getitem__
        )

    def _way(self, rule: int, order: int) -> _Way:
        way = self._ways.get((rule, order))
        if way is None:
            renderer = self._compiled.renderer(rule)
            variant, left, right = None, 0, 0
            if renderer.needs_binding:
                variant = self._compiled.variants(rule)[order]
                if reads_context(renderer.rule):
                    left = variant.left
                    right = len(variant.tests) - left - variant.focus
            way = _Way(renderer, variant, left, right)
            self._ways[rule, order] = way
        return way


def _kind(character: str) -> int:
    """The kind of character that touches new text, numbered as by `windows.neighbours`."""
    return 2 if character.isalnum() or character == "'" or not character.isascii() else 1


# More variants at once are left to the kernels, which take as long for one as for many.
_MOST_ASKED = 16
# An index of more variants is not built in a call that somebody waits for.
_MOST_VARIANTS = 10_000
# More rows are scanned faster together.
_FEW_SCANS = 2


class _WordVariant(NamedTuple):
    """A variant in the form that is tried on words."""

    tests: Sequence[Callable[[TokenType], bool]]  # whether a token passes, for each place
    pattern: int
    order: int
    left: int  # how many tests stand before the replaced span
    focus: int  # how many are of the span
    anchors: int  # `ANCHOR_START` and `ANCHOR_END`, added up


class WordRules:
    """The rules of a program by the words that they name.

    Args:
        program: not very many variants, each of which requires one of some words.
        prefilter: of the same program.
    """

    def __init__(self, program: Program, prefilter: Prefilter) -> None:
        self._program = program
        self._prefilter = prefilter
        self._word_variants: dict[int, _WordVariant | None] = {}
        self._variants_of: dict[str, tuple[int, ...]] = {}
        for number, sequence in enumerate(program.sequences):
            for word in required_words(sequence, program.predicates) or ():
                self._variants_of[word] = (*self._variants_of.get(word, ()), number)

    def instances(self, tokens: ListedTokens, *, every: bool) -> list[Instance] | None:
        """The instances in a row, by rule and start; None where `search` has to be called.

        ``every`` takes all instances of a rule that do not overlap, and not just the first.
        """
        words = [text for text, _, _ in tokens.types]
        folded = fold("\n".join(words)).split("\n")  # one call: no word holds white space
        named = self._variants_of.keys() & folded
        numbers = {number for word in named for number in self._variants_of[word]}
        if len(numbers) > _MOST_ASKED or has_contraction(words):
            return None
        hits: dict[int, list[tuple[int, int, int]]] = {}
        for number in numbers:
            variant = self._word_variant(number)
            if variant is None:
                return None
            for start in _starts(variant, tokens.types):
                hit = (start, variant.order, start + variant.focus)
                hits.setdefault(variant.pattern, []).append(hit)
        instances: list[Instance] = []
        patterns = self._program.rules.patterns
        offsets, rules = patterns.rule_offsets, patterns.rules_of
        for pattern, of_pattern in hits.items():
            apart = _without_overlaps(sorted(of_pattern)) if every else [min(of_pattern)]
            for rule in rules[offsets[pattern] : offsets[pattern + 1]].tolist():
                instances += [(rule, start, end, order) for start, order, end in apart]
        return sorted(instances)

    def _word_variant(self, number: int) -> _WordVariant | None:
        """The variant of a number; None if it needs more than words."""
        if number not in self._word_variants:
            variant = None
            if not self._prefilter.tagged[number]:
                row = self._program.rules.patterns.variants[number]
                columns = map(int, row[[PATTERN, ORDER, LEFT, FOCUS, ANCHORS]])
                tests = map(self._program.predicates.test, self._program.sequences[number])
                variant = _WordVariant(list(tests), *columns)
            self._word_variants[number] = variant
        return self._word_variants[number]


def _starts(variant: _WordVariant, types: Sequence[TokenType]) -> Sequence[int]:
    """Where the replaced spans of a variant start."""
    last = len(types) - len(variant.tests)
    places: Sequence[int] = range(last + 1)
    if variant.anchors & ANCHOR_START:
        places = places[:1]
    if variant.anchors & ANCHOR_END:
        places = places[-1:] if last in places else ()
    for ahead, test in enumerate(variant.tests):
        places = [place for place in places if test(types[place + ahead])]
    return [place + variant.left for place in places]


def _without_overlaps(hits: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The leftmost sorted hits that do not overlap; an insertion excludes others at its place."""
    apart, free = [], 0
    for start, order, end in hits:
        if start >= free:
            free = max(start + 1, end)
            apart.append((start, order, end))
    return apart


class FewRows:
    """Rewrites few texts, each by itself, from a list of its tokens.

    Args:
        compiled: the rules.
        prefilter: of the same rules.
        few_matches: renders the matches of these rules.
        tagger: lists the tokens of a text; any thread may call it.
    """

    def __init__(
        self,
        compiled: CompiledRules,
        prefilter: Prefilter,
        few_matches: FewMatches,
        tagger: CuttingTagger,
    ) -> None:
        self._program = program = compiled.program
        self._drawing = drawing = compiled.drawing_rules
        self._prefilter = prefilter
        self._few_matches = few_matches
        self._tagger = tagger
        by_words = prefilter.least == NOTHING and len(program.sequences) <= _MOST_VARIANTS
        self._word_rules = WordRules(program, prefilter) if by_words and not drawing else None

    def rewrites(
        self, texts: Sequence[str], scope: Scope, unrenderable: Counter[int]
    ) -> list[Rewrite] | None:
        """The rewrites of texts without protected spans by all rules, each by itself.

        None where `search` has to be called.
        """
        listed_rows: list[tuple[int, ListedTokens, list[Instance]]] = []
        for number, text in enumerate(texts):
            tier = self._prefilter.tier(text)
            if tier == NOTHING:
                continue
            row = self._by_words(text, scope)
            if row is None and len(texts) <= _FEW_SCANS:
                row = self._by_bits(text, scope, tagged=tier == TAGS)
            if row is None:
                return None
            listed_rows.append((number, *row))
        render = self._few_matches.of_row
        return [
            rewrite
            for number, tokens, instances in listed_rows
            for rewrite in render(number, texts[number], tokens, instances, unrenderable)
        ]

    def _by_words(self, text: str, scope: Scope) -> tuple[ListedTokens, list[Instance]] | None:
        """The tokens of a text and the instances in it, found by its words, if they can be."""
        if self._word_rules is None or (tokens := self._tagger.list_tokens(text)) is None:
            return None
        instances = self._word_rules.instances(tokens, every=scope == "all")
        return None if instances is None else (tokens, instances)

    def _by_bits(
        self, text: str, scope: Scope, *, tagged: bool
    ) -> tuple[ListedTokens, list[Instance]] | None:
        """What `_by_words` gives, found by a scan."""
        if not searches_rows(self._program):
            return None
        tokens = self._tagger.list_tagged(text) if tagged else self._tagger.list_tokens(text)
        if tokens is None or has_contraction([text for text, _, _ in tokens.types]):
            return None
        instances = search_row(self._program, tokens, scope)
        if instances is None or not self._drawing.isdisjoint([rule for rule, *_ in instances]):
            return None
        return tokens, instances
