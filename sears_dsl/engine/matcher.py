"""Compile rulesets once, match and rewrite batches of texts: the engine's public face.

In: rulesets, then texts or tokens. Out: `Matches`, `Rewrites`, chained rows. Always holds: the
result is what the reference (`reference.find`) gives for each rule and row, whatever the batching,
the number of jobs and the prefilter. A row that no rule matches comes back as the very same string,
and is not tagged where the rules' own words already exclude it.
"""

from __future__ import annotations

import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.engine.chain import ChainedRows, chain_rows
from sears_dsl.engine.compile.prefilter import TAGS, TOKENS, Prefilter
from sears_dsl.engine.compile.program import build_program
from sears_dsl.engine.compile.requirements import (
    compiler_findings,
    noise_identity,
    sources_for,
    unit_of,
)
from sears_dsl.engine.compile.rule_parts import ScopedRules
from sears_dsl.engine.few_matches import FewMatches, FewRows
from sears_dsl.engine.match.search import Extent, Protected, search
from sears_dsl.engine.matches import (
    Binding,
    Matches,
    Rewrite,
    Scope,
    Unit,
    check_positions,
    check_spans,
    checked_texts,
)
from sears_dsl.engine.noise.draws import Draw
from sears_dsl.engine.noise.sources import NO_SOURCES, Sources
from sears_dsl.engine.rewrite.batch_rendering import Rendering
from sears_dsl.engine.rewrite.pieces import Drawing
from sears_dsl.engine.rewrite.renderer import CompiledRules
from sears_dsl.engine.rewrite.rewrites import Rewrites, merge_rewrites
from sears_dsl.engine.rewrite.tag_dependence import writes_by_tags
from sears_dsl.engine.sentence_units import SentenceUnits
from sears_dsl.errors import (
    CompileError,
    RuleSyntaxError,
    UsageError,
    check_text,
    check_whole_number,
)
from sears_dsl.language.printer import distinct_ids
from sears_dsl.language.rule import Rule, RuleSource
from sears_dsl.language.words import LARGEST_SEED
from sears_dsl.tagging.tagger import (
    CuttingTagger,
    Tagger,
    as_tagger,
    in_language,
    load_tagger,
)
from sears_dsl.tagging.tokens import Tokens, cut_contractions

if TYPE_CHECKING:
    from sears_dsl.tagging.fast.fast_tagger import FastCut

_FEW_ROWS = 4


def compile_rules(
    rulesets: Sequence[RuleSource] | RuleSource,
    *,
    tagger: Tagger | str | None = None,
    sources: Sources = NO_SOURCES,
    seed: int = 0,
) -> Matcher:
    """Compile the rules of rulesets, each under its own options and sets.

    Args:
        rulesets: one or several; their rules are numbered one after another.
        tagger: a tagger or its name; it splits the words of rules and tags texts. None takes the
            default one, which is loaded when a rule or a text first needs it.
        sources: vectors and paraphrases, for rules that look words or texts up.
        seed: the seed of random draws; the rules' own seeds are added.

    Raises:
        RuleSyntaxError: rules cannot be compiled; it names all of them.
        CompileError: the tagger is for another language than a ruleset.
        TaggerError: the default tagger is not installed.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.tagging.pinned import PinnedTagger
        >>> matcher = compile_rules([parse("What NOUN -> Which NOUN")], tagger=PinnedTagger())
        >>> [rewrite.text for rewrite in matcher.apply(["What/PRON/WP color/NOUN/NN ?"])]
        ['Which color ?']
    """
    return Matcher(rulesets, tagger=tagger, sources=sources, seed=seed)


