"""Discovery as a whole: its results, that they reproduce, and what stops it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery import algorithm, orders, parts
from sears_dsl.discovery.algorithm import discover
from sears_dsl.discovery.known_rules import KnownRules
from sears_dsl.discovery.orders import BeforeSearch, OnKnown
from sears_dsl.discovery.result.found_rules import Discovery
from sears_dsl.discovery.result.manifest import read_manifest
from sears_dsl.discovery.result.report import Participants, write_discovery
from sears_dsl.discovery.settings import Budget, Settings, Stage
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.language.loader import load, parse
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.paraphrasing.memory import ParaphraseSource, remembered_paraphrases
from sears_dsl.rule_tests import run_tests
from sears_dsl.runtime.database import RunJournal
from sears_dsl.statistics import wilson_interval
from sears_dsl.tagging.pinned import PinnedTagger

pytestmark = pytest.mark.usefixtures("few_texts")

TAGGER = PinnedTagger({"movie": ("NOUN", "NN"), "play": ("NOUN", "NN"), "is": ("AUX", "VBZ")})
ADJECTIVES = ("good", "fine", "nice", "odd", "sad", "long")
TEXTS = [f"This {noun} is {each} ." for each in ADJECTIVES for noun in ("movie", "play")]


@dataclass
class Rewording:
    """Swaps words: movie for film or dog, is for 's."""

    calls: int = 0

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        self.calls += 1
        return [list(self._of(sentence)) for sentence in sentences]

    def _of(self, sentence: str) -> Iterator[str]:
        for old, new in (("movie", "film"), ("movie", "dog"), ("is", "was")):
            if f" {old} " in sentence:
                yield sentence.replace(f" {old} ", f" {new} ")


@dataclass
class Meaning:
    """A scorer: only *movie* means *film*, nothing means *dog*, and all else is the same."""

    name = "meaning"
    identity = "meaning-1"
    tau = 0.5
    asked: int = 0

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        self.asked += len(pairs)
        return np.array([self._score(*pair) for pair in pairs], np.float64)

    def _score(self, old: str, new: str) -> float:
        return 0.1 if "dog" in new or ("film" in new and "movie" not in old) else 0.9

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        return self.scores(pairs) >= tau


@dataclass
class Brittle:
    """A model that does not know *film*."""

    fails_after: int | None = None
    calls: int = field(default=0)

    def predict(self, texts: Sequence[str]) -> list[str]:
        self.calls += 1
        if self.fails_after is not None and self.calls > self.fails_after:
            raise RuntimeError("out of memory")
        return ["0" if "film" in text or "dog" in text else "1" for text in texts]


def rows(labels: str | None = "1", texts: Sequence[str] = TEXTS) -> LabelledRows:
    gold = None if labels is None else ((labels,),) * len(texts)
    return LabelledRows(tuple({"text": text} for text in texts), "text", gold, "rows.csv")


def search(
    data: LabelledRows,
    model: object,
    rewording: ParaphraseSource,
    settings: Settings,
    scorer: Meaning | None = None,
    **others: Any,
) -> Discovery:
    return discover(
        data, CallablePredictor(model) if callable(model) else model,  # type: ignore[arg-type]
        paraphraser=rewording, scorer=scorer or Meaning(), tagger=TAGGER, settings=settings,
        **others,
    )  # fmt: skip


def run(
    *,
    model: Brittle | None = None,
    rewording: Rewording | None = None,
    data: LabelledRows | None = None,
    scorer: Meaning | None = None,
    journal: RunJournal | None = None,
    **settings: object,
) -> Discovery:
    chosen = Settings(**{"minimum_flips": 3, **settings})  # type: ignore[arg-type]
    return search(data or rows(), (model or Brittle()).predict, rewording or Rewording(), chosen,
                  scorer, journal=journal)  # fmt: skip


def test_the_rule_that_flips_and_keeps_the_meaning_is_found_and_the_other_is_not() -> None:
    found = run()
    assert [each.text for each in found.rules] == ["movie -> film"]
    rule = found.rules[0]
    assert (rule.flips, rule.changed, rule.at_tau) == (6, 6, 6)
    assert rule.mean_score == pytest.approx(0.9)
    assert rule.examples[0].prediction == "0"
    assert found.funnel.rows_flipped == 6
    assert not any("dog" in text for text, _, _ in found.collapsed)


