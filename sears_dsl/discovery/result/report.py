"""A discovery → the files that are written: the rules, those that nearly passed, numbers, a report.

The same discovery gives the same bytes, and every number in the rule files and the report is in the
manifest. Each rule file has one beside it: they differ in the hash of the file. Writing runs the
tests that the rules carry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from math import floor
from pathlib import Path

from sears_dsl.catalogue import closest_path, manifest_path
from sears_dsl.discovery.counts import COUNT_NAMES, NearMiss, TextVerdict
from sears_dsl.discovery.names import valid_id
from sears_dsl.discovery.proposing.proposal import CONTEXT
from sears_dsl.discovery.result.found_rules import Discovery, FoundRule, NearRule
from sears_dsl.discovery.result.manifest import (
    DataIdentity,
    FoundRecord,
    Manifest,
    SearchRecord,
    SettingsRecord,
    read_manifest,
    write_manifest,
)
from sears_dsl.discovery.ruleset_text import EmittedRule, emit
from sears_dsl.discovery.settings import STAGE_NAMES
from sears_dsl.engine.rewrite.rewrites import with_code_points
from sears_dsl.errors import DataError, UsageError, counted
from sears_dsl.runtime.files import is_file, make_folder, read_document, write_atomically
from sears_dsl.runtime.markdown_tables import code_cell, code_span, markdown_text, table_row
from sears_dsl.tagging.tagger import Tagger, identity_of

_SHOWN = 2
_PACKAGES = ("sears-dsl", "spacy", "torch", "transformers", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Participants:
    """Who took part in a discovery, by identity."""

    model: str
    pivots: tuple[str, ...]
    scorer: str
    # Prefixes that the search for paraphrases keeps; None where nothing is searched
    beam: int | None
    label: str | None
    also: tuple[str, ...] = ()  # further columns that the model reads
    # The bounds of the search for paraphrases, where they are known
    search: SearchRecord | None = None
    paraphraser: str | None = None  # what made the paraphrases, where no search did


def rounded(share: float) -> str:
    """A share in percent, for people."""
    return f"{100 * share:.0f}%"


def ruleset_text(discovery: Discovery, name: str, *, tagger: Tagger) -> str:
    """The text of the ruleset file."""
    rules = [_emitted(each, _why(each, discovery.tau), each.source) for each in discovery.rules]
    manifest = manifest_path(Path(f"{name}.sear")).name
    comment = [f"Found by sears discover; the numbers are in {manifest}."]
    return emit(rules, name=_name_of_ruleset(name), comment=comment, tagger=tagger)


def closest_text(discovery: Discovery, name: str, *, tagger: Tagger) -> str:
    """The text of the file with the rules that nearly passed, for people to vet."""
    rules = [_emitted(each, came_close(each.numbers, discovery)) for each in discovery.near_rules]
    allowed = f"{100 * discovery.settings.delta:g}%"
    comment = [
        f"Rules that nearly passed in sears discover: readers may reject more than {allowed} of "
        "their rewrites (δ), so vet them before you use them."
    ]
    return emit(rules, name=_name_of_ruleset(name), comment=comment, tagger=tagger)


def _emitted(rule: FoundRule | NearRule, why: str, source: str = "") -> EmittedRule:
    return EmittedRule(rule.rule, rule.id, why, rule.firing, rule.silent, source, rule.scope)


def _name_of_ruleset(stem: str) -> str:
    """The name of a ruleset in a file of this name."""
    return valid_id(stem.lower().replace(".", "-"), front="found")


def write_discovery(
    discovery: Discovery,
    path: Path,
    *,
    participants: Participants,
    tagger: Tagger,
    note: Callable[[str], None] | None = None,
) -> Manifest:
    """Write the ruleset, its manifest and a report beside it, and the rules that nearly passed.

    Makes the folder if it is missing. If no rule nearly passed, those of an earlier search are
    removed. If a person changed those of an earlier search, they stay: ``note`` is called with a
    sentence that says so; without it, that is an error.
    """
    if path.suffix != ".sear":
        raise UsageError(f"{path} is not a name for a ruleset", help=f"write {path.stem}.sear")
    make_folder(path.parent)
    text = ruleset_text(discovery, path.stem, tagger=tagger).encode("utf-8")
    manifest = _manifest(discovery, participants, tagger, hashlib.sha256(text).hexdigest())
    # A manifest comes after its rules: it never speaks of a file that could not be written.
    write_atomically(path, text)
    write_manifest(manifest, manifest_path(path))
    write_atomically(path.with_suffix(".md"), _report(discovery, manifest).encode("utf-8"))
    _write_closest(discovery, closest_path(path), manifest, tagger=tagger, note=note)
    return manifest


def _write_closest(
    discovery: Discovery,
    path: Path,
    manifest: Manifest,
    *,
    tagger: Tagger,
    note: Callable[[str], None] | None,
) -> None:
    if not discovery.near_rules:
        _remove_closest(path)
        return
    text = closest_text(discovery, path.stem, tagger=tagger).encode("utf-8")
    if is_file(path) and not _is_as_written(path, now=text):
        problem = (
            f"{path} was changed after a search had written it, so the rules that nearly passed "
            "now were not written"
        )
        if note is None:
            raise DataError(
                problem, help="rename it, and save the search again; its other files are complete"
            )
        note(f"note: {problem}; to get them, rename it and search again")
        return
    own = manifest.model_copy(update={"ruleset_sha256": hashlib.sha256(text).hexdigest()})
    write_atomically(path, text)
    write_manifest(own, manifest_path(path))


def _remove_closest(path: Path) -> None:
    """Remove a file of an earlier search, which would mislead, but not what a person changed."""
    try:
        if is_file(path) and _is_as_written(path):
            path.unlink()
            manifest_path(path).unlink()
    except OSError as error:
        raise DataError(
            f"{error.filename} could not be removed: {error.strerror}",
            help="it has rules of an earlier search; remove it, or fix the permissions of its "
            "folder",
        ) from error


def _is_as_written(path: Path, *, now: bytes | None = None) -> bool:
    """Whether a search wrote the file, with what is written ``now`` or as its manifest says."""
    try:
        content = read_document(path)
        digest = hashlib.sha256(content).hexdigest()
        return content == now or digest == read_manifest(manifest_path(path)).ruleset_sha256
    except (DataError, OSError):
        return False  # no search wrote it


def _why(rule: FoundRule, tau: float) -> str:
    """The numbers of a rule in one sentence."""
    low, high = rule.interval
    share_low, share_high = rule.at_tau_interval
    of = f"{rule.asked} right rows that it changes"
    if rule.asked < rule.changed:
        of = f"{rule.asked} rows asked about, of {rule.changed} right ones that it changes"
    sentence = (
        f"flips {rule.flips} of {of} "
        f"({rounded(rule.flips / max(1, rule.asked))}, 95% {rounded(low)} to {rounded(high)}); "
        f"S >= {tau:.3g} in {rounded(rule.at_tau / max(1, rule.asked))} of them "
        f"({rounded(share_low)} to {rounded(share_high)}), "
        f"mean S {rule.mean_score:.2f}"
    )
    judged = rule.judged
    if judged is not None:
        few = f", all there are{_of_half(judged)}" if judged.few else ""
        sentence += f"; judged on {judged.sampled} rewrites{few}: {judged.accepted} accepted"
    held = rule.held_out
    if held is not None:
        sentence += (
            f"; held out: flips {held.flips} of {held.changed}, S >= {tau:.3g} in {held.at_tau}"
        )
    return f"{sentence}; one flip may be chance" if rule.is_one_flip else sentence


def _manifest(
    discovery: Discovery, participants: Participants, tagger: Tagger, digest: str
) -> Manifest:
    settings, data = discovery.settings, discovery.data
    return Manifest(
        ruleset_sha256=digest,
        data=DataIdentity.of(data, label=participants.label, also=participants.also),
        model=participants.model, models=discovery.models, pivots=participants.pivots,
        paraphraser=participants.paraphraser, scorer=participants.scorer,
        tagger=identity_of(tagger),
        settings=SettingsRecord(
            tau=discovery.tau,
            tau_from="given" if settings.tau is not None else "the scorer's default",
            minimum_flips=settings.flips(discovery.funnel.searched),
            max_questions=discovery.funnel.question_limit,
            question_limit_reached=discovery.question_limit_reached,
            holdout=settings.share_held_out(discovery.funnel.right),
            beam=participants.beam, budget_reached=discovery.budget_reached,
            cut_short=discovery.cut_short, context=CONTEXT,
            **{
                name: getattr(settings, name)
                for name in ("rules", "delta", "minimum_frequency", "propose_from",
                             "order", "seed", "budget_seconds", "comparison", "across")
            },
        ),
        search=participants.search, counts=discovery.funnel, base_rate=discovery.base_rate,
        base_rows=discovery.base_rows, rules=tuple(map(_record, discovery.rules)),
        closest=discovery.closest, versions=package_versions(),
    )  # fmt: skip


def _record(rule: FoundRule) -> FoundRecord:
    return FoundRecord(
        rule=rule.text, examples=rule.examples[:_SHOWN],
        flip_rate=rule.flips / max(1, rule.asked), flip_interval=rule.interval,
        share_at_tau=rule.at_tau / max(1, rule.asked), share_interval=rule.at_tau_interval,
        **{
            name: getattr(rule, name)
            for name in ("id", "source", "judged", "changed", "asked", "flips", "q_value",
                         "at_tau", "flips_at_tau", "mean_score", "flips_of_models", "gain",
                         "held_out")
        },
    )  # fmt: skip


def package_versions() -> dict[str, str]:
    """The installed versions of the packages that a result depends on."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue  # a plug-in instead of an extra; its identity is in the manifest
    return versions


