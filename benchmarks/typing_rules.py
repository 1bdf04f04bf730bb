"""How long a reviewer waits to see what a rule does while typing it, on 10,000 rows.

In: 10,000 sentences of rt.tsv, a model of scikit-learn trained on the others, rules as reviewers
type them, each new to the session. Out: milliseconds until the page could show where the rule
applies, and until it could show the first mistakes (after 80 ms of the model the page reports its
progress); how long the model takes for all. Mistakes are verified with the model alone.

Method and bias: everything is measured but the browser and the loopback, which take a few
milliseconds. Rules that change thousands of rows need many answers of the model; how many depends
on the model.

    python -m benchmarks.typing_rules
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.fasttext_like import read_labelled
from benchmarks.record import Row, data_file, read_options, write_record
from demo.sentiment_model import train
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.language.loader import parse
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.tagging.cache import CachedTagger, TagCache
from sears_dsl.tagging.tagger import load_tagger
from sears_dsl.vetting.journal import Journal
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.workbench import Workbench
from sears_dsl.vetting.web.serving import freeze_objects

ROWS = 10_000
PATIENCE = 0.08
BUDGET = 200
RULES = (
    "good -> nice", "NOUN of NOUN -> $3",
    "movie -> film", "the movie -> the film", "funny -> amusing", "is not -> isn't",
    "DET NOUN is -> it is", "VBZ not -> n't", "What NOUN -> Which NOUN", "ADV funny -> $2",
    "[lemma=be & tag=VBZ] DET -> was DET", "really -> <>", "NOUN and NOUN -> $3 and $1",
)  # fmt: skip


def main() -> None:
    """Measure and write the record."""
    texts, labels = read_labelled(data_file("sentiment/rt.tsv"))
    first = len(texts) - ROWS if len(texts) > ROWS + 500 else 0
    model = train(texts[:first] or texts, labels[:first] or labels)
    known = tuple((str(label),) for label in labels[first : first + ROWS])
    rows = tuple({"text": text} for text in texts[first : first + ROWS])
    data = LabelledRows(rows, "text", known, "rt.tsv")
    tagger = load_tagger()
    with TagCache() as cache:
        tokens = CachedTagger(tagger, cache).tag(data.texts)
    ruleset = parse("the -> a")
    predictor = CachedPredictor(CallablePredictor(model.predict))
    bench = Workbench(ruleset, data, predictor, tokens=tokens, tagger=tagger)
    results = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Journal(Path(folder, "a.jsonl"), ruleset=ruleset, reviewer="a") as journal,
    ):
        session = RuleSession(bench, journal)
        freeze_objects()
        for rule in RULES:
            results.append(measured(session, rule))
            shown, right = results[-1].figures["mistakes"], counted(bench, session, rule)
            if shown != right:
                raise SystemExit(f"{rule}: {shown} mistakes are shown, there are {right}")
    write_record("typing_rules", results)


def measured(session: RuleSession, rule: str) -> Row:
    """Time one rule that is typed for the first time."""
    begun = time.perf_counter()
    typed = session.typed(rule)
    applied = time.perf_counter()
    progress = session.mistakes(rule, deadline=time.monotonic() + PATIENCE)
    first = time.perf_counter()
    rounds = 1
    while not progress["complete"]:
        progress = session.mistakes(rule, deadline=time.monotonic() + PATIENCE)
        rounds += 1
    ended = time.perf_counter()
    shown, mistakes, everything = (
        round(1000 * (moment - begun)) for moment in (applied, first, ended)
    )
    return Row(
        rule,
        {
            "rows": typed["changed"],
            "applies ms": shown,
            "first mistakes ms": mistakes,
            "all mistakes ms": everything,
            "rounds": rounds,
            "mistakes": progress["summary"]["flips"],
        },
        at_least=f"first mistakes within {BUDGET} ms",
        reached=mistakes <= BUDGET,
    )


def counted(bench: Workbench, session: RuleSession, rule: str) -> int:
    """The mistakes of a rule, counted again in one call of the model itself."""
    done, labels = session.trials.applied(rule).applications, bench.data.labels
    if labels is None:
        raise SystemExit("mistakes are counted against labels, and there are none")
    answers = bench.predictor.predictor.predict([{"text": text} for text in done.texts])
    return sum(
        bench.before[row] in labels[row] and answer not in labels[row]
        for row, answer in zip(done.rows.tolist(), answers, strict=True)
    )


if __name__ == "__main__":
    read_options(__doc__)
    main()