def test_without_labels_what_the_model_says_of_the_untouched_row_counts_as_right() -> None:
    assert [each.text for each in run(data=rows(None)).rules] == ["movie -> film"]


def test_a_model_that_has_nothing_right_is_reported_with_both_sides() -> None:
    with pytest.raises(DataError, match="none of the 12 rows") as caught:
        run(data=rows("positive"))
    assert "'1'" in caught.value.help
    assert "'positive'" in caught.value.help


def many(count: int) -> LabelledRows:
    return rows(
        texts=[
            f"This {noun} is {number} ." for number in range(count) for noun in ("movie", "play")
        ]
    )


def test_held_out_rows_take_no_part_and_say_what_rules_do_to_flips_and_meaning() -> None:
    class Fickle(Meaning):
        """A scorer that doubts that the movies 7, 19 and 33 are films."""

        def _score(self, old: str, new: str) -> float:
            return 0.4 if old.split()[3] in ("7", "19", "33") else super()._score(old, new)

    found = run(scorer=Fickle(), data=many(60))
    rule = next(each for each in found.rules if each.text == "movie -> film")
    held, funnel = rule.held_out, found.funnel
    assert held is not None
    assert held.at_tau_interval is not None
    assert (funnel.right, funnel.searched) == (120, 120 - funnel.held_out)
    assert 20 < funnel.held_out < 50
    assert rule.changed + held.changed == 60
    assert held.flips == held.changed
    assert rule.at_tau + (held.at_tau or 0) == 57
    assert rule.flips_at_tau + (held.flips_at_tau or 0) == 57
    assert held.at_tau_interval[0] < (held.at_tau or 0) / held.changed <= held.at_tau_interval[1]
    assert funnel.held_out_flipped == held.flips_at_tau


def test_rows_are_held_out_by_default_where_there_are_enough() -> None:
    assert run(data=many(49)).funnel.held_out == 0
    assert run(data=many(50)).funnel.held_out > 0
    assert run(data=many(50), holdout=0).funnel.held_out == 0


def test_what_held_out_rows_say_stands_in_all_that_is_written(tmp_path: Path) -> None:
    found = run(data=many(60))
    files = written(tmp_path, found)
    held = found.rules[0].held_out
    assert held is not None
    assert f"| {held.flips} of {held.changed} |" in files["found.md"].decode()
    assert f"held out: flips {held.flips} of {held.changed}" in files["found.sear"].decode()
    record = read_manifest(tmp_path / "found.manifest.json")
    assert record.rules[0].held_out == held
    assert record.settings.holdout == 0.3
    assert record.counts.right == 120
    assert "held-out rows, which took no part in the search" in files["found.md"].decode()
    files = written(tmp_path, replace(
        found, cut_short=("telling",),
        funnel=replace(found.funnel, held_out_unasked=found.funnel.held_out),
    ))  # fmt: skip
    assert "questions ran out before 3" in files["found.md"].decode()
    assert "cut short: measuring rules on held-out rows**" in files["found.md"].decode()
    assert "which took no part in the search" not in files["found.md"].decode()


def test_a_report_says_in_words_why_a_rule_is_left_out(tmp_path: Path) -> None:
    found = run(data=many(60))
    twin = ("film -> movie", found.rules[0].text, "inverse")
    report = written(tmp_path, replace(found, collapsed=(twin,)))["found.md"].decode()
    assert f"- `film -> movie` undoes `{found.rules[0].text}`\n" in report


