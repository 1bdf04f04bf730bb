"""The journal keeps every decision, whatever happens to the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.errors import DataError, SearsError, UsageError
from sears_dsl.language.loader import load, parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.vetting.decisions import replay
from sears_dsl.vetting.journal import Clock, Journal, JournalEntry, read_journal, ruleset_digest
from sears_dsl.vetting.merging import agreement, read_reviews
from sears_dsl.vetting.outputs import left_out_path, write_pairs, write_vetted
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.workbench import Workbench
from sears_dsl.vetting.running import open_journals, place_of


def test_what_was_appended_is_read_back(tmp_path: Path, ruleset: Ruleset) -> None:
    path = tmp_path / "ana.jsonl"
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        first = journal.append("accept", {"rule": "r-1", "note": "naïve ✓\nnext"})
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        assert journal.entries == [first]
        journal.append("skip", {"rule": "r-2"})
    header, entries = read_journal(path)
    assert header.sha256 == ruleset_digest(ruleset)
    assert header.reviewer == "ana"
    assert [(each.number, each.kind) for each in entries] == [(1, "accept"), (2, "skip")]
    for line in path.read_text("utf-8").splitlines()[1:]:
        assert {"n", "time", "reviewer", "ruleset", "kind"} <= set(json.loads(line))


def test_a_killed_process_loses_nothing_that_was_decided(tmp_path: Path, rules_file: Path) -> None:
    path = tmp_path / "ana.jsonl"
    code = f"""
from pathlib import Path
from sears_dsl.language.loader import load
from sears_dsl.vetting.journal import Journal
journal = Journal(Path({str(path)!r}), ruleset=load({str(rules_file)!r}), reviewer="ana")
number = 0
while True:
    number += 1
    journal.append("skip", {{"rule": f"r-{{number}}"}})
    print(number, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    told += [int(line) for line in process.stdout.read().split()]
    process.stdout.close()
    with Journal(path, ruleset=load(rules_file), reviewer="ana") as journal:
        kept = [each.content["rule"] for each in journal.entries]
        assert kept[: len(told)] == [f"r-{number}" for number in told]


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_last_line_is_dropped(tmp_path: Path, ruleset: Ruleset, cut: int) -> None:
    path = tmp_path / "ana.jsonl"
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        journal.append("skip", {"rule": "r-1"})
        journal.append("skip", {"rule": "r-2"})
    path.write_bytes(path.read_bytes()[:-cut])
    assert len(read_journal(path)[1]) == 1
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        assert [each.content["rule"] for each in journal.entries] == ["r-1"]
        assert journal.torn
        assert journal.append("skip", {"rule": "r-3"}).number == 2
    assert len(read_journal(path)[1]) == 2


def test_another_version_of_the_ruleset_is_refused_with_the_reason(
    tmp_path: Path, ruleset: Ruleset
) -> None:
    path = tmp_path / "ana.jsonl"
    Journal(path, ruleset=ruleset, reviewer="ana").close()
    with pytest.raises(DataError, match="another version of the rules") as refused:
        Journal(path, ruleset=parse("movie -> flick"), reviewer="ana")
    assert ruleset_digest(ruleset)[:12] in refused.value.message
    assert "--journal" in refused.value.help


def test_a_changed_import_makes_another_version(tmp_path: Path) -> None:
    common, rules = tmp_path / "common.sear", tmp_path / "rules.sear"
    rules.write_text('import "common.sear" as c\nvery @c.GOOD -> $2\n', "utf-8")
    common.write_text("set GOOD = good | great\n", "utf-8")
    before = ruleset_digest(load(rules))
    common.write_text("# a remark\nset GOOD = good  |  great\n", "utf-8")
    assert ruleset_digest(load(rules)) == before
    common.write_text("set GOOD = good | great\nbad -> poor\n", "utf-8")
    assert ruleset_digest(load(rules)) == before, "its rules are not judged"
    common.write_text("set GOOD = good | bad\n", "utf-8")
    assert ruleset_digest(load(rules)) != before


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"milk\nbread", "it is not JSON"),  # somebody else's, whose last line has no end
        (b"notes to keep", "has no complete line"),
        (b'{"format": "sears-audit"', "has no complete line"),
        (b'{"format": "sears-audit"}\n{"n": 1', "it does not begin with the format sears-vetting"),
        (b'{"format": "sears-vetting", "version": 2}\n{"n": 1', "has version 2"),
    ],
)
def test_a_file_that_is_refused_stays_as_it_is(
    tmp_path: Path, ruleset: Ruleset, content: bytes, why: str
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=why):
        Journal(path, ruleset=ruleset, reviewer="ana")
    assert path.read_bytes() == content


