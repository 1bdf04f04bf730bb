"""How sure a model is where it is right and where it is wrong: rows as they are, and by rule.

Always holds: every bar is a number in words beside it; a model that does not say how sure it is is
said to be so, and nothing is drawn.

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 4.3 and Figure 2.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from sears_dsl.auditing.document import AnswerConfidence, AuditDocument, answer_confidences
from sears_dsl.auditing.reports import sheet
from sears_dsl.auditing.reports.markdown_tables import code_cell, markdown_table, markdown_text
from sears_dsl.auditing.shares import percent

#: Bars of a histogram, from 0 to 1.
BINS = 10
_BAR = 9
_HALF = 110
# A page of hundreds of histograms helps nobody.
_MOST = 40


def histogram(values: Sequence[float]) -> list[int]:
    """How many values are in each tenth from 0 to 1; 1 is in the last.

    Example:
        >>> histogram([0.05, 0.95, 1.0])
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    """
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int(value * BINS))] += 1
    return counts


def confidence_section(document: AuditDocument) -> Iterator[str]:
    """Mirrored histograms, one a rule, with their numbers."""
    yield "<h2>How sure it is where it is right and where it is wrong</h2>"
    splits = answer_confidences(document)
    if not splits:
        yield '<p class="muted">Not given: the model does not say how sure it is.</p>'
        return
    yield (
        '<p class="muted">Answers by confidence, 0 at the bottom and 1 at the top: wrong ones to '
        "the left, right ones to the right, each side as a share of its own answers.</p>"
    )
    sure_from = _sure_from(document)
    heads = ("answers to", "wrong | right", ">right", ">mean", ">wrong", ">mean",
             f">wrong and sure (≥ {percent(sure_from)})", "counts")  # fmt: skip
    yield sheet.table(
        heads, [_row(each, sure_from) for each in splits[:_MOST]], caption="Confidence"
    )
    if len(splits) > _MOST:
        yield f"<p>{len(splits) - _MOST:,} more rules are in audit.json.</p>"


def _sure_from(document: AuditDocument) -> float:
    known = (each.confidence.sure_from for each in document.rules if each.confidence is not None)
    return next(known, 1.0)


def _row(each: AnswerConfidence, sure_from: float) -> str:
    right, wrong = histogram(each.right), histogram(each.wrong)
    counts = "".join(
        f"<li>{place / BINS:.1f} to {(place + 1) / BINS:.1f}: {wrong[place]:,} wrong, "
        f"{right[place]:,} right</li>"
        for place in reversed(range(BINS))
        if wrong[place] or right[place]
    )
    return (
        f"<tr>{sheet.rule(each.name, each.id)}<td>{mirrored(wrong, right)}</td>"
        f"{sheet.numbers(*_numbers(each, sure_from))}"
        f'<td><details class="small"><summary>by tenth</summary><ul class="facts-list">{counts}'
        "</ul></details></td></tr>"
    )


def _numbers(each: AnswerConfidence, sure_from: float) -> tuple[str, ...]:
    """How many answers are right and wrong, the mean confidence of each, and the worst kind."""
    sure = each.sure_and_wrong(sure_from)
    counts = (
        text
        for values in (each.right, each.wrong)
        for text in (f"{len(values):,}", f"{sum(values) / len(values):.2f}" if values else "–")
    )
    return (*counts, f"{sure.count:,} ({percent(sure.rate)})")


def mirrored(wrong: Sequence[int], right: Sequence[int]) -> str:
    """Two histograms back to back, the highest tenth on top."""
    height = _BAR * len(wrong)
    parts = []
    for counts, kind in ((wrong, "bad"), (right, "good")):
        total = max(1, sum(counts))
        for place, count in enumerate(counts):
            width = round((_HALF - 2) * count / total, 1)
            x = round(_HALF - 1 - width, 1) if kind == "bad" else _HALF + 1
            y = height - _BAR * (place + 1)
            if count:
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{width}" height="{_BAR - 1}" class="{kind}"/>'
                )
    parts.append(f'<line x1="{_HALF}" x2="{_HALF}" y1="0" y2="{height}" class="grid"/>')
    words = (
        f"{sum(wrong)} wrong answers, {wrong[-1]} of them in the highest tenth; {sum(right)} right "
        f"ones, {right[-1]} in the highest"
    )
    return (
        f'<svg class="mirror" width="{2 * _HALF}" height="{height}" role="img" '
        f'aria-label="{html.escape(words)}">{"".join(parts)}</svg>'
    )


def confidence_markdown(document: AuditDocument) -> Iterator[str]:
    """A line a rule."""
    splits = answer_confidences(document)
    sure_from = _sure_from(document)
    yield "## How sure it is where it is right and where it is wrong"
    yield ""
    if not splits:
        yield "Not given: the model does not say how sure it is."
        yield ""
        return
    heads = ("answers to", "right", "mean", "wrong", "mean",
             f"wrong and sure (≥ {percent(sure_from)})")  # fmt: skip
    rows = (
        (
            f"{code_cell(each.name)}<br>{markdown_text(each.id)}" if each.id else each.name,
            *_numbers(each, sure_from),
        )
        for each in splits[:_MOST]
    )
    yield from markdown_table(heads, "lrrrrr", rows)
    yield ""