def _report(discovery: Discovery, manifest: Manifest) -> str:
    """The discovery for people: what was found, from how many, and what was left out."""
    counts = discovery.funnel
    searched = counts.right - counts.held_out
    at_least = " at least" if discovery.flips_at_least else ""
    known = " or the rule is a known one" if any(each.source for each in discovery.rules) else ""
    lines = [
        "# Rules that flip the model",
        "",
        f"{counted(counts.selected, 'rule flips', 'rules flip')}{at_least} "
        f"{counts.rows_flipped:,} of the {searched:,} searched rows "
        f"({100 * counts.rows_flipped / max(1, searched):.1f}%): rows that the model gets right, "
        f"on which the rules were found. A flip counts here if S ≥ τ{known}.",
    ]
    if asked := counts.held_out - counts.held_out_unasked:
        flipped = counts.held_out_flipped or 0
        lines += [
            f"Of {asked:,} held-out rows, which took no part in the search, "
            f"{flipped:,} are flipped ({100 * flipped / asked:.1f}%)."
        ]
    if counts.held_out_unasked:
        lines += [
            f"Time or questions ran out before {counts.held_out_unasked:,} of the held-out rows, "
            "drawn by lot, were asked about."
        ]
    lines += [
        "",
        *_table(manifest),
        "",
        "A flip is a row that the model gets right before the rule and wrong after it; *S ≥ τ* is "
        "the share of the rows asked about that keep the meaning, according to the score. "
        "Intervals are 95% (Wilson). q is the smallest false-discovery rate at which the rule "
        "counts as flipping more rows than a rewording that keeps the meaning does: by a known "
        "rule or, in a row that none changes, a paraphrase with S ≥ τ (one for each row flips "
        f"{rounded(manifest.base_rate)} of {manifest.base_rows:,} rows).",
        *_cautions(discovery, manifest),
        *_one_flip(discovery.rules),
        *_closest(discovery),
        "",
        "## How they were found",
        "",
        "| | |",
        "|---|---:|",
        *(
            f"| {COUNT_NAMES[name]} | {number:,} |"
            for name, number in asdict(counts).items()
            if number or (number is not None and name not in _WHERE_ANY)
        ),
        "",
        f"Model: {code_span(manifest.model)}. Data: {manifest.data.rows:,} rows, SHA-256 "
        f"`{manifest.data.sha256}`. Scorer: {code_span(manifest.scorer)}, "
        f"τ = {manifest.settings.tau:.4g} ({manifest.settings.tau_from}), "
        f"δ = {manifest.settings.delta:g}. Tagger: {code_span(manifest.tagger)}."
        + (f" Paraphrases: {code_span(manifest.paraphraser)}." if manifest.paraphraser else ""),
    ]
    if manifest.settings.budget_reached:
        stages = ", ".join(STAGE_NAMES[each] for each in discovery.cut_short)
        lines += [
            "",
            f"**The time budget cut short: {stages}**; a run with more time may find other rules.",
        ]
    if manifest.settings.question_limit_reached:
        lines += [
            "",
            f"**The limit of {manifest.settings.max_questions:,} questions was reached**; a run "
            "with more may find other rules.",
        ]
    selected = {each.text for each in discovery.rules}
    stood_for = [each for each in discovery.collapsed if each[1] in selected]
    if stood_for:
        lines += ["", "## Left out because a selected rule says the same", ""]
        lines += [
            f"- {code_span(rule)} {_TWINS[reason]} {code_span(into)}"
            for rule, into, reason in stood_for
        ]
    return "\n".join(lines) + "\n"