def test_a_refused_journal_keeps_its_torn_line(tmp_path: Path, ruleset: Ruleset) -> None:
    path = tmp_path / "ana.jsonl"
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        journal.append("skip", {"rule": "r-1"})
    path.write_bytes(path.read_bytes() + b'{"n": 2, "ti')
    content = path.read_bytes()
    for rules, name, why in (
        (parse("movie -> flick"), "ana", "another version of the rules"),
        (ruleset, "ben", "holds the decisions of ana, not of ben"),
    ):
        with pytest.raises(DataError, match=why):
            Journal(path, ruleset=rules, reviewer=name)
        assert path.read_bytes() == content


@pytest.mark.parametrize("length", [1, 20, 60])
def test_a_first_line_that_was_torn_is_written_again(
    tmp_path: Path, ruleset: Ruleset, length: int
) -> None:
    path = tmp_path / "ana.jsonl"
    Journal(path, ruleset=ruleset, reviewer="ana").close()
    path.write_bytes(path.read_bytes()[:length])
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        assert journal.torn
        journal.append("skip", {"rule": "r-1"})
    assert len(read_journal(path)[1]) == 1


def test_comments_do_not_make_another_version() -> None:
    assert ruleset_digest(parse("a -> b # c")) == ruleset_digest(parse("\n# d\n\na -> b"))
    assert ruleset_digest(parse("a -> b")) != ruleset_digest(parse("option case = exact\na -> b"))


def test_two_processes_never_write_one_journal(tmp_path: Path, ruleset: Ruleset) -> None:
    path = tmp_path / "ana.jsonl"
    with (
        Journal(path, ruleset=ruleset, reviewer="ana"),
        pytest.raises(UsageError, match="another `sears vet`"),
    ):
        Journal(path, ruleset=ruleset, reviewer="ana")
    Journal(path, ruleset=ruleset, reviewer="ana").close()


def test_another_reviewer_has_another_journal(tmp_path: Path, ruleset: Ruleset) -> None:
    path = tmp_path / "ana.jsonl"
    Journal(path, ruleset=ruleset, reviewer="ana").close()
    with pytest.raises(DataError, match="of ana, not of ben"):
        Journal(path, ruleset=ruleset, reviewer="ben")


def test_an_entry_is_on_the_disk_when_it_counts(
    tmp_path: Path, ruleset: Ruleset, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: sizes.append(os.fstat(file).st_size))
    path = tmp_path / "ana.jsonl"
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        journal.append("skip", {"rule": "r-1"})
        assert sizes[-1] == path.stat().st_size


def test_half_a_line_that_a_full_disk_took_is_cut_off(
    tmp_path: Path, ruleset: Ruleset, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "ana.jsonl", os.write
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        content = path.read_bytes()
        monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:9]))
        with pytest.raises(DataError, match="only part of the line was written"):
            journal.append("skip", {"rule": "r-1"})
        assert path.read_bytes() == content
        monkeypatch.undo()
        assert journal.append("skip", {"rule": "r-1"}).number == 1


@pytest.mark.parametrize("added", ["", "a line that somebody typed\n"])
def test_a_journal_that_git_replaced_or_a_person_edited_meanwhile_is_left_alone(
    tmp_path: Path, ruleset: Ruleset, added: str
) -> None:
    path = tmp_path / "ana.jsonl"
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        content = path.read_bytes() + added.encode()
        if not added:
            path.unlink()
        path.write_bytes(content)
        with pytest.raises(DataError, match="changed or moved"):
            journal.append("skip", {"rule": "r-1"})
    assert path.read_bytes() == content


