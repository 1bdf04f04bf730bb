"""The files that vetting writes: the vetted ruleset, its manifest, the rest with reasons, pairs.

In: a ruleset and reviews. Out: files, each written whole or not at all, and never over one that was
read. The same journals write the same bytes. Written rulesets parse and are formatted. Kept rules
stay as they were, with comments, so that a diff shows only what was decided. Tests of an edited or
written rule that do not hold under the tagger are left out. A ruleset with imports or a file of
vectors stays in its folder, where they are found. The manifest of a discovered ruleset is copied
beside the vetted one, byte for byte: it is about the run that found the rules, and its hash is that
of the ruleset then. Costs running a few tests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path, PurePath
from typing import NamedTuple, get_args

from sears_dsl.catalogue import LEFT_OUT, manifest_path
from sears_dsl.data.dataset import table_format, write_columns
from sears_dsl.errors import DataError, UsageError, counted, readable
from sears_dsl.language.loader import parse, source_files, unused_sets
from sears_dsl.language.printer import print_entries, print_rule
from sears_dsl.language.rule import (
    NO_METADATA,
    Entry,
    HeaderLine,
    Metadata,
    MetadataEntry,
    Rule,
    RuleTest,
    Template,
)
from sears_dsl.language.ruleset import Ruleset, check_vectors
from sears_dsl.rule_tests import run_tests
from sears_dsl.runtime.files import are_same, write_atomically
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.vetting import merging
from sears_dsl.vetting.decisions import REASONS, TEMPLATE_REASONS, WrittenRule, judged_rewrites
from sears_dsl.vetting.journal import ruleset_digest
from sears_dsl.vetting.review.sessions import is_unicode
from sears_dsl.vetting.review.trials import RuleReader


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The files that were written, and how many rules and templates have each outcome.

    `added` counts the rules of reviewers that are in the file, and `equal` the edited rules that
    equal another rule there, with which they are written once.
    """

    vetted: Path
    left_out: Path | None
    counts: Mapping[str, int]
    added: int
    templates: Mapping[str, int] = field(default_factory=dict)
    equal: int = 0


def written_sentence(written: WrittenFiles) -> str:
    """Describe in a sentence what was written."""
    counts, templates = written.counts, written.templates
    rules = counts.get("kept", 0) + counts.get("edited", 0)
    parts = []
    if counts or not templates:
        parts.append(f"{counted(rules, 'rule')} kept")
    if counts.get("edited"):
        parts.append(f"{counts['edited']} of them edited")
    if written.equal:
        parts.append(f"{written.equal} equal to another and written once")
    if written.added:
        parts.append(f"{written.added} written")
    if templates:
        stay = templates.get("kept", 0)
        parts.append(f"{counted(stay, 'template')} kept")
    others = sum(
        of_kind.get(each, 0)
        for of_kind in (counts, templates)
        for each in ("rejected", "disputed", "unjudged")
    )
    beside = f"; {others} left out, in {written.left_out}" if written.left_out else ""
    return f"{', '.join(parts)}, in {written.vetted}{beside}"


def left_out_path(vetted: Path) -> Path:
    """The file for the rules that a vetted ruleset leaves out."""
    return vetted.with_name(f"{vetted.stem}{LEFT_OUT}")


def files_of(vetted: Path) -> tuple[Path, ...]:
    """The vetted ruleset, and the files that writing it replaces or removes beside it."""
    return vetted, left_out_path(vetted), manifest_path(vetted)


def check_output(path: Path, ruleset: Ruleset, *, read: Iterable[Path] = ()) -> None:
    """Refuse a path to which the vetted ruleset cannot be written.

    Neither it nor a file beside it may be one of `read`, such as a journal, or of the ruleset.
    """
    if path.suffix != ".sear":
        raise UsageError(f"{path} is not the name of a ruleset", help=f"name it {path.stem}.sear")
    if are_same(path, ruleset.path):
        raise UsageError(
            f"{path} is the ruleset that was vetted", help="write the result to another file"
        )
    _require_folder(path, option="--output")
    _refuse_overwriting(files_of(path), ruleset, read)
    check_vectors(ruleset, path)
    if ruleset.imports and path.absolute().parent != ruleset.folder.absolute():
        raise UsageError(
            f"{ruleset.path} imports {ruleset.imports[0].path}, which {path} would not find",
            help="write the vetted ruleset to the same folder",
        )


