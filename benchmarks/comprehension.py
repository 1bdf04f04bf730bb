"""Machine comprehension: rules over SQuAD questions that flip a small reader.

The model is the span ranker of `small_reader` (a linear model over overlap, question words, shapes
and distance), trained on the training articles. Rules are discovered on dev questions; contexts
stay unchanged. Answers are equal if SQuAD's normalization makes them so, and a flip is a right
answer that is not among the gold ones after the rule. Printed as in the paper's Table 1: the flips
of each rule, and of the paper's own rules for this task on the same model.

Method and bias: a small model fails often and simply; a large reader fails less and in other ways.
The questions are a seeded sample, at most one of each paragraph.

    python -m benchmarks.comprehension
"""

from __future__ import annotations

import random
import time

import numpy as np

from benchmarks.record import Row, data_file, read_options, write_record
from benchmarks.sentiment import show_rules
from benchmarks.small_reader import Question, read_squad, train
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery.algorithm import discover
from sears_dsl.discovery.settings import Settings
from sears_dsl.effects.flips import RightRows
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import load
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.paraphrasing.team import Recipe, Team
from sears_dsl.runtime.processes import usable_cores
from sears_dsl.tagging.tagger import Tagger, load_tagger

QUESTIONS = 1000
JOBS = min(4, usable_cores())


def main() -> None:
    """Train, discover, show."""
    started = time.perf_counter()
    model = train(read_squad(data_file("squad/train-v1.1-part.json")))
    trained = time.perf_counter()
    data = _sample(read_squad(data_file("squad/dev-v1.1.json")))
    predictor = CachedPredictor(CallablePredictor(model), batch_size=4096)
    tagger = load_tagger("spacy")
    team = Team(Recipe(), jobs=JOBS)
    discovery = discover(
        data,
        predictor,
        paraphraser=team,
        scorer=team,
        tagger=tagger,
        settings=Settings(order="paper", comparison="squad", holdout=0),
    )
    ended = time.perf_counter()
    show_rules(discovery)
    funnel = discovery.funnel
    rows = [
        Row(
            "ten rules on SQuAD questions, span ranker, default filter",
            {
                "questions": len(data.rows),
                "right": funnel.right,
                "with a SEA": round(funnel.rows_with_adversary / funnel.right, 3),
                "candidates": funnel.candidates,
                "passing": funnel.passing,
                "rules": funnel.selected,
                "flipped": round(funnel.rows_flipped / funnel.right, 4),
                "with inverses": round(funnel.rows_flipped_with_inverses / funnel.right, 4),
                "s training": round(trained - started),
                "s discovery": round(ended - trained),
            },
        ),
        *_paper_rules(RightRows(data, predictor, comparison="squad"), tagger),
    ]
    team.close()
    write_record("comprehension", rows)


def _sample(questions: list[Question]) -> LabelledRows:
    """A random question of each paragraph, and of these a sample."""
    chosen = random.Random(0)
    chosen.shuffle(questions)
    by_context = {question.context: question for question in questions}
    some = sorted(by_context.values(), key=lambda each: (each.question, each.context))
    chosen.shuffle(some)
    some = some[:QUESTIONS]
    return LabelledRows(
        tuple({"question": each.question, "context": each.context} for each in some),
        "question",
        tuple(each.answers for each in some),
        "dev-v1.1.json",
    )


def _paper_rules(right: RightRows, tagger: Tagger) -> list[Row]:
    matcher = compile_rules([load(shipped_rulesets()["paper/comprehension"])], tagger=tagger)
    rewrites = matcher.apply(right.texts)
    rows = []
    for rule, name in enumerate(matcher.rule_ids):
        changed = [(each.row, each.text) for each in rewrites if each.rule == rule]
        answers = right.ask([row for row, _ in changed], [text for _, text in changed])
        flips = np.array(
            [right.is_flip(row, answer) for (row, _), answer in zip(changed, answers, strict=True)],
            bool,
        )
        rows.append(
            Row(f"the paper's rule {name}", {"changed": len(changed), "flips": int(flips.sum())})
        )
    return rows


if __name__ == "__main__":
    read_options(__doc__)
    main()