@pytest.mark.parametrize("forecasts", [False, True])
def test_the_report_explains_the_bound_that_was_computed(
    forecasts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge forecasts readers; of any other scorer only a share of rewrites is known."""
    if forecasts:
        for module in (algorithm, orders):
            monkeypatch.setattr(module, "spread_of", lambda _: lambda pairs: np.zeros(len(pairs)))
    found = run(delta=0.2)
    report = written(tmp_path, found)["found.md"].decode()
    readers = "readers accept at least this share, with a chance of four in five"
    assert (readers in report) == forecasts
    assert ("one-sided 90% interval (Wilson) of this share" in report) != forecasts
    judged = found.rules[0].judged
    assert judged is not None
    low, _ = wilson_interval(judged.accepted, judged.sampled, confidence=0.8)
    assert (judged.low == pytest.approx(float(low))) != forecasts


def test_no_text_breaks_the_tables_of_a_report(tmp_path: Path) -> None:
    """A rule with a backtick, and an example with a bar and a line break."""
    found = run(data=many(60))
    first = found.rules[0]
    flip = replace(first.examples[0], original="a | b\nc", rewritten="`d` *e*")
    rule = replace(first, text='"`" -> film|movie', examples=(flip,))
    report = written(tmp_path, replace(found, rules=(rule,)))["found.md"].decode()
    [row] = [line for line in report.splitlines() if f"| {rule.flips} of " in line]
    assert '| `` "`" -> film\\|movie `` |' in row
    assert "| a \\| b c → \\`d\\` \\*e\\* (" in row


def test_all_rows_held_out_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(
        DataError, match="all 12 rows that the model gets right are held out"
    ) as error:
        run(holdout=0.9999)
    assert error.value.help == (
        "rows with the same text are held out together: add other rows, or --holdout 0"
    )


def test_the_base_rate_is_that_of_paraphrases_that_keep_the_meaning() -> None:
    """Films flip and keep the meaning, dogs flip and do not, the past flips nothing."""
    found = run(data=many(200), holdout=0)
    # For *play* only the past keeps the meaning; for *movie* also *film*, at random.
    assert found.base_rows == 400
    assert 0.15 < found.base_rate < 0.35


def written(folder: Path, found: Discovery) -> dict[str, bytes]:
    participants = Participants(
        model="brittle", pivots=("swap",), scorer="meaning-1", beam=1, label="label"
    )
    folder.mkdir(exist_ok=True)
    write_discovery(found, folder / "found.sear", participants=participants, tagger=TAGGER)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_no_manifest_is_written_for_rules_that_could_not_be(tmp_path: Path) -> None:
    (tmp_path / "found.sear").mkdir()
    with pytest.raises(DataError):
        written(tmp_path, run())
    assert [path.name for path in tmp_path.iterdir()] == ["found.sear"]


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    first, again = written(tmp_path / "a", run()), written(tmp_path / "b", run())
    assert sorted(first) == ["found.manifest.json", "found.md", "found.sear"]
    assert first == again


def test_what_is_written_can_be_read_and_its_tests_hold(tmp_path: Path) -> None:
    written(tmp_path, run())
    ruleset = load(tmp_path / "found.sear")
    results = run_tests(ruleset, tagger=TAGGER)
    assert [result.outcome for result in results] == ["ok"] * 3
    manifest = read_manifest(tmp_path / "found.manifest.json")
    assert manifest.rules[0].id == ruleset.rule_ids[0]
    assert manifest.settings.tau == 0.5
    assert "flips 6 of 6 right rows" in (ruleset.rules[0].metadata.why or "")


def test_an_interrupted_run_goes_on_where_it_was_and_writes_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite3"
    rewording = Rewording()
    with RunJournal(path, task="a") as journal, pytest.raises(ModelError, match="out of memory"):
        run(model=Brittle(fails_after=1), rewording=rewording, journal=journal)
    assert rewording.calls == 1
    with RunJournal(path, task="a") as journal:
        resumed = run(rewording=rewording, journal=journal)
    assert rewording.calls == 1, "paraphrases of the first run are used again"
    assert written(tmp_path / "a", resumed) == written(tmp_path / "b", run())


def test_a_finished_journal_leaves_nothing_to_score(tmp_path: Path) -> None:
    first, again = Meaning(), Meaning()
    with RunJournal(tmp_path / "journal.sqlite3", task="a") as journal:
        run(scorer=first, journal=journal)
        run(scorer=again, journal=journal)
    assert first.asked > 0
    assert again.asked == 0


def test_a_journal_of_another_task_is_refused_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite3"
    rewording = Rewording()
    with RunJournal(path, task="beam 30\ntau 0.1") as journal:
        run(rewording=rewording, journal=journal)
    with pytest.raises(UsageError, match=r"used tau 0\.1, but this one uses tau 0\.2"):
        RunJournal(path, task="beam 30\ntau 0.2")
    with RunJournal(path, task="beam 30\ntau 0.1") as journal:
        run(rewording=rewording, journal=journal)
    assert rewording.calls == 1


def test_a_journal_is_that_of_a_file_whose_name_is_no_utf8(tmp_path: Path) -> None:
    for _ in range(2):
        RunJournal(tmp_path / "journal.sqlite3", task="paraphrases of a\udcff.csv").close()
    with pytest.raises(UsageError, match="used paraphrases of"):
        RunJournal(tmp_path / "journal.sqlite3", task="paraphrases of a\udcfe.csv")


def test_a_search_does_not_go_on_with_what_other_code_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = parts.PartsChoice(paraphraser={"A movie.": ["A film."]}, scorer=equal, tau=0.5)

    def remember() -> None:
        with parts.open_parts(choice, choice.own(), folder=tmp_path) as opened:
            opened.journal.put_many("paraphrases", {"A movie.": ["A film."]})

    remember()
    remember()
    monkeypatch.setattr(parts, "_code_of_search", lambda: "other")
    with pytest.raises(
        UsageError,
        match=r"used sears code [0-9a-f]{12}, but this one uses sears code other",
    ) as told:
        remember()
    assert "only --restart helps" in told.value.help


def equal(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [1.0 for _ in pairs]


def test_a_spent_budget_ends_in_fewer_findings_and_says_so() -> None:
    seconds = iter(range(0, 10_000, 5))
    model = CachedPredictor(CallablePredictor(Brittle().predict))
    model.predict(rows().rows)
    found = search(rows(), model, Rewording(), Settings(budget_seconds=1.0),
                   clock=lambda: float(next(seconds)))  # fmt: skip
    assert found.budget_reached
    assert found.rules == ()
    assert found.funnel.skipped == len(TEXTS)


def test_time_that_is_over_before_a_row_is_answered_is_an_error_that_says_so() -> None:
    with pytest.raises(DataError, match="the time ran out before the model had answered a row"):
        search(rows(), Brittle().predict, Rewording(), Settings(budget_seconds=1.0),
               clock=lambda: 10.0, began=0.0)  # fmt: skip


def test_a_model_is_asked_about_some_rows_where_there_is_no_time_for_all() -> None:
    """The budget also applies while the model is asked about the rows."""
    now = [0.0]

    def slow(texts: Sequence[str]) -> list[str]:
        now[0] += len(texts)
        return Brittle().predict(texts)

    found = search(rows(), slow, Rewording(), Settings(budget_seconds=30.0), clock=lambda: now[0])
    assert 0 < found.funnel.unasked < len(TEXTS)
    assert found.funnel.rows == len(TEXTS)
    assert "rows" in found.cut_short


def test_an_ample_budget_changes_nothing() -> None:
    found = run(budget_seconds=3600.0)
    assert [each.text for each in found.rules] == ["movie -> film"]
    assert not found.budget_reached


@pytest.mark.parametrize("strange", [None, 5, ["a text"], b"a text"])
def test_paraphrases_may_be_texts_and_nothing_strange(strange: object) -> None:
    class Plain:
        def __init__(self, answer: object) -> None:
            self.answer = answer

        def paraphrase(self, sentences: Sequence[str]) -> list[list[object]]:
            return [[self.answer] for _ in sentences]

    with RunJournal(None, task="t") as journal:
        assert remembered_paraphrases(Plain("so"), ["a", "b"], journal) == [["so"], ["so"]]
    with (
        RunJournal(None, task="t") as journal,
        pytest.raises(UsageError, match="is not a paraphrase"),
    ):
        remembered_paraphrases(Plain(strange), ["a"], journal)


def test_a_manifest_of_an_earlier_version_is_reported_as_such(tmp_path: Path) -> None:
    path = tmp_path / "found.manifest.json"
    path.write_text('{"format": "sears-manifest", "version": 1, "rules": []}', "utf-8")
    with pytest.raises(DataError, match="version 1, which earlier versions of sears wrote"):
        read_manifest(path)


# ---------------------------------------------------------------- planted bugs


class Says:
    """Rewords by a table of words."""

    def __init__(self, **words: str) -> None:
        self.words = words

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        return [
            [text.replace(f" {old} ", f" {new} ") for old, new in self.words.items()
             if f" {old} " in text]
            for text in sentences
        ]  # fmt: skip


SIXTY = tuple(
    f"This {noun} is {kind} number {number} ."
    for number in range(10)
    for noun in ("movie", "play", "story")
    for kind in ("good", "very good")
)


WORDS = {"movie": "film", "play": "piece", "very": "really", "story": "dog", "aria": "tune"}
FORTY_STORIES = [f"This story is number {number} ." for number in range(40)]


def planted(
    model: object,
    *,
    texts: Sequence[str] = SIXTY,
    words: Mapping[str, str] = WORDS,
    scorer: Meaning | None = None,
    clock: Callable[[], float] = monotonic,
    known: Mapping[str, str] | None = None,
    on_known: OnKnown = lambda _: None,
    before_search: BeforeSearch = lambda _: None,
    **settings: object,
) -> Discovery:
    """Every rewording keeps the meaning, except one that turns a word into *dog*."""
    files = None if known is None else {name: parse(text) for name, text in known.items()}
    return search(
        rows(None, texts), model, Says(**words), Settings(holdout=0, **settings),  # type: ignore[arg-type]
        scorer, clock=clock, on_known=on_known, before_search=before_search,
        known=None if files is None else KnownRules.of(files, tagger=TAGGER),
    )  # fmt: skip


def failing_on(*words: str) -> Callable[[Sequence[str]], list[str]]:
    """A model that fails on texts with one of these words."""
    return lambda texts: ["0" if any(word in text for word in words) else "1" for text in texts]


@pytest.mark.parametrize(
    ("word", "rule"), [("film", "movie -> film"), ("really", "very -> really")]
)
def test_a_planted_bug_is_found_and_no_other_rule(word: str, rule: str) -> None:
    found = planted(failing_on(word))
    assert [each.text for each in found.rules] == [rule]
    assert found.rules[0].judged is not None
    assert found.rules[0].judged.passed
    assert found.rules[0].source == ""


def test_a_bug_is_found_although_another_one_is_in_all_of_its_rows() -> None:
    texts = [f"This movie is very good number {number} ." for number in range(20)]
    texts += [f"This play is good number {number} ." for number in range(60)]

    model = failing_on("film", "really")
    found = planted(model, texts=texts)
    assert {each.text for each in found.rules} == {"movie -> film", "very -> really"}
    assert [each.flips for each in found.rules] == [20, 20]
    assert found.rules[1].gain == 0
    assert found.funnel.rows_flipped == 20
    assert len(planted(model, texts=texts, rules=1).rules) == 1


def test_new_rules_for_which_known_ones_leave_no_place_are_counted() -> None:
    model = failing_on("film", "really", "play is good number 3")
    crowded, wider = (
        planted(model, known={"mine": "very -> really"}, rules=places).funnel for places in (1, 2)
    )
    assert (crowded.selected, crowded.without_place, crowded.new_without_place) == (1, 1, 1)
    assert (wider.selected, wider.without_place, wider.new_without_place) == (2, 0, 0)


def test_a_bug_that_no_text_can_judge_is_reported_first_with_its_flips() -> None:
    texts = [*SIXTY, *(f"This aria is good number {number} ." for number in range(5))]
    flipping = planted(failing_on("tune"), texts=texts)
    first = flipping.closest[0]
    assert (first.rule, first.lacks, first.flips, first.changed) == ("aria -> tune", "text", 5, 5)
    bears = planted(failing_on("film"), texts=texts)
    assert "aria -> tune" not in [each.rule for each in bears.closest]

    class Refusing(Meaning):
        def _score(self, old: str, new: str) -> float:
            return 0.1 if "tune" in new else super()._score(old, new)

    refused = planted(
        failing_on("tune"), texts=texts,
        scorer=Refusing(),
    )  # fmt: skip
    assert all(each.flips == 0 for each in refused.closest)


def test_a_model_that_bears_everything_has_no_rule_and_what_was_tried_is_reported() -> None:
    found = planted(failing_on())
    assert found.rules == ()
    assert found.funnel.keep_meaning > 0
    assert {(each.lacks, each.flips) for each in found.closest} == {("flips", 0)}
    assert found.base_rate == 0


def test_what_flips_but_means_another_thing_is_no_rule() -> None:
    found = planted(failing_on("dog"))
    assert found.rules == ()


class Doubting(Meaning):
    """Takes no film for a movie in one of eight texts, which nothing tells from the others."""

    def _score(self, old: str, new: str) -> float:
        return 0.1 if "film" in new and sum(map(ord, old)) % 8 == 0 else super()._score(old, new)


def test_a_bug_that_readers_nearly_accept_is_reported_first_with_its_flips() -> None:
    """It is not selected: readers would refuse too many of its rewrites."""
    flipping = planted(failing_on("film"), scorer=Doubting())
    assert flipping.rules == ()
    first = flipping.closest[0]
    assert (first.rule, first.lacks) == ("movie -> film", "meaning")
    assert (first.flips, first.asked, first.changed) == (20, 20, 20)
    assert first.judged is not None
    assert 0.8 <= first.judged.low < 0.9
    bearing = planted(failing_on(), scorer=Doubting())
    # What readers doubt and flips nothing is not close; what they accept and flips nothing is.
    assert [(each.rule, each.lacks, each.asked, each.flips) for each in bearing.closest] == [
        ("play -> piece", "flips", 20, 0), ("very -> really", "flips", 30, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "failing"),
    [("movie -> film", "film"), ("very -> really", "play is really good number 3")],
    ids=["readers nearly accept it", "it flips too few rows for a new rule"],
)
def test_what_a_found_rule_writes_is_not_reported_as_close_as_well(rule: str, failing: str) -> None:
    without = planted(failing_on(failing), scorer=Doubting())
    assert rule in [each.rule for each in without.closest]
    found = planted(failing_on(failing), scorer=Doubting(), known={"mine/words": rule})
    assert [each.text for each in found.rules] == [rule]
    assert rule not in [each.rule for each in found.closest]


def test_a_change_in_two_casings_is_reported_once() -> None:
    class Cased(Doubting):
        def _score(self, old: str, new: str) -> float:
            return (
                0.1 if "MOVIE" in old and "3" in old else super()._score(old.lower(), new.lower())
            )

    texts = [*SIXTY, *(text.replace("movie", "MOVIE") for text in SIXTY if "movie" in text)]
    words = {"movie": "film", "MOVIE": "FILM"}
    found = planted(failing_on("film", "FILM"), texts=texts, words=words, scorer=Cased())
    assert [each.rule for each in found.closest if each.lacks == "meaning"] == ["movie -> film"]


class Halving(Meaning):
    """Takes no film for a movie in half of the texts."""

    def _score(self, old: str, new: str) -> float:
        return 0.1 if "film" in new and len(old) % 2 else super()._score(old, new)


def test_a_rule_is_narrowed_only_for_a_model_that_it_flips() -> None:
    def scored(flipping: str) -> int:
        return planted(failing_on(flipping), scorer=Halving()).funnel.pairs_scored

    assert scored("film") > scored("really") == scored("nothing")


def test_questions_before_narrowing_end_with_the_time_for_judging(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[str] = []
    stage = Budget.stage

    def begin(budget: Budget, name: Stage) -> Callable[[], bool]:
        begun.append(name)
        return stage(budget, name)

    monkeypatch.setattr(Budget, "stage", begin)
    planted(failing_on(), scorer=Halving(), budget_seconds=1e6)
    # Another beginning would give it another share of the time that is left.
    assert begun.count("judging") == 1


def test_what_readers_might_reject_more_often_than_not_is_not_close_if_few_rows_flip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With δ = 0.2, four times as many rejections as allowed would be four of five."""

    def model(texts: list[str]) -> list[str]:
        return ["0" if "film" in text and len(text) % 3 == 0 else "1" for text in texts]

    class Torn(Meaning):
        def _score(self, old: str, new: str) -> float:
            return 0.1 if "film" in new and len(old) % 7 < 3 else super()._score(old, new)

    found = planted(model, scorer=Torn(), delta=0.2)
    assert "movie -> film" not in [each.rule for each in found.closest]
    monkeypatch.setattr(orders, "HALF", 0.0)
    found = planted(model, scorer=Torn(), delta=0.2)
    [film] = [each for each in found.closest if each.rule == "movie -> film"]
    assert film.judged is not None
    assert 0.2 < film.judged.low < 0.5
    assert film.flips == 10


@pytest.mark.parametrize(("seconds", "all_asked"), [(100.0, False), (1e6, True)])
def test_rules_that_readers_refuse_take_no_time_from_others(
    seconds: float, all_asked: bool
) -> None:
    now = 0.0

    def model(texts: list[str]) -> list[str]:
        nonlocal now
        now += 10 * sum("really" in text or "piece" in text or "film" in text for text in texts)
        return ["1" for _ in texts]

    found = planted(model, scorer=Doubting(), clock=lambda: now, budget_seconds=seconds)
    assert (found.funnel.not_asked == 0) == all_asked
    not_asked = [each.rule for each in found.closest if not each.asked]
    assert ("movie -> film" in not_asked) == (not all_asked)


def test_what_text_says_of_rules_does_not_depend_on_the_model() -> None:
    def judged(word: str) -> dict[str, object]:
        found = planted(failing_on(word))
        return {each.rule: each.judged for each in found.closest} | {
            each.text: each.judged for each in found.rules
        }

    film, really = judged("film"), judged("really")
    common = film.keys() & really.keys()
    assert common
    assert all(film[rule] == really[rule] for rule in common)


def test_known_rules_come_first_and_count_as_people_read_them() -> None:
    """For a rule that people have read, the score removes no flip."""
    told: list[int] = []
    found = planted(
        failing_on("dog"),
        texts=FORTY_STORIES,
        known={"mine/dogs": "story -> dog"},
        on_known=lambda flips: told.append(int(flips.applications.count(flips.flips).sum())),
        before_search=lambda right: told.append(-len(right)),
    )
    assert told[-1] == -40
    assert told[-2] == 40
    assert [(each.text, each.source) for each in found.rules] == [("story -> dog", "mine/dogs")]
    assert found.rules[0].judged is None
    assert found.funnel.rows_flipped == 40


@pytest.mark.parametrize("rules", [2, 3, 4])
def test_known_rules_of_one_flip_take_no_place_of_rules_that_flip_enough(rules: int) -> None:
    """Although they flip rows that no other rule does."""
    texts = [*(f"A story by {name} ." for name in ("Anna", "Bert", "Carl")),
             *(f"A story by {name} is so good ." for name in ("Dora", "Emil")),
             "A play by Fred is so good .", "We danced with Gina .", "We walked with Hans .",
             *(f"Here number {number} sang a song ." for number in range(8))]  # fmt: skip
    found = planted(
        failing_on("tale", "nice", "jumped", "strolled"), texts=texts, rules=rules,
        words={"play": "piece"},
        known={"mine": "story -> tale\ngood -> nice\ndanced -> jumped\nwalked -> strolled"},
    )  # fmt: skip
    of_one_flip = ["danced -> jumped", "walked -> strolled"][: rules - 2]
    assert [each.text for each in found.rules] == ["story -> tale", "good -> nice", *of_one_flip]
    # Where no place is left for them, they are not counted among the rules that flip enough rows.
    funnel = found.funnel
    counts = (funnel.passing, funnel.with_enough_flips, funnel.without_place)
    assert counts == ((2, 2, 0) if rules == 2 else (4, 4, 4 - rules))


def test_places_left_by_repeats_go_to_known_rules_of_one_flip() -> None:
    """And of those that write the same, the one with fewer conditions stays."""
    texts = [*(f"The story number {number} ." for number in range(9)), "We danced with Gina ."]
    found = planted(
        failing_on("tale", "jumped"), texts=texts, rules=3, words={"play": "piece"},
        known={"mine": "[lower=story & pos=NOUN] -> tale\nstory -> tale / the __\n"
               "story -> tale\ndanced -> jumped"},
    )  # fmt: skip
    assert [each.text for each in found.rules] == ["story -> tale", "danced -> jumped"]


def test_a_known_rule_wins_over_a_mined_one_of_the_same_text() -> None:
    """Its id, its file and its acceptance stay, and nothing is left out beside it."""
    found = planted(failing_on("tale"), texts=FORTY_STORIES, words={"story": "tale"},
                    known={"mine": "rule tales: story -> tale"})  # fmt: skip
    assert [(each.text, each.id, each.source) for each in found.rules] == [
        ("story -> tale", "tales", "mine")
    ]
    assert found.collapsed == ()
    assert found.funnel.keep_meaning == 1  # the mined one


@pytest.mark.parametrize(("metadata", "wins"), [("tags: plain", True), ("tags: careless", False)])
def test_a_known_rule_wins_over_a_new_one_that_writes_the_same(metadata: str, wins: bool) -> None:
    """However plain the new one is; but not if readers refuse what the known one writes."""
    rule = f"rule tales: This story -> This tale\n  {metadata}"
    found = planted(failing_on("tale"), texts=FORTY_STORIES, words={"story": "tale"},
                    known={"mine": rule})  # fmt: skip
    known, new = "This story -> This tale", "story -> tale"
    first, second = (known, new) if wins else (new, known)
    assert [(each.text, each.source) for each in found.rules] == [(first, "mine" if wins else "")]
    assert found.collapsed == ((second, first, "redundant"),)


def test_under_a_limit_numbers_do_not_depend_on_the_order_of_the_file() -> None:
    """Of searched and of held-out rows alike, those that are asked about are drawn by lot."""

    def fails(texts: Sequence[str]) -> list[str]:
        words = ("film", "nice", "plan", "item")
        return ["0" if "long" in each and any(word in each for word in words) else "1"
                for each in texts]  # fmt: skip

    texts = [f"A {'short' if n < 40 else 'long'} movie with a good plot , number {n} ."
             for n in range(200)]  # fmt: skip
    both = [
        search(rows(texts=some), fails,
               Says(movie="film", good="nice", plot="plan", number="item"),
               Settings(max_questions=420, holdout=0.3))
        for some in (texts, texts[::-1])
    ]  # fmt: skip
    assert both[0].funnel == both[1].funnel
    assert 0 < both[0].funnel.held_out_unasked < both[0].funnel.held_out
    numbers = [[(each.text, each.flips, each.held_out) for each in one.rules] for one in both]
    assert numbers[0]
    assert numbers[0] == numbers[1]


def test_rows_that_were_not_tried_for_want_of_questions_say_that_the_limit_was_reached() -> None:
    """Half of nine questions go to the rows, and the rules tried take no more of the others."""
    limited = run(max_questions=9, minimum_flips=1)
    assert limited.funnel.unasked > 0
    assert limited.question_limit_reached
    assert not run(minimum_flips=1).question_limit_reached


def test_the_report_counts_as_many_known_rules_as_the_screen() -> None:
    """Even if new rules say the same, or change too few rows."""
    known = {"mine": "story -> tale\nplay -> tale\nnumber -> count",
             "twin": "[lower=story] -> tale"}  # fmt: skip
    found = planted(failing_on("tale"), texts=FORTY_STORIES, words={"story": "tale"}, known=known)
    assert found.known is not None
    assert (found.funnel.known, found.known.acting) == (3, 3)


def test_a_rule_that_people_accepted_needs_fewer_flips_than_a_new_one() -> None:
    """Of 250 rows two flip by *good → fine*, known, and two by *good → nice*, new."""
    texts = [f"This {noun} is good number {n} ." for n in range(125) for noun in ("story", "play")]

    def model(some: Sequence[str]) -> list[str]:
        rare = [("nice" in each or "fine" in each) and " 7 " in each for each in some]
        return [
            "0" if flips or "piece" in text else "1" for flips, text in zip(rare, some, strict=True)
        ]

    found = planted(model, texts=texts, words={"good": "nice", "play": "piece"},
                    known={"mine": "good -> fine"})  # fmt: skip
    assert {(each.text, each.flips) for each in found.rules} == {
        ("play -> piece", 125), ("good -> fine", 2),
    }  # fmt: skip
