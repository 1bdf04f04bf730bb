"""Several reviewers, and the files that they leave."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from sears_dsl.catalogue import manifest_path
from sears_dsl.discovery.parts import PartsChoice
from sears_dsl.errors import DataError, UsageError
from sears_dsl.judge.readings import Reading
from sears_dsl.language.loader import load, parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.meaning.judgements import read_judgements
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.vetting.journal import Clock, Journal
from sears_dsl.vetting.journal_oracle import read_readings, readings_in_words
from sears_dsl.vetting.merging import Policy, agreement, outcomes, read_reviews
from sears_dsl.vetting.outputs import (
    judged_pairs,
    left_out_path,
    write_pairs,
    write_vetted,
    written_sentence,
)

MOVIE, GOOD_MOVIE, GOOD, SHOUT, BOOK = range(5)


JournalOf: TypeAlias = Callable[..., Path]
Entries: TypeAlias = tuple[tuple[str, dict[str, object]], ...]


@pytest.fixture
def journal_of(tmp_path: Path, ruleset: Ruleset, clock: Clock) -> JournalOf:
    """Writes a journal; verdicts are accept, reject REASON, skip or an edited rule."""

    def write(
        reviewer: str,
        verdicts: dict[int, str],
        *,
        extra: Entries = (),
        rules: Ruleset = ruleset,
    ) -> Path:
        path = tmp_path / f"{reviewer}.jsonl"
        with Journal(path, ruleset=rules, reviewer=reviewer, now=clock) as journal:
            for place, verdict in verdicts.items():
                content: dict[str, object] = {"rule": rules.rule_ids[place], "shown": []}
                kind, _, reason = verdict.partition(" ")
                if "->" in verdict:
                    kind = "edit"
                    content |= {"new": verdict, "shown": [["a good tale", "a fine tale"]]}
                elif kind == "reject":
                    content |= {"reason": reason, "note": "no, no"}
                journal.append(kind, content)
            for kind, content in extra:
                journal.append(kind, content)
        return path

    return write


def test_majority_all_and_any(ruleset: Ruleset, journal_of: JournalOf) -> None:
    paths = [
        journal_of(name, verdicts)
        for name, verdicts in {
            "ana": {MOVIE: "accept", GOOD: "accept", SHOUT: "reject meaning", BOOK: "skip"},
            "ben": {MOVIE: "accept", GOOD: "reject grammar", SHOUT: "reject other"},
            "eve": {MOVIE: "reject meaning", GOOD_MOVIE: "accept"},
        }.items()
    ]
    reviews = read_reviews(paths, ruleset)

    def decided(policy: str) -> list[str]:
        found = outcomes(ruleset, reviews, policy=policy)  # type: ignore[arg-type]
        return [each.decided for each in found]

    assert decided("majority") == ["kept", "kept", "disputed", "rejected", "unjudged"]
    assert decided("all") == ["rejected", "kept", "rejected", "rejected", "unjudged"]
    assert decided("any") == ["kept", "kept", "kept", "rejected", "unjudged"]
    random.Random(0).shuffle(paths)
    assert read_reviews(paths, ruleset) == reviews
    found = agreement(reviews)
    assert found.pairs["ana", "ben"].items == 3
    assert found.pairs["ben", "eve"].items == 1
    assert found.together is not None
    assert found.together.items == 1


def test_the_wording_that_most_want_wins(ruleset: Ruleset, journal_of: JournalOf) -> None:
    paths = [
        journal_of(name, {GOOD: verdict})
        for name, verdict in {
            "ana": "accept", "ben": "good -> great", "eve": "good -> great"
        }.items()
    ]  # fmt: skip
    outcome = outcomes(ruleset, read_reviews(paths, ruleset))[GOOD]
    assert (outcome.decided, outcome.new) == ("edited", "good -> great")
    outcome = outcomes(ruleset, read_reviews(paths[:2], ruleset))[GOOD]
    assert (outcome.decided, outcome.new) == ("kept", "")


def test_a_journal_twice_or_of_other_rules_is_refused(
    ruleset: Ruleset, journal_of: JournalOf
) -> None:
    path = journal_of("ana", {})
    with pytest.raises(UsageError, match="two of the journals are by ana"):
        read_reviews([path, path], ruleset)
    with pytest.raises(DataError, match="another version"):
        read_reviews([path], parse("a -> b"))


def test_the_diff_of_the_vetted_file_shows_what_was_decided_and_nothing_else(
    tmp_path: Path, rules_file: Path, ruleset: Ruleset, journal_of: JournalOf
) -> None:
    path = journal_of(
        "ana",
        {MOVIE: "accept", SHOUT: "accept", GOOD: "good tale -> fine tale", BOOK: "reject meaning"},
        extra=(("save", {"text": "bad -> poor", "examples": [["a bad day", "a poor day"]]}),),
    )
    out = tmp_path / "words.vetted.sear"
    reviews = read_reviews([path], ruleset)
    written = write_vetted(ruleset, reviews, out, tagger=PinnedTagger())
    assert written.counts == {"kept": 2, "edited": 1, "rejected": 1, "unjudged": 1}
    assert written.added == 1
    before = rules_file.read_text("utf-8").splitlines()
    after = out.read_text("utf-8").splitlines()
    changes = [
        line for line in difflib.unified_diff(before, after, lineterm="", n=0)
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]  # fmt: skip
    assert changes == [
        f"+{after[0]}",
        "-# Half of what the first rule does.",
        "-good movie -> good film",
        "-",
        "-good -> fine",
        '-  test "a good book" => "a fine book"',
        "+# edited by ana; it was: good -> fine",
        "+good tale -> fine tale",
        '+  test "a good tale" => "a fine tale"',
        '+  test "a fine tale" => none',
        "-book -> novel",
        "+bad -> poor",
        '+  author: "ana"',
        '+  why: "written while vetting, 2026-11-21T00:05:00Z"',
        '+  test "a bad day" => "a poor day"',
        '+  test "a poor day" => none',
    ]
    assert after[0].startswith("# Vetted from words.sear (sha256 ")
    assert "by ana, 2026-11-21T00:05:00Z: 2 kept, 1 edited" in after[0]
    vetted = load(out)
    assert vetted.format() == out.read_text("utf-8")

    left = load(left_out_path(out))
    assert list(left.rule_ids) == [
        ruleset.rule_ids[GOOD_MOVIE], ruleset.rule_ids[BOOK]
    ]  # fmt: skip
    text = left_out_path(out).read_text("utf-8")
    assert "# not judged" in text
    assert "# rejected by ana, 2026-11-21T00:04:00Z: changes the meaning (no, no)" in text
    first = out.read_bytes()
    write_vetted(ruleset, reviews, out, tagger=PinnedTagger())
    assert out.read_bytes() == first


def test_nothing_left_out_leaves_no_file(
    tmp_path: Path, ruleset: Ruleset, journal_of: JournalOf
) -> None:
    path = journal_of("ana", dict.fromkeys(range(5), "accept"))
    out = tmp_path / "o.sear"
    left_out_path(out).write_text("movie -> film\n", "utf-8")
    written = write_vetted(ruleset, read_reviews([path], ruleset), out, tagger=PinnedTagger())
    assert written.left_out is None
    assert not left_out_path(out).exists(), "it was of an earlier vetting"
    assert load(out).rules == ruleset.rules


def test_the_vetted_ruleset_never_replaces_its_source(
    tmp_path: Path, rules_file: Path, ruleset: Ruleset, journal_of: JournalOf
) -> None:
    path = journal_of("ana", {})
    reviews = read_reviews([path], ruleset)
    for same in (rules_file, rules_file.parent / "gone" / ".." / rules_file.name):
        with pytest.raises(UsageError, match="the ruleset that was vetted"):
            write_vetted(ruleset, reviews, same, tagger=PinnedTagger())
    with pytest.raises(UsageError, match="is not the name of a ruleset"):
        write_vetted(ruleset, reviews, tmp_path / "o.txt", tagger=PinnedTagger())


def test_the_manifest_of_a_found_ruleset_goes_with_it(
    tmp_path: Path, rules_file: Path, ruleset: Ruleset, journal_of: JournalOf
) -> None:
    reviews = read_reviews([journal_of("ana", {MOVIE: "accept"})], ruleset)
    out = tmp_path / "o.sear"
    manifest_path(rules_file).write_bytes(b'{"of": "the run"}')
    write_vetted(ruleset, reviews, out, tagger=PinnedTagger())
    assert manifest_path(out).read_bytes() == b'{"of": "the run"}'
    # A manifest of earlier rules would be untrue.
    manifest_path(rules_file).unlink()
    write_vetted(ruleset, reviews, out, tagger=PinnedTagger())
    assert not manifest_path(out).exists()


def test_judged_pairs_are_what_calibrate_reads(
    tmp_path: Path, ruleset: Ruleset, clock: Clock
) -> None:
    path = tmp_path / "ana.jsonl"
    with Journal(path, ruleset=ruleset, reviewer="ana", now=clock) as journal:
        for kind, content in (
            ("accept", {"rule": ruleset.rule_ids[0], "shown": [["one", "uno"], ["two", "due"]]}),
            ("reject", {"rule": "r", "reason": "meaning", "shown": [["three", "four"]]}),
            ("reject", {"rule": "q", "reason": "grammar", "shown": [["a", "an"]]}),
            ("pair", {"original": "two", "rewritten": "due", "same": False}),
            ("pick", {"original": "s", "shown": ["t", "u"], "choice": "t"}),
            ("pick", {"original": "v", "shown": ["w", "x"], "choice": None}),
        ):
            journal.append(kind, content)
    out = tmp_path / "judged.csv.gz"
    assert write_pairs(read_reviews([path], ruleset), out) == 6
    judged = read_judgements(str(out))
    assert dict(zip(judged.pairs, judged.equivalent.tolist(), strict=True)) == {
        ("two", "due"): False,
        ("s", "t"): True,
        ("v", "w"): False,
        ("v", "x"): False,
        ("one", "uno"): True,
        ("three", "four"): False,
    }


def test_of_two_picks_that_share_an_adversary_the_last_one_counts(
    ruleset: Ruleset, journal_of: JournalOf
) -> None:
    first, second = (("pick", {"original": "s", "shown": ["t", other], "choice": choice})
                     for other, choice in (("u", None), ("v", "t")))  # fmt: skip
    both = {"ana": (first, second), "ben": (second, first), "eve": (first, second, first)}
    reviews = read_reviews(
        [journal_of(name, {}, extra=picks) for name, picks in both.items()], ruleset
    )
    assert {
        each.reviewer: each.label for each in judged_pairs(reviews) if each.rewritten == "t"
    } == {"ana": 1, "ben": 0, "eve": 0}


def test_a_pair_with_half_a_character_does_not_keep_the_others_from_being_written(
    tmp_path: Path, ruleset: Ruleset, journal_of: JournalOf
) -> None:
    texts = [("a \ud800 movie", "a \ud800 film"), ("a movie", "a film")]
    marks = [("pair", {"original": old, "rewritten": new, "same": True}) for old, new in texts]
    reviews = read_reviews([journal_of("ana", {}, extra=tuple(marks))], ruleset)
    assert write_pairs(reviews, tmp_path / "p.csv") == 2
    pairs = read_judgements(str(tmp_path / "p.csv")).pairs
    assert list(pairs) == [("a \ufffd movie", "a \ufffd film"), ("a movie", "a film")]


def test_two_edits_of_one_rule_are_a_dispute(
    tmp_path: Path, ruleset: Ruleset, journal_of: JournalOf
) -> None:
    paths = [
        journal_of(name, {GOOD: verdict})
        for name, verdict in {"ana": "good -> great", "ben": "good -> nice"}.items()
    ]
    reviews = read_reviews(paths, ruleset)
    for policy in ("majority", "all", "any"):
        outcome = outcomes(ruleset, reviews, policy=policy)[GOOD]
        assert (outcome.decided, outcome.new) == ("disputed", "")
    out = tmp_path / "o.sear"
    write_vetted(ruleset, reviews, out, tagger=PinnedTagger())
    left = left_out_path(out).read_text("utf-8")
    assert "# disputed: its reviewers edited it in different ways" in left
    assert "# edited by ben, 2026-11-21T00:03:00Z: good -> nice" in left
    third = journal_of("eve", {GOOD: "good -> nice"})
    outcome = outcomes(ruleset, read_reviews([*paths, third], ruleset))[GOOD]
    assert (outcome.decided, outcome.new) == ("edited", "good -> nice")


def test_picks_agree_beyond_the_chance_of_as_many_adversaries(
    ruleset: Ruleset, journal_of: JournalOf
) -> None:
    """Two who pick blindly among five and none agree on a sixth of the sentences."""
    draw = random.Random(3)
    shown = {f"s{item}": [f"s{item} {place}" for place in range(5)] for item in range(1_500)}

    def picks() -> Entries:
        return tuple(
            ("pick", {"original": name, "shown": texts, "choice": draw.choice([None, *texts])})
            for name, texts in shown.items()
        )

    paths = [journal_of(name, {}, extra=picks()) for name in ("ana", "ben")]
    kappa = agreement(read_reviews(paths, ruleset), on="picks").pairs["ana", "ben"]
    assert kappa.items == 1_500
    assert kappa.value == pytest.approx(0, abs=0.03)
    assert kappa.interval is not None
    assert kappa.interval[0] < 0 < kappa.interval[1]


def test_who_saw_other_adversaries_answered_another_question(
    ruleset: Ruleset, journal_of: JournalOf
) -> None:
    paths = [
        journal_of(name, {}, extra=(
            ("pick", {"original": "s", "shown": shown, "choice": None}),
            ("pick", {"original": "who saw nothing answered nothing", "shown": [], "choice": None}),
        ))
        for name, shown in {"ana": ["t", "u"], "ben": ["u", "t"], "eve": ["t", "v"]}.items()
    ]  # fmt: skip
    found = agreement(read_reviews(paths, ruleset), on="picks")
    assert found.pairs["ana", "ben"].items == 1
    assert found.pairs["ana", "eve"].items == 0


def test_journals_are_readings_for_the_next_search(ruleset: Ruleset, journal_of: JournalOf) -> None:
    pair = {"original": "A movie.", "rewritten": "A film."}
    shown = [["A good tale.", "A fine tale."]]
    ana = journal_of("ana", {}, extra=(
        ("accept", {"rule": ruleset.rule_ids[GOOD], "shown": [*shown, list(pair.values())]}),
        ("pair", {**pair, "same": False}),
    ))  # fmt: skip
    ben = journal_of("ben", {}, extra=(
        ("reject", {"rule": ruleset.rule_ids[GOOD], "reason": "unnatural", "shown": shown}),
        ("reject", {"rule": ruleset.rule_ids[BOOK], "reason": "other", "shown": [["a", "b"]]}),
    ))  # fmt: skip
    readings = read_readings([ana, ben])
    assert readings == (
        Reading("A movie.", "A film.", False),
        Reading("A good tale.", "A fine tale.", True),
        Reading("A good tale.", "A fine tale.", False),
    )
    assert readings_in_words(readings).startswith(
        "3 readings of your own count; on 1 rewrite they contra"
    )
    assert PartsChoice(readings=readings).own().scorer is None
    with pytest.raises(UsageError, match="only in the scorers judge and judge-lm"):
        PartsChoice(readings=readings, scorer="meaning").own()


# ---------------------------------------------------------------- what a vetted file says


WrittenBy: TypeAlias = Callable[..., tuple[str, str, str]]


@pytest.fixture
def written_by(tmp_path: Path, ruleset: Ruleset, journal_of: JournalOf) -> WrittenBy:
    """The vetted text, the text left out, and the sentence about both."""

    def write(
        verdicts: dict[str, dict[int, str]],
        *,
        extra: dict[str, Entries] | None = None,
        policy: Policy = "majority",
        rules: Ruleset = ruleset,
    ) -> tuple[str, str, str]:
        paths = [
            journal_of(name, each, extra=(extra or {}).get(name, ()), rules=rules)
            for name, each in verdicts.items()
        ]
        out = tmp_path / "o.sear"
        reviews = read_reviews(paths, rules)
        written = write_vetted(rules, reviews, out, tagger=PinnedTagger(), policy=policy)
        beside = left_out_path(out)
        left_out = beside.read_text("utf-8") if beside.exists() else ""
        load(out)
        return out.read_text("utf-8"), left_out, written_sentence(written)

    return write


@pytest.mark.parametrize("edited", [MOVIE, GOOD])
def test_a_rule_edited_into_another_one_is_written_once(edited: int, written_by: WrittenBy) -> None:
    """Before or after the rule that it equals now, and across reviewers."""
    text, _, said = written_by(
        {"ana": {GOOD_MOVIE: "accept"}, "ben": {edited: "good movie -> good film"}}
    )
    assert text.count("\ngood movie -> good film\n") == 1
    old = {MOVIE: "movie -> film", GOOD: "good -> fine"}[edited]
    assert f"# edited by ben; it was: {old}\ngood movie -> good film\n" in text
    once = "2 rules kept, 1 of them edited, 1 equal to another and written once, in "
    assert said.startswith(once)


def test_two_rules_edited_into_the_same_one_are_written_once(written_by: WrittenBy) -> None:
    text, _, _ = written_by({"ana": {MOVIE: "good -> nice", GOOD: "good -> nice"}})
    assert text.count("\ngood -> nice\n") == 1
    for old in ("movie -> film", "good -> fine"):
        assert f"# edited by ana; it was: {old}\n" in text


def test_rules_of_one_text_that_expect_different_labels_are_both_written(
    tmp_path: Path, written_by: WrittenBy
) -> None:
    file = tmp_path / "labels.sear"
    file.write_text("good -> bad\n  expect: flip\n\nfine -> bad\n", "utf-8")
    text, _, _ = written_by({"ana": {0: "accept", 1: "good -> bad"}}, rules=load(file))
    assert text.count("good -> bad\n") == 2


def test_an_edit_goes_with_a_rule_that_expects_the_same(
    tmp_path: Path, written_by: WrittenBy
) -> None:
    file = tmp_path / "labels.sear"
    file.write_text("good -> bad\n  expect: flip\n\nfine -> bad\n  expect: flip\n", "utf-8")
    verdicts = {"ana": {1: "good -> bad"}, "ben": {0: "reject grammar"}}
    text, left_out, _ = written_by(verdicts, rules=load(file))
    assert "-> bad" not in text
    assert left_out.count("-> bad\n  expect: flip\n") == 2


def test_a_saved_rule_stays_beside_one_of_its_text_that_may_change_the_label(
    tmp_path: Path, written_by: WrittenBy
) -> None:
    file = tmp_path / "labels.sear"
    file.write_text("good -> bad\n  expect: flip\n\nrule written-1: fine -> bad\n", "utf-8")
    saved: Entries = (("save", {"text": "good -> bad", "examples": []}),)
    text, _, said = written_by(
        {"ana": {0: "accept", 1: "accept"}}, extra={"ana": saved}, rules=load(file)
    )
    assert said.startswith("2 rules kept, 1 written, in ")
    assert "\ngood -> bad\n  expect: flip\n" in text
    assert '\nrule written-2: good -> bad\n  author: "ana"\n' in text


def test_a_note_with_controls_is_written_without_them(
    ruleset: Ruleset, written_by: WrittenBy
) -> None:
    """A terminal's colours or a form feed come along when a note is pasted."""
    note = "\x1b[31mno\x1b[0m\x00 \x7f\x08\x85good\x0c"
    rejected = {"rule": ruleset.rule_ids[MOVIE], "reason": "other", "note": note}
    _, left_out, _ = written_by({"ana": {}}, extra={"ana": (("reject", rejected),)})
    assert ": another reason ( [31mno [0m good )\n" in left_out