def _table(manifest: Manifest) -> list[str]:
    """A line a rule; what it does to held-out rows, where there are any, beside the rest."""
    heads = ["id", "rule", "from", "accepted on text", "lower bound"]
    heads += ["flips", "rate (95%)", "flips with S ≥ τ", "q", "S ≥ τ", "mean S"]
    of_models = [f"flips of {code_cell(name)}" for name in manifest.models]
    heads += of_models
    if manifest.counts.held_out:
        named = ["flips", "rate (95%)", "S ≥ τ", "S ≥ τ (95%)", *of_models]
        heads += [f"held out: {name}" for name in named]
    heads.append("example")
    numeric = [name not in ("id", "rule", "from", "example") for name in heads]
    lines = [heads, ["---:" if each else "---" for each in numeric]]
    lines += [_cells(record, held_out=bool(manifest.counts.held_out)) for record in manifest.rules]
    return list(map(table_row, lines))


def _cells(record: FoundRecord, *, held_out: bool) -> list[str]:
    judged = record.judged
    cells = [
        record.id,
        code_cell(record.rule),
        markdown_text(record.source) or "new",
        "" if judged is None else f"{judged.accepted:,} of {judged.sampled:,}",
        "" if judged is None else rounded(judged.low),
        *rate_cells(record.flips, record.asked, record.flip_interval),
        str(record.flips_at_tau),
        f"{record.q_value:.2g}",
        rate_cells(record.at_tau, record.asked, record.share_interval)[1],
        f"{record.mean_score:.2f}",
        *map(str, record.flips_of_models),
    ]
    held = record.held_out
    if held_out and held is not None:
        cells += [
            *rate_cells(held.flips, held.changed, held.interval),
            *rate_cells(held.at_tau, held.changed, held.at_tau_interval),
            *map(str, held.flips_of_models),
        ]
    shown = [
        f"{each.original} → {with_code_points(each.original, each.rewritten)} "
        f"({each.label} → {each.prediction})"
        for each in record.examples[:1]
    ]
    return [*cells, *map(markdown_text, shown or [""])]


