"""Results: frames, tables for notebooks, plots, files; frames keep index and columns."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from brittle_model import NOUNS, ROWS, close, predict, reword

import sears_dsl as sears
from sears_dsl.api.results import bar_label, omission_note
from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.language.printer import rule_called
from sears_dsl.language.rule import Reference, TagCopy
from sears_dsl.vetting.journal import Journal


@pytest.fixture
def pyplot() -> Iterator[Any]:
    """What draws, without a window; all figures are closed."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def found() -> sears.DiscoveryResult:
    return sears.discover(predict, ROWS, paraphraser=reword, scorer=close, with_shipped=False)


def brittle(texts: list[str]) -> list[str]:
    return ["bad" if "film" in text else "good" for text in texts]


def robust(texts: list[str]) -> list[str]:
    return ["good" for _ in texts]


def predicted() -> sears.ErrorsResult:
    rows = [(f"A movie, {number} of {number % 3}.", "good") for number in range(60)]

    def model(texts: list[str]) -> list[str]:
        return ["bad" if "film" in text and "of 0" in text else "good" for text in texts]

    return sears.predict_errors(
        sears.audit(model, rows, sears.parse("movie -> film"), scorer=None), rows
    )


def results(found: sears.DiscoveryResult) -> dict[str, Any]:
    audited = sears.audit(predict, ROWS, found, scorer=None)
    return {
        "discover": found,
        "audit": audited,
        "compare": sears.compare(audited, audited),
        "grid": sears.compare(audited, audited, audited),
        "predict_errors": predicted(),
        "score": sears.score([("a <b>", "a & b")], scorer=close),
        "paraphrase": sears.paraphrase(["A movie."], paraphraser=reword),
        "adversaries": sears.adversaries(predict, ROWS, paraphraser=reword, scorer=close),
    }


def test_what_results_and_rules_hold_is_shown_in_a_line(found: sears.DiscoveryResult) -> None:
    rules = "rule film: movie -> film\n\nthe -> a\n\nset X = a | b\n\n"
    ruleset = sears.parse(rules + 'template good: "{X} is."\n  label: good\n')
    assert list(map(repr, ruleset.rules)) == [
        "<Rule film: movie -> film, line 1>", "<Rule r-c4ee0d0faf: the -> a, line 3>",
    ]  # fmt: skip
    assert repr(ruleset.templates[0]) == '<Template good: "{X} is.", line 7>'
    assert repr(found.ruleset.rules[0]) == "<Rule movie-to-film: movie -> film, line 5>"
    assert repr(found.rules[0]) == "<FoundRule movie-to-film: movie -> film, flips 8 of 16 rows>"
    audited = sears.audit(predict, ROWS, found, scorer=None)
    shown = "<RuleRecord movie-to-film: movie -> film, fails on 8 of 16 rows, not judged>"
    assert repr(audited.rules) == f"({shown},)"
    assert repr(audited.document) == f"<AuditDocument of brittle_model:predict: {audited.summary}>"
    assert repr(found.discovery.data) == "<LabelledRows of the data: 16 rows>"
    assert repr(sears.load_tagger().tag(["A movie.", "A film."])) == "<Tokens of 2 texts, tagged>"


def test_a_rule_that_the_language_cannot_write_is_shown_too() -> None:
    rule = sears.parse("rule glued: a:NOUN VERB -> $a").rules[0]
    strange = replace(rule, consequent=(Reference("a"), TagCopy("VERB", glued=True)))
    assert repr(strange) == "<Rule glued has no notation, line 1>"


def test_a_result_is_a_frame_a_table_and_a_line(found: sears.DiscoveryResult) -> None:
    pandas = pytest.importorskip("pandas")
    for name, result in results(found).items():
        frame = result.to_frame()
        assert isinstance(frame, pandas.DataFrame), name
        assert list(frame.columns) == list(result.columns), name
        shown = result._repr_html_()
        assert shown.startswith("<table><caption>"), name
        assert shown.count("<tr>") == 1 + min(50, len(frame)), name
        assert "\n" not in repr(result), name
        assert result.summary in repr(result), name