def test_a_rule_that_was_left_out_and_judged_again_has_no_comments_of_the_first_time(
    tmp_path: Path, written_by: WrittenBy
) -> None:
    verdicts = {"ana": {MOVIE: "accept", GOOD: "reject meaning", SHOUT: "accept"},
                "ben": {GOOD: "good -> nice", SHOUT: "reject other"}}  # fmt: skip
    _, left_out, _ = written_by(verdicts)
    for words in (
        "Left out when",
        "rejected by",
        "edited by",
        "accepted by",
        "not judged",
        "disputed",
    ):
        assert f"# {words}" in left_out
    again = tmp_path / "again.sear"
    again.write_text(left_out.replace("# Half of", "# not judged by many\n# Half of"), "utf-8")
    text, left_out, _ = written_by(
        {"eve": {0: "accept", 1: "accept", 2: "accept"}}, rules=load(again)
    )
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert comments[0].startswith("# Vetted from again.sear ")
    assert comments[1:] == ["# not judged by many", "# Half of what the first rule does."]
    assert left_out.count("# Left out when") == left_out.count("# not judged\n") == 1


def test_only_who_decided_something_is_named(written_by: WrittenBy) -> None:
    text, _, _ = written_by(
        {"ana": {MOVIE: "accept"}, "ben": {}, "cid": {MOVIE: "skip"}},
    )
    first = text.splitlines()[0]
    assert " by ana, 2026" in first
    assert "ben" not in first
    assert "cid" not in first


