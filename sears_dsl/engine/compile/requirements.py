"""What rules require of their words and of a run, and the errors where it is missing.

In: rules with their rulesets, the problems of those that could not be compiled, and the sources of
a run. Out: `Diagnostic`s like those of the checker, in the order of the rules; the sources with the
vectors that the rules name; stand-ins for examining rules without running them; the unit that rules
ask for; what decides their noise. Always holds: a finding shows the rule in its canonical form,
since the compiler has the tree and not the file; its line is that in the file where the rule came
from one. Codes: E7xx for what only the tokenizer knows; E352 and E353 for missing vectors and
paraphrases; E410 for units; the others are the checker's, for rules that were never checked.

An inflection is an error where the rule itself fixes the word, and the word has no form or several
under every tag that it can have. What depends on the matched token is not judged here: such an
instance is not rewritten, but counted. A function of characters is an error where it can change
none of the words that the rule or its sets fix (E329), and a warning where it cannot change some of
them (W622). W626 warns of a lemma that is an inflected form. Costs a look at the pieces of each
rule that calls functions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, TypeAlias

from sears_dsl.engine.compile.predicates import ignores_case
from sears_dsl.engine.compile.program import Problem
from sears_dsl.engine.matches import Unit
from sears_dsl.engine.noise.characters import has_place, lookalikes_identity
from sears_dsl.engine.noise.sources import Sources
from sears_dsl.engine.noise.vectors import (
    NAME_VECTORS,
    VECTORS,
    WordVectors,
    how_to_install,
    load_vectors,
    vectors_installed,
)
from sears_dsl.errors import DataError, Diagnostic, RuleSyntaxError, Span, listed
from sears_dsl.language import rule as syntax
from sears_dsl.language.measure import draws, every_element, noise_in
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule, RuleScope, RuleSource
from sears_dsl.language.tagsets import COARSE
from sears_dsl.language.words import code, print_function
from sears_dsl.tagging.inflection import INFLECTION_TAGS, Inflection, base_of_form, inflect

# At most this many words are listed.
_MOST_WORDS = 5


def noise_diagnostics(rule: Rule, scope: RuleScope) -> Iterator[Diagnostic]:
    r"""Findings on the functions of a rule that can change none, or only some, of its words.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("gulf -> $1.homoglyph\n(gulf|film) -> $1.homoglyph")
        >>> for rule in rules.rules:
        ...     [finding] = noise_diagnostics(rule, rules)
        ...     print(finding.code, finding.message)
        E329 `.homoglyph` can change no character of `gulf`
        W622 `.homoglyph` can change no character of `gulf`
    """
    for piece in rule.consequent:
        if not isinstance(piece, syntax.Reference) or not piece.functions:
            continue
        function = piece.functions[0]
        if not isinstance(function, syntax.Noise) or function.kind in {"neighbor", "paraphrase"}:
            continue
        words = _words(rule, piece.target, scope)
        unable = [code(casings[0]) for casings in words if not has_place(function, casings[0])]
        if unable:
            # The `T` of `Trunk` can change, and no character of `trunk`.
            none_can = not any(has_place(function, word) for word in chain.from_iterable(words))
            yield Diagnostic(
                "E329" if none_can else "W622",
                f"{code('.' + print_function(function))} can change no character of "
                f"{listed(unable, _MOST_WORDS)}",
                piece.span or rule.span,
                "use another function or other words"
                if none_can
                else "these instances stay unchanged; remove the words or use another function",
            )


_Casings: TypeAlias = tuple[str, ...]
"""A text as written; after it the same in capitals, where any casing is meant."""


def _words(rule: Rule, target: int | str, scope: RuleScope) -> list[_Casings]:
    """The words that an element can match, where the rule and its sets list them; else none."""
    element = _element(rule, target)
    if element not in rule.elements:  # None, or inside of a group
        return []
    texts = list(_texts(element, scope))
    return [text for text in texts if text is not None] if None not in texts else []


def _texts(element: syntax.Element, scope: RuleScope) -> Iterator[_Casings | None]:
    """The texts of an element; None where what it matches is not fixed."""
    if (element.minimum, element.maximum) != (1, 1):
        yield None
    elif isinstance(element.body, syntax.Group):
        for alternative in element.body.alternatives:
            parts = [list(_texts(each, scope)) for each in alternative]
            if len(parts) == 1:
                yield from parts[0]
                continue
            # Elements with several texts each have too many together.
            fixed = [texts[0] for texts in parts if len(texts) == 1 and texts[0] is not None]
            written, capitals = (" ".join(casings[at] for casings in fixed) for at in (0, -1))
            yield (written, capitals) if len(fixed) == len(parts) else None
    else:
        yield from _members(element.body, scope)


def _members(test: object, scope: RuleScope) -> Iterator[_Casings | None]:
    if isinstance(test, syntax.Literal):
        any_casing = ignores_case(test, scope.options)
        yield (test.text, test.text.upper()) if any_casing else (test.text,)
    elif isinstance(test, syntax.SetReference):
        for member in scope.members(test):
            yield from _members(member, scope)
    else:
        yield None


# The tags that a word of unknown tag may have; None reads it as a base form.
_ANY_TAG = (None, "NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "JJ", "JJR", "JJS")


@dataclass(frozen=True, slots=True)
class _WordKnowledge:
    """What an element says about its token."""

    word: str | None = None
    lemma: str | None = None
    fine: str | None = None


def compile_diagnostics(rule: Rule, scope: RuleScope) -> Iterator[Diagnostic]:
    """Findings on the inflections of a rule that fail on every instance.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("be -> $1.VBD")
        >>> [finding] = compile_diagnostics(rules.rules[0], rules)
        >>> print(finding.code, finding.message)
        E350 `be` has more than one form for VBD: was, were
    """
    for piece in rule.consequent:
        if isinstance(piece, syntax.Inflected):
            knowledge = _known(_element(rule, piece.target), scope)
            if knowledge.fine is not None:
                form = inflect(piece.word, None, knowledge.fine)
                # The token may still decide among the forms of `be`.
                is_be = piece.word.lower() == "be" and knowledge.lemma in (None, "be")
                forms = [] if is_be and form.ambiguous else [form]
                yield from _findings(piece.span or rule.span, piece.word, knowledge.fine, forms)
        elif isinstance(piece, syntax.Reference):
            knowledge = _known(_element(rule, piece.target), scope)
            word = knowledge.word or knowledge.lemma
            tag = next((name for name in piece.functions if name in INFLECTION_TAGS), None)
            if tag is not None and word is not None:
                yield from _findings(piece.span or rule.span, word, tag, _copied(knowledge, tag))


def _copied(knowledge: _WordKnowledge, tag: str) -> list[Inflection]:
    """The forms of ``$1.VBD`` under every tag that the token can have."""
    if knowledge.word is not None:
        tags = _ANY_TAG if knowledge.fine is None else (knowledge.fine,)
        return [inflect(knowledge.word, fine, tag) for fine in tags]
    lemma = knowledge.lemma or ""
    # The matched form of `be` decides between `was` and `were`.
    return [] if lemma == "be" else [inflect(lemma, None, tag)]


def _findings(
    span: Span | None, word: str, tag: str, forms: Sequence[Inflection]
) -> Iterator[Diagnostic]:
    if not forms or any(form.unique is not None for form in forms):
        return
    several = next((form for form in forms if form.ambiguous), None)
    if several is not None:
        message = f"`{word}` has more than one form for {tag}: {', '.join(several.forms)}"
        yield Diagnostic("E350", message, span, "write the form you mean as a literal")
    else:
        message = f"`{word}` has no form for {tag}"
        yield Diagnostic("E351", message, span, "write the word you mean as a literal")


def _element(rule: Rule, target: int | str) -> syntax.Element | None:
    """The element that a reference refers to; None for the whole span and for unknown ones."""
    if isinstance(target, int):
        if target == 0:
            return rule.antecedent[0] if len(rule.antecedent) == 1 else None
        return rule.antecedent[target - 1] if target <= len(rule.antecedent) else None
    return next((each for each in every_element(rule) if each.name == target), None)


def _known(element: syntax.Element | None, scope: RuleScope) -> _WordKnowledge:
    if element is None or element.maximum != 1:
        return _WordKnowledge()
    match element.body:
        case syntax.Literal(text):
            return _WordKnowledge(word=text)
        case syntax.Tag(name) if name not in COARSE[scope.options.tagset]:
            return _WordKnowledge(fine=name)
        case syntax.AttributeTest() as test:
            return _known_of([test])
        case syntax.Conjunction(tests):
            return _known_of(tests)
    return _WordKnowledge()


def _known_of(tests: Sequence[syntax.AttributeTest]) -> _WordKnowledge:
    values = {test.attribute: test.value for test in tests if not test.negated}
    lemma = values.get("lemma")
    return _WordKnowledge(
        word=values.get("text", values.get("lower")),
        lemma=None if lemma is None else lemma.lower(),
        fine=values.get("tag"),
    )


def inflects(rule: Rule) -> bool:
    """Whether the consequent inflects a word, so that rendering needs tags."""
    return any(
        isinstance(piece, syntax.Inflected)
        or (isinstance(piece, syntax.Reference) and not INFLECTION_TAGS.isdisjoint(piece.functions))
        for piece in rule.consequent
    )


def compiler_findings(
    rules: Sequence[tuple[Rule, RuleSource]], problems: Iterable[Problem], calling: Iterable[int]
) -> list[Diagnostic]:
    """Everything that keeps rules from being compiled, in the order of the rules.

    Only what the rules in ``calling`` write can be wrong (see `RuleParts.calling`).
    """
    findings = [
        (number, _placed(Diagnostic(problem.code, problem.message, help=problem.advice),
                         *rules[number]))
        for number, problem in problems
    ]  # fmt: skip
    for number in calling:
        rule, ruleset = rules[number]
        of_rule = [each for each in noise_diagnostics(rule, ruleset) if each.code[0] == "E"]
        if inflects(rule):
            of_rule += compile_diagnostics(rule, ruleset)
        findings += [(number, _placed(finding, rule, ruleset)) for finding in of_rule]
    return [finding for _, finding in sorted(findings, key=itemgetter(0))]


def compiler_warnings(ruleset: RuleSource) -> list[Diagnostic]:
    r"""Warnings about rules that work, but perhaps not as meant; only checks ask for them.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("set WORD = trunk | film\n@WORD -> $1.homoglyph")
        >>> [(finding.code, finding.span.line) for finding in compiler_warnings(rules)]
        [('W622', 2)]
    """
    return [
        _placed(finding, rule, ruleset)
        for rule in ruleset.rules
        for finding in (*noise_diagnostics(rule, ruleset), *_lemma_warnings(rule, ruleset))
        if finding.code[0] == "W"
    ]


def _lemma_warnings(rule: Rule, scope: RuleScope) -> Iterator[Diagnostic]:
    """W626: a test asks for the lemma `went`, and the lemma of that form is *go*.

    Only where the tagger takes such a form for a base form (*media* as NN) is it its own lemma.
    """
    tests = chain.from_iterable(_attribute_tests(each.body, scope) for each in rule.elements)
    for value in dict.fromkeys(test.value for test in tests if test.attribute == "lemma"):
        if base := base_of_form(value):
            message = f"`{value}` is a form of `{base}`, and the lemma of that form is `{base}`"
            this = code(f"lower={value.lower()}")
            yield Diagnostic("W626", message, help=f"write `{base}`; {this} is this form alone")


def _attribute_tests(body: object, scope: RuleScope) -> Iterator[syntax.AttributeTest]:
    match body:
        case syntax.AttributeTest():
            yield body
        case syntax.Conjunction(tests):
            yield from tests
        case syntax.Negation(operand):
            yield from _attribute_tests(operand, scope)
        case syntax.SetReference():
            for member in scope.members(body):
                yield from _attribute_tests(member, scope)
        case syntax.Group(alternatives):
            for element in chain.from_iterable(alternatives):
                yield from _attribute_tests(element.body, scope)


def _placed(finding: Diagnostic, rule: Rule, ruleset: RuleSource) -> Diagnostic:
    """The finding with the file and the line of its rule, and the whole rule as the place."""
    source = print_rule(rule)
    line = rule.span.line if rule.span is not None else ruleset.rules.index(rule) + 1
    place = Span(line, 1, len(source) + 1)
    return replace(finding, span=place, path=ruleset.path, source=source)


# ---------------------------------------------------------------- what a run has to provide


def any_paraphrases(rulesets: Iterable[RuleSource]) -> bool:
    """Whether any rule of some rulesets writes paraphrases."""
    return any("paraphrase" in noise_in(rule) for ruleset in rulesets for rule in ruleset.rules)


def sources_for(
    rules: Sequence[tuple[Rule, RuleSource]], sources: Sources
) -> tuple[Sources, list[Diagnostic]]:
    """The sources of a run of these rules, and findings on those that are missing."""
    missing: list[Diagnostic] = []
    # There may be hundreds of thousands of mined rules, none of which calls a function.
    calling = [pair for pair in rules if syntax.Reference in map(type, pair[0].consequent)]
    near, reworded = (
        [pair for pair in calling if kind in noise_in(pair[0])]
        for kind in ("neighbor", "paraphrase")
    )
    if near and sources.vectors is None:
        try:
            vectors = _vectors_of_all(ruleset for _, ruleset in near)
            sources = Sources(vectors=vectors, paraphrases=sources.paraphrases)
        except DataError as error:
            finding = Diagnostic("E352", error.message, help=error.help)
            missing.append(_placed(finding, *near[0]))
    if reworded and sources.paraphrases is None:
        advice = "commands supply one; in Python: sources=Sources(paraphrases=...)"
        message = "`.paraphrase` needs a paraphraser, but the run has none"
        missing.append(_placed(Diagnostic("E353", message, help=advice), *reworded[0]))
    return sources, missing


def _vectors_of_all(rulesets: Iterable[RuleSource]) -> WordVectors:
    names = set(map(vectors_of, rulesets))
    if len(names) > 1:
        listed_names = ", ".join(sorted(name or "no name" for name in names))
        raise DataError(
            f"the rules name different vectors: {listed_names}",
            help="run them one after the other",
        )
    return load_vectors(names.pop())


def vectors_of(ruleset: RuleSource) -> str:
    """The vectors that a ruleset names, a file with its path from here; "" if it names none.

    The path of a file is relative to the rule file, as that of an import is.
    """
    named = ruleset.options.vectors or ""
    if not named or named in VECTORS:
        return named
    file = ruleset.folder / named
    # Of one form, as rule files of several folders may name one file.
    return os.path.normpath(file) if Path(named).is_absolute() else os.path.relpath(file)


def noise_identity(
    rules: Sequence[tuple[Rule, RuleSource]], sources: Sources, *, seed: int
) -> dict[str, str]:
    """What decides the noise of rules, for manifests; empty where they draw nothing."""
    if not any(draws(rule) for rule, _ in rules):
        return {}
    named = {"seed": str(seed), "lookalikes": lookalikes_identity()}
    for name, source in (("vectors", sources.vectors), ("paraphraser", sources.paraphrases)):
        if source is not None:
            named[name] = source.identity
    return named


class _Nothing:
    """A source of both kinds that knows no word and no text."""

    identity = "nothing"

    def nearest(self, words: Sequence[str]) -> list[str | None]:
        return [None] * len(words)

    paraphrase = nearest


def stand_ins(ruleset: RuleSource) -> Sources:
    """Sources that know nothing, to compile rules that are examined and not run.

    Whether rules are right does not depend on what is installed. But a file of vectors that they
    name has no stand-in: whether it exists is part of being right.
    """
    of_a_file = ruleset.options.vectors is not None and ruleset.options.vectors not in VECTORS
    return Sources(vectors=None if of_a_file else _Nothing(), paraphrases=_Nothing())


class MissingSource(NamedTuple):
    """What a function of a rule looks up, and a run lacks."""

    function: str  # ``neighbor`` or ``paraphrase``
    problem: str  # what is not there
    advice: str  # what to do about it


def missing_source(
    rule: Rule, ruleset: RuleSource, *, vectors: bool, paraphrases: bool
) -> MissingSource | None:
    """What a rule needs and lacks: it is not installed or named, and not in the run; else None.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("<unit> -> $0.paraphrase")
        >>> missing = missing_source(rules.rules[0], rules, vectors=False, paraphrases=False)
        >>> missing.problem, missing.advice
        ('no translation models are installed', "pip install 'sears-dsl[discovery]'")
    """
    if "paraphrase" in noise_in(rule) and not paraphrases:
        problem = "no translation models are installed"
        return MissingSource("paraphrase", problem, "pip install 'sears-dsl[discovery]'")
    named = ruleset.options.vectors
    if "neighbor" in noise_in(rule) and not vectors:
        # Whatever vectors happen to be installed would write other words on another machine.
        if not named:
            return MissingSource("neighbor", "no vectors are named", NAME_VECTORS)
        if not vectors_installed(named):
            problem = f"the vectors {named} are not installed"
            return MissingSource("neighbor", problem, how_to_install(named))
    return None


def unit_of(rulesets: Sequence[RuleSource], chosen: Unit | None = None) -> Unit:
    """The unit of a run: the ``chosen`` one, else what its rulesets ask for.

    A ruleset that asks for none was written for whole texts.
    """
    if chosen:
        return chosen
    by_unit = _by_unit(rulesets)
    if len(by_unit) > 1:
        raise RuleSyntaxError([_units_differ(by_unit)])
    return by_unit[0][0] if by_unit else "text"


def hindrances(
    rulesets: Sequence[RuleSource], *, unit: Unit | None, vectors: bool, paraphrases: bool
) -> tuple[list[Diagnostic], frozenset[str]]:
    r"""What keeps rulesets from running together, and the paths of those that would have to go.

    Those are the rulesets that ask for another unit than most do, where the run names none, and
    those that look up what is not installed or named. ``vectors`` says that the run has its own,
    and ``paraphrases`` that paraphrases can be made.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = [parse("movie -> film", path="a"), parse("a -> b", path="b"),
        ...          parse("option unit = sentence\nthe -> a", path="c")]
        >>> findings, paths = hindrances(rules, unit=None, vectors=False, paraphrases=True)
        >>> [finding.code for finding in findings], set(paths)
        (['E410'], {'c'})
    """
    findings: list[Diagnostic] = []
    paths: set[str] = set()
    by_unit = [] if unit else _by_unit(rulesets)
    if len(by_unit) > 1:
        findings.append(_units_differ(by_unit))
        paths |= {each.path for _, some in by_unit[:-1] for each in some}
    for ruleset in rulesets:
        for rule in ruleset.rules:
            missing = missing_source(rule, ruleset, vectors=vectors, paraphrases=paraphrases)
            if missing:
                code = "E352" if missing.function == "neighbor" else "E353"
                message = f"`.{missing.function}` cannot be used: {missing.problem}"
                finding = Diagnostic(code, message, help=missing.advice)
                findings.append(_placed(finding, rule, ruleset))
                paths.add(ruleset.path)
                break
    return findings, frozenset(paths)


def _by_unit(rulesets: Sequence[RuleSource]) -> list[tuple[Unit, list[RuleSource]]]:
    """The rulesets that have rules, by the unit that they ask for; the most common comes last."""
    rulesets_by_unit: dict[Unit, list[RuleSource]] = {}
    for ruleset in rulesets:
        if ruleset.rules:
            rulesets_by_unit.setdefault(ruleset.options.unit or "text", []).append(ruleset)
    return sorted(rulesets_by_unit.items(), key=lambda each: len(each[1]))


# At most this many files of a unit are named.
_NAMED = 3


def _units_differ(by_unit: Sequence[tuple[Unit, Sequence[RuleSource]]]) -> Diagnostic:
    """E410: which files want the rarest unit, and what to do about them."""
    (unit, files), *others = by_unit
    names = [str(each.path) for each in files[:_NAMED]]
    if len(files) > _NAMED:
        names.append(f"{len(files) - _NAMED} more")
    rest = " and ".join(
        f"{some[0].path if len(some) == 1 else f'the other {len(some)} files'} on each {other}"
        for other, some in others
    )
    them = "it" if len(files) == 1 else "these"
    return Diagnostic(
        "E410",
        f"rulesets of one run need different units: {', '.join(names)} "
        f"{'works' if len(files) == 1 else 'work'} on each {unit}, {rest}",
        help=f"run {them} and the others one after the other, naming files or themes instead of "
        "the folder; or choose one unit for all: --unit text or --unit sentence",
        path=files[0].path,
    )
