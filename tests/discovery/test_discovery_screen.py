"""What a person reads at the end of a search, whatever came out; the files beside say it.

A line of ``screens/NAME.txt`` is what the console prints; ``SEARS_WRITE=1`` writes them anew.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from sears_dsl.cli.screen.discovery import print_discovery, print_known
from sears_dsl.cli.screen.strange_rows import notes_on
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery.cost import SearchEstimate, estimate_search
from sears_dsl.discovery.counts import (
    COUNT_NAMES,
    Flip,
    Funnel,
    NearMiss,
    RowNumbers,
    TextVerdict,
)
from sears_dsl.discovery.known_rules import KnownFlips, KnownRules
from sears_dsl.discovery.result.found_rules import Discovery, FoundRule, NearRule
from sears_dsl.discovery.result.report import _closest, _one_flip, _why, came_close
from sears_dsl.discovery.settings import Settings
from sears_dsl.effects.applications import applications_of
from sears_dsl.effects.flips import RightRows
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import print_rule
from sears_dsl.tagging.pinned import PinnedTagger

SCREENS = Path(__file__).parent / "screens"
TEXTS = ["a good film", "a film of note", "it is a film, and very good", "what a bore", "very bad"]
DATA = LabelledRows(tuple({"text": text} for text in TEXTS), "text", None, "dev.csv")
KNOWN = """\
rule film-movie: film -> movie
rule very-really: very -> really
what a -> such a
"""
RULE = parse("film -> movie").rules[0]


class Brittle:
    identity = "brittle"

    def __init__(self, *words: str) -> None:
        self.words = words

    def predict(self, rows: Sequence[Any]) -> list[str]:
        return [
            "bad" if any(word in row["text"] for word in self.words) else "good" for row in rows
        ]


def known(*words: str, text: str = KNOWN) -> KnownFlips:
    tagger = PinnedTagger()
    rules = KnownRules.of({"mine.sear": parse(text)}, tagger=tagger)
    right = RightRows(DATA, Brittle(*words))
    done = applications_of(rules.matcher, tagger.tag(right.texts))
    answers = right.ask(done.rows.tolist(), done.texts)
    flips = np.array(
        [right.is_flip(row, answer) for row, answer in zip(done.rows, answers, strict=True)],
        np.bool_,
    )
    return KnownFlips(known=rules, applications=done, flips=flips, right=right,
                      acting=int((done.changed > 0).sum()))  # fmt: skip


FUNNEL = Funnel(
    rows=200, right=156, held_out=47, searched=109, known=61, skipped=0, paraphrases=4210,
    candidates=812, listed=300, texts=5120, judged=230, narrowed=12, keep_meaning=41,
    applications=1210, distinct_rewrites=1130, with_enough_flips=5, pairs_scored=9800,
    passing=3, collapsed=1, selected=2, rows_flipped=11, held_out_flipped=4, questions=1530,
    question_limit=3120,
)  # fmt: skip


def verdict(accepted: int, sampled: int, low: float) -> TextVerdict:
    return TextVerdict(
        sampled=sampled, accepted=accepted, low=low, places=sampled, few=False, passed=low >= 0.9
    )


def found(text: str, *, source: str = "") -> FoundRule:
    flip = Flip("It is a good film.", "It is a good movie.", "good", "bad", 0.93)
    held = RowNumbers(
        changed=9, flips=2, interval=(0.06, 0.55), at_tau=9, at_tau_interval=(0.7, 1.0),
        flips_at_tau=2, mean_score=0.9,
    )  # fmt: skip
    return FoundRule(
        rule=RULE, text=text, id="film-to-movie", source=source, scope=None,
        judged=None if source else verdict(49, 50, 0.92), changed=20, asked=20, flips=7,
        interval=(0.18, 0.57), q_value=0.01, at_tau=20, flips_at_tau=7, mean_score=0.9,
        flips_of_models=(), gain=6.4,
        examples=(flip,), firing=(), silent=(), held_out=held,
    )  # fmt: skip


def near(numbers: NearMiss) -> NearRule:
    return NearRule(rule=RULE, id="near", scope=None, numbers=numbers, firing=(), silent=())


def discovery(**changed: Any) -> Discovery:
    given: dict[str, Any] = {
        "data": DATA, "settings": Settings(minimum_flips=3), "models": (), "tau": 0.5,
        "readers_forecast": True, "rules": (), "collapsed": (),
        "closest": (), "known": known(), "base_rate": 0.02, "base_rows": 80,
        "cut_short": (), "question_limit_reached": False,
        "funnel": FUNNEL,
    }  # fmt: skip
    chosen = given | changed
    nearly = [each for each in chosen["closest"]
              if each.lacks in ("meaning", "text") and each.flips >= 3]  # fmt: skip
    return Discovery(near_rules=tuple(map(near, nearly)), **chosen)


NOTHING = replace(FUNNEL, passing=0, collapsed=0, selected=0, rows_flipped=0, held_out_flipped=0,
                  with_enough_flips=0)  # fmt: skip


def close(rule: str, lacks: Any, changed: int, flips: int, judged: TextVerdict) -> NearMiss:
    return NearMiss(
        rule=rule, lacks=lacks, changed=changed, asked=changed, flips=flips, judged=judged
    )


CLOSEST = (
    close("not -> ~n't / AUX __", "meaning", 31, 6, verdict(36, 50, 0.63)),
    close("good -> fine", "flips", 40, 2, verdict(49, 50, 0.92)),
    close("of note -> worth seeing", "text", 5, 3, verdict(5, 5, 0.75)),
)
CASES: dict[str, Discovery] = {
    "rules-found": discovery(rules=(found("film -> movie"), found("is -> ~'s / it __",
                                                                  source="contractions/contract"))),
    "found-and-nearly": discovery(rules=(found("film -> movie"),), closest=CLOSEST),
    "only-known-rules-flip": discovery(rules=(found("film -> movie", source="synonyms/reviews"),),
                                       known=known("movie"), closest=CLOSEST),
    "no-place-for-new-rules": discovery(
        rules=(found("film -> movie", source="synonyms/reviews"),), closest=CLOSEST[:1],
        settings=Settings(minimum_flips=3, rules=1),
        funnel=replace(FUNNEL, passing=12, selected=1, without_place=7, new_without_place=5)),
    "the-judge-doubts-a-known-rule": discovery(
        rules=(replace(found("film -> movie", source="synonyms/reviews"), at_tau=7),
               replace(found("is -> ~'s / it __"), at_tau=7),
               replace(found("very -> really", source="synonyms/reviews"), at_tau=18))),
    "all-may-be-chance": discovery(rules=(replace(found("film -> movie"), q_value=0.4),),
                                   base_rate=0.3, funnel=replace(FUNNEL, keep_meaning=1)),
    "nothing-flips": discovery(funnel=NOTHING),
    "one-nearly": discovery(rules=(found("film -> movie"),), closest=CLOSEST[:1]),
    "keeps-the-meaning-and-flips-nothing": discovery(
        funnel=NOTHING, known=known("really"),
        closest=(close("great -> fantastic", "flips", 4, 0, verdict(59, 60, 0.93)),)),
    "several-nearly": discovery(
        funnel=NOTHING,
        closest=(CLOSEST[0], close("great -> fine", "meaning", 9, 4, verdict(58, 60, 0.893)),
                 close("that -> this", "meaning", 9, 4, verdict(20, 24, 0.66)))),
    "closest-ones": discovery(funnel=NOTHING, closest=CLOSEST, known=known("really")),
    "not-asked-about": discovery(
        funnel=NOTHING,
        closest=(replace(CLOSEST[0], asked=0, flips=0),
                 replace(CLOSEST[0], rule="not -> n't / AUX __", asked=0, flips=0, changed=2)),
    ),
    "flips-too-rarely": discovery(
        funnel=NOTHING,
        closest=(replace(close("! -> .", "rate", 432, 3, verdict(60, 60, 0.95)), asked=300),),
    ),
    "no-candidates": discovery(
        funnel=replace(NOTHING, candidates=0, listed=0, judged=0, keep_meaning=0, held_out=0,
                       searched=60, right=60, rows=80, known=0, applications=0,
                       distinct_rewrites=0),
        known=None),
    "time-cut-short": discovery(
        funnel=replace(NOTHING, skipped=64, not_asked=12, undecided=30),
        cut_short=("paraphrases", "judging")),
    "no-time-at-all": discovery(
        funnel=replace(NOTHING, skipped=109, paraphrases=0, candidates=0, listed=0, judged=0,
                       keep_meaning=0),
        cut_short=("paraphrases",)),
    "question-limit": discovery(
        rules=(found("film -> movie"),), question_limit_reached=True,
        funnel=replace(FUNNEL, questions=400, question_limit=400, not_asked=17)),
    "question-limit-and-nothing-found": discovery(
        question_limit_reached=True, settings=Settings(minimum_flips=2),
        funnel=replace(NOTHING, questions=400, question_limit=400, not_asked=17),
        closest=(
            replace(close("great -> terrific", "flips", 12, 1, verdict(60, 60, 0.97)), asked=6),
            replace(close("good -> fine", "flips", 12, 1, verdict(60, 60, 0.97)), asked=8))),
    "the-papers-order": discovery(
        settings=Settings(order="paper"), rules=(replace(found("film -> movie"), judged=None),),
        known=None, funnel=replace(FUNNEL, rows_with_adversary=51, question_limit=None)),
}  # fmt: skip


def compared(name: str, printed: str) -> None:
    path = SCREENS / f"{name}.txt"
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    if os.environ.get("SEARS_WRITE"):
        path.write_text(lines, "utf-8")
    assert lines == path.read_text("utf-8")


def screen(width: int = 200) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, soft_wrap=True)


def printed(out: Console) -> str:
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def shown(search: Discovery, width: int = 200) -> str:
    """The last screen of a search."""
    out = screen(width)
    print_discovery(out, search, Path("found.sear"))
    return printed(out)


def shown_known(flips: KnownFlips, *, so_far: bool = False) -> str:
    """What the screen says of known rules."""
    out = screen()
    print_known(out, flips, so_far=so_far)
    return printed(out)


@pytest.mark.parametrize("name", CASES)
def test_every_search_ends_with_something_to_say(name: str) -> None:
    compared(name, shown(CASES[name]))


@pytest.mark.parametrize(
    ("name", "words", "text"),
    [
        ("known-flips", ("movie", "such"), KNOWN),
        ("known-none-flips", (), KNOWN),
        ("known-none-acts", ("movie",), "colour -> color"),
    ],
)
def test_known_flips_stand_on_the_screen_first(name: str, words: tuple[str], text: str) -> None:
    compared(name, shown_known(known(*words, text=text)))


def test_what_was_not_judged_to_the_end_is_not_said_to_want_another_delta() -> None:
    cut = close("problems -> issues", "meaning", 9, 0, verdict(3, 3, 0.94))
    told = shown(discovery(funnel=NOTHING, closest=(cut,)))
    assert "3 of 3 rewrites on text keep the meaning, but time ran out" in told
    assert "--delta" not in told
    assert "| time to judge it to the end |" in _closest(discovery(closest=(cut,)))[-1]


def test_known_rules_that_nobody_asked_about_are_not_called_harmless() -> None:
    told = shown_known(replace(known(), not_asked=2))
    assert "the model could not be asked about all rewrites of 2 known rules" in told
    assert "; none of the other 1 flips a row" in told
    assert "withstands all" not in told
    told = shown_known(replace(known("movie"), not_asked=2))
    assert "1 of the 3 rules that change a row flips at least one; 2 were not tried to the" in told


def test_a_rule_that_only_counts_as_accepted_is_not_said_to_be_read() -> None:
    own = known(text="movie -> film")
    tagger = PinnedTagger()
    shipped = KnownRules.of({"synonyms/reviews": parse("movie -> film")}, tagger=tagger)
    miss = replace(close("movie -> film", "flips", 4, 0, verdict(0, 0, 0.0)), judged=None)
    for rules, proof in ((own.known, "it counts as accepted,"), (shipped, "readers accepted it")):
        found = discovery(known=replace(own, known=rules), closest=(miss,))
        assert came_close(miss, found).startswith(proof)


LONG = replace(
    found("movie -> film / (ADJ|DET|NOUN|PROPN|PUNCT) __ (ADP|AUX|CCONJ|PART)"),
    examples=(
        Flip("I went there, and I saw this movie with some friends of mine. " + "They did. " * 9,
             "I went there, and I saw this film with some friends of mine. " + "They did. " * 9,
             "good", "bad", 0.9),
    ),
)  # fmt: skip


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_of_a_table_is_wider_than_the_screen(width: int) -> None:
    out = screen(width)
    rules = (*CASES["rules-found"].rules, LONG)
    print_known(out, known("movie", "such"))
    print_discovery(out, discovery(rules=rules), Path("found.sear"))
    told = printed(out)
    prose = ("searched", "the model", "paraphrases")
    lines = [line for line in told.splitlines() if not any(word in line for word in prose)]
    assert max(map(len, lines)) <= width
    compared(f"{width}-columns", told)


@pytest.mark.parametrize("width", [120, 130, 140, 150, 160, 200])
def test_an_example_is_never_cut_down_to_a_few_letters(width: int) -> None:
    assert "saw this [-movie-]{+film+} with some" in shown(discovery(rules=(LONG,)), width)


def test_a_rule_that_rests_on_one_flip_says_so() -> None:
    single = replace(found("allow -> permit", source="synonyms/verbs"), id="allow", flips=1)
    borne_out, alone = single, replace(single, held_out=None)
    assert (borne_out.is_one_flip, alone.is_one_flip) == (False, True)
    for rules, told in (((borne_out,), False), ((found("film -> movie"), alone), True)):
        line = "a single flip may be chance, as with allow -> permit; more rows would tell\n"
        assert (line in shown(discovery(rules=rules))) == told
        assert bool(_one_flip(rules)) == told
    many = tuple(replace(alone, text=f"w{number}") for number in range(5))
    assert "as with w0, w1, w2 and 2 more; more rows would tell\n" in shown(discovery(rules=many))
    assert "`allow` rests on a single row" in _one_flip((alone,))[1]
    assert _why(alone, 0.5).endswith("; one flip may be chance")
    assert "chance" not in _why(borne_out, 0.5)


@pytest.mark.parametrize("of_half", [False, True])
def test_what_was_judged_on_half_of_the_texts_says_so(of_half: bool) -> None:
    judged = replace(verdict(34, 34, 0.94), few=True, of_half=of_half)
    half = " in one half of the texts" if of_half else ""
    why = _why(replace(found("film -> movie"), judged=judged), 0.5)
    assert f"judged on 34 rewrites, all there are{half}: 34 accepted" in why
    rare = close("film -> movie", "text", 12, 0, replace(judged, places=7))
    assert f"changes only 7 texts{half}, too few" in came_close(rare, discovery())


@pytest.mark.parametrize(
    ("delta", "asked", "kept", "is_marked"),
    [(0.7, 10, 3, False), (0.7, 10, 2, True), (0.29, 100, 71, False), (0.1, 30, 27, False),
     (0.1, 30, 26, True), (0.1, 0, 0, False)],
)  # fmt: skip
def test_a_known_rule_is_marked_if_the_judge_refuses_more_than_a_new_one_may_have(
    delta: float, asked: int, kept: int, is_marked: bool
) -> None:
    rule = replace(found("film -> movie", source="a.sear"), asked=asked, at_tau=kept)
    told = shown(discovery(rules=(rule,), settings=Settings(delta=delta)))
    assert (f"\n* the judge refuses more than {delta:.0%} of these rewrites" in told) == is_marked
    assert (f"{kept / max(1, asked):.0%}*  " in told) == is_marked


def test_held_out_rows_that_nobody_asked_about_are_not_called_safe() -> None:
    hurried = replace(CASES["rules-found"], cut_short=("telling",),
                      funnel=replace(FUNNEL, held_out_unasked=47))  # fmt: skip
    assert hurried.funnel.held_out
    told = shown(hurried)
    assert "time or questions ran out before 47 held-out rows" in told
    assert "held-out rows (" not in told


def test_advice_on_places_names_only_what_gives_some() -> None:
    own = replace(CASES["no-place-for-new-rules"], rules=(found("film -> movie", source="a.sear"),))
    told = shown(own)
    assert "  more places: --rules 8, since 5 new rules pass, too\n" in told
    assert "--no-known" not in told
    assert "no new rules" not in told
    assert "more rows than" not in told


@pytest.mark.parametrize(
    ("passing", "across", "said"),
    [
        (3, "any", "enough rows (1 repeat)\n"),
        (4, "any", "enough rows (1 repeat, 1 that adds no flipped row)\n"),
        (5, "any", "enough rows (1 repeat, 2 that add no flipped row)\n"),
        (5, "apart", "enough rows (1 repeat, 2 that add nothing)\n"),
    ],
)
def test_rules_that_pass_and_are_not_listed_are_accounted_for(
    passing: int, across: Any, said: str
) -> None:
    search = discovery(rules=CASES["rules-found"].rules, settings=Settings(across=across),
                       funnel=replace(FUNNEL, passing=passing))  # fmt: skip
    assert said in shown(search)


@pytest.mark.parametrize(
    ("flipped", "rows", "said"),
    [
        (0, 80, "rewordings in general flip 0 of 80 rows, but the counts are too small to tell"),
        (0, 1, "rewordings in general flip 0 of 1 row, but the counts are too small to tell"),
        (1, 80, "rewordings in general flip 1 of 80 rows; no rule above surely flips more"),
        (1, 1, "rewordings in general flip 1 of 1 row; no rule above surely flips more"),
        (34, 34, "rewordings in general flip 34 of 34 rows; no rule above surely flips more"),
        (78, 80, "this model changes its answer with nearly any rewording: in general, 78 of 80"),
        (35, 35, "this model changes its answer with any rewording: in general, 35 of 35 rows"),
    ],
)
def test_what_rewordings_flip_in_general_is_said_as_it_is(
    flipped: int, rows: int, said: str
) -> None:
    search = replace(CASES["all-may-be-chance"], base_rate=flipped / rows, base_rows=rows)
    told = shown(search)
    assert f"\n{said}" in told
    assert ("chance" in told) == said.startswith("rewordings")


@pytest.mark.parametrize(
    ("reason", "said"),
    [("redundant", "a-film (repeat of film -> movie)"), ("inverse", "a-film (inverse of film")],
)
def test_a_known_rule_that_was_shown_and_is_left_out_is_named(reason: str, said: str) -> None:
    flips = known("movie", text="rule a-film: film -> movie / (a|the) __\nvery -> really")
    texts = [print_rule(each) for each in flips.known.rules]
    collapsed = tuple((text, "film -> movie", reason) for text in texts)
    search = discovery(rules=(found("film -> movie"),), known=flips, collapsed=collapsed)
    told = shown(search)
    assert f"shown before and left out: {said}" in told
    assert "very -> really" not in told  # it flips nothing, so nobody has seen it
    assert "shown before" not in shown(replace(search, rules=(found("good -> fine"),)))


def test_no_rule_is_cut_off() -> None:
    change, tail = "movie -> film / ", "(ADJ|DET|NOUN|PROPN|PUNCT) __ (ADP|AUX|CCONJ|PART)"
    flips = known("movie", text=f"rule by-name: {change}{tail}")
    [text] = map(print_rule, flips.known.rules)
    assert len(text) > 60
    new = close(text, "meaning", 31, 6, verdict(36, 50, 0.63))
    for closest, name in ((new, text), (replace(new, judged=None, lacks="flips"), "by-name")):
        searches = (discovery(rules=rules, known=flips, closest=(closest,))
                    for rules in ((LONG,), ()))  # fmt: skip
        lines = "".join(shown(each, 80) for each in searches).splitlines()
        assert LONG.text in lines
        assert f"  {name}" in lines
        assert not any("|PROPN…" in line or "(AD…" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("film -> movie", "film -> movie"),
        ("I -> Well, I / <s> __", "I -> Well, I / <s> __"),
        ("x:(film|bore) -> this $x", "by-name"),
        ("film -> movie / (a|the) __", "by-name"),
        ("[lower=film & tag=NN] -> movie", "by-name"),
    ],
)
def test_a_known_rule_has_one_name_on_the_whole_screen(text: str, name: str) -> None:
    flips = known("movie", "Well", "this", text=f"rule by-name: {text}")
    rule = flips.known.rules[0]
    again = replace(found(print_rule(rule), source="mine.sear"), rule=rule, id="by-name")
    close_by = replace(close(again.text, "flips", 9, 1, verdict(9, 9, 0.9)), judged=None)
    lines = shown(discovery(rules=(again,), known=flips, closest=(close_by,))).splitlines()
    assert lines[1].startswith(f"{name}  ")
    assert f"  {name}" in lines
    if flips.flips.any():
        assert shown_known(flips).splitlines()[2].startswith(f"{name}  ")


def test_so_far_nothing_is_said_where_nothing_flips_yet() -> None:
    assert shown_known(known(), so_far=True) == ""


def test_known_rules_that_a_found_file_cannot_hold_are_reported() -> None:
    for head, told in (("", False), ("option unit = sentence\n", True)):
        words = shown_known(known("movie", text=f"{head}rule a: film -> movie")).split()
        assert ("audit mine.sear as well" in " ".join(words)) == told


def test_rules_that_flip_rows_by_the_same_texts_are_shown_once() -> None:
    flips = known("movie", text="rule a: film -> movie\nrule b: a? film -> $1 movie")
    assert [flips.known.ids[each] for each in flips.best()] == ["a"]


# ---------------------------------------------------------------- what it will cost


def test_what_lies_ahead_is_asked_about_where_it_is_much() -> None:
    small = SearchEstimate(3000, limited=True, minutes=2)
    assert not small.wants_an_answer(requests=0)
    assert small.wants_an_answer(requests=2_500)
    assert replace(small, minutes=21).wants_an_answer(requests=0)
    assert replace(small, questions=50_001).wants_an_answer(requests=0)


def test_minutes_grow_with_rows_and_with_a_slow_model() -> None:
    def minutes(
        rows: int, seconds: float, most: int | None = 10_000, beam: int = 30
    ) -> SearchEstimate:
        right: Any = SimpleNamespace(texts=["A fun film, and a long one."] * rows,
                                     questions=SimpleNamespace(most=most, asked=100))  # fmt: skip
        predictor: Any = SimpleNamespace(seconds=100 * seconds, asked=100)
        team: Any = SimpleNamespace(jobs=2, recipe=SimpleNamespace(beam=beam, paraphrases=True))
        return estimate_search(right, predictor, team)

    assert minutes(200, 0.001).minutes < minutes(400, 0.001).minutes
    assert minutes(200, 0.001, beam=10).minutes < minutes(200, 0.001).minutes
    assert minutes(200, 1.0).minutes > 9_900 / 60
    assert "about a minute on" in str(SearchEstimate(1, limited=True, minutes=1.4))
    assert "about 2 minutes on" in str(SearchEstimate(1, limited=True, minutes=1.6))
    assert str(minutes(200, 1.0)).endswith("ask the model at most 9,900 more questions")
    assert str(minutes(10, 0.0, None)).startswith("the search will take about a minute on an idle")
    assert str(minutes(10, 0.0, None)).endswith("ask the model some 10,000 more questions")


# ---------------------------------------------------------------- strange rows


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["The film was good.", "It was bad."], []),
        (["Good."] * 5, ["all rows are the same text", "5 of 5 rows have only one word"]),
        (["Good!", "Bad.", "It was fine."], ["2 of 3 rows have only one word"]),
        (["word " * 1000, "It was fine."], ["1 of 2 rows have more than 400 words"]),
        (["um filme", "It was fine."], ["1 of 2 rows do not look like English"]),
        (["", "Fine. <3 😀", "It was 👍🏽 fine, a < b."], []),
        (["", "<p>Fine.</p> 😀", "It was fine."], ["1 of 3 rows contain markup, such as <p>: "]),
        (["Soup &amp; salad.", "It was fine."], ["1 of 2 rows contain markup, such as &amp;: "]),
        (["It was fine."] * 6 + ["It was fine!"] * 5 + ["<b>Fine</b> it was."], []),
        ([], []),
    ],
)
def test_strange_rows_are_reported_in_a_sentence(texts: list[str], said: list[str]) -> None:
    notes = notes_on(texts, looks_english=lambda text: "filme" not in text)
    assert len(notes) == len(said)
    assert all(note.startswith(start) for note, start in zip(notes, said, strict=True))


def test_a_report_has_words_for_all_that_a_search_counts() -> None:
    assert set(COUNT_NAMES) == {field.name for field in fields(Funnel)}


def test_a_report_says_what_share_readers_surely_accept() -> None:
    lacking = close("very -> really", "meaning", 9, 0, verdict(60, 60, 0.8299))
    line = _closest(discovery(closest=(lacking,)))[-1]
    assert line == (
        "| `very -> really` | certainty that readers accept it | 60 of 60 | 82% | 0 of 9 |"
    )


def test_a_rule_that_acts_at_too_few_places_lacks_text() -> None:
    rare = close("of note -> notable", "text", 4, 0, replace(verdict(0, 0, 0.0), places=7))
    search = discovery(funnel=NOTHING, closest=(rare,))
    assert "| text that it changes |" in _closest(search)[-1]
    assert "--text FILE" in shown(search)


@pytest.mark.parametrize(
    ("right", "why"), [(99, "fewer than 100 right rows"), (400, "the lot fell on none")]
)
def test_why_no_rows_were_held_out_is_so(right: int, why: str) -> None:
    funnel = replace(FUNNEL, right=right, held_out=0, held_out_unasked=0, held_out_flipped=None)
    done = discovery(rules=(found("film -> movie"),), funnel=funnel)
    shown = io.StringIO()
    print_discovery(Console(file=shown, width=200), done, Path("found.sear"))
    assert "no rows were held out (" in shown.getvalue()
    assert why in shown.getvalue()