SAVED: Entries = (("save", {"text": "book -> novel", "examples": [["a book", "a novel"]]}),)


def test_only_rules_that_were_added_count_as_written(written_by: WrittenBy) -> None:
    more: dict[str, object] = {"text": "bad -> poor", "examples": []}
    _, _, said = written_by(
        {"ana": {BOOK: "accept"}},
        extra={"ana": (*SAVED, ("save", more))},
    )
    assert said.startswith("1 rule kept, 1 written, in ")


def test_a_rule_that_was_rejected_is_not_kept_because_one_reviewer_wrote_it(
    written_by: WrittenBy,
) -> None:
    text, left_out, said = written_by(
        {"ana": {BOOK: "reject other"}, "ben": {MOVIE: "accept"}, "cid": {BOOK: "reject meaning"}},
        extra={"ben": SAVED},
    )
    assert "book -> novel" not in text
    assert "# rejected by cid, " in left_out
    assert "# accepted by ben, 2026-11-21T00:04:00Z\n" in left_out
    assert said.startswith("1 rule kept, in ")


def test_a_rule_that_nobody_judged_but_one_wrote_is_in_one_file(written_by: WrittenBy) -> None:
    text, left_out, said = written_by({"ben": {MOVIE: "accept"}}, extra={"ben": SAVED})
    assert text.count("book -> novel") == 1
    assert "book -> novel" not in left_out
    assert said.startswith("2 rules kept, in ")
    assert "; 3 left out" in said