def test_what_comes_from_rows_is_escaped() -> None:
    rows = [(f'<b> movie </b> {number} & "more"', "<i>") for number in range(3)]
    found = sears.audit(lambda texts: ["<i>"] * len(texts), rows, sears.parse("movie -> film"),
                        scorer=None)  # fmt: skip
    shown = found._repr_html_()
    assert "<b>" not in shown
    assert "<i>" not in shown
    change = "<del>movie</del><ins>film</ins>"
    assert f"&lt;b&gt; {change} &lt;/b&gt; 0 &amp; &quot;more&quot;" in shown


def test_a_notebook_shows_what_a_person_reads_and_a_long_row_around_its_change() -> None:
    rows = [(f"{'so ' * 60}the movie {number} {'it goes ' * 60}", "good") for number in range(40)]
    rules = sears.parse("book -> novel\ngoes -> went\nrule film: movie -> film / the __")

    shown = sears.audit(brittle, rows, rules, scorer=None)._repr_html_()
    table, below = shown.split("</table>")
    assert table.count("<tr>") == 3
    assert table.index("movie -&gt; film … (film)") < table.index("goes -&gt; went")
    assert below == "<p>1 rule changes no row: book -&gt; novel. to_frame() has all rules.</p>"
    both = sears.audit({"a": brittle, "b": brittle}, rows, rules, scorer=None)
    table, below = both._repr_html_().split("</table>")
    assert table.count("<tr>") == 5
    assert (
        below == "<p>1 rule was tested on no row: book -&gt; novel. to_frame() has all rules.</p>"
    )
    assert len(both.to_frame()) == 6
    pair = sears.compare(both.audits["a"], both.audits["b"])
    table, below = pair._repr_html_().split("</table>")
    assert (table.count("<tr>"), len(pair.to_frame())) == (3, 3)
    assert below == "<p>1 rule is not compared: book -&gt; novel. to_frame() has all rules.</p>"
    assert "0 of 40" in shown
    assert "0% (0%–8.8%)" in shown
    [example, _] = [cell for cell in shown.split("<td") if "<del>" in cell]
    assert "…so so" in example
    assert len(example) < 220


def test_a_search_that_finds_nothing_says_what_came_closest() -> None:
    def never(pairs: list[tuple[str, str]]) -> list[float]:
        return [0.1 for _ in pairs]

    nothing = sears.discover(predict, ROWS * 4, paraphraser=reword, scorer=never, tau=0.5,
                             with_shipped=False)  # fmt: skip
    assert len(nothing) == 0
    below = nothing._repr_html_().split("</table>")[1]
    assert below.startswith("<p>Closest to passing: ")
    assert " lacks certainty that readers accept it" in below


def test_many_rows_are_cut_in_a_notebook() -> None:
    many = sears.score([(f"a {n}", f"b {n}") for n in range(60)], scorer=close)
    assert "and 10 more rows" in many._repr_html_()


def test_rules_go_from_one_function_to_the_next(found: sears.DiscoveryResult) -> None:
    assert found.rules[0].text == "movie -> film"
    assert found.rules[0].flips == len(NOUNS)
    [rule] = found.ruleset.filter(lambda rule: rule.name == found.rules[0].id)
    assert rule.metadata.tests
    audited = sears.audit(predict, ROWS, found, scorer=None)
    assert audited.ruleset.rules == found.ruleset.rules
    assert {each.id for each in audited.rules} == set(found.ruleset.rule_ids)
    [record] = sears.apply(["A movie."], found.ruleset.filter(lambda each: each is rule))
    assert record["rewritten"] == "A film."


def test_rules_of_a_search_are_not_tried_on_its_own_rows(found: sears.DiscoveryResult) -> None:
    with pytest.raises(UsageError, match="same_rows="):
        sears.fix(ROWS[1:], ROWS, found, train=lambda texts, labels, seed: predict, seeds=1)
    done = sears.fix(ROWS[1:], ROWS, found, train=lambda texts, labels, seed: predict, seeds=1,
                     same_rows=True)  # fmt: skip
    assert done.participants.notes


def test_a_repair_is_measured_with_a_way_to_train_of_ones_own() -> None:
    def train(texts: list[str], labels: list[str], seed: int) -> Any:
        seen = any("film" in text for text in texts)
        return lambda texts: ["good" if seen and "good" in text else predict([text])[0]
                              for text in texts]  # fmt: skip

    held = [(text.replace("This", "That"), label) for text, label in ROWS]
    done = sears.fix(ROWS, held, sears.parse("movie -> film"), train=train, seeds=2, min_fall=0.5,
                     margin=0.5, min_support=5)  # fmt: skip
    assert done.repair.sensitivity.original.error == 0.5
    assert done.repair.sensitivity.augmented.error == 0.0
    assert done.passed
    assert done.columns["original"][1] == 0.5
    assert done.rules[0].text == "movie -> film"


