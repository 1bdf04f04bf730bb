"""Which tagger decides better where the shipped rules fire, on text that people tagged.

In: sentences with gold tags (UD English EWT), the shipped rules, taggers. Out: for each tagger the
precision and recall of 'the rule fires in this sentence' against gold tags, and a choice between
the taggers that follows from the figures.

Rules that read no tag fire alike under every tagger and are left out; their number is printed.
`paper` and `rejected` hold rules for comparison, not for use, and are reported separately.

There are two comparisons. *Tags*: both taggers tag the gold words, so that only tags differ.
*Text*: a tagger cuts and tags the raw text itself, and a firing counts as the same only at the same
characters with the same result; this is what users get. Each is made against two golds. *as is*:
the coarse tags of the corpus, whose conventions differ from spaCy's (`have` as AUX or VERB, SCONJ).
*mapped*: coarse tags made from gold fine tags by the mapping of spaCy's small model, the convention
under which the rules were written; here only errors count.

Bias: the tagger `fast` was trained on the training part of the same corpus, so its figures on the
development part are in-domain in genre and in the annotators' habits. Those of spaCy, which was
trained on OntoNotes, are not. `--held-out FOLDER` takes weights that were trained without the gold
sentences of one genre each (GENRE.npz), and measures each genre, training part included, with the
weights that have not seen it. Otherwise only spaCy is measured on the training part. People judged
the rules on spaCy's tags.

Text of other kinds has no gold tags here. On it the firings of `fast` are compared with those of
spaCy, which says how much of a ruleset's behaviour changes, not who is right.

The choice is the faster of two taggers, unless F1 of the other, micro or macro, is better by more
than its interval under either gold, on raw text, with held-out weights if they are given.

    python -m benchmarks.taggers                        all of it
    python -m benchmarks.taggers --tagger spacy         one tagger
    python -m benchmarks.taggers --table                and write rulesets/taggers.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.firing import Agreement, difference, firings, worst
from benchmarks.given_words import GivenFast, GivenTagger, given_tagger
from benchmarks.gold import GoldSentence, read_gold, retagged
from benchmarks.record import Row, data_file, write_record
from benchmarks.shipped_rules import APART, Rules, Sentences
from benchmarks.tagger_table import run_own_tests, write_table
from sears_dsl.tagging.fast.fast_tagger import FastTagger
from sears_dsl.tagging.tagger import load_tagger
from sears_dsl.tagging.tokens import Tokens

# By speed: the first one is chosen unless another one is better.
TAGGERS = ("fast", "spacy")
TRAINED_ON_EWT = frozenset({"fast"})
WORST = 12
ROWS = 500
DEV, HELD_OUT = "EWT dev", "EWT, genre held out"


def given(tagger: GivenTagger, sentences: Sequence[GoldSentence]) -> Tokens:
    """The gold words with a tagger's tags."""
    return retagged(sentences, tagger.tags([sentence.words for sentence in sentences]))


Measured = dict[tuple[str, str], Agreement]
"""By (tags or text, gold)."""


def measure(name: str, place: Sentences, rules: Rules) -> Measured:
    """All four comparisons of one tagger."""
    words = given(given_tagger(name), place.sentences)
    return compared(words, load_tagger(name).tag(place.texts), place, rules)


def measure_held_out(folder: Path, place: Sentences, rules: Rules) -> Measured:
    """The comparisons of `fast`, each genre with weights that have not seen its gold sentences."""
    words: list[Tokens] = []
    texts: list[Tokens] = []
    order: list[int] = []
    for genre in sorted({sentence.genre for sentence in place.sentences}):
        rows = [at for at, sentence in enumerate(place.sentences) if sentence.genre == genre]
        some = [place.sentences[row] for row in rows]
        tagger = GivenFast(folder / f"{genre}.npz")
        words.append(given(tagger, some))
        texts.append(FastTagger(perceptron=tagger.perceptron).tag([each.text for each in some]))
        order += rows
    back = np.argsort(np.array(order))
    tagged = [Tokens.concatenate(each).select(back) for each in (words, texts)]
    return compared(tagged[0], tagged[1], place, rules)


def compared(words: Tokens, text: Tokens, place: Sentences, rules: Rules) -> Measured:
    """Compare given words and raw text, both tagged, with both golds."""
    measured: Measured = {}
    for gold in ("as is", "mapped"):
        measured["tags", gold] = place.against(words, gold, rules, places=False)
        measured["text", gold] = place.against(text, gold, rules, places=True)
    return measured


def lines(what: str, measured: Measured, rules: Rules) -> list[Row]:
    """The figures of one tagger on some sentences."""
    rows = []
    for (kind, gold), each in measured.items():
        main = each.part(rules.main)
        macro, counted = main.macro()
        rows.append(
            Row(
                f"{what}, {kind}, gold {gold}",
                {
                    "firings": main.gold,
                    **main.micro().cells(),
                    "rules": counted,
                    **{f"macro {name}": figures for name, figures in macro.cells().items()},
                    "paper and rejected F1": each.part(rules.theme(*APART)).micro().cells()["F1"],
                },
            )
        )
    return rows


def show_themes(measured: Mapping[str, Measured], rules: Rules) -> None:
    """Print a line for each theme, with F1 on raw text."""
    print("by theme, raw text: firings, then F1 of each tagger under gold as is and mapped")
    for theme in rules.themes:
        scores_of_taggers = []
        firing = 0
        for name, each in measured.items():
            parts = [each["text", gold].part(rules.theme(theme)) for gold in ("as is", "mapped")]
            scores = ", ".join(part.micro().cells()["F1"] for part in parts)
            scores_of_taggers.append(f"{name} {scores}")
            firing = parts[0].gold
        print(f"  {theme:14} {firing:6,}  {'; '.join(scores_of_taggers)}")