def check_pairs(
    path: Path, ruleset: Ruleset, *, read: Iterable[Path] = (), vetted: Path | None = None
) -> None:
    """Refuse a path to which the judged pairs cannot be written.

    It may be neither of the files that were read nor of those that belong to `vetted`.
    """
    table_format(str(path))
    _require_folder(path, option="--pairs")
    _refuse_overwriting([path], ruleset, read)
    if vetted is not None and any(_one_place(path, each) for each in files_of(vetted)):
        raise UsageError(
            f"{path} is a file of the vetted ruleset {vetted}",
            help="write the pairs to another file",
        )


def _require_folder(path: Path, *, option: str) -> None:
    if not path.parent.is_dir():
        raise UsageError(
            f"{path} cannot be written: there is no folder {path.parent}",
            help=f"create the folder first, or name another file with {option}",
        )


def _refuse_overwriting(written: Iterable[Path], ruleset: Ruleset, read: Iterable[Path]) -> None:
    sources = [*read, *source_files([ruleset])]
    for path in written:
        if any(_one_place(path, source) for source in sources):
            raise UsageError(
                f"{path} is read here, and would be overwritten", help="write to another file"
            )


def _one_place(path: Path, other: str | Path) -> bool:
    """Whether two paths lead to one file, also if it is still to be written."""
    return are_same(path, other) or path.resolve() == Path(other).resolve()


def write_vetted(
    ruleset: Ruleset,
    reviews: Sequence[merging.Review],
    path: Path,
    *,
    tagger: Tagger,
    policy: merging.Policy = "majority",
    read: Iterable[Path] = (),
) -> WrittenFiles:
    """Write the vetted ruleset, and beside it the rules that were left out and the manifest.

    None of them replaces the ruleset or a file of `read`.
    """
    check_output(path, ruleset, read=read)
    outcomes = merging.vetting_outcomes(ruleset, reviews, policy=policy)
    vetted = vetted_text(ruleset, outcomes, reviews, tagger=tagger)
    counts, templates = (
        Counter[str](outcome.decided for outcome in of_kind or ())
        for of_kind in (outcomes.rules, outcomes.templates)
    )
    beside = left_out_path(path)
    if {*counts, *templates} - {"kept", "edited"}:
        write_atomically(beside, left_out_text(ruleset, outcomes).encode("utf-8"))
    elif beside.exists():
        beside.unlink()
    _carry_manifest(Path(ruleset.path), path)
    write_atomically(path, vetted.text.encode("utf-8"))
    left_out = beside if beside.exists() else None
    return WrittenFiles(
        path, left_out, dict(counts), vetted.added, dict(templates), equal=vetted.equal
    )


def _carry_manifest(source: Path, vetted: Path) -> None:
    """Copy the manifest, which says where the rules were found, or remove one of other rules."""
    manifest, copy = map(manifest_path, (source, vetted))
    try:
        if not manifest.exists():
            copy.unlink(missing_ok=True)
            return
        content = manifest.read_bytes()
    except OSError as error:
        raise DataError(
            f"{error.filename}: the manifest of {source} could not be copied to {vetted}: "
            f"{error.strerror}",
            help="it says on which rows the rules were found; fix its permissions, or remove it",
        ) from error
    write_atomically(copy, content)


def write_pairs(reviews: Sequence[merging.Review], path: Path) -> int:
    """Write the pairs that reviewers judged, for ``sears calibrate``, and return how many.

    The columns are the fields of `JudgedPair`.
    """
    form = table_format(str(path))
    pairs = judged_pairs(reviews)
    columns = {name: [getattr(each, name) for each in pairs] for name in JudgedPair._fields}
    write_columns(columns, path, form)
    return len(pairs)


_WORDS = {**REASONS, **TEMPLATE_REASONS}
# A note may have been pasted with them; no line of a ruleset holds any.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")
_NOT_JUDGED = "not judged"
_TIED = "disputed: as many reviewers keep it as reject it"
_DIFFERENT = "disputed: its reviewers edited it in different ways"
_LEFT_OUT_WITH = "its edit equals a rule that is left out"
# The comments of `left_out_text`.
_OF_VETTING = re.compile(
    rf"# (?:{_NOT_JUDGED}|{_TIED}|{_DIFFERENT}|{_LEFT_OUT_WITH}"
    r"|(?:accepted|edited|rejected) by [\w.-]+, [\d-]+T[\d:]+Z(?:: .*)?"
    r"|Left out when .+ \(sha256 [0-9a-f]+\) was vetted\.)"
)
_TESTS = 2
_LONGEST_TEST = 200