def test_a_rule_edited_into_one_that_is_left_out_is_in_one_file(written_by: WrittenBy) -> None:
    """Who edits a rule into another one accepts that one, as if she had written it."""
    verdicts = {"ana": {MOVIE: "good movie -> good film"}, "ben": {GOOD_MOVIE: "reject meaning"}}
    text, left_out, _ = written_by(verdicts)
    assert "film" not in text
    assert left_out.count("\ngood movie -> good film\n") == left_out.count("\nmovie -> film\n") == 1
    assert "# accepted by ana, 2026-11-21T00:01:00Z\n" in left_out
    edited = "# edited by ana, 2026-11-21T00:01:00Z: good movie -> good film\nmovie -> film\n"
    assert f"\n# its edit equals a rule that is left out\n{edited}" in left_out
    assert ": 2 disputed, 3 not judged." in text


def test_a_rejection_counts_also_of_who_edits_another_rule_into_the_rejected_one(
    written_by: WrittenBy,
) -> None:
    verdicts = {"ana": {MOVIE: "good movie -> good film", GOOD_MOVIE: "reject meaning"}}
    text, left_out, _ = written_by(verdicts)
    assert "film" not in text
    assert left_out.count("\ngood movie -> good film\n") == 1


def test_who_wrote_a_rule_agrees_or_not_with_who_judged_it(
    ruleset: Ruleset, journal_of: JournalOf
) -> None:
    paths = [journal_of("ana", {}, extra=SAVED), journal_of("ben", {BOOK: "reject meaning"})]
    reviews = read_reviews(paths, ruleset)
    assert outcomes(ruleset, reviews)[BOOK].decided == "disputed"
    assert agreement(reviews).pairs["ana", "ben"].observed == 0