class Matcher:
    """Compiled rules; made by `compile_rules`.

    Threads may share one: each gets what it would get alone. They use the tagger one at a time (a
    tagger that is also used elsewhere must itself be safe for threads, as the fast one is). The
    scan, most of the work where there are many rules, runs in all threads at once.

    Attributes:
        rules: the rules, in the order of their rulesets.
        program: the arrays that the kernels read.
    """

    def __init__(
        self,
        rulesets: Sequence[RuleSource] | RuleSource,
        *,
        tagger: Tagger | str | None = None,
        sources: Sources = NO_SOURCES,
        seed: int = 0,
    ) -> None:
        self._rulesets = as_rulesets(rulesets)
        # What a copy is compiled from: tables under locks are for one process.
        self._compiled_again = partial(type(self), self._rulesets, sources=sources, seed=seed)
        check_whole_number(seed, name="seed", most=LARGEST_SEED)
        self._seed = seed
        self._tagger = None if tagger is None else as_tagger(tagger)
        # Guards the tagger, what is remembered of it, and the prefilter.
        self._lock = threading.RLock()
        self._splits: dict[str, tuple[str, ...]] = {}
        if self._tagger is not None:
            self._check_language(self._tagger)
        self._scoped = scoped = ScopedRules(self._rulesets)
        self.rules: tuple[Rule, ...] = scoped.rules
        parts = [(ruleset.rules, ruleset) for ruleset in self._rulesets]
        self.program, problems = build_program(parts, self._split)
        self._calling = self.program.parts.calling
        self._sources, missing = sources_for([scoped[rule] for rule in self._calling], sources)
        self._first_drawing = Drawing(Draw(seed, 0), self._sources)
        findings = [*compiler_findings(scoped, problems, self._calling), *missing]
        if findings:
            raise RuleSyntaxError(findings)

    # ------------------------------------------------------------ about the rules

    @cached_property
    def rule_ids(self) -> tuple[str, ...]:
        """The ids of the rules, in their order, no two the same (see `distinct_ids`)."""
        return distinct_ids(self._rulesets)

    @property
    def tagger(self) -> Tagger:
        """The tagger, which is loaded when it is first needed."""
        with self._lock:
            if self._tagger is None:
                languages = [ruleset.options.language for ruleset in self._rulesets]
                tagger = load_tagger(in_language(DEFAULT_TAGGER, languages))
                self._check_language(tagger)
                self._tagger = tagger
            return self._tagger

    @cached_property
    def unit(self) -> Unit:
        """The unit that the rules ask for, where a run does not name one.

        Raises:
            RuleSyntaxError: rulesets ask for different units.
        """
        return unit_of(self._rulesets)

    @cached_property
    def noise_identity(self) -> Mapping[str, str]:
        """What decides the noise of the rules, by name: seed, look-alikes, vectors, paraphraser.

        Empty where they draw nothing. A paraphraser is loaded to be named.
        """
        return noise_identity(self._scoped, self._sources, seed=self._seed)

    @cached_property
    def needs_tags(self) -> bool:
        """Whether any rule reads tags or lemmas, or writes by them (see `writes_by_tags`)."""
        return any(self.program.predicates.needs_tags) or any(self._writing_by_tags)

    @cached_property
    def tags_read(self) -> frozenset[str]:
        """Which tags they need, ``coarse`` or ``fine`` or both; lemmas need fine ones.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> [sorted(compile_rules([parse(rule)]).tags_read)
            ...  for rule in ("a NOUN -> thing", "a NN -> thing", "a film -> thing")]
            [['coarse'], ['fine'], []]
        """
        if any(self._writing_by_tags):
            return frozenset({"coarse", "fine"})
        kinds = {"lemma": "fine", "fine": "fine", "coarse": "coarse"}
        return frozenset(kinds[key[0]] for key in self.program.predicates.keys if key[0] in kinds)

    @cached_property
    def composed(self) -> bool:
        """Whether a rule has a character that texts may also write decomposed, such as ``é``."""
        parts = (part for key in self.program.predicates.keys for part in key)
        texts = (part for part in parts if isinstance(part, str) and not part.isascii())
        return any(unicodedata.normalize("NFD", text) != text for text in texts)

    @cached_property
    def compiled(self) -> CompiledRules:
        """The rules in the form that rendering reads."""
        return CompiledRules(self._scoped, self.program, self._split)

    @cached_property
    def rendering(self) -> Rendering:
        """Turns matches into bindings and rewrites."""
        return Rendering(self.compiled)

    @cached_property
    def _few_matches(self) -> FewMatches:
        return FewMatches(self.compiled)

    @cached_property
    def _prefilter(self) -> Prefilter:
        return Prefilter(self.program, self._writing_by_tags)

    @cached_property
    def _writing_by_tags(self) -> list[bool]:
        """Which rules write by tags, whether or not they ask for some; see `writes_by_tags`."""
        flags = [False] * len(self.rules)
        for rule in self._calling:
            flags[rule] = writes_by_tags(*self._scoped[rule])
        return flags

    def __reduce__(self) -> tuple[partial[Matcher], tuple[()]]:
        """A copy, here or in another process, compiles the rules anew."""
        return partial(self._compiled_again, tagger=self._tagger), ()

    def __repr__(self) -> str:
        return f"<Matcher of {len(self.rules)} rule{'s' * (len(self.rules) != 1)}>"

    def __call__(self, text: str) -> Rewrites:
        """The rewrites of one text, as `apply` gives them.

        Raises:
            UsageError: it is not text.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> matcher = compile_rules([parse("movie -> film")])
            >>> [rewrite.text for rewrite in matcher("A movie.")]
            ['A film.']
        """
        advice = "for several texts: matcher.apply(texts); for a dataset: sears.apply(data, rules)"
        check_text(text, meant="text", help=advice)
        return self.apply([text])

    # ------------------------------------------------------------ matching

    def find(
        self,
        tokens: Tokens,
        *,
        scope: Extent = "first",
        protected: Protected | None = None,
        jobs: int = 1,
    ) -> Matches:
        """Find the instances of every rule in every row.

        Args:
            tokens: the rows, tagged if the rules need tags.
            scope: ``first`` instance of a rule in a row, ``all`` that do not overlap, or
                ``every`` one.
            protected: for each row spans of characters in which no rule may fire.
            jobs: threads.

        Raises:
            CompileError: the rules need tags and the tokens have none.
            UsageError: arguments that do not go together.
        """
        if self.needs_tags and not tokens.tagged:
            raise CompileError(
                "the rules need tags, but these tokens have none",
                help="tag the texts (`tagger.tag`) instead of tokenizing them only",
            )
        return search(self.program, tokens, extent=scope, protected=protected, jobs=jobs)

    def binding(self, tokens: Tokens, matches: Matches, index: int) -> Binding:
        """How one instance lies on the tokens of its row: its elements, names and tags.

        Args:
            tokens: the rows in which the matches were found.
            matches: what `find` gave.
            index: which of them.
        """
        return self.compiled.binding(tokens, matches, index)

    def rewrites(
        self,
        tokens: Tokens,
        matches: Matches,
        *,
        protected: Protected | None = None,
        seed: int = 0,
        draw: int = 0,
    ) -> Rewrites:
        """Render matches: one rewrite for each row and rule that changes it.

        An instance whose new words have no inflection, or more than one, is counted in
        ``unrenderable``. One whose new text equals the old is not a rewrite. If there are millions,
        read the columns of the result (``rules``, ``rows``, ``distinct()``) instead of its members.

        Args:
            tokens: the rows in which the matches were found.
            matches: what `find` gave under ``first`` or ``all``.
            protected: the spans that were given to `find`; an edit that would take white space
                out of them is left out (`apply` looks for another instance then).
            seed: see `apply`.
            draw: likewise.
        """
        unrenderable: Counter[int] = Counter()
        rewritten = self.rendering.rewrites(
            tokens,
            matches,
            protected=protected,
            unrenderable=unrenderable,
            drawing=self._drawing(seed, draw),
        )
        return Rewrites(rewritten, rule_ids=lambda: self.rule_ids, unrenderable=unrenderable)

    # ------------------------------------------------------------ texts

    def apply(
        self,
        texts: Sequence[str],
        *,
        scope: Scope = "first",
        protected: Protected | None = None,
        jobs: int = 1,
        prefilter: bool = True,
        unit: Unit | None = None,
        seed: int = 0,
        draw: int = 0,
    ) -> Rewrites:
        """Apply every rule by itself to every text.

        Args:
            texts: the rows.
            scope: rewrite the ``first`` instance of a rule in a unit, or ``all``.
            protected: for each row spans of characters that stay as they are.
            jobs: threads for matching.
            prefilter: leave rows that no rule can match untagged; the result is the same.
            unit: what a rule sees at once, to which ``first``, ``<s>`` and ``</s>`` refer. None
                takes what the rules ask for, else ``text``.
            seed: the seed of random draws; added to those of the matcher and of the rules.
            draw: which of several draws over the same texts, from 0.

        Raises:
            UsageError: arguments that do not go together.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> from sears_dsl.tagging.pinned import PinnedTagger
            >>> matcher = compile_rules([parse("movie -> film")], tagger=PinnedTagger())
            >>> [(r.row, r.text) for r in matcher.apply(["It is.", "A movie, a movie!"])]
            [(1, 'A film, a movie!')]
        """
        texts = checked_texts(texts, scope, protected)
        applied = partial(
            self._applied,
            scope=scope,
            jobs=jobs,
            prefilter=prefilter,
            drawing=self._drawing(seed, draw),
        )
        if self._by_sentence(unit):
            cut = SentenceUnits(texts, self.sentences(texts), protected)
            return cut.rewritten_rows(applied(cut.texts, protected=cut.protected))
        return applied(texts, protected=protected)

    def _applied(
        self,
        texts: Sequence[str],
        *,
        scope: Scope,
        protected: Protected | None,
        jobs: int,
        prefilter: bool,
        drawing: Drawing,
    ) -> Rewrites:
        """Apply every rule by itself to every unit."""
        unrenderable: Counter[int] = Counter()
        if prefilter and len(texts) <= _FEW_ROWS and self._few_rows and not any(protected or ()):
            few = self._few_rows.rewrites(texts, scope, unrenderable)
            if few is not None:
                return Rewrites(few, rule_ids=lambda: self.rule_ids, unrenderable=unrenderable)
        parts: list[Sequence[Rewrite]] = []
        for rows, tokens in self.prepare(texts, prefilter=prefilter):
            spans = None if protected is None else [protected[row] for row in rows]
            matches = search(self.program, tokens, extent=scope, protected=spans, jobs=jobs)
            if not len(matches):
                continue
            few = None
            if not any(spans or ()):
                few = self._few_matches.rewrites(tokens, matches, unrenderable, numbers=rows)
            if few is not None:
                parts.append(few)
                continue
            columns = self.rendering.rewrites(
                tokens,
                matches,
                protected=spans,
                unrenderable=unrenderable,
                extent=scope,
                drawing=drawing,
            )
            parts.append(replace(columns, rows=np.array(rows, np.int32)[columns.rows]))
        return Rewrites(
            merge_rewrites(parts), rule_ids=lambda: self.rule_ids, unrenderable=unrenderable
        )

    def chain(
        self,
        texts: Sequence[str],
        *,
        scope: Scope = "first",
        protected: Protected | None = None,
        intact: Protected | None = None,
        without: Sequence[Collection[int]] | None = None,
        unit: Unit | None = None,
        jobs: int = 1,
        seed: int = 0,
        draw: int = 0,
    ) -> ChainedRows:
        r"""Apply all rules to each text, one after another, each to what the one before it left.

        Args:
            texts: the rows.
            scope: rewrite the ``first`` instance of a rule in a unit, or ``all``.
            protected: for each row spans of characters that stay as they are; they move along.
                A rule passes over what it matches there and takes its next instance.
            intact: for each row spans that no edit may touch; they move along. A rule that would
                touch one is left out of that row (of that sentence, where these are the unit).
            without: for each row the positions of rules to leave out of it, from 0.
            unit: what a rule sees at once; see `apply`.
            jobs: threads for matching.
            seed: see `apply`.
            draw: likewise.

        Returns:
            A sequence with a row for every text, changed or not.

        Example:
            >>> from sears_dsl.language.loader import parse
            >>> from sears_dsl.tagging.pinned import PinnedTagger
            >>> rules = parse("movie -> film\na film -> the film")
            >>> [row] = compile_rules([rules], tagger=PinnedTagger()).chain(["a movie"])
            >>> row.text, [rule for rule, _ in row.steps]
            ('the film', [0, 1])
        """
        texts = checked_texts(texts, scope, protected)
        check_spans(intact, len(texts), name="intact")
        check_positions(without, len(texts), rules=len(self.rules), name="without")
        chained = partial(
            chain_rows,
            prepare=partial(self.prepare, again=True),
            program=self.program,
            rendering=self.rendering,
            few_matches=self._few_matches,
            scope=scope,
            jobs=jobs,
            drawing=self._drawing(seed, draw),
        )
        if self._by_sentence(unit):
            cut = SentenceUnits(texts, self.sentences(texts), protected)
            spans, without = cut.intact(intact), cut.of_rows(without)
            rows = chained(cut.texts, protected=cut.protected, intact=spans, without=without)
            return cut.chained_rows(rows)
        return chained(texts, protected=protected, intact=intact, without=without)

    def prepare(
        self, texts: Sequence[str], *, prefilter: bool = True, again: bool = False
    ) -> Iterator[tuple[list[int], Tokens]]:
        """Tokenize, and tag, the texts that a rule may match; for ``again`` see `CuttingTagger`.

        Yields:
            The rows and their tokens: first the rows that need no tags, then those that do. Rows
            that no rule can match are left out.
        """
        cut: FastCut | None = None
        if not prefilter:
            tiers = np.full(len(texts), TAGS if self.needs_tags else TOKENS)
        elif len(texts) <= _FEW_ROWS:
            # Searching their text is faster than finding their tokens.
            tiers = np.array(list(map(self._prefilter.tier, texts)))
        else:
            with self._lock:
                tagger = self._tagger
                if tagger is not None and isinstance(tagger, CuttingTagger):
                    cut = tagger.cut(texts, again=again)
                tiers = self._prefilter.tiers(texts, cut=cut)
        for tier in (TOKENS, TAGS):
            rows = np.flatnonzero(tiers == tier)
            if len(rows):
                with self._lock:
                    tokens = self._tokens(texts, rows, cut, tagged=tier == TAGS, again=again)
                yield rows.tolist(), cut_contractions(tokens)

    def _tokens(
        self,
        texts: Sequence[str],
        rows: NDArray[np.int64],
        cut: FastCut | None,
        *,
        tagged: bool,
        again: bool,
    ) -> Tokens:
        """The tokens of some rows; ``cut`` has the texts if they are cut already."""
        if cut is None:
            tagger = self.tagger
            texts = texts if len(rows) == len(texts) else [texts[row] for row in rows.tolist()]
            if tagged and again and isinstance(tagger, CuttingTagger):
                return tagger.cut(texts, again=True).tagged()
            return tagger.tag(texts) if tagged else tagger.tokenize(texts)
        return cut.tagged(rows) if tagged else cut.tokens(rows)

    def sentences(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The sentences of each text, as the tagger cuts them: (start, end) in characters."""
        with self._lock:
            return self.tagger.sentences(texts)

    # ------------------------------------------------------------ inside

    @cached_property
    def _few_rows(self) -> FewRows | None:
        """Rewrites few texts without arrays; None where the tagger does not list tokens."""
        tagger = self.tagger
        if not isinstance(tagger, CuttingTagger):
            return None
        return FewRows(self.compiled, self._prefilter, self._few_matches, tagger)

    def _by_sentence(self, unit: str | None) -> bool:
        """Whether units are sentences: what the run says, else the rules."""
        if unit not in {None, "text", "sentence"}:
            raise UsageError(f"there is no unit {unit!r}", help="choose text or sentence")
        return (unit or self.unit) == "sentence"

    def _drawing(self, seed: int, draw: int) -> Drawing:
        check_whole_number(seed, name="seed", least=0, most=LARGEST_SEED)
        check_whole_number(draw, name="draw", least=0)
        if not (seed or draw):
            return self._first_drawing
        return Drawing(Draw(self._seed + seed, draw), self._sources)

    def _split(self, word: str) -> tuple[str, ...]:
        """How the tagger splits a word; each distinct word is asked about once."""
        with self._lock:
            parts = self._splits.get(word)
            if parts is None:
                parts = self.tagger.split(word)
                self._splits[word] = parts
            return parts

    def _check_language(self, tagger: Tagger) -> None:
        for ruleset in self._rulesets:
            language = ruleset.options.language
            if tagger.language != language:
                raise CompileError(
                    f"the ruleset {ruleset.name or ruleset.path} is for language {language}, "
                    f"but the tagger {tagger.name} is for {tagger.language}",
                    help="choose another tagger, or `option language` in the rule file",
                )


def as_rulesets(rulesets: object) -> tuple[RuleSource, ...]:
    """One or several rulesets as a tuple; raises `UsageError` for anything else."""
    alone = _is_ruleset(rulesets) or isinstance(rulesets, str | bytes)
    several = tuple(rulesets) if isinstance(rulesets, Iterable) and not alone else (rulesets,)
    for each in several:
        if not _is_ruleset(each):
            raise UsageError(
                f"an object of type {type(each).__name__} is not a ruleset",
                help="make one from text: sears.parse('movie -> film'); from a file: "
                "sears.load('a.sear'); from rules: sears.Ruleset.from_rules([rule])",
            )
    return tuple(each for each in several if _is_ruleset(each))


def _is_ruleset(source: object) -> TypeGuard[RuleSource]:
    """Whether this looks like a ruleset, whose class cannot be imported: it knows this module."""
    return hasattr(type(source), "set_names") and hasattr(type(source), "from_rules")
