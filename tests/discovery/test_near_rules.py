"""Rules that nearly passed are a file beside the found ones, which a person can vet at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from command_line import call

import sears_dsl as sears
from sears_dsl.discovery.candidates import CandidateRule, Candidates
from sears_dsl.discovery.closest import closest_rules
from sears_dsl.discovery.counts import NearMiss, TextVerdict, change_of
from sears_dsl.discovery.names import names_of
from sears_dsl.discovery.proposing.synonyms import propose_synonyms
from sears_dsl.discovery.result.found_rules import near_rules
from sears_dsl.discovery.result.report import closest_text
from sears_dsl.effects.flips import RuleAnswers
from sears_dsl.errors import DataError
from sears_dsl.language.loader import load, parse
from sears_dsl.language.printer import print_rule
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tagger import Tagger, load_tagger
from sears_dsl.vetting.journal import Journal

pytestmark = pytest.mark.usefixtures("few_texts")

TEXTS = [
    f"This {noun} is {kind} number {number} ."
    for number in range(10)
    for noun in ("movie", "play", "story")
    for kind in ("good", "very good")
]
SWAPS = {"movie": "film", "play": "piece", "very": "really", "story": "tale"}


def predict(texts: Sequence[str]) -> list[str]:
    """Knows neither films nor pieces."""
    return ["0" if "film" in text or "piece" in text else "1" for text in texts]


def steady(texts: Sequence[str]) -> list[str]:
    return ["0" if "piece" in text else "1" for text in texts]


def reword(sentences: Sequence[str]) -> list[list[str]]:
    return [
        [text.replace(old, new) for old, new in SWAPS.items() if old in text] for text in sentences
    ]


class Doubting:
    """Takes no film for a movie, and no tale for a story, in one of eight texts."""

    tau = 0.5

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [
            0.1 if ("film" in new or "tale" in new) and sum(map(ord, old)) % 8 == 0 else 0.9
            for old, new in pairs
        ]


doubting = Doubting()


def search(model: Callable[[Sequence[str]], list[str]] = predict) -> sears.DiscoveryResult:
    rows = [(text, "1") for text in TEXTS]
    return sears.discover(model, rows, paraphraser=reword, scorer=doubting, with_shipped=False,
                          tagger=PinnedTagger(), holdout=0)  # fmt: skip


@pytest.fixture(scope="module")
def result() -> sears.DiscoveryResult:
    return search()


@pytest.fixture(scope="module")
def nothing_near() -> sears.DiscoveryResult:
    return search(steady)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{text},1\n" for text in TEXTS)
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}", "utf-8")
    return tmp_path


DATA = ("--model", "test_near_rules:predict", "--data", "rows.csv", "--label", "label",
        "--tagger", "pinned")  # fmt: skip


def test_rules_of_which_only_the_meaning_is_missing_are_a_file_of_their_own(
    result: sears.DiscoveryResult, tmp_path: Path
) -> None:
    """One flips and passes, one flips and is doubted, one is doubted and flips nothing."""
    result.save(tmp_path / "found.sear")
    closest = load(tmp_path / "found.closest.sear")
    assert result.closest == closest
    [near] = closest.rules
    assert print_rule(near) == "movie -> film"
    assert near.name == "movie-to-film"
    assert "movie -> film" not in [each.text for each in result.rules]
    assert "story -> tale" not in [each.rule for each in result.discovery.closest]
    why = near.metadata.why or ""
    assert why.startswith("flips 20 of 20 rows; ")
    assert "rewrites on text keep the meaning (lower bound 8" in why
    assert why.endswith("%; 90% is required)")
    firing = [each for each in near.metadata.tests if each.expected is not None]
    assert firing
    assert all(each.expected in reword([each.text])[0] for each in firing)
    assert predict([each.expected for each in firing]) == ["0"] * len(firing)
    head = (tmp_path / "found.closest.sear").read_text("utf-8").splitlines()[0]
    assert head == (
        "# Rules that nearly passed in sears discover: readers may reject more than 10% of their "
        "rewrites (δ), so vet them before you use them."
    )


def test_a_rule_that_readers_may_mostly_reject_is_close_if_most_of_its_rows_flip() -> None:
    """The judge may be wrong; what it takes for another meaning in every text is another matter."""

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [
            0.1 if "tale" in new or ("film" in new and sum(map(ord, old)) % 5 < 2) else 0.9
            for old, new in pairs
        ]

    def predict_neither(texts: Sequence[str]) -> list[str]:
        return ["0" if "film" in text or "tale" in text else "1" for text in texts]

    rows = [(text, "1") for text in TEXTS]
    result = sears.discover(predict_neither, rows, paraphraser=reword, scorer=score, tau=0.5,
                            with_shipped=False, tagger=PinnedTagger(), holdout=0)  # fmt: skip
    [near] = result.closest.rules
    assert print_rule(near) == "movie -> film"
    why = near.metadata.why or ""
    assert why.startswith("flips 20 of 20 rows; ")
    assert why.endswith(
        " rewrites on text keep the meaning: the judge may be wrong, so read what it writes"
    )


def test_a_rule_that_readers_may_mostly_reject_is_the_last_resort_if_fewer_rows_flip() -> None:
    """Where nothing else is closer, it is named, but in no file of rules that nearly passed."""

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [0.1 if sum(map(ord, old)) % 5 < 2 else 0.9 for old, _ in pairs]

    def predict_some(texts: Sequence[str]) -> list[str]:
        return ["0" if "film" in text and len(text) % 2 else "1" for text in texts]

    rows = [(text, "1") for text in TEXTS]
    result = sears.discover(predict_some, rows, paraphraser=reword, scorer=score, tau=0.5,
                            with_shipped=False, tagger=PinnedTagger(), holdout=0)  # fmt: skip
    film, *_ = [each for each in result.discovery.closest if each.rule == "movie -> film"]
    assert 2 < film.flips < film.asked
    assert not result.closest.rules


def test_the_command_writes_the_same_file_twice_and_the_last_line_names_it(
    folder: Path, result: sears.DiscoveryResult
) -> None:
    parts = ("--paraphrases", "test_near_rules:reword", "--scorer", "test_near_rules:doubting")
    options = (*DATA, *parts, "--no-known", "--holdout", "0")
    done = call("discover", *options, "-o", "found.sear", folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == (
        "1 rule that nearly passed is in found.closest.sear; `sears vet found.closest.sear`, with "
        "the same model and rows, asks you about it"
    )
    names = ("found.closest.sear", "found.closest.manifest.json")
    written = [(folder / name).read_bytes() for name in names]
    again = call("discover", *options, "-o", "found.sear", "--quiet", folder=folder)
    assert (again.returncode, again.stderr) == (0, "")
    assert [(folder / name).read_bytes() for name in names] == written
    assert result.closest == load("found.closest.sear")
    # What a person changed stays, and the search ends as it should.
    (folder / names[0]).write_bytes(written[0] + b"good -> fine\n")
    changed = call("discover", *options, "-o", "found.sear", folder=folder)
    assert changed.returncode == 0, changed.stderr
    assert "written: found.sear" in changed.stderr
    assert changed.stderr.splitlines()[-1].startswith(
        "note: found.closest.sear was changed after a search had written it, so"
    )
    assert (folder / names[0]).read_bytes() == written[0] + b"good -> fine\n"
    assert not list(folder.glob("*.partial*"))
    (folder / names[0]).write_bytes(written[0])
    # It says of the run what the manifest of the found rules says, so an audit knows the rows.
    manifests = [json.loads((folder / name).read_text("utf-8"))
                 for name in ("found.manifest.json", names[1])]  # fmt: skip
    digests = [each.pop("ruleset_sha256") for each in manifests]
    assert manifests[0] == manifests[1]
    assert digests[1] == hashlib.sha256(written[0]).hexdigest() != digests[0]
    audit = call("audit", names[0], *DATA, "--scorer", "none", "-o", "audit", folder=folder)
    assert "20 of 20" in audit.stderr + audit.stdout
    assert "found on these same rows" in audit.stderr + audit.stdout


def test_the_file_passes_check_test_and_fmt(folder: Path, result: sears.DiscoveryResult) -> None:
    result.save("found.sear")
    for words in (("check", "--strict"), ("test", "--tagger", "pinned"), ("fmt", "--check")):
        done = call(*words, "found.closest.sear", folder=folder)
        assert done.returncode == 0, (words, done.stdout, done.stderr)


def test_a_person_accepts_such_a_rule_on_the_page_of_vetting(
    folder: Path, result: sears.DiscoveryResult
) -> None:
    pytest.importorskip("starlette")
    result.save("found.sear")
    rows = [(text, "1") for text in TEXTS]
    with sears.vet(predict, rows, "found.closest.sear", reviewers=["ana"]) as page:
        assert page.columns["outcome"] == ["unjudged"]
        with urlopen(page.address) as answer:  # noqa: S310 - our own page
            assert answer.status == 200
    file = load("found.closest.sear")
    with Journal(Path("found.closest.ana.vetting.jsonl"), ruleset=file, reviewer="ana") as journal:
        journal.append("accept", {"rule": file.rule_ids[0], "shown": []})
    done = call("vetted", "found.closest.sear", "found.closest.ana.vetting.jsonl", "-o",
                "accepted.sear", folder=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert load("accepted.sear").rules == file.rules
    assert (
        Path("accepted.manifest.json").read_bytes()
        == Path("found.closest.manifest.json").read_bytes()
    )


@pytest.mark.parametrize("whose", ["an earlier search", "changed by a person", "a person's own"])
def test_where_no_rule_nearly_passed_no_file_of_an_earlier_search_stays(
    folder: Path, result: sears.DiscoveryResult, nothing_near: sears.DiscoveryResult, whose: str
) -> None:
    file, manifest = Path("found.closest.sear"), Path("found.closest.manifest.json")
    if whose == "a person's own":
        file.write_text("good -> fine\n", "utf-8")
        manifest.write_text('{"format": "sears-manifest", "version": 1, "validated_with": []}')
    else:
        result.save("found.sear")
    if whose == "changed by a person":
        file.write_text(file.read_text("utf-8") + "\ngood -> fine\n", "utf-8")
    before = file.read_bytes(), manifest.read_bytes()
    assert nothing_near.rules
    assert nothing_near.discovery.near_rules == ()
    assert len(nothing_near.closest) == 0
    nothing_near.save("found.sear")
    if whose == "an earlier search":
        assert not file.exists()
        assert not manifest.exists()
    else:
        assert (file.read_bytes(), manifest.read_bytes()) == before
    assert {"found.sear", "found.manifest.json", "found.md"} <= {
        each.name for each in folder.iterdir()
    }


def test_a_file_that_a_person_changed_is_not_overwritten(
    folder: Path, result: sears.DiscoveryResult
) -> None:
    file = folder / "found.closest.sear"
    result.save("found.sear")
    written = file.read_bytes()
    file.write_bytes(written + b"good -> fine\n")
    with pytest.raises(DataError, match=r"found\.closest\.sear was changed"):
        result.save("found.sear")
    assert file.read_bytes() == written + b"good -> fine\n"
    file.rename(folder / "mine.sear")
    result.save("found.sear")
    assert file.read_bytes() == written
    # A search that ended before it wrote the manifest is finished by the next one.
    (folder / "found.closest.manifest.json").unlink()
    result.save("found.sear")


VERDICT = TextVerdict(sampled=60, accepted=55, low=0.8, places=60, few=False, passed=False)


def asked(candidates: Candidates, texts: Sequence[str], tagger: Tagger) -> Candidates:
    """The candidates, applied to texts: a rewrite flips where a later letter is a capital."""
    applied = candidates.apply(tagger.tag(texts), tagger=tagger)
    applications = applied.applications
    flips = np.array([any(map(str.isupper, each[1:])) for each in applications.texts], np.bool_)
    counted = np.ones(len(applications), np.bool_)
    answers = RuleAnswers(flips, counted, np.ones(len(applied), np.bool_), cut=False)
    return replace(applied, answers=answers)


def reportable(table: Candidates) -> Candidates:
    return replace(table, passed=np.arange(len(table)))


def close(rule: str, flips: int) -> NearMiss:
    return NearMiss(rule=rule, lacks="meaning", changed=4, asked=4, flips=flips, judged=VERDICT)


def test_a_rule_is_written_in_the_casing_in_which_it_was_judged(
    result: sears.DiscoveryResult,
) -> None:
    tagger = load_tagger("fast")
    texts = ["We assist them and him.", "WE ASSIST THEM.", "Assist two OF them.", "He helps."]
    listed = propose_synonyms(tagger.tag(texts), tagger=tagger, least=3)
    mined = CandidateRule(parse("them -> these").rules[0], judged=VERDICT)
    table = reportable(asked(listed.joined_to(Candidates((mined,))), texts, tagger))
    closest = [close("them -> these", 1), close("assist -> help", 2)]
    near = near_rules(texts, table, closest, least=1, taken=())
    assert [each.id for each in near] == ["them-to-these", "assist-to-help"]
    assert near[1].firing[:2] == (
        ("WE ASSIST THEM.", "WE HELP THEM."), ("Assist two OF them.", "Help two OF them."),
    )  # fmt: skip
    whole = replace(result.discovery, near_rules=near)
    ruleset = parse(closest_text(whole, "found.closest", tagger=tagger))
    assert ruleset.name == "found-closest"
    written = {
        rule.name: [
            each["rewritten"] for each in sears.apply(texts, ruleset.filter({rule}.__contains__))
        ]
        for rule in ruleset.rules
    }
    assert written == {
        "them-to-these": ["We assist these and him.", "Assist two OF these."],
        "assist-to-help": ["We help them and him.", "WE HELP THEM.", "Help two OF them."],
    }


def test_names_are_those_of_no_found_rule_and_what_flips_too_few_rows_is_left_out() -> None:
    tagger = load_tagger("fast")
    rules = parse("option case = exact\nis -> ~'s\nis -> 's\nthe -> a").rules
    texts = ["It is the END.", "He is Bob, the BOSS."]
    candidates = Candidates(tuple(CandidateRule(each) for each in rules[1:]))
    table = reportable(asked(candidates, texts, tagger))
    closest = [close("is -> 's", 2), close("the -> a", 1),
               replace(close("the -> a", 2), lacks="flips")]  # fmt: skip
    [near] = near_rules(texts, table, closest, least=2, taken=names_of(rules[:1]))
    assert near.rule == rules[1]
    [alone] = near_rules(texts, table, closest, least=2, taken=())
    assert near.id != alone.id
    assert near.id.startswith(alone.id)
    unproven = replace(table, passed=np.zeros(0, np.int64))
    assert not near_rules(texts, unproven, closest, least=2, taken=())


def unjudged(texts: Sequence[str], rules: str, tagger: Tagger) -> Candidates:
    """Rules of which text says nothing, applied to texts and asked about: nothing flips."""
    none = replace(VERDICT, sampled=0, accepted=0, low=0.0, places=3, passed=False)
    rows = tuple(CandidateRule(each, judged=none) for each in parse(rules).rules)
    table = asked(Candidates(rows), texts, tagger)
    flips = np.zeros(len(table.applications.texts), np.bool_)
    return replace(table, answers=replace(table.answers, flips=flips))


def test_of_rules_that_make_the_same_change_one_is_reported() -> None:
    tagger = load_tagger("fast")
    texts = ["I think so.", "I think that I do.", "I think it.", "He thinks."]
    nothing = unjudged(texts, "", tagger)
    failed = Candidates(
        unjudged(texts, "I think -> I guess\nI think -> I guess / <s> __\n"
                 "I think -> I guess / __ PRON\nso -> thus", tagger).rows
    )  # fmt: skip
    rare = closest_rules(nothing, np.zeros(0, np.bool_), failed, Candidates(()), 3, nearly=0.6)
    assert [each.rule for each in rare] == ["I think -> I guess", "so -> thus"]
    # Nor are those that the model was asked about and that flip too few rows.
    tried = unjudged(texts, "I think -> I guess\nI think -> I guess / <s> __", tagger)
    one = replace(tried, answers=replace(tried.answers, flips=~tried.answers.flips))
    often = np.ones(2, np.bool_)
    both = closest_rules(one, often, failed, Candidates(()), 3, nearly=0.6)
    assert [(each.rule, each.lacks) for each in both] == [
        ("I think -> I guess", "flips"), ("so -> thus", "text"),
    ]  # fmt: skip


def test_a_rule_of_too_little_text_counts_all_its_flips() -> None:
    """S only chooses which of these rules are reported; what is missing is text, not flips."""
    texts = [f"{name} saw a zyxish play ." for name in ("Anna", "Bert", "Carl", "Dora")]
    rows = [(text, "good") for text in [*texts, *(f"Number {n} had a dog ." for n in range(9))]]

    def searched(refused: Sequence[str]) -> list[tuple[str, int, int]]:
        found = sears.discover(
            lambda some: ["bad" if "fuzzy" in each else "good" for each in some], rows,
            paraphraser=lambda some: [[each.replace("zyxish", "fuzzy")] for each in some],
            scorer=lambda pairs: [0.1 if old.split()[0] in refused else 0.9 for old, _ in pairs],
            tau=0.5, with_shipped=False,
        )  # fmt: skip
        return [(each.rule, each.flips, each.asked) for each in found.discovery.closest]

    assert searched(["Anna", "Bert"]) == [("zyxish -> fuzzy", 4, 4)]
    assert searched(["Anna", "Bert", "Carl"]) == []


def test_rules_that_nobody_was_asked_about_say_how_many_rows_they_change() -> None:
    """A condition, like the one against questions, makes them fewer than what they came from."""
    rows = [(f"Isn't it number {n} ?", "good") for n in range(20)]
    rows += [(f"It isn't number {n} .", "good") for n in range(10)]
    found = sears.discover(
        lambda texts: ["good"] * len(texts), rows, with_shipped=False, holdout=0, tau=0.5,
        paraphraser=lambda texts: [[each.replace("n't", " not")] for each in texts],
        scorer=lambda pairs: [0.1] * len(pairs),
    )  # fmt: skip
    assert [(each.changed, each.asked) for each in found.discovery.closest] == [(10, 0)]


def test_arrows_in_a_text_are_words_of_a_rule() -> None:
    tagger = load_tagger("fast")
    texts = ["a -> b ."]
    failed = Candidates(unjudged(texts, '"->" -> to\n"->" b -> to b / <s> a __', tagger).rows)
    nothing = unjudged(texts, "", tagger)
    rare = closest_rules(nothing, np.zeros(0, np.bool_), failed, Candidates(()), 3, nearly=0.6)
    assert [each.rule for each in rare] == ['"->" -> to']
    assert change_of('a "->" b -> c / " / " __') == ('a "->" b', "c")