def test_different_edits_are_the_dispute_where_one_voice_would_do(
    tmp_path: Path, written_by: WrittenBy
) -> None:
    verdicts = {
        "ana": {GOOD: "reject meaning"}, "ben": {GOOD: "reject meaning"},
        "cid": {GOOD: "good -> nice"}, "eve": {GOOD: "good -> great"},
    }  # fmt: skip
    _, left_out, _ = written_by(verdicts, policy="any")
    assert "# disputed: its reviewers edited it in different ways\n" in left_out
    (tmp_path / "o.sear").unlink()
    for name in verdicts:
        (tmp_path / f"{name}.jsonl").unlink()
    _, left_out, _ = written_by(verdicts)
    assert "# disputed: as many reviewers keep it as reject it\n" in left_out


def test_a_comment_at_the_top_stays_though_the_set_below_it_goes(
    tmp_path: Path, written_by: WrittenBy
) -> None:
    file = tmp_path / "sets.sear"
    content = "# Words of reviews.\nset LEFT = good\n\n@LEFT play -> show\n\nmovie -> film\n"
    file.write_text(content, "utf-8")
    text, _, _ = written_by({"ana": {0: "reject meaning", 1: "accept"}}, rules=load(file))
    assert "\n# Words of reviews.\n" in text


def test_no_long_text_and_no_half_a_character_becomes_a_test(
    ruleset: Ruleset, written_by: WrittenBy
) -> None:
    shown = [
        [f"a good tale{rest}", f"a fine tale{rest}"] for rest in (" ..." * 60, " \ud800", " .")
    ]
    edit = {"rule": ruleset.rule_ids[GOOD], "new": "good tale -> fine tale", "shown": shown}
    text, _, _ = written_by({"ana": {}}, extra={"ana": (("edit", edit),)})
    assert text.count("a good tale") == 1
    assert '  test "a good tale ." => "a fine tale ."\n' in text


def test_comments_inside_an_edited_rule_stay(tmp_path: Path, written_by: WrittenBy) -> None:
    file = tmp_path / "remarks.sear"
    file.write_text(
        "good -> fine  # head\n"
        '  author: "ana"\n'
        "  # inner\n"
        '  why: "because"  # reason\n'
        '  test "a film" => none  # holds no more\n'
        '  test "good" => "fine"  # holds no more\n'
        '  test "a book" => none  # holds\n'
        '  test "a play" => none\n',
        "utf-8",
    )
    text, _, _ = written_by({"ana": {0: "(good|film) -> great"}}, rules=load(file))
    assert "(good|film) -> great  # head\n" in text
    assert '  # inner\n  why: "because"  # reason\n' in text
    assert 'test "a book" => none  # holds\n  test "a play" => none\n' in text
    assert "holds no more" not in text