class JudgedPair(NamedTuple):
    """A pair of texts that a reviewer judged; `label` is 1 if both mean the same, else 0.

    The source is ``pair`` if the reviewer judged this pair. It is ``pick`` if she picked it as the
    closest (1) or found nothing shown close enough (0). It is ``rule`` if she accepted the rule (1)
    or rejected it as changing the meaning (0); the pair was then drawn at random from its rewrites.
    """

    original: str
    rewritten: str
    label: int
    reviewer: str
    source: str


class VettedText(NamedTuple):
    """The text of a vetted ruleset, and the numbers of `WrittenFiles` about it."""

    text: str
    added: int
    equal: int


def vetted_text(
    ruleset: Ruleset,
    outcomes: merging.VettingOutcomes,
    reviews: Sequence[merging.Review],
    *,
    tagger: Tagger,
) -> VettedText:
    """The text of the ruleset with all that was kept, edited or written."""
    entries: list[Entry] = []
    edits: dict[int, str] = {}
    for entry, outcome in _with_outcomes(ruleset, outcomes):
        if outcome is None or outcome.decided == "kept":
            entries.append(entry)
        elif isinstance(entry.node, Rule) and outcome.decided == "edited":
            edits[len(entries)] = outcome.rule
            entries.append(_edited(entry, entry.node, outcome, ruleset, tagger))
    once = _each_once(entries, edits)
    equal = len(entries) - len(once)
    # What reviewers decided about a rule of the file holds for one who wrote it, too.
    known = {print_rule(each) for each in ruleset.rules if each.effect == NO_METADATA}
    rules = [entry.node for entry in once if isinstance(entry.node, Rule)]
    known |= {print_rule(each) for each in rules if each.effect == NO_METADATA}
    # Of one text with a rule of another effect: only an id tells them apart.
    others = {print_rule(each) for each in rules} - known
    taken = {rule.name for rule in ruleset.rules}
    ids = filter(lambda each: each not in taken, (f"written-{number}" for number in count(1)))
    added: dict[str, Entry] = {}
    for review in reviews:
        for written in review.state.written:
            if written.text not in known | added.keys():
                author = review.header.reviewer
                name = next(ids) if written.text in others else None
                added[written.text] = _written(written, author, ruleset, tagger, name=name)
    text = _file([*once, *added.values()], ruleset, _heading(ruleset, outcomes, reviews))
    return VettedText(text, len(added), equal)


def _each_once(entries: Sequence[Entry], edits: Mapping[int, str]) -> list[Entry]:
    """The entries without edited rules that equal another one, which gets their remarks.

    `edits` has the places of edited rules with the ids of what they replace. One that equals
    another rule but for its effect needs an id, and gets this one.
    """
    once = dict(enumerate(entries))
    first: dict[tuple[str, Metadata], int] = {}
    # A rule that was kept stays where it is, whatever was edited above it.
    for place in sorted(once, key=lambda place: place in edits):
        entry = once[place]
        if not isinstance(entry.node, Rule):
            continue
        text, effect = print_rule(entry.node), entry.node.effect
        home = first.setdefault((text, effect), place)
        if place not in edits:
            continue
        if home != place:
            remarks = (*once[home].leading, entry.leading[-1])
            once[home] = replace(once[home], leading=remarks)
            del once[place]
        elif entry.node.name is None and any(text == known for known, _ in list(first)[:-1]):
            once[place] = replace(entry, node=replace(entry.node, name=edits[place]))
    return list(once.values())


def left_out_text(ruleset: Ruleset, outcomes: merging.VettingOutcomes) -> str:
    """The text of a ruleset, without a name, of what was left out: who rejected it, and why."""
    entries: list[Entry] = []
    for entry, outcome in _with_outcomes(ruleset, outcomes):
        if outcome is None:
            if not isinstance(entry.node, Rule | Template | HeaderLine):
                entries.append(entry)
        elif outcome.decided not in ("kept", "edited"):
            remarks = tuple(f"# {line}" for line in _reasons(outcome, outcomes.policy))
            leading = ("", *filter(None, entry.leading), *remarks)
            entries.append(replace(entry, leading=leading))
    return _file(entries, ruleset, [f"Left out when {_name(ruleset)} was vetted."])