def test_a_sitting_without_decisions_removes_its_own_journal_and_no_other(
    tmp_path: Path, ruleset: Ruleset
) -> None:
    place = place_of(ruleset, folder=tmp_path, reviewers=["ana"])
    path, saved = place.journals["ana"], tmp_path / "backup"
    with open_journals(place, note=print):
        pass
    assert not path.exists()
    with Journal(saved, ruleset=ruleset, reviewer="ana") as journal:
        journal.append("skip", {"rule": "r-1"})
    content = saved.read_bytes()
    with open_journals(place, note=print):
        saved.replace(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda lines: [*lines[:1], b"<<<<<<< HEAD", *lines[1:]], "line 2 .* not JSON"),
        (lambda lines: [lines[0], *lines[2:]], "entry 1 should be here"),
        (
            lambda lines: [*lines[:2], lines[2].replace(b'"ana"', b'"ben"')],
            "line 3 .* its reviewer",
        ),
        (
            lambda lines: [*lines[:2], lines[2].replace(b'"ruleset": "', b'"ruleset": "0')],
            "line 3 .* its reviewer or ruleset is not that of the first line",
        ),
        (lambda lines: [b'{"format": "x"}', *lines[1:]], "not a journal of sears vet"),
        (lambda lines: [b"text,label", *lines[1:]], "not a journal of sears vet: it is not JSON"),
        (lambda lines: [lines[0].replace(b'"version": 1', b'"version": 2')], "version 2"),
        (lambda _: [], "empty"),
    ],
)
def test_damage_is_reported_with_its_place(  # type: ignore[no-untyped-def]
    tmp_path: Path, ruleset: Ruleset, damage, why: str
) -> None:
    path = tmp_path / "ana.jsonl"
    with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
        journal.append("skip", {"rule": "r-1"})
        journal.append("skip", {"rule": "r-2"})
    path.write_bytes(b"".join(line + b"\n" for line in damage(path.read_bytes().splitlines())))
    with pytest.raises(DataError, match=why):
        read_journal(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_writable_is_reported(tmp_path: Path, ruleset: Ruleset) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DataError, match="could not be opened"):
        Journal(tmp_path / "ana.jsonl", ruleset=ruleset, reviewer="ana")


@st.composite
def _decisions(draw: st.DrawFn) -> list[tuple[str, dict[str, object]]]:
    rule = st.sampled_from(["r-1", "r-2", "r-3"])
    text = st.sampled_from(["a", "b"])
    return draw(
        st.lists(
            st.one_of(
                st.tuples(
                    st.sampled_from(["accept", "skip", "reject"]),
                    st.fixed_dictionaries({"rule": rule}),
                ),
                st.tuples(st.just("edit"), st.fixed_dictionaries({"rule": rule, "new": text})),
                st.tuples(
                    st.sampled_from(["save", "remove"]), st.fixed_dictionaries({"text": text})
                ),
                st.tuples(
                    st.just("pick"),
                    st.fixed_dictionaries(
                        {"original": text, "shown": st.just(["x"]), "choice": st.none() | text}
                    ),
                ),
                st.tuples(
                    st.just("pair"),
                    st.fixed_dictionaries(
                        {
                            "original": text,
                            "rewritten": text,
                            "same": st.none() | st.booleans(),
                        }
                    ),
                ),
            ),
            max_size=12,
        )
    )


def _entries(decisions: list[tuple[str, dict[str, object]]]) -> list[JournalEntry]:
    return [
        JournalEntry(number, "2026-11-21T17:30:00Z", kind, content)
        for number, (kind, content) in enumerate(decisions, 1)
    ]


@settings(max_examples=100, deadline=None)
@given(decisions=_decisions(), data=st.data())
def test_undo_is_as_if_it_had_never_been(
    decisions: list[tuple[str, dict[str, object]]], data: st.DataObject
) -> None:
    """Undoing any of the last entries leaves the state without it, numbers aside."""
    entries = _entries(decisions)
    if not entries:
        return
    undone = data.draw(st.integers(1, len(entries)))
    after = replay([*entries, JournalEntry(len(entries) + 1, "", "undo", {"undone": undone})])
    without = replay([each for each in entries if each.number != undone])
    assert (after.rules, after.marks, after.written, after.picks, after.last) == (
        without.rules,
        without.marks,
        without.written,
        without.picks,
        without.last,
    )
    assert after.revision == len(entries) + 1


def test_of_several_decisions_on_a_rule_the_last_one_counts_and_stands_last() -> None:
    decisions = [("accept", {"rule": "r-1"}), ("skip", {"rule": "r-2"}), ("skip", {"rule": "r-1"})]
    rules = replay(_entries(decisions)).rules
    assert [(name, each.verdict) for name, each in rules.items()] == [
        ("r-2", "skip"), ("r-1", "skip"),
    ]  # fmt: skip


def test_an_entry_that_means_nothing_is_an_error() -> None:
    with pytest.raises(DataError, match=r"entry 1 .* its kind is 'dance'"):
        replay(_entries([("dance", {})]))
    with pytest.raises(DataError, match="its rule is None"):
        replay(_entries([("accept", {})]))
    with pytest.raises(DataError, match="its choice is None"):
        replay(_entries([("pick", {"original": "a", "shown": ["b"]})]))
    for undone in (True, 2):
        with pytest.raises(DataError, match=f"undoes entry {undone}, which is not before it"):
            replay(_entries([("accept", {"rule": "r-1"}), ("undo", {"undone": undone})]))


# ---------------------------------------------------------------- journals that somebody changed