def test_an_estimator_is_fitted_anew_each_time() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    text = pytest.importorskip("sklearn.feature_extraction.text")
    pipeline = pytest.importorskip("sklearn.pipeline")
    model = pipeline.make_pipeline(text.CountVectorizer(), linear.SGDClassifier())
    held = [(text.replace("This", "That"), label) for text, label in ROWS]
    done = sears.fix(ROWS, held, sears.parse("movie -> film"), train=model, seeds=2)
    assert done.repair.validation.original.of_seeds == (0.0, 0.0)
    assert not hasattr(model[0], "vocabulary_")
    with pytest.raises(UsageError, match="type int cannot train a model"):
        sears.fix(ROWS, held, sears.parse("movie -> film"), train=3)

    def train(texts: list[str], labels: list[str], seed: int) -> object:
        return sears.load("missing.sear")

    with pytest.raises(ModelError, match=r"train raised UsageError: .*missing\.sear"):
        sears.fix(ROWS, held, sears.parse("movie -> film"), train=train)


# ---------------------------------------------------------------- frames come back


def test_an_augmented_frame_keeps_index_and_types() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "text": ["A movie.", "A book."],
            "label": pandas.Categorical(["good", "bad"]),
            "n": [1, 2],
        },
        index=[5000, 5001],
    )
    before = frame.copy()
    done = sears.augment(frame, sears.parse("movie -> film"), label="label")
    pandas.testing.assert_frame_equal(frame, before)
    pandas.testing.assert_frame_equal(done.iloc[:2][list(frame)], frame)
    assert done.index.tolist() == [5000, 5001, 5000]
    assert done.dtypes[list(frame)].tolist() == frame.dtypes.tolist()
    assert done.iloc[2].to_dict() == {
        "text": "A film.", "label": "good", "n": 1, "source_row": "1",
        "source_rule": done.iloc[2]["source_rule"], "source_ruleset": "<rules>",
    }  # fmt: skip
    assert sears.augment(frame, sears.parse("movie -> film"), label="label",
                         only_new=True).index.tolist() == [5000]  # fmt: skip


def test_an_index_that_counts_goes_on_counting() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["A movie.", "A book."]})
    done = sears.augment(frame, sears.parse("movie -> film"))
    assert done.index.equals(pandas.RangeIndex(3))
    assert done["text"].tolist() == ["A movie.", "A book.", "A film."]


def test_what_comes_back_is_of_the_kind_that_was_given() -> None:
    datasets = pytest.importorskip("datasets")
    arrow = pytest.importorskip("pyarrow")
    rows = [{"text": "A movie.", "label": 1}, {"text": "A book.", "label": 0}]
    rules = sears.parse("movie -> film")
    labels = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    whole = sears.augment(datasets.Dataset.from_list(rows, features=labels), rules, label="label")
    assert isinstance(whole, datasets.Dataset)
    assert whole.features["label"] == labels["label"]
    assert whole["label"][:] == [1, 0, 1]
    table = sears.augment(arrow.Table.from_pylist(rows), rules, label="label")
    assert table.column("text").to_pylist() == ["A movie.", "A book.", "A film."]
    assert sears.augment(rows, rules, label="label")[-1]["label"] == 1
    assert [row["text"] for row in sears.augment(["A movie."], rules)] == ["A movie.", "A film."]


def test_ids_of_new_rows_are_new() -> None:
    rows = [{"id": 7, "text": "A movie."}, {"id": 9, "text": "A movie too."}]
    more = sears.augment(rows, sears.parse("movie -> film"))
    assert [row["id"] for row in more] == [7, 9, 10, 11]


# ---------------------------------------------------------------- plots and pages


def test_results_are_drawn(pyplot: Any, found: sears.DiscoveryResult) -> None:
    audited = sears.audit(predict, ROWS, "synonyms/reviews", scorer=None)
    axes = found.plot()
    assert [each.get_text() for each in axes.get_yticklabels()] == found.columns["rule"]
    assert axes.patches[0].get_width() == 100 * found.columns["flip_rate"][0]
    grid = sears.compare(audited, audited, audited)
    for result in (audited, sears.compare(audited, audited), grid):
        figure, own = pyplot.subplots()
        assert result.plot(own) is own
        figure.canvas.draw()


