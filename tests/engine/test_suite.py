"""One suite of cases for every engine: what the rule language means, as data.

The cases lie in `tests/engine/suite/*.toml`, in groups around a rule file of one rule:

    name, rules    what it is about; a rule file in full, with options and sets where needed
    fires          [text, text after], scope ``first``
    all            [text, text after], scope ``all``
    silent         texts that stay as they are
    no_form        texts in which an instance is found that cannot be inflected
    case           single cases: text, scope, protected (character spans), tokens (their texts, or
                   [text, coarse, fine]; found from left to right), no_form (how many instances
                   cannot be written), seed and draw (of what is drawn), and out (absent: silent)
                   or edits ([start, end, new])

Tags come from `lexicon.toml`, or from the text where it pins them.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from naive_noise import rewrite

from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.engine.matches import Edit, Matches, Rewrite, apply_edits
from sears_dsl.engine.noise.draws import Draw
from sears_dsl.engine.rewrite.pieces import Drawing
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.language.loader import parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger, parse_pinned
from sears_dsl.tagging.tokens import Token, Tokens

SUITE = Path(__file__).parent / "suite"
Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Case:
    """One text under one rule file."""

    group: str
    rules: str
    text: str
    tokens: tuple[Token, ...]
    scope: str = "first"
    protected: tuple[tuple[int, int], ...] = ()
    out: str | None = None
    edits: tuple[tuple[int, int, str], ...] | None = None
    no_form: int = 0
    seed: int = 0
    draw: int = 0

    @property
    def drawing(self) -> Drawing:
        return Drawing(Draw(self.seed, self.draw))


@dataclass(frozen=True)
class Result:
    """The result of an engine on a case."""

    text: str
    edits: tuple[Edit, ...]
    no_form: int


@lru_cache(maxsize=1)
def lexicon() -> PinnedTagger:
    words = tomllib.loads((SUITE / "lexicon.toml").read_text("utf-8"))["words"]
    row = parse_pinned(words)
    assert row is not None
    return PinnedTagger({token.text: (token.coarse, token.fine) for token in row[1]})


def tokens_of(text: str, written: Sequence[Any] | None) -> tuple[str, tuple[Token, ...]]:
    if written is None:
        batch = lexicon().tag([text])
        return batch.texts[0], tuple(batch.row(0))
    row = []
    place = 0
    for entry in written:
        if isinstance(entry, str):
            tagged = lexicon().tag([entry]).row(0)
            tags = (tagged[0].coarse, tagged[0].fine) if len(tagged) == 1 else ("", "")
            word = entry
        else:
            word, *tags = entry
        start = text.index(word, place)
        place = start + len(word)
        row.append(Token(word, tags[0], tags[1], start, place))
    return text, tuple(row)


def cases_of(path: Path) -> Iterator[Case]:
    for group in tomllib.loads(path.read_text("utf-8"))["group"]:
        name, rules = f"{path.stem}: {group['name']}", group["rules"]
        known = {"name", "rules", "fires", "all", "silent", "no_form", "case"}
        assert set(group) <= known, f"{name}: {set(group) - known}"
        for key, scope in (("fires", "first"), ("all", "all")):
            for text, out in group.get(key, ()):
                yield Case(name, rules, *tokens_of(text, None), scope=scope, out=out)
        for text in group.get("silent", ()):
            for scope in ("first", "all"):
                yield Case(name, rules, *tokens_of(text, None), scope=scope)
        for text in group.get("no_form", ()):
            yield Case(name, rules, *tokens_of(text, None), no_form=1)
        for case in group.get("case", ()):
            text, tokens = tokens_of(case["text"], case.get("tokens"))
            yield Case(
                name,
                rules,
                text,
                tokens,
                scope=case.get("scope", "first"),
                protected=tuple((low, high) for low, high in case.get("protected", ())),
                out=case.get("out"),
                no_form=case.get("no_form", 0),
                seed=case.get("seed", 0),
                draw=case.get("draw", 0),
                edits=tuple((a, b, new) for a, b, new in case["edits"])
                if "edits" in case
                else None,
            )


CASES = [
    case
    for path in sorted(SUITE.glob("*.toml"))
    if path.stem != "lexicon"
    for case in cases_of(path)
]


@lru_cache(maxsize=4096)
def ruleset_of(rules: str) -> Ruleset:
    ruleset = parse(rules)
    assert len(ruleset.rules) == 1
    return ruleset


# ---------------------------------------------------------------- the engines


def reference(case: Case) -> Result:
    ruleset = ruleset_of(case.rules)
    [rule] = ruleset.rules
    scope: Any = case.scope
    edits, missing = rewrite(
        rule,
        ruleset,
        case.text,
        case.tokens,
        split=lexicon().split,
        extent=scope,
        protected=case.protected,
        drawing=case.drawing,
    )
    no_form = sum(each.is_counted for each in missing)
    return Result(apply_edits(case.text, edits), tuple(edits), no_form)


@lru_cache(maxsize=4096)
def matcher_of(rules: str) -> Matcher:
    return compile_rules([ruleset_of(rules)], tagger=lexicon())


def rendered(matcher: Matcher, tokens: Tokens, matches: Matches, cases: Sequence[Case]) -> Rewrites:
    """The rewrites of instances, in rows of cases that share scope and draw."""
    unrenderable: Counter[int] = Counter()
    scope: Any = cases[0].scope
    columns = matcher.rendering.rewrites(
        tokens,
        matches,
        protected=[case.protected for case in cases],
        unrenderable=unrenderable,
        extent=scope,
        drawing=cases[0].drawing,
    )
    return Rewrites(columns, rule_ids=lambda: matcher.rule_ids, unrenderable=unrenderable)


def found(matcher: Matcher, cases: Sequence[Case]) -> tuple[Tokens, Matches]:
    scope: Any = cases[0].scope
    tokens = Tokens.from_rows([case.text for case in cases], [case.tokens for case in cases])
    protected = [case.protected for case in cases]
    return tokens, matcher.find(tokens, scope=scope, protected=protected)


def compiled(case: Case) -> Result:
    """The compiled engine with only the case's rule."""
    matcher = matcher_of(case.rules)
    rewrites = rendered(matcher, *found(matcher, [case]), [case])
    no_form = rewrites.unrenderable[0]
    if not rewrites:
        return Result(case.text, (), no_form)
    [rewrite] = rewrites
    return Result(rewrite.text, rewrite.edits, no_form)