def _with_outcomes(
    ruleset: Ruleset, outcomes: merging.VettingOutcomes
) -> Iterator[tuple[Entry, merging.ReviewOutcome | None]]:
    """The statements in file order, each with its outcome; None if it was not up for judgement.

    What an earlier vetting wrote above rules that it left out is gone: it holds no more.
    """
    rules, templates = iter(outcomes.rules or ()), iter(outcomes.templates or ())
    for entry in ruleset.layout or _reparsed(ruleset, ruleset.format()).layout:
        waiting = {Rule: rules, Template: templates}.get(type(entry.node), iter(()))
        leading = tuple(line for line in entry.leading if not _OF_VETTING.fullmatch(line))
        yield replace(entry, leading=leading), next(waiting, None)


def judged_pairs(reviews: Sequence[merging.Review]) -> list[JudgedPair]:
    """The pairs that reviewers judged, by `judged_rewrites`, for ``sears calibrate``.

    Only rules that were rejected for their meaning count against their pairs. Half a character is
    U+FFFD, since no file holds it.
    """
    return [
        JudgedPair(
            readable(original), readable(rewritten), int(good), review.header.reviewer, source
        )
        for review in reviews
        for (original, rewritten), (good, source) in judged_rewrites(
            review.state, sources=("pair", "pick", "rule"), against=("meaning",)
        ).items()
    ]


def _edited(
    entry: Entry, rule: Rule, outcome: merging.ReviewOutcome, ruleset: Ruleset, tagger: Tagger
) -> Entry:
    new = _read(outcome.new, ruleset, tagger)
    authors = [name for name, each in outcome.verdicts.items() if each.new == outcome.new]
    shown = [pair for name in authors for pair in outcome.verdicts[name].shown]
    node = replace(new, name=rule.name, metadata=replace(rule.metadata, tests=()))
    node = _tested(node, rule.metadata.tests, shown, ruleset, tagger)
    remark = f"# edited by {', '.join(authors)}; it was: {print_rule(rule)}"
    # Comments go with their lines, and those of a test that holds no more go with it.
    of_tests = [each for each in entry.metadata if each.key == "test"]
    lines = dict(zip(rule.metadata.tests, of_tests, strict=False))
    layout = [each for each in entry.metadata if each.key != "test"]
    layout += [lines.get(test, MetadataEntry("test")) for test in node.metadata.tests]
    leading = (*entry.leading, remark)
    return replace(entry, node=node, leading=leading, metadata=tuple(layout))


def _written(
    written: WrittenRule, author: str, ruleset: Ruleset, tagger: Tagger, *, name: str | None
) -> Entry:
    metadata = Metadata(author=author, why=f"written while vetting, {written.time}")
    rule = replace(_read(written.text, ruleset, tagger), name=name, metadata=metadata)
    return Entry(_tested(rule, (), written.examples, ruleset, tagger), ("",))


def _read(text: str, ruleset: Ruleset, tagger: Tagger) -> Rule:
    """Parse exactly one rule of a journal under the sets and options of the ruleset."""
    typed = RuleReader(ruleset, tagger=tagger).read(text)
    if typed.rule is None or not is_unicode(text):
        findings = "\n\n".join(each.render() for each in typed.findings)
        raise DataError(
            f"a journal holds {text[:_LONGEST_TEST]!r}, which is not a rule of {_name(ruleset)}",
            help=findings or "restore the journal as `sears vet` wrote it",
        )
    return typed.rule


def _tested(
    rule: Rule,
    own: Sequence[RuleTest],
    pairs: Sequence[tuple[str, str]],
    ruleset: Ruleset,
    tagger: Tagger,
) -> Rule:
    """The rule with tests that hold: some that it fires on, and its own that it stays silent on.

    If it has none of the latter, a text that it wrote becomes one: most rules change a row once.
    """
    tests: list[RuleTest] = []
    firing = [RuleTest(*pair) for pair in pairs]
    written = [RuleTest(rewritten, None) for _, rewritten in pairs]
    for test in dict.fromkeys([*own, *firing, *written]):
        same = [each for each in tests if (each.expected is None) == (test.expected is None)]
        most = _TESTS if test.expected is not None else len(own) or 1
        if (
            len(test.text) <= _LONGEST_TEST
            and is_unicode(test.text + (test.expected or ""))
            and len(same) < most
            and _holds(rule, test, ruleset, tagger)
        ):
            tests.append(test)
    return replace(rule, metadata=replace(rule.metadata, tests=tuple(tests)))