@pytest.mark.usefixtures("pyplot")
def test_plots_fit_their_figures_and_rules_have_short_names() -> None:
    named = "[lower=movie & tag=NN] -> film … (review-movie-film)"
    rare = [(f"This movie is number {number}.", "good") for number in range(60)]
    first = sears.audit(
        lambda texts: ["bad" if "film" in text and " 7." in text else "good" for text in texts],
        rare,
        "synonyms/reviews",
        scorer=None,
    )
    second = sears.audit(robust, rare, "synonyms/reviews", scorer=None)
    for result in (first, sears.compare(first, second), sears.compare(first, second, first)):
        axes = result.plot()
        axes.figure.canvas.draw()
        width, height = axes.figure.canvas.get_width_height()
        for each in (axes.xaxis.label, *axes.get_yticklabels()):
            box = each.get_window_extent()
            assert box.x0 >= -1, each
            assert box.x1 <= width + 1, each
            assert box.y1 <= height + 1, each
        assert named in [each.get_text() for each in axes.get_yticklabels()]
    assert first.plot().get_xlim()[1] < 20


def test_a_long_name_is_not_cut_within_the_id() -> None:
    text = "[text=wonderful & pos=ADJ] -> marvelous / (<s>|!(a|the|this)) __ NOUN"
    name = rule_called(text, "opinion-wonderful-marvelous")
    assert len(name) > 60
    assert bar_label(text, "opinion-wonderful-marvelous") == "opinion-wonderful-marvelous"
    assert omission_note([name], ("rule is silent", "")).startswith(
        "1 rule is silent: opinion-wonderful-marvelous. "
    )


def test_tables_show_rules_by_name_and_shares_with_their_intervals() -> None:
    rows = [(f"This movie is number {number}.", "good") for number in range(30)]
    both = sears.audit(
        {"brittle": brittle, "robust": robust}, rows, "synonyms/reviews", scorer=None
    )
    grid = both._repr_html_()
    assert "[lower=movie &amp; tag=NN] -&gt; film … (review-movie-film)" in grid
    assert "rate (95%)</th>" in grid
    assert ">100% (89%–100%)<" in grid
    assert "theater" not in grid.split("</table>")[0]
    pair = sears.compare(both.audits["brittle"], both.audits["robust"])._repr_html_()
    assert ">100% → 0%<" in pair
    assert "-100.0 (-100.0 to " in pair
    # Without rules the table has the parts of the rows.
    templates = sears.parse('template fine: "A fine film."\n  label: good')
    assert "template: fine" in sears.audit(robust, None, templates, scorer=None)._repr_html_()


@pytest.mark.usefixtures("pyplot")
def test_plots_of_many_rules_have_room_for_their_names() -> None:
    words = [f"word{number}" for number in range(30)]
    rows = [(f"{word} is here.", "good") for word in words]
    rules = sears.parse("".join(f"{word} -> my {word}\n" for word in words))
    audited = sears.audit(predict, rows, rules, scorer=None)
    for result in (audited, sears.compare(audited, audited),
                   sears.compare(audited, audited, audited)):  # fmt: skip
        axes = result.plot()
        axes.figure.canvas.draw()
        boxes = sorted((each.get_window_extent() for each in axes.get_yticklabels()),
                       key=lambda box: box.y0)  # fmt: skip
        assert len(boxes) == 30
        assert all(below.y1 < above.y0 for below, above in pairwise(boxes))


@pytest.mark.usefixtures("pyplot")
def test_decisions_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    file = tmp_path / "mine.sear"
    rules = sears.parse("movie -> film\nhas -> had")
    rules.save(file)
    first = rules.rule_ids[0]
    with Journal(tmp_path / "ana.jsonl", ruleset=sears.load(file), reviewer="ana") as journal:
        journal.append("accept", {"rule": first, "shown": []})
    with sears.vet(predict, ROWS, file, reviewers=["ana"], journal=tmp_path / "ana.jsonl") as page:
        axes = page.plot()
    assert [each.get_text() for each in axes.get_yticklabels()] == ["movie -> film"]
    assert axes.patches[0].get_width() == 100