STRANGE: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1.5, "", "x", "\n", "a\nimport \"secret.sear\"", "# a remark",
    "\ud800", [], ["a"], [["a", "b", "c"]], [[1, 2]], "ab", {}, {"a": [1]}, "a -> b\nc -> d",
    'import "other.sear"', "set X = a", "rule x: a -> b",
)  # fmt: skip


def full_journal(path: Path, ruleset: Ruleset, clock: Clock) -> list[dict[str, Any]]:
    """A journal with an entry of every kind; its lines."""
    names = ruleset.rule_ids
    with Journal(path, ruleset=ruleset, reviewer="ana", now=clock) as journal:
        for kind, content in (
            ("accept", {"rule": names[0], "text": "t", "shown": [["a movie", "a film"]]}),
            ("reject", {"rule": names[1], "reason": "meaning", "note": "n", "shown": [["a", "b"]]}),
            ("edit", {"rule": names[2], "new": "good -> nice", "shown": [["good", "nice"]]}),
            ("skip", {"rule": names[3], "text": "t"}),
            ("pair", {"rule": names[0], "original": "a", "rewritten": "b", "same": True}),
            ("save", {"text": "bad -> poor", "examples": [["bad", "poor"]]}),
            ("save", {"text": "bad -> sad", "examples": []}),
            ("remove", {"text": "bad -> sad"}),
            ("pick", {"original": "a", "shown": ["b", "c"], "choice": "b"}),
            ("undo", {"undone": 4}),
        ):
            journal.append(kind, content)
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def changed_journals(
    lines: list[dict[str, Any]],
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each field of each line with another value, absent, or next to an unknown field.

    What all entries have is read in one way, so it is changed in the first of them alone.
    """
    shared = {"n", "time", "reviewer", "ruleset", "kind"}
    for number, line in enumerate(lines):
        for name in line if number < 2 else sorted(line.keys() - shared):
            for value in STRANGE:
                yield f"{number}.{name}={value!r}", [
                    *lines[:number], {**line, name: value}, *lines[number + 1 :]
                ]  # fmt: skip
            without = {key: value for key, value in line.items() if key != name}
            yield f"{number} without {name}", [*lines[:number], without, *lines[number + 1 :]]
        for name in ("rule", "reason", "note", "shown", "text"):
            added = {**line, name: ["strange"]} if name not in line else line
            yield f"{number} with {name}", [*lines[:number], added, *lines[number + 1 :]]
    for name in ("path", "sha256"):
        for value in STRANGE:
            first = {**lines[0], "ruleset": {**lines[0]["ruleset"], name: value}}
            yield f"ruleset.{name}={value!r}", [first, *lines[1:]]


def test_every_field_of_a_journal_may_have_been_changed(
    tmp_path: Path, ruleset: Ruleset, bench: Workbench, clock: Clock
) -> None:
    """The result is one of our errors, or files with valid content."""
    (tmp_path / "other.sear").write_text("secret -> found\n", "utf-8")
    path = tmp_path / "ana.jsonl"
    lines = full_journal(path, ruleset, clock)
    out = tmp_path / "out.sear"
    refused = 0
    seen: set[str] = set()
    for what, changed in changed_journals(lines):
        path.write_text("".join(json.dumps(line) + "\n" for line in changed), "utf-8")
        try:
            reviews = read_reviews([path], ruleset)
            if repr(reviews) in seen:
                continue  # what follows depends on nothing else
            seen.add(repr(reviews))
            agreement(reviews)
            agreement(reviews, on="picks")
            write_vetted(ruleset, reviews, out, tagger=PinnedTagger())
            write_pairs(reviews, tmp_path / "pairs.csv")
            with Journal(path, ruleset=ruleset, reviewer="ana") as journal:
                RuleSession(bench, journal)  # looks at everything as it begins
        except SearsError:
            refused += 1
            continue
        for file in (out, left_out_path(out)):
            loaded = load(file)
            assert len(loaded.rules) <= 5, what
            assert not loaded.imports, what
            assert not loaded.sets, what
    assert refused > 400


def test_a_journal_that_is_no_json_of_ours_is_reported(
    tmp_path: Path, ruleset: Ruleset, clock: Clock
) -> None:
    path = tmp_path / "ana.jsonl"
    full_journal(path, ruleset, clock)
    whole = path.read_bytes()
    for line in (b"[" * 100_000, b"\xff\xfe", b"{}", b"nul", b'{"n": 1' + b"0" * 5_000 + b"}"):
        path.write_bytes(whole + line + b"\n")
        with pytest.raises(DataError, match="line 12 of the journal is damaged"):
            read_journal(path)