def _holds(rule: Rule, test: RuleTest, ruleset: Ruleset, tagger: Tagger) -> bool:
    alone = replace(rule, metadata=Metadata(tests=(test,)))
    scoped = replace(ruleset, rules=(alone,), layout=(), trailing=())
    return all(result.outcome == "ok" for result in run_tests(scoped, tagger=tagger))


def _file(entries: Sequence[Entry], ruleset: Ruleset, heading: Sequence[str]) -> str:
    """The text of a ruleset, without the sets that only removed rules used."""
    remarks = "".join(f"# {line}\n" for line in heading)
    whole = _reparsed(ruleset, remarks + print_entries(entries, ruleset.trailing))
    gone = [each for each in unused_sets(whole) if each not in unused_sets(ruleset)]
    # A comment above the first statement may be about the whole file.
    about_all = [each.node for each in entries[:1] if each.leading]
    left = [each for each in entries if each.node in about_all or each.node not in gone]
    if len(left) < len(entries):
        return _file(left, ruleset, heading)
    return whole.format()


def _name(ruleset: Ruleset) -> str:
    """The file name of the ruleset, with the hash of the version that was vetted."""
    return f"{PurePath(ruleset.path).name} (sha256 {ruleset_digest(ruleset)[:12]})"


def _heading(
    ruleset: Ruleset, outcomes: merging.VettingOutcomes, reviews: Sequence[merging.Review]
) -> list[str]:
    judged = [*(outcomes.rules or ()), *(outcomes.templates or ())]
    deciding = {name for outcome in judged for name in outcome.verdicts}
    who = "; ".join(
        f"{review.header.reviewer}, {review.ended}"
        for review in reviews
        if review.header.reviewer in deciding or review.state.written or review.state.rejected
    )
    both = [_counts(each) for each in (outcomes.rules, outcomes.templates) if each]
    of_templates = " (templates)" if outcomes.templates and not outcomes.rules else ""
    vetted = f"Vetted from {_name(ruleset)} by {who or 'nobody'}"
    lines = [f"{vetted}: {'; templates: '.join(both)}{of_templates}."]
    sentences = {each for review in reviews for each in review.state.rejected}
    if sentences:
        one = "sentence was rejected on its own: --oracle JOURNAL leaves it out."
        many = "sentences were rejected on their own: --oracle JOURNAL leaves them out."
        lines.append(counted(len(sentences), one, many))
    return lines


def _counts(outcomes: Sequence[merging.ReviewOutcome]) -> str:
    count: Counter[str] = Counter(outcome.decided for outcome in outcomes)
    kinds = [each for each in get_args(merging.Decided) if count[each]]
    words = [f"{count[each]} {'not judged' if each == 'unjudged' else each}" for each in kinds]
    return ", ".join(words)


def _reasons(outcome: merging.ReviewOutcome, policy: merging.Policy) -> Iterator[str]:
    if outcome.decided == "unjudged":
        yield _NOT_JUDGED
    if outcome.new:
        yield _LEFT_OUT_WITH
    elif outcome.decided == "disputed":
        keeping = [each for each in outcome.verdicts.values() if each.verdict != "reject"]
        tied = merging.is_tie(len(keeping), len(outcome.verdicts), policy)
        yield _TIED if tied else _DIFFERENT
    for reviewer, verdict in outcome.verdicts.items():
        why = _WORDS.get(verdict.reason, verdict.reason)
        note = f" ({verdict.note})" if verdict.note else ""
        word = {"accept": "accepted", "edit": "edited", "reject": "rejected"}[verdict.verdict]
        detail = {"reject": f": {why}{note}", "edit": f": {verdict.new}"}.get(verdict.verdict, "")
        line = f"{word} by {reviewer}, {verdict.time}{detail}"
        line = " ".join(_CONTROLS.sub(" ", line).split())
        yield line.encode("utf-8", "replace").decode("utf-8")


def _reparsed(ruleset: Ruleset, text: str) -> Ruleset:
    """Parse text as if it were the ruleset's file; its imports were allowed when it was loaded."""
    return parse(text, path=ruleset.path, allow_imports_outside=True)