def test_a_page_is_open_beside_the_notebook(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    file = tmp_path / "mine.sear"
    with pytest.raises(UsageError, match="save them first"):
        sears.vet(predict, ROWS, sears.parse("movie -> film"))
    sears.parse("movie -> film").save(file)
    with sears.vet(predict, ROWS, file, reviewers=["ana", "ben"]) as page:
        assert list(page.addresses) == ["ana", "ben"]
        with urlopen(page.address) as answer:  # noqa: S310 - our own page
            assert answer.status == 200
        assert page.columns["outcome"] == ["unjudged"]
        assert page.address in page._repr_html_()
        assert len(page.ruleset) == 0
        with pytest.raises(UsageError, match="type int is not a file"):
            page.save(3)  # type: ignore[arg-type]
    # Refused, or forbidden by a page of another test, which has taken the port since.
    with pytest.raises(OSError, match=r"refused|403"):
        urlopen(page.address)  # noqa: S310 - likewise
    assert not list(tmp_path.glob("*.jsonl"))


def test_the_rules_that_are_judged_are_those_that_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("starlette")
    monkeypatch.chdir(tmp_path)
    Path("mine.sear").write_text("movie -> film\n\ngood -> fine\n", "utf-8")
    rules = sears.load("mine.sear")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    Path("mine.sear").write_text("play -> show\n", "utf-8")
    other = sears.load("mine.sear")
    for part in (rules[:1], rules + other, other + rules, rules.filter(lambda _: False)):
        with pytest.raises(UsageError, match=r"mine\.sear no longer has these rules"):
            sears.vet(predict, ROWS, part)
    with sears.vet(predict, ROWS, rules, reviewers=["ana"]) as page:
        assert page.columns["rule"] == ["movie -> film", "good -> fine"]
        assert page.place.output == tmp_path / "mine.vetted.sear"


def test_nothing_is_written_beside_a_shipped_ruleset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("starlette")
    monkeypatch.chdir(tmp_path)
    for rules in ("paper/sentiment", sears.load("paper/sentiment")):
        with sears.vet(predict, ROWS, rules, reviewers=["ana"]) as page:
            assert page.place.output == tmp_path / "sentiment.vetted.sear"


def test_an_open_page_is_closed_before_the_call_is_made_again(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    file = tmp_path / "mine.sear"
    sears.parse("movie -> film").save(file)
    with sears.vet(predict, ROWS, file, reviewers=["ana"]), warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing about a port that is not served in the end
        with pytest.raises(UsageError, match="is writing the journal") as caught:
            sears.vet(predict, ROWS, file, reviewers=["ana"])
        assert "page.close()" in caught.value.help
    sears.vet(predict, ROWS, file, reviewers=["ana"]).close()
    options: Any
    for options, message in (
        ({"reviewers": [1]}, "reviewers=1 is not a name"),
        ({"reviewers": ["a", "a"]}, "a was named twi"),
        ({"output": 3}, "type int is not a file"),
        ({"journal": 3}, "type int is not a journal"),
    ):
        with pytest.raises(UsageError, match=message):
            sears.vet(predict, ROWS, file, **options)


def test_results_are_saved_in_folders_that_are_made(
    found: sears.DiscoveryResult, tmp_path: Path
) -> None:
    found.save(tmp_path / "a" / "b" / "found.sear")
    assert sears.load(tmp_path / "a" / "b" / "found.sear").rules == found.ruleset.rules
    sears.score([("A movie.", "A film.")], scorer=close).save(tmp_path / "c" / "scores.csv")
    assert (tmp_path / "c" / "scores.csv").is_file()
    rules = sears.parse("movie -> film")
    done = sears.fix(ROWS[1:], ROWS[:4], rules, train=lambda *_: predict, seeds=1)
    done.save(tmp_path / "d" / "f.json")
    assert (tmp_path / "d" / "f.json").is_file()
    for result, name in ((found, "found.txt"), (sears.score([("A", "B")], scorer=close), "a.xlsx")):
        with pytest.raises(UsageError):
            result.save(tmp_path / "e" / name)
    assert not (tmp_path / "e").exists()
    with pytest.raises(DataError, match="No such file") as caught:
        rules.save(tmp_path / "f" / "rules.sear")
    assert "mkdir -p" in caught.value.help


def test_an_audit_on_the_rows_of_the_search_says_so(
    found: sears.DiscoveryResult, tmp_path: Path
) -> None:
    found.save(tmp_path / "found.sear")
    for rules, name in ((found, "a search"), (tmp_path / "found.sear", r"found\.sear")):
        notes = "\n".join(sears.audit(predict, ROWS, rules, scorer=None).document.notes)
        assert re.search(f"The rules of {name} were found on these same rows", notes)
        assert "--" not in notes
    other = [(text.replace("This", "That"), label) for text, label in ROWS]
    for rows, rules in ((other, found), (ROWS, sears.parse("movie -> film"))):
        notes = "\n".join(sears.audit(predict, rows, rules, scorer=None).document.notes)
        assert "found on these same rows" not in notes


def test_rules_are_known_by_their_rows_wherever_the_program_goes_and_whatever_they_join(
    found: sears.DiscoveryResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found.save("found.sear")
    rules = sears.load("found.sear")
    other = sears.Ruleset.from_rules(sears.parse("zebra -> horse"), options=rules.options)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    Path("found.sear").write_text("good -> fine\n", "utf-8")
    notes = "\n".join(sears.audit(predict, ROWS, other + rules, scorer=None).document.notes)
    assert "The rules of found.sear were found on these same rows" in notes
    for each in (rules, other + rules, rules[:1], found.ruleset, found.ruleset + other):
        notes = "\n".join(sears.audit(predict, ROWS, each, scorer=None).document.notes)
        assert "found on these same rows" in notes
        with pytest.raises(UsageError, match="were found on the rows"):
            sears.fix(ROWS, ROWS, each, train=lambda *_: predict, seeds=1)


def test_an_audit_is_saved_in_a_folder_and_says_so(tmp_path: Path) -> None:
    done = sears.audit(predict, ROWS, sears.parse("movie -> film"), scorer=None)
    with pytest.raises(UsageError, match="the name of the folder is empty"):
        done.save("")
    for name in (None, 3, tmp_path / "audit.html", str(tmp_path / "audit.JSON")):
        with pytest.raises(UsageError, match=r"folder|several are written") as caught:
            done.save(name)  # type: ignore[arg-type]
        assert "save('" in caught.value.help
    assert not list(tmp_path.iterdir())
    done.save(tmp_path / "v1.2")
    assert (tmp_path / "v1.2" / "audit.html").exists()


def test_an_audit_of_several_models_has_the_rules_of_each() -> None:
    rules = sears.parse("movie -> film")
    done = sears.audit({"a": predict, "b": predict}, ROWS, rules, scorer=None)
    assert done.ruleset.rules == rules.rules


@pytest.mark.usefixtures("pyplot")
def test_a_plot_of_no_failures_has_no_rates_below_zero() -> None:
    for rules in (sears.parse("zebra -> quagga"), sears.parse("This -> That")):
        done = sears.audit(robust, ROWS, rules, scorer=None)
        assert sears.compare(done, done).plot().get_xlim() == (0, 100)


@pytest.mark.parametrize("amounts", [[1, 2], 5, [None]])
def test_an_amount_that_is_no_name_is_refused(amounts: Any) -> None:
    with pytest.raises(UsageError, match="is not an amount") as wrong:
        sears.fix_by_amount(ROWS, ROWS, sears.parse("movie -> film"), amounts=amounts)
    assert "none, half, full" in wrong.value.help


@pytest.mark.usefixtures("pyplot")
def test_rules_that_were_not_tested_have_no_bar() -> None:
    rows = [("A movie.", "good"), ("A fine show.", "good")]
    rules = sears.parse("movie -> film\nshow -> series")
    done = sears.audit(
        lambda texts: ["bad" if "show" in text else "good" for text in texts],
        rows, rules, scorer=None,
    )  # fmt: skip
    assert [each.get_text() for each in done.plot().get_yticklabels()] == ["movie -> film"]


def test_a_notebook_leaves_out_a_score_that_nobody_gave() -> None:
    rules = sears.parse("movie -> film")
    assert "meaning kept" not in sears.audit(predict, ROWS, rules, scorer=None)._repr_html_()
    scored = sears.audit(predict, ROWS, rules, scorer=close, tau=0.5)
    assert "meaning kept" in scored._repr_html_()