def _cautions(discovery: Discovery, manifest: Manifest) -> list[str]:
    """What the numbers are counted on, and what that means."""
    lines = [
        "",
        "Numbers that are not *held out* come from the rows on which the rules were found and "
        "chosen, and are a little too good.",
    ]
    if manifest.models:
        lines[:0] = ["", _ACROSS[manifest.settings.across]]
    if not manifest.counts.held_out:
        lines[-1] += " No rows were held out."
    if manifest.settings.order == "meaning":
        lines += [
            "",
            "*Accepted on text*: how many of the rule's rewrites of a lot of text have S ≥ τ. "
            f"*Lower bound*: {_BOUNDS[discovery.readers_forecast]}. Known rules are not judged, "
            f"since {_why_trusted(discovery)}. Only after that was the model asked.",
        ]
    for sentence in () if discovery.known is None else discovery.known.known.omissions:
        lines += ["", f"Left out of the search: {sentence}."]
    return lines


def _why_trusted(discovery: Discovery) -> str:
    """Why known rules are not judged: readers accepted them, or the user named them as such."""
    known = None if discovery.known is None else discovery.known.known
    if known is None or known.accepted.all():
        return "readers have accepted them"
    if known.accepted.any():
        return "readers have accepted the shipped ones, and those of --known count as accepted"
    return "those of --known count as accepted"


def _one_flip(rules: Sequence[FoundRule]) -> list[str]:
    names = [f"`{each.id}`" for each in rules if each.is_one_flip]
    if not names:
        return []
    rests = "rests" if len(names) == 1 else "rest"
    return [
        "",
        f"**One flip may be chance:** {', '.join(names)} {rests} on a single row. More rows would "
        "show whether the model fails there in general.",
    ]


# What a lower bound is: with a judge, whose S is the chance that readers accept, and without.
_BOUNDS = {
    True: "readers accept at least this share, with a chance of four in five; it is lower if "
    "nobody has read this change of words before",
    False: "the lower end of the one-sided 90% interval (Wilson) of this share; the scorer is "
    "taken at its word",
}
_TWINS = {
    "redundant": "writes on the same rows what is written by",
    "more specific": "changes, in fewer rows or with more words, what is changed by",
    "inverse": "undoes",
}
_ACROSS = {
    "any": "The searched rows are those that every model gets right. A flip is a row that any of "
    "them then gets wrong; the columns of the models say how many rows each does. The rules were "
    "selected to flip as many rows as possible.",
    "shared": "The searched rows are those that every model gets right; the columns of the models "
    "say how many of them each then gets wrong. The rules were selected to flip as many pairs of a "
    "row and a model as possible, each weighted by the share of the models that its rule flips.",
    "apart": "The searched rows are those that every model gets right; the columns of the models "
    "say how many of them each then gets wrong. The rules were selected to tell the models apart: "
    "to flip as many rows as possible for one model and not for another, less those the other way "
    "round.",
}


