"""What a reviewer sees and decides, without a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.errors import UsageError
from sears_dsl.language.loader import load, parse
from sears_dsl.language.rule import NO_METADATA, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.predictor import Row
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.vetting.journal import Journal, read_journal
from sears_dsl.vetting.merging import read_reviews
from sears_dsl.vetting.outputs import judged_pairs, write_vetted
from sears_dsl.vetting.review import trials
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.sessions import LONGEST_NOTE, Outdated
from sears_dsl.vetting.review.workbench import (
    RuleTable,
    Workbench,
    choices_of_rules,
    read_choices,
)
from sears_dsl.vetting.running import VettingInputs


def ids(session: RuleSession) -> dict[str, str]:
    """Rule text → id."""
    return {item["text"]: item["id"] for item in session.overview()["judge"]["items"]}


def queue(session: RuleSession) -> list[str]:
    return [item["text"] for item in session.overview()["judge"]["items"] if not item["verdict"]]


def decide(session: RuleSession, kind: str, **content: object) -> None:
    session.decide(kind, content, revision=session.state.revision)


def test_rules_come_by_what_they_add(session: RuleSession) -> None:
    """good -> fine flips 20 rows, movie -> film 10 of the same, the others none."""
    assert queue(session)[0] == "good -> fine"
    items = {item["text"]: item for item in session.overview()["judge"]["items"]}
    assert items["good -> fine"]["gain"] == 20
    assert items["good -> fine"]["flips"] == 20
    assert items["movie -> film"]["gain"] == 0
    assert len(items) == 5


def test_a_rejection_selects_the_rest_anew(session: RuleSession) -> None:
    rule = ids(session)
    before = {item["text"]: item["gain"] for item in session.overview()["judge"]["items"]}
    assert before["movie -> film"] == 0
    decide(session, "reject", rule=rule["good -> fine"], reason="meaning")
    items = session.overview()["judge"]["items"]
    assert items[0]["text"] == "good -> fine"
    assert items[0]["verdict"] == "reject"
    after = {item["text"]: item for item in items}
    assert items[1]["text"] == "movie -> film"
    assert after["movie -> film"]["gain"] == 10
    # On the rows that it flips it writes the same texts as the other one.
    assert after["good movie -> good film"]["twin"] == "movie -> film"
    assert session.overview()["judge"]["next"] == rule["movie -> film"]


def test_a_budget_shows_fewer_and_lets_others_in(bench: Workbench, tmp_path: Path) -> None:
    with Journal(tmp_path / "b.jsonl", ruleset=bench.ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal, most=1)
        assert queue(session) == ["good -> fine"]
        decide(session, "reject", rule=ids(session)["good -> fine"], reason="grammar")
        assert queue(session) == ["movie -> film"]
        decide(session, "accept", rule=ids(session)["movie -> film"])
        assert queue(session) == []
        assert session.overview()["judge"]["mistakes"] == 10


def test_skipped_rules_come_last_and_undo_takes_decisions_back(session: RuleSession) -> None:
    rule = ids(session)
    first = queue(session)
    decide(session, "skip", rule=rule["good -> fine"])
    overview = session.overview()["judge"]
    assert overview["items"][-1]["verdict"] == "skip"
    assert overview["undo"] == "skip good -> fine"
    decide(session, "undo", task="judge")
    assert queue(session) == first
    with pytest.raises(UsageError, match="nothing to undo"):
        decide(session, "undo", task="judge")


def test_an_edit_counts_with_what_the_new_rule_does(session: RuleSession) -> None:
    rule = ids(session)
    decide(session, "edit", rule=rule["good -> fine"], new="good  movie -> fine movie")
    verdict = session.rule(rule["good -> fine"])["verdict"]
    assert verdict["new"] == "good movie -> fine movie"
    assert verdict["shown"][0] == ("a good movie no 0 .", "a fine movie no 0 .")
    overview = session.overview()["judge"]
    assert overview["mistakes"] == 10
    with pytest.raises(UsageError, match="is not a valid rule"):
        decide(session, "edit", rule=rule["movie -> film"], new="movie ->")
    with pytest.raises(UsageError, match="the rule is unchanged"):
        decide(session, "edit", rule=rule["movie -> film"], new="movie  ->  film")


def test_a_label_that_the_model_writes_differently_is_reported_first(bench: Workbench) -> None:
    labels = tuple((label.upper() if label == "negative" else label,)
                   for (label,) in bench.data.labels or ())  # fmt: skip
    sitting = VettingInputs(
        data=replace(bench.data, labels=labels), predictor=bench.predictor, tagger=bench.tagger,
        cached=False,
    )  # fmt: skip
    notes: list[str] = []
    sitting.sessions(bench.ruleset, {}, show=lambda *_: None, note=notes.append)
    assert notes[0].startswith(
        "note: the model never answers 'NEGATIVE', and its answer 'negative'"
    )


def test_a_decision_about_an_older_state_is_refused(session: RuleSession) -> None:
    rule = ids(session)["good -> fine"]
    session.decide("accept", {"rule": rule}, revision=0)
    with pytest.raises(Outdated, match="another tab"):
        session.decide("reject", {"rule": rule, "reason": "meaning"}, revision=0)
    assert session.state.rules[rule].verdict == "accept"
    assert len(session.journal.entries) == 1


def test_the_journal_alone_brings_everything_back(
    session: RuleSession, bench: Workbench, ruleset: Ruleset
) -> None:
    rule = ids(session)
    decide(session, "accept", rule=rule["movie -> film"])
    decide(session, "edit", rule=rule["good -> fine"], new="good book -> fine book")
    decide(session, "save", text="a -> the")
    decide(session, "pair", rule=rule["movie -> film"], row=1, same=True)
    assert session.state.marks == {("a good movie no 0 .", "a good film no 0 .", "", ()): True}
    before = session.overview()
    session.journal.close()
    with Journal(session.journal.path, ruleset=ruleset, reviewer="ana") as journal:
        assert RuleSession(bench, journal).overview() == before


def test_examples_are_mistakes_or_all_rows(session: RuleSession) -> None:
    rule = ids(session)["movie -> film"]
    mistakes = session.examples(rule, mistakes=True, first=0, most=4)
    everything = session.examples(rule, mistakes=False, first=0, most=50)
    assert (mistakes["total"], len(mistakes["examples"])) == (10, 4)
    assert everything["total"] == 20
    first = mistakes["examples"][0]
    assert first["flip"]
    assert (first["before"], first["after"], first["labels"]) == (
        "positive",
        "negative",
        ("positive",),
    )
    assert ("old", "movie") in first["pieces"]
    assert ("new", "film") in first["pieces"]
    assert not any(each["flip"] for each in everything["examples"][10:])


def test_a_typed_rule_is_said_in_words_with_all_its_tags(session: RuleSession) -> None:
    typed = session.typed("good -> nice / !(ADJ|NOUN) __")
    assert {"ADJ", "NOUN"} <= {each["sign"] for each in typed["signs"]}
    typed = session.typed('good -> nice / "a__b" __ "__"')
    assert typed["words"] == "Replace the first “good” after “a__b” and before “__” with “nice”."


def test_a_typed_rule_is_read_in_the_ruleset_and_reported_with_a_caret(
    session: RuleSession,
) -> None:
    typed = session.typed("good -> nice")
    assert (typed["text"], typed["changed"], typed["findings"]) == ("good -> nice", 20, [])
    wrong = session.typed("good NUON -> nice")
    assert wrong["text"] == ""
    assert "^^^^" in wrong["findings"][0]["text"]
    assert "rule:1:6" in wrong["findings"][0]["text"]
    for text in ("", "good", "set A = b", 'import "x.sear" as x', "a -> b\nc -> d", "a" * 3_000):
        assert session.typed(text)["findings"], text


def test_mistakes_of_a_typed_rule_and_of_all_saved(session: RuleSession) -> None:
    found = session.mistakes("movie -> film", deadline=monotonic() + 300)
    assert found["complete"]
    assert (found["summary"]["flips"], found["with_this"]) == (10, 10)
    decide(session, "save", text="movie -> film")
    found = session.mistakes("good -> nice", deadline=monotonic() + 300)
    assert (found["summary"]["flips"], found["with_this"]) == (20, 20)
    saved = session.overview()["write"]
    assert saved["mistakes"] == 10
    decide(session, "save", text="good -> nice")
    assert [rule["added"] for rule in session.overview()["write"]["rules"]] == [10, 10]
    with pytest.raises(UsageError, match="already saved"):
        decide(session, "save", text="good  ->  nice")
    decide(session, "remove", text="movie -> film")
    assert session.overview()["write"]["mistakes"] == 20


def test_a_slow_model_is_asked_bit_by_bit_and_never_twice(session: RuleSession, model: Any) -> None:
    before = model.asked
    found = session.mistakes("no -> nr", deadline=0.0)
    asked = found["asked"]
    assert asked > 0
    while not found["complete"]:
        found = session.mistakes("no -> nr", deadline=0.0)
        assert found["asked"] > asked
        asked = found["asked"]
    session.mistakes("no -> nr", deadline=0.0)
    assert model.asked - before == 40


def test_the_closest_adversary_or_none(session: RuleSession, bench: Workbench) -> None:
    session.choices = choices_of_rules(bench, bench.table)
    number = next(
        place
        for place, choice in enumerate(session.choices)
        if choice.original == "a good movie no 3 ."
    )
    choice = session.choice(number)
    assert {each["text"] for each in choice["adversaries"]} == {
        "a good film no 3 .",
        "a fine movie no 3 .",
    }
    decide(session, "pick", number=number, choice=0)
    assert session.choice(number)["choice"] == choice["adversaries"][0]["text"]
    decide(session, "pick", number=number, choice=None)
    picked = session.choice(number)
    assert (picked["picked"], picked["choice"]) == (True, None)
    for wrong in ({"number": 999, "choice": 0}, {"number": number, "choice": 7}):
        with pytest.raises(UsageError, match="has an invalid"):
            decide(session, "pick", **wrong)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("accept", {"rule": "r-none"}),
        ("accept", {}),
        ("reject", {"rule": "shout", "reason": "mood"}),
        ("reject", {"rule": "shout", "reason": ["other"]}),
        ("reject", {"rule": "shout", "reason": "other", "note": 5}),
        ("reject", {"rule": "shout", "reason": "other", "note": "half of \ud83d"}),
        ("pair", {"rule": "shout", "row": 1, "same": 1}),
        ("pair", {"rule": "shout", "row": 0, "same": True}),
        ("pair", {"rule": "shout", "row": "1", "same": True}),
        ("remove", {"text": "x -> y"}),
        ("pair", {"rule": "r-none", "row": 1, "same": True}),
        ("pair", {"original": "a", "rewritten": "b", "same": True}),
        ("dance", {}),
        ("undo", {"task": "dance"}),
    ],
)
def test_nothing_unread_gets_into_the_journal(
    session: RuleSession, kind: str, content: dict[str, object]
) -> None:
    with pytest.raises(UsageError):
        decide(session, kind, **content)
    assert read_journal(session.journal.path)[1] == []


def test_a_note_is_as_long_as_the_page_lets_it_be_and_then_a_ruleset_holds_it(
    session: RuleSession, tmp_path: Path
) -> None:
    name = next(iter(ids(session).values()))
    with pytest.raises(UsageError, match="the note has 2,001 characters"):
        decide(session, "reject", rule=name, reason="other", note="a" * (LONGEST_NOTE + 1))
    assert read_journal(session.journal.path)[1] == []
    decide(session, "reject", rule=name, reason="other", note=f" {'a' * LONGEST_NOTE} ")
    reviews = read_reviews([session.journal.path], session.bench.ruleset)
    written = write_vetted(
        session.bench.ruleset, reviews, tmp_path / "vetted.sear", tagger=PinnedTagger()
    )
    assert written.left_out is not None
    assert "a" * LONGEST_NOTE in written.left_out.read_text("utf-8")
    load(written.left_out)
    assert f'id="note" rows="2" maxlength="{LONGEST_NOTE}"' in (
        resources.files("sears_dsl") / "vetting/web/pages/index.html"
    ).read_text("utf-8")


def test_rules_of_sets_and_options_are_typed_as_they_will_be_read(
    bench: Workbench, tmp_path: Path
) -> None:
    file = tmp_path / "sets.sear"
    file.write_text("option case = exact\nset MOOD = good | bad\n\n@MOOD -> odd\n", "utf-8")
    rows = bench.data
    other = Workbench(load(file), rows, bench.predictor, tokens=bench.tokens, tagger=bench.tagger)
    with Journal(tmp_path / "s.jsonl", ruleset=other.ruleset, reviewer="ana") as journal:
        session = RuleSession(other, journal)
        assert session.typed("@MOOD movie -> movie")["changed"] == 20
        assert session.typed("Good -> odd")["changed"] == 0
        explained = session.rule(ids(session)["@MOOD -> odd"])["signs"]
        assert explained == [{"sign": "@MOOD", "meaning": "one of: good, bad"}]


def test_pairs_of_a_verdict_are_drawn_from_all_that_the_rule_does(
    session: RuleSession, bench: Workbench
) -> None:
    """The pairs that are shown first have the best S, and would bias a fitted threshold."""
    rule = ids(session)["movie -> film"]
    decide(session, "accept", rule=rule)
    shown = session.state.rules[rule].shown
    place = bench.ruleset.rule_ids.index(rule)
    done = bench.table.applications
    every = done.pairs(done.of_rule(place))
    assert len(set(shown)) == 5
    assert set(shown) <= set(every)
    _, first = bench.examples(bench.table, place, mistakes=False, most=5)
    assert set(shown) != {(each.original, each.rewritten) for each in first}
    # A random draw, the same for everyone who judges this rule.
    decide(session, "undo", task="judge")
    decide(session, "reject", rule=rule, reason="meaning")
    assert session.state.rules[rule].shown == shown


class Counting(Workbench):
    """Remembers how many rules were applied at a time."""

    applied: tuple[int, ...] = ()

    def apply(self, rules: Sequence[Rule]) -> RuleTable:
        self.applied = (*self.applied, len(rules))
        return super().apply(rules)


def test_an_edit_asks_and_applies_the_new_rule_alone(bench: Workbench, tmp_path: Path) -> None:
    """However many rules there are, editing one does not wait for the others."""
    bench = Counting(
        bench.ruleset, bench.data, bench.predictor, tokens=bench.tokens, tagger=bench.tagger
    )
    with Journal(tmp_path / "ana.jsonl", ruleset=bench.ruleset, reviewer="ana") as journal:
        _edit_and_look(RuleSession(bench, journal), bench)


def _edit_and_look(session: RuleSession, bench: Counting) -> None:
    before = len(bench.applied)
    rules = ids(session)
    for old, new in {"book -> novel": "book -> great film", "good -> fine": "good -> bad"}.items():
        session.prepare("edit", {"rule": rules[old], "new": new})
        decide(session, "edit", rule=rules[old], new=new)
    assert bench.applied[before:] == (1, 1)
    # The effect of the whole set is that of applying all rules together.
    texts = [each.new for each in session.state.with_verdict("edit")]
    wanted = bench.table_of([*bench.ruleset.rules, *map(session.trials.rule, texts)])
    found = session._table_with(tuple((text, NO_METADATA) for text in texts))
    for place in range(len(wanted.rules)):
        assert found.rows_flipped(place) == wanted.rows_flipped(place)
        pairs = [each.applications.pairs(each.applications.of_rule(place))
                 for each in (found, wanted)]  # fmt: skip
        assert pairs[0] == pairs[1]
    assert session.overview()["judge"]["mistakes"] == len(
        wanted.rows_flipped(len(texts) + 3) | wanted.rows_flipped(len(texts) + 4)
    )


# ---------------------------------------------------------------- narrowed rules


def test_a_pair_that_differs_proposes_the_rule_that_leaves_it_out(session: RuleSession) -> None:
    """movie -> film changes good movies and bad ones; a bad one is marked."""
    rule = ids(session)["movie -> film"]
    assert session.rule(rule)["narrowed"] == []
    decide(session, "pair", rule=rule, row=1, same=True)
    assert session.rule(rule)["narrowed"] == []
    decide(session, "pair", rule=rule, row=2, same=False)
    seen = session.rule(rule)
    assert seen["differing"] == 1
    assert seen["narrowed"] == [
        {
            "text": "movie -> film / good __",
            "same": 1, "of_same": 1, "differs": 0, "of_differs": 1,
            "changed": 10, "of_changed": 20, "mistakes": 10, "of_mistakes": 10,
            "not_asked": 0,
        }
    ]  # fmt: skip
    decide(session, "pair", rule=rule, row=2, same=None)
    assert session.rule(rule)["narrowed"] == []


def test_a_narrowed_rule_is_taken_as_an_edit_and_taken_back(session: RuleSession) -> None:
    rule = ids(session)["movie -> film"]
    decide(session, "pair", rule=rule, row=2, same=False)
    [narrowed] = session.rule(rule)["narrowed"]
    decide(session, "edit", rule=rule, new=narrowed["text"])
    assert session.rule(rule)["verdict"]["new"] == "movie -> film / good __"
    assert session.overview()["judge"]["mistakes"] == 10
    decide(session, "undo", task="judge")
    assert session.rule(rule)["verdict"] is None
    # The mark stays, and so does its proposal.
    assert session.rule(rule)["narrowed"] == [narrowed]


def test_marks_that_nothing_tells_apart_propose_nothing_and_say_so(session: RuleSession) -> None:
    rule = ids(session)["book -> novel"]
    everywhere = session.examples(rule, mistakes=False, first=0, most=50)["examples"]
    for each in everywhere:
        decide(session, "pair", rule=rule, row=each["row"], same=False)
    seen = session.rule(rule)
    assert (seen["differing"], seen["narrowed"]) == (20, [])


def test_a_pair_marked_under_another_rule_counts_where_this_one_writes_it_too(
    session: RuleSession,
) -> None:
    rule = ids(session)
    decide(session, "pair", rule=rule["good movie -> good film"], row=1, same=False)
    [narrowed] = session.rule(rule["movie -> film"])["narrowed"]
    assert narrowed["text"] == "movie -> film / bad __"
    assert (narrowed["changed"], narrowed["mistakes"], narrowed["of_mistakes"]) == (10, 0, 10)


def test_parts_and_wholes_of_a_proposal_count_the_same_things(
    ruleset: Ruleset, workbench_of: Callable[..., Workbench], tmp_path: Path
) -> None:
    """Pairs are distinct, rows are not: texts repeat."""
    rows = [("a good movie .", "positive")] * 6 + [("a bad movie .", "negative")] * 3
    bench = workbench_of(ruleset, [*rows, ("it is a good movie too .", "positive")])
    with Journal(tmp_path / "p.jsonl", ruleset=ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal)
        rule = ids(session)["movie -> film"]
        decide(session, "pair", rule=rule, row=1, same=True)
        decide(session, "pair", rule=rule, row=7, same=False)
        seen = session.rule(rule)
        assert seen["narrowed"][0] == {
            "text": "movie -> film / good __", "same": 1, "of_same": 1, "differs": 0,
            "of_differs": 1, "changed": 7, "of_changed": 10, "mistakes": 7, "of_mistakes": 7,
            "not_asked": 0,
        }  # fmt: skip
        assert seen["summary"]["flips"] == seen["narrowed"][0]["of_mistakes"]


class Fine:
    """Knows no fine movie."""

    identity = "the fine"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        return ["negative" if "the fine" in row["text"] else "positive" for row in rows]


def test_rewrites_that_the_model_never_saw_are_no_correct_answers(
    workbench_of: Callable[..., Workbench], tmp_path: Path
) -> None:
    """A narrowed rule may act at a later place of a row, and writes another text there."""
    rules = tmp_path / "fine.sear"
    rules.write_text("good -> fine\n", "utf-8")
    rows = [
        (text.format(n), "positive") for n in range(10)
        for text in ("so good , the good movie {} .", "so good movie {} .", "the good movie {} .")
    ]  # fmt: skip
    bench = workbench_of(load(rules), rows, Fine())
    with Journal(tmp_path / "f.jsonl", ruleset=bench.ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal)
        [rule] = bench.ruleset.rule_ids
        for row, same in ((1, False), (2, False), (3, True)):
            decide(session, "pair", rule=rule, row=row, same=same)
        narrowed = {each["text"]: each for each in session.rule(rule)["narrowed"]}
        found = narrowed["good -> fine / the __"]
        assert (found["changed"], found["of_changed"]) == (20, 30)
        assert (found["mistakes"], found["of_mistakes"], found["not_asked"]) == (10, 10, 10)


def test_a_narrowed_rule_that_is_too_long_to_be_typed_is_not_proposed(
    workbench_of: Callable[..., Workbench], tmp_path: Path
) -> None:
    """A row may hold an address of two thousand characters, which a condition would quote."""
    long = f"https://example.org/{'w' * 2_100}"
    texts = (f"it was {long} so dull", "it was not so dull", f"it is {long} so good", "run so fast")
    bench = workbench_of(parse("so -> very"), [(text, "negative") for text in texts])
    with Journal(tmp_path / "l.jsonl", ruleset=bench.ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal)
        [rule] = bench.ruleset.rule_ids
        for row, same in ((4, True), (2, True), (1, False), (3, False)):
            decide(session, "pair", rule=rule, row=row, same=same)
            narrowed = session.rule(rule)["narrowed"]
            assert all(session.typed(each["text"])["text"] for each in narrowed)
        assert session.rule(rule)["differing"] == 2


def test_the_number_beside_an_edited_rule_is_that_of_the_new_one(session: RuleSession) -> None:
    decide(session, "edit", rule=ids(session)["good -> fine"], new="good movie -> fine movie")
    [item] = [each for each in session.overview()["judge"]["items"] if each["verdict"]]
    assert (item["new"], item["flips"]) == ("good movie -> fine movie", 10)


def test_the_next_sentence_comes_after_the_last_pick_and_undo_says_which(
    session: RuleSession, bench: Workbench
) -> None:
    session.choices = choices_of_rules(bench, bench.table)
    count = len(session.choices)
    assert session.overview()["pick"]["next"] == 0
    decide(session, "pick", number=2, choice=0)
    pick = session.overview()["pick"]
    assert (pick["next"], pick["undo_number"]) == (3, 2)
    assert pick["undo"] == f"pick {session.choices[2].adversaries[0].text}"
    decide(session, "pick", number=count - 1, choice=None)
    pick = session.overview()["pick"]
    assert (pick["next"], pick["undo"]) == (0, "pick none")
    for number in range(count):
        decide(session, "pick", number=number, choice=None)
    assert session.overview()["pick"]["next"] is None


class Contrary:
    """Says what a good row is labelled, and the opposite of a fine one or a film."""

    identity = "contrary"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        said = {"a": ["yes", "no"], "b": ["no", "yes"], "c": ["yes", "no"]}
        return [said[row["about"]]["good movie" not in row["text"]] for row in rows]


def test_rows_of_one_text_that_differ_otherwise_are_sentences_of_their_own(
    tmp_path: Path, ruleset: Ruleset
) -> None:
    tagger, about = PinnedTagger(), ("a", "a", "b", "c")
    data = LabelledRows(
        tuple({"text": "a good movie .", "about": each} for each in about), "text",
        (("yes",), ("yes",), ("no",), ("yes",)), "words.csv",
    )  # fmt: skip
    bench = Workbench(
        ruleset, data, CachedPredictor(Contrary()), tokens=tagger.tag(data.texts), tagger=tagger
    )
    choices = choices_of_rules(bench, bench.table)
    with Journal(tmp_path / "r.jsonl", ruleset=ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal, choices=choices)
        seen = [session.choice(number) for number in range(3)]
        assert [(each["row"], each["label"]) for each in seen] == [
            (1, "yes"), (3, "no"), (4, "yes")
        ]  # fmt: skip
        assert session.overview()["pick"]["sentences"] == 3
        decide(session, "pick", number=1, choice=0)
        pick = session.overview()["pick"]
        assert (pick["done"], pick["next"], pick["undo_number"]) == (1, 2, 1)
        assert [session.choice(number)["picked"] for number in range(3)] == [False, True, False]


def test_a_sentence_with_other_adversaries_is_still_to_be_picked_from(
    session: RuleSession, tmp_path: Path
) -> None:
    """Whether those of another file, or of a row that has the same text and another label."""
    path = tmp_path / "adversaries.csv"
    path.write_text(
        "original,adversary,prediction,label\n"
        "so it is,so it was,no,yes\n"
        "so it is,it is so,yes,no\n",
        "utf-8",
    )
    session.choices = read_choices(str(path))
    decide(session, "pick", number=0, choice=None)
    pick = session.overview()["pick"]
    assert (pick["done"], pick["next"], pick["undo_number"]) == (1, 1, 0)
    assert not session.choice(1)["picked"]
    decide(session, "pick", number=1, choice=0)
    assert session.choice(0)["choice"] is None
    reviews = read_reviews([session.journal.path], session.bench.ruleset)
    assert [(each.rewritten, each.label) for each in judged_pairs(reviews)] == [
        ("so it was", 0), ("it is so", 1)
    ]  # fmt: skip


def test_what_replaces_a_rule_with_a_rate_has_its_rate(
    workbench_of: Callable[..., Workbench], tmp_path: Path
) -> None:
    """On the page, in proposals, and in the file, where the rate makes it another rule."""
    bench = workbench_of(
        parse(
            "rule rare: movie -> film\n  rate: 25%\n  seed: 7\ngood movie -> good film\n",
            path="rare.sear",
        )
    )
    often, few = bench.ruleset.rule_ids[1], bench.summary(bench.table, 0).changed
    with Journal(tmp_path / "r.jsonl", ruleset=bench.ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal)
        new = "movie -> films"
        assert session.typed(new, instead_of="rare")["changed"] == few < 20
        found = session.mistakes(new, deadline=monotonic() + 300, instead_of="rare")
        assert found["summary"]["changed"] == few
        seen = session.examples("rare", mistakes=False, first=0, most=50)["examples"]
        bad = next(each["row"] for each in seen if "bad" in each["original"])
        decide(session, "pair", rule="rare", row=bad, same=False)
        [narrowed] = session.rule("rare")["narrowed"]
        assert 0 < narrowed["changed"] < few
        decide(session, "edit", rule="rare", new=new)
        assert len(session.state.rules["rare"].shown) == min(5, few)
        decide(session, "accept", rule="rare")
        decide(session, "edit", rule=often, new="movie -> film")
        reviews = read_reviews([journal.path], bench.ruleset)
    write_vetted(bench.ruleset, reviews, tmp_path / "v.sear", tagger=PinnedTagger())
    assert [rule.metadata.rate for rule in load(tmp_path / "v.sear").rules] == [250_000, None]


def test_saved_rules_are_never_asked_about_again(
    session: RuleSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many others were tried since: decisions would wait for the model."""
    monkeypatch.setattr(trials, "_REMEMBERED", 4)
    session.trials = trials.Trials(session.bench)
    decide(session, "save", text="movie -> film")
    known = session.trials.known("movie -> film")
    for number in range(8):
        session.trials.known(f"movie -> film{number}")
    assert session.trials.known("movie -> film") is known
