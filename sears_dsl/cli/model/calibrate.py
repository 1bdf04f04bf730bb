"""``sears calibrate``: the threshold that people's judgements ask for, and how well S agrees."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ExampleCommand
from sears_dsl.cli.model.score import pairs_options
from sears_dsl.cli.options.shared import Number, NumberRange, chosen_as, chosen_reading, json_option
from sears_dsl.cli.screen.console import console, echo_json, plain_table
from sears_dsl.errors import counted
from sears_dsl.runtime.extras import need_discovery

if TYPE_CHECKING:
    from sears_dsl.meaning.calibration import Calibration
    from sears_dsl.meaning.scorers import Scorer

# How many points of the curve are printed; --json has all of them.
_POINTS = 10
# Characters of a text that is named as an example.
_SHOWN = 60


@click.command(
    "calibrate",
    cls=ExampleCommand,
    epilog="Example: sears calibrate judged.csv --label grade --positive-from 4 --scorer pivot",
)
@click.argument("pairs")
@pairs_options
@click.option("--label", help="The column of judgements: 1 where the pair means the same, else 0.")
@click.option("--positive-from", type=Number(), metavar="GRADE",
              help="Judgements are grades; this one and higher ones count as "
              "equivalent.")  # fmt: skip
@click.option("--source", "sources", multiple=True, metavar="NAME",
              help="Use only judgements whose column `source` says so: pair, pick or rule, as "
              "`sears vetted --pairs` writes them; repeatable.")  # fmt: skip
@click.option("--tau", type=NumberRange(0, 1), help="Measure this τ instead of fitting one.")
@json_option("Print everything as JSON, including the whole curve.")
def calibrate_command(pairs: str, *, tau: float | None, **options: Any) -> None:
    """Fit the threshold τ to human judgements, and show how well a scorer agrees with them.

    PAIRS is a file with two text columns and one of judgements. τ is the value that minimizes the
    entropy of the two sides into which it splits the judgements.
    """
    need_discovery()
    from sears_dsl.discovery.parts import load_chosen_scorer
    from sears_dsl.meaning.calibration import calibrated
    from sears_dsl.meaning.judgements import read_judgements
    from sears_dsl.paraphrasing.plugins import known_tau

    judged = chosen_as(read_judgements, options, path=pairs, options=chosen_reading(options))
    contradicting = judged.contradicting
    scorer = load_chosen_scorer(options["scorer_name"], pivots=options["pivots"])
    calibration = calibrated(scorer.scores(judged.pairs), judged.equivalent, tau=tau)
    shipped = known_tau(scorer)
    if options["as_json"]:
        echo_json(
            {
                "scorer": scorer.name,
                "identity": scorer.identity,
                "data": {
                    "path": judged.path,
                    "sha256": judged.digest,
                    "contradicting": {
                        "pairs": len(contradicting),
                        "judgements": sum(contradicting.values()),
                    },
                },
                "shipped_tau": shipped,
                "fitted": tau is None,
                **calibration.as_dict(),
            }
        )
    else:
        _print_calibration(calibration, scorer, shipped, fitted=tau is None)
        if contradicting:
            example = next(iter(contradicting))
            console().print(
                f"\n{counted(len(contradicting), 'pair')} judged both ways, in "
                f"{sum(contradicting.values()):,} judgements. Each judgement counts, so no τ is "
                f"right about all. Example: {' | '.join(text[:_SHOWN] for text in example)!r}"
            )


def _print_calibration(
    calibration: Calibration, scorer: Scorer, shipped: float | None, *, fitted: bool
) -> None:
    out = console()
    how = "fitted by the least entropy of the split" if fitted else "as given"
    how += "" if shipped is None else f"; the scorer's own is {shipped:.4g}"
    out.print(
        f"{scorer.name} on {counted(calibration.pairs, 'pair')}, {calibration.equivalent:,} of "
        "them equivalent"
    )
    shown = calibration.curve.shown
    out.print(f"τ = {shown(calibration.tau)} ({how})")
    out.print(
        f"entropy of the judgements: {calibration.entropy_before:.3f} bits; "
        f"{calibration.entropy:.3f} bits once the side of τ is known"
    )
    table = plain_table("", "value", "95% interval", right=[1])
    for name, share in (
        ("area under the ROC curve", calibration.area),
        ("precision at τ", calibration.precision),
        ("recall at τ", calibration.recall),
    ):
        value = "no pair reaches it" if isnan(share.value) else f"{share.value:.3f}"
        table.add_row(name, value, f"{share.low:.3f} to {share.high:.3f}")
    out.print(table)
    curve = plain_table("false positive rate", "true positive rate", "τ")
    curve.title, curve.title_justify = "ROC curve", "left"
    last = len(calibration.curve.thresholds) - 1
    for point in sorted({round(number * last / _POINTS) for number in range(_POINTS + 1)}):
        curve.add_row(
            f"{calibration.curve.false_rates[point]:.3f}",
            f"{calibration.curve.true_rates[point]:.3f}",
            shown(calibration.curve.thresholds[point]) if point else "over 1",
        )
    out.print()
    out.print(curve)