FILES = {rules: number for number, rules in enumerate(dict.fromkeys(c.rules for c in CASES))}


@lru_cache(maxsize=1)
def everything() -> Matcher:
    return compile_rules([ruleset_of(rules) for rules in FILES], tagger=lexicon())


class Together(NamedTuple):
    """All cases of one scope and draw in one batch, under all rules."""

    rows: dict[Case, int]
    matches: Matches
    rewrites: dict[tuple[int, int], Rewrite]


@lru_cache(maxsize=256)
def together(scope: str, seed: int, draw: int) -> Together:
    cases = [each for each in CASES if (each.scope, each.seed, each.draw) == (scope, seed, draw)]
    tokens, matches = found(everything(), cases)
    rewrites = rendered(everything(), tokens, matches, cases)
    by_place = {(rewrite.row, rewrite.rule): rewrite for rewrite in rewrites}
    return Together({case: row for row, case in enumerate(cases)}, matches, by_place)


def compiled_together(case: Case) -> Result:
    """The compiled engine with the rules and the texts of the whole suite in one program.

    What has no form is counted over a batch, so that one case is asked again for that.
    """
    rule, batch = FILES[case.rules], together(case.scope, case.seed, case.draw)
    row = batch.rows[case]
    own = batch.matches.select((batch.matches.rows == row) & (batch.matches.rules == rule))
    own = replace(own, rows=np.zeros_like(own.rows))
    alone = rendered(everything(), Tokens.from_rows([case.text], [case.tokens]), own, [case])
    rewrite = batch.rewrites.get((row, rule))
    assert [each.edits for each in alone] == ([] if rewrite is None else [rewrite.edits])
    no_form = alone.unrenderable[rule]
    if rewrite is None:
        return Result(case.text, (), no_form)
    return Result(rewrite.text, rewrite.edits, no_form)


ENGINES: dict[str, Callable[[Case], Result]] = {
    "reference": reference,
    "compiled": compiled,
    "compiled together": compiled_together,
}


# ---------------------------------------------------------------- the tests


CASES_OF: dict[str, list[Case]] = {}
for _case in CASES:
    CASES_OF.setdefault(_case.group, []).append(_case)


@pytest.mark.parametrize("group", CASES_OF)
@pytest.mark.parametrize("engine", ENGINES)
def test_cases(engine: str, group: str) -> None:
    for case in CASES_OF[group]:
        result = ENGINES[engine](case)
        told = f"{case.text!r}, {case.scope}"
        assert result.no_form == case.no_form, told
        if case.edits is not None:
            edits = [(edit.start, edit.end, edit.new) for edit in result.edits]
            assert edits == list(case.edits), told
        else:
            assert result.text == (case.text if case.out is None else case.out), told
        if case.out is None and case.edits is None:
            assert result.edits == (), told
            assert result.text is case.text, told
        else:
            assert result.edits, f"{told}: a case that fires has edits"
        _check_edits(case.text, result)


def _check_edits(text: str, result: Result) -> None:
    place = 0
    for edit in result.edits:
        assert place <= edit.start <= edit.end <= len(text)
        assert text[edit.start : edit.end] == edit.old != edit.new
        place = edit.end
    assert apply_edits(text, result.edits) == result.text


def test_the_suite_has_silent_cases_for_every_rule() -> None:
    firing = {case.rules for case in CASES if case.out is not None or case.edits}
    silent = {case.rules for case in CASES if case.out is None and case.edits is None}
    assert [rules for rules in FILES if rules not in firing] == []
    assert [rules for rules in FILES if rules not in silent] == []
