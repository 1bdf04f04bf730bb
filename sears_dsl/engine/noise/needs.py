"""What rules need of a run beside texts: vectors, paraphrases, and sentences as units.

In: rules with their rulesets, and the sources that a run has. Out: the sources with the vectors
that the rules name, and what is missing (E352, E353); stand-ins for looking at rules without
running them; the unit that they ask for (E410); what decides their noise. Costs a look at the
pieces of each rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sears_dsl.engine.matches import Unit
from sears_dsl.engine.noise.characters import lookalikes_identity
from sears_dsl.engine.noise.sources import Sources
from sears_dsl.engine.noise.vectors import VECTORS, load_vectors, vectors_installed
from sears_dsl.errors import DataError, Diagnostic, RuleSyntaxError, Span
from sears_dsl.language.measure import draws
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Noise, Reference, Rule, RuleSource


def looks_up(rule: Rule, kind: str) -> bool:
    """Whether a rule has a function of a kind, such as ``neighbor``.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> looks_up(parse("NOUN -> $1.neighbor").rules[0], "neighbor")
        True
    """
    return any(
        isinstance(function, Noise) and function.kind == kind
        for piece in rule.consequent
        if isinstance(piece, Reference) and piece.functions
        for function in piece.functions
    )


def reword(rulesets: Iterable[RuleSource]) -> bool:
    """Whether rules of some rulesets write paraphrases."""
    return any(looks_up(rule, "paraphrase") for ruleset in rulesets for rule in ruleset.rules)


def sources_for(
    rules: Sequence[tuple[Rule, RuleSource]], sources: Sources
) -> tuple[Sources, list[Diagnostic]]:
    """The sources of a run for these rules, and what is missing."""
    missing: list[Diagnostic] = []
    # Of mined rules, of which there may be hundreds of thousands, none calls a function.
    rules = [pair for pair in rules if not _CALLING.isdisjoint(map(type, pair[0].consequent))]
    if sources.vectors is None:
        wanting = [pair for pair in rules if looks_up(pair[0], "neighbor")]
        names = {ruleset.options.vectors for _, ruleset in wanting}
        if len(names) > 1:
            listed = ", ".join(sorted(name or "no name" for name in names))
            missing.append(_finding("E352", f"rules that name different vectors: {listed}",
                                    "run them one after the other", wanting[0]))  # fmt: skip
        elif wanting:
            try:
                vectors = load_vectors(names.pop())
                sources = Sources(vectors=vectors, paraphrases=sources.paraphrases)
            except DataError as error:
                missing.append(_finding("E352", error.message, error.help, wanting[0]))
    if sources.paraphrases is None:
        wanting = [pair for pair in rules if looks_up(pair[0], "paraphrase")]
        if wanting:
            advice = "commands bring one; in Python: sources=Sources(paraphrases=...)"
            message = "`.paraphrase` and no paraphraser in the run"
            missing.append(_finding("E353", message, advice, wanting[0]))
    return sources, missing


def noise_identity(
    rules: Sequence[tuple[Rule, RuleSource]], sources: Sources, *, seed: int
) -> dict[str, str]:
    """What decides the noise of rules, for manifests; nothing where they write none.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.engine.noise.sources import NO_SOURCES
        >>> rules = parse("NOUN -> $1.typo")
        >>> list(noise_identity([(rules.rules[0], rules)], NO_SOURCES, seed=3))
        ['seed', 'lookalikes']
    """
    if not any(draws(rule) for rule, _ in rules):
        return {}
    named = {"seed": str(seed), "lookalikes": lookalikes_identity()}
    for name, source in (("vectors", sources.vectors), ("paraphraser", sources.paraphrases)):
        if source is not None:
            named[name] = source.identity
    return named


class _Nothing:
    """Knows no word and no text; it is both kinds of source."""

    identity = "nothing"

    def nearest(self, words: Sequence[str]) -> list[str | None]:
        return [None] * len(words)

    paraphrase = nearest


def stand_ins(ruleset: RuleSource) -> Sources:
    r"""Sources that know nothing, to compile rules that are looked at and not run.

    Rules are right or wrong whatever is installed. A file of vectors that they name is not stood in
    for: whether it is there belongs to them.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("option vectors = glove-6b-50d\nmovie -> $1.neighbor")
        >>> stand_ins(rules).neighbor("movie") is None
        True
    """
    of_a_file = ruleset.options.vectors is not None and ruleset.options.vectors not in VECTORS
    return Sources(vectors=None if of_a_file else _Nothing(), paraphrases=_Nothing())


def lacking(rule: Rule, ruleset: RuleSource, sources: Sources) -> str:
    """What a rule needs that is not installed, or not in the sources; empty where it has all.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.engine.noise.sources import NO_SOURCES
        >>> rules = parse("<unit> -> $0.paraphrase")
        >>> lacking(rules.rules[0], rules, NO_SOURCES)
        'a paraphraser'
    """
    if looks_up(rule, "paraphrase") and sources.paraphrases is None:
        return "a paraphraser"
    named = ruleset.options.vectors
    if looks_up(rule, "neighbor") and sources.vectors is None and not vectors_installed(named):
        return f"the vectors {named}" if named else "word vectors"
    return ""


_CALLING = frozenset({Reference})  # pieces that may call a function


def _finding(code: str, message: str, advice: str, of: tuple[Rule, RuleSource]) -> Diagnostic:
    rule, ruleset = of
    source = print_rule(rule)
    line = rule.span.line if rule.span is not None else ruleset.rules.index(rule) + 1
    place = Span(line, 1, len(source) + 1)
    return replace(Diagnostic(code, message, place, advice), path=ruleset.path, source=source)


def unit_of(rulesets: Sequence[RuleSource], chosen: Unit | None = None) -> Unit:
    """The unit that a run has: what it says itself, else what its rulesets ask for.

    A ruleset that asks for none was written for whole texts.
    """
    if chosen:
        return chosen
    rulesets_by_unit: dict[Unit, list[RuleSource]] = {}
    for ruleset in rulesets:
        if ruleset.rules:
            rulesets_by_unit.setdefault(ruleset.options.unit or "text", []).append(ruleset)
    if len(rulesets_by_unit) > 1:
        raise RuleSyntaxError([_units_differ(rulesets_by_unit)])
    return next(iter(rulesets_by_unit), "text")


# So many files of a unit are named.
_NAMED = 3


def _units_differ(rulesets_by_unit: Mapping[Unit, Sequence[RuleSource]]) -> Diagnostic:
    """E410: which files want the unit that fewer want, and what to do about them."""
    fewer, *others = sorted(rulesets_by_unit.items(), key=lambda each: len(each[1]))
    unit, files = fewer
    names = [str(each.path) for each in files[:_NAMED]]
    if len(files) > _NAMED:
        names.append(f"{len(files) - _NAMED} more")
    rest = " and ".join(
        f"{some[0].path if len(some) == 1 else f'the other {len(some)} files'} about each {other}"
        for other, some in others
    )
    them = "it" if len(files) == 1 else "these"
    return Diagnostic(
        "E410",
        f"rulesets of one run want different units: {', '.join(names)} "
        f"{'is' if len(files) == 1 else 'are'} about each {unit}, {rest}",
        help=f"run {them} and the others one after the other, naming files or themes in the place "
        "of the folder; or say what counts for all, --unit text or --unit sentence",
    )
