"""The files that vetting leaves: vetted ruleset, its origin, what is left out, judged pairs.

In: a ruleset and reviews. Out: files, each written whole or not at all. Always holds: the same
journals write the same bytes; a ruleset with imports stays in its folder, where they are found; the
manifest of a discovered ruleset lies beside the vetted one too, byte for byte, since it tells of
the run that found the rules: the hash in it is that of the ruleset as it was found. Costs the
running of a few tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from sears_dsl.batch.provenance import manifest_path
from sears_dsl.catalogue import LEFT_OUT
from sears_dsl.data.batches import Frame
from sears_dsl.data.dataset import format_of
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.runtime.wording import counted
from sears_dsl.runtime.writing import write_atomically
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.vetting.merging import Policy, Review, vetting_outcomes
from sears_dsl.vetting.vetted import judged_pairs, left_out_text, vetted_text


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """What was written.

    Attributes:
        vetted: the file of what was kept, edited and written.
        left_out: the file of the rest; None where there is none.
        counts: outcome → rules.
        added: rules that reviewers wrote.
        templates: outcome → templates; empty where none was judged.
    """

    vetted: Path
    left_out: Path | None
    counts: Mapping[str, int]
    added: int
    templates: Mapping[str, int] = field(default_factory=dict)


def written_sentence(written: WrittenFiles) -> str:
    """What was written, in a sentence.

    Example:
        >>> written_sentence(WrittenFiles(Path("a.vetted.sear"), None, {"kept": 1}, 0))
        '1 rule kept, in a.vetted.sear'
    """
    counts, templates = written.counts, written.templates
    rules = counts.get("kept", 0) + counts.get("edited", 0)
    parts = []
    if counts or not templates:
        parts.append(f"{counted(rules, 'rule')} kept")
    if counts.get("edited"):
        parts.append(f"{counts['edited']} of them edited")
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
    """Where the rules stand that a vetted ruleset leaves out.

    Example:
        >>> left_out_path(Path("found.vetted.sear")).name
        'found.vetted.left-out.sear'
    """
    return vetted.with_name(f"{vetted.stem}{LEFT_OUT}")


def write_vetted(
    ruleset: Ruleset,
    reviews: Sequence[Review],
    path: Path,
    *,
    tagger: Tagger,
    policy: Policy = "majority",
) -> WrittenFiles:
    """Write the vetted ruleset, and beside it the rules that were left out and its origin.

    Raises:
        DataError: a file cannot be written.
    """
    if path.suffix != ".sear":
        raise UsageError(f"{path} is no name for a ruleset", help=f"write {path.stem}.sear")
    if path.exists() and path.samefile(ruleset.path):
        raise UsageError(
            f"{path} is the ruleset that was vetted", help="write the vetted one beside it"
        )
    if ruleset.imports and path.absolute().parent != Path(ruleset.path).absolute().parent:
        raise UsageError(
            f"{ruleset.path} imports {ruleset.imports[0].path}, which {path} would not find",
            help="write the vetted ruleset into the same folder",
        )
    outcomes = vetting_outcomes(ruleset, reviews, policy=policy)
    text = vetted_text(ruleset, outcomes, reviews, tagger=tagger)
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
    write_atomically(path, text.encode("utf-8"))
    added = {written.text for review in reviews for written in review.state.written}
    left_out = beside if beside.exists() else None
    return WrittenFiles(path, left_out, dict(counts), len(added), dict(templates))


def _carry_manifest(source: Path, vetted: Path) -> None:
    """On which rows rules were found goes with them; a manifest of other rules does not stay."""
    manifest, copy = map(manifest_path, (source, vetted))
    try:
        content = manifest.read_bytes() if manifest.exists() else None
        if content is None:
            copy.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(
            f"{error.filename}: the manifest could not be carried from {source} to {vetted}: "
            f"{error.strerror}",
            help="it tells on which rows the rules were found; mend its rights, or remove it",
        ) from error
    if content is not None:
        write_atomically(copy, content)


def write_pairs(reviews: Sequence[Review], path: Path) -> int:
    """Write the pairs that reviewers judged, as ``sears calibrate`` reads them; how many.

    Columns: original, rewritten, label (1 same meaning, 0 not), reviewer, source.
    """
    form = format_of(str(path), reading=False)
    pairs = judged_pairs(reviews)
    columns: dict[str, list[Any]] = {
        "original": [each.original for each in pairs],
        "rewritten": [each.rewritten for each in pairs],
        "label": [each.label for each in pairs],
        "reviewer": [each.reviewer for each in pairs],
        "source": [each.source for each in pairs],
    }
    content = BytesIO()
    form.assemble([form.encode(columns, "utf-8")], content, Frame(tuple(columns)))
    write_atomically(path, content.getvalue())
    return len(pairs)