def show_worst(measured: Mapping[str, Measured], rules: Rules) -> None:
    """Print the rules on which taggers and gold tags differ most."""
    for name, each in measured.items():
        print(f"\nmost disagreements of {name} on raw text, gold mapped: both, noisy, missing")
        for rule in worst(each["text", "mapped"].part(rules.main), rules.names, WORST):
            print(f"  {rule['both']:5} {rule['noisy']:4} {rule['missing']:4}  {rule['rule']}")


def choose(measured: Mapping[str, Measured], rules: Rules) -> tuple[str, list[Row]]:
    """The tagger to choose, and the reason."""
    fast, other = TAGGERS
    chosen, rows = fast, []
    for gold in ("as is", "mapped"):
        first, second = (measured[name]["text", gold].part(rules.main) for name in (fast, other))
        for weighing in ("micro", "macro"):
            better, (low, high) = difference(first, second, weighing=weighing)
            if low > 0:
                chosen = other
            rows.append(
                Row(
                    f"{weighing} F1 of {other} minus {fast}, raw text, gold {gold}",
                    {"difference": f"{better:+.4f}", "95%": f"{low:+.4f} to {high:+.4f}"},
                )
            )
    return chosen, rows


def elsewhere(rules: Rules) -> list[Row]:
    """On text that nobody tagged: the firings that both taggers share."""
    rows = []
    fast, other = TAGGERS
    for what, texts in untagged_texts().items():
        first, second = (
            firings(rules.matcher, load_tagger(name).tag(texts), rules=rules.main, places=True)
            for name in (fast, other)
        )
        shared = Agreement(second, first, sentences=len(texts), rules=len(rules))
        shares = shared.micro().cells()
        rows.append(
            Row(
                f"{what}, untagged text: {fast} as if {other} were right",
                {"rows": len(texts), "firings": shared.gold, **shares},
            )
        )
    return rows


def untagged_texts() -> dict[str, list[str]]:
    """Rows of other kinds of text, every n-th of them."""
    texts_by_kind = {}
    for what, name in (("reviews", "sentiment/imdb.tsv"), ("messages", "classify/sms_spam.tsv")):
        lines = data_file(name).read_text("utf-8").split("\n")
        texts_by_kind[what] = [line.split("\t", 1)[1] for line in lines if "\t" in line]
    squad = json.loads(data_file("squad/dev-v1.1.json").read_text("utf-8"))
    paragraphs = [each for article in squad["data"] for each in article["paragraphs"]]
    texts_by_kind["wiki paragraphs"] = [each["context"] for each in paragraphs]
    texts_by_kind["questions"] = [q["question"] for each in paragraphs for q in each["qas"]]
    return {what: texts[:: max(1, len(texts) // ROWS)] for what, texts in texts_by_kind.items()}


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tagger", action="append", help="only this one; repeatable")
    parser.add_argument("--held-out", type=Path, help="folder of weights GENRE.npz "
                        "made without that genre; other genres are left out")  # fmt: skip
    parser.add_argument("--gold", type=Path, action="append", default=[],
                        help="another CoNLL-U file to measure on; repeatable")  # fmt: skip
    parser.add_argument("--table", action="store_true", help="write rulesets/taggers.json")
    options = parser.parse_args()
    names = options.tagger or TAGGERS
    rules = Rules()
    print(
        f"{len(rules)} shipped rules, {int(rules.read_tags.sum())} of them read tags, "
        f"{int(rules.main.sum())} without {' and '.join(APART)}; the others fire alike"
    )
    failing = run_own_tests(names, rules)
    for name, rulesets in failing.items():
        failures = [f"{ruleset}: {what}" for ruleset, each in rulesets.items() for what in each]
        print(f"{name}: {len(failures)} tests of shipped rules fail")
        print(*(f"  {line}" for line in failures), sep="\n")
    folder = data_file("pos")
    dev, train = (read_gold(folder / f"en_ewt-ud-{part}.conllu")[0] for part in ("dev", "train"))
    sets = {DEV: dev, "EWT train": train, **{path.stem: read_gold(path)[0] for path in
            options.gold}}  # fmt: skip
    if options.held_out:
        genres = {path.stem for path in options.held_out.glob("*.npz")}
        sets[HELD_OUT] = [each for each in (*dev, *train) if each.genre in genres]
    rows: list[Row] = []
    measured: dict[str, dict[str, Measured]] = {}
    for what, sentences in sets.items():
        print(f"\n{what}: {len(sentences):,} sentences")
        place = Sentences.of(sentences, rules)
        measured[what] = {}
        for name in names:
            if what == HELD_OUT and name in TRAINED_ON_EWT:
                measured[what][name] = measure_held_out(options.held_out, place, rules)
            elif what == "EWT train" and name in TRAINED_ON_EWT:
                continue
            else:
                measured[what][name] = measure(name, place, rules)
            rows += lines(f"{what}, {name}", measured[what][name], rules)
        show_themes(measured[what], rules)
        show_worst(measured[what], rules)
    if set(TAGGERS) <= set(names):
        chosen, why = choose(measured[HELD_OUT if options.held_out else DEV], rules)
        rows += elsewhere(rules)
        rows += [*why, Row("better default", {"tagger": chosen})]
    if options.table:
        write_table(
            failing, {name: each["text", "mapped"] for name, each in measured[DEV].items()}, rules
        )
    write_record("taggers", rows)


if __name__ == "__main__":
    main()