# Counts that a report shows only where they are above 0.
_WHERE_ANY = {
    "unasked", "skipped", "too_long", "adversaries", "rows_with_adversary", "narrowed",
    "not_asked", "undecided", "held_out_unasked", "collapsed", "without_place", "new_without_place",
}  # fmt: skip


def _closest(discovery: Discovery) -> list[str]:
    """Rules that were not found, and what they lacked."""
    closest = discovery.closest
    if not closest:
        return []
    lines = ["", "## What came closest", ""]
    lines += ["| rule | what it lacks | accepted on text | lower bound | flips |"]
    lines += ["|---|---|---:|---:|---:|"]
    for each in closest:
        judged = each.judged
        text, least = "", ""
        if judged is not None and judged.sampled:
            least = _lower_bound(judged)
            text = f"{judged.accepted:,} of {judged.sampled:,}"
        flips = f"{each.flips:,} of {each.asked:,}" if each.asked else ""
        lack = what_is_lacking(each, discovery)
        lines.append(table_row([code_cell(each.rule), lack, text, least, flips]))
    return lines


def came_close(each: NearMiss, discovery: Discovery) -> str:
    """What a rule that was not found does, and what it lacked, in a sentence."""
    rows = counted(each.asked, "row")
    if each.asked < each.changed:
        rows += f" tried (it changes {each.changed:,})"
    if each.judged is None:
        proof = (
            "readers accepted it before"
            if discovery.is_accepted(each.rule)
            else "it counts as accepted"
        )
    else:
        proof = (
            f"{each.judged.accepted:,} of {each.judged.sampled:,} rewrites on text keep the meaning"
        )
    match each.lacks:
        case "flips":
            least = discovery.least_flips(known=each.judged is None)
            needed = f"{counted(least, 'flip')} {'is' if least == 1 else 'are'} required"
            flips = f"only {each.flips:,}" if each.flips else "none"
            return f"{proof}, but it flips {flips} of {rows}; {needed}"
        case "rate":
            return (
                f"{proof}, but it flips only {each.flips:,} of {rows}, "
                f"{rounded(each.flips / each.asked)}; rewordings in general flip "
                f"{rounded(discovery.base_rate)} of these rows, clearly more"
            )
    flips = f"flips {each.flips:,} of {rows}; " if each.asked else ""
    if each.lacks == "text":
        places = counted(each.judged.places if each.judged else each.changed, "text")
        half = _of_half(each.judged) if each.judged else ""
        return f"{flips}changes only {places}{half}, too few to judge it"
    flips = flips or f"changes {counted(each.changed, 'row')}; "
    if each.is_cut_short(discovery.settings.delta):
        return f"{flips}{proof}, but time ran out before the others were judged"
    doubted = each.judged is not None and each.judged.is_doubted(discovery.settings.delta)
    if doubted and 2 * each.flips > each.asked:
        return f"{flips}{proof}: the judge may be wrong, so read what it writes"
    low = _lower_bound(each.judged) if each.judged else rounded(0)
    wanted = rounded(1 - discovery.settings.delta)
    return f"{flips}{proof} (lower bound {low}; {wanted} is required)"


def _of_half(judged: TextVerdict) -> str:
    return " in one half of the texts" if judged.of_half else ""


def _lower_bound(judged: TextVerdict) -> str:
    """Rounded down, so that a rule that fails by a hair does not seem to reach what is wanted."""
    return rounded(floor(100 * judged.low + 1e-9) / 100)


def what_is_lacking(each: NearMiss, discovery: Discovery) -> str:
    """What a rule that came close lacked."""
    match each.lacks:
        case "flips":
            return "more flips"
        case "rate":
            base_rate = rounded(discovery.base_rate)
            return f"a higher rate of flips than rewordings have in general ({base_rate})"
        case "text":
            return "text that it changes"
    if each.is_cut_short(discovery.settings.delta):
        return "time to judge it to the end"
    return "certainty that readers accept it"


def rate_cells(count: int, rows: int, interval: tuple[float, float]) -> tuple[str, str]:
    """How many of the rows, and their share with its interval."""
    low, high = map(rounded, interval)
    return f"{count:,} of {rows:,}", f"{rounded(count / rows)} ({low}–{high})" if rows else ""
