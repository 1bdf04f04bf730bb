"""What `sears discover` shows: known flips, and what came out.

Always holds: a run ends with rules, or with what was tried, what came closest and what would help,
in the numbers of this run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import ceil
from shlex import quote
from typing import TYPE_CHECKING

from sears_dsl.catalogue import closest_path, shipped_rulesets
from sears_dsl.cli.screen.example_table import RewrittenExample, table_lines
from sears_dsl.discovery.counts import HALF
from sears_dsl.discovery.result.report import came_close, rate_cells, rounded
from sears_dsl.discovery.settings import CERTAIN, HOLDOUT_FROM, STAGE_NAMES
from sears_dsl.errors import counted, listed
from sears_dsl.language.printer import print_rule
from sears_dsl.statistics import wilson_interval

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.text import Text

    from sears_dsl.discovery.counts import NearMiss
    from sears_dsl.discovery.known_rules import KnownFlips, KnownRules
    from sears_dsl.discovery.result.found_rules import Discovery, FoundRule

# How many rules a sentence names.
_NAMED = 3
# Screens narrower than this leave out rates.
_NARROW = 120
_SHOWN = 10
_CLOSEST = 3
_LONGEST_RULE = 60
# Marks a share of rewrites that keep the meaning which is too low for a new rule.
_DOUBTED = "*"
# If they surely flip this share of rows, rewordings in general flip nearly all.
_NEARLY_ALL = 0.9
# Signs of the rule language that say nothing to whom it is new: sets, captures, groups, tests.
_NOTATION = re.compile(r"[@$\[({|]")


def print_known(out: Console, known_flips: KnownFlips, *, so_far: bool = False) -> None:
    """Print the known rules that flip rows, best first, and what that means."""
    best = known_flips.best()
    rows = len(known_flips.right)
    acting = known_flips.acting
    when = "so far " if so_far else ""
    if not best:
        if not so_far:
            out.print(_no_known_flips(known_flips, acting))
        return
    out.print(
        f"known rules {when}flip {known_flips.rows_flipped:,} of {counted(rows, 'searched row')}; "
        f"{len(best):,} of the {counted(acting, 'rule that changes', 'rules that change')} a row "
        + ("flips" if len(best) == 1 else "flip")
        + " at least one"
        + (f"; {lost:,} were not tried to the end" if (lost := known_flips.not_asked) else "")
        + (f" (the best {_SHOWN} are shown):" if len(best) > _SHOWN else ":")
    )
    out.print(*_known_table(known_flips, best[:_SHOWN], out.width), sep="\n")
    out.print(f"{_who_accepted(known_flips.known, best)}; your rows are checked later")
    apart = [rule for rule in best if not known_flips.known.writable[rule]]
    if apart and not so_far:
        files = ", ".join(dict.fromkeys(known_flips.known.sources[rule] for rule in apart))
        out.print(
            f"{len(apart):,} of them cannot be written to the output because they need options of "
            f"their own files, such as a unit; audit {files} as well"
        )


def _who_accepted(known: KnownRules, rules: Sequence[int]) -> str:
    """Say which of the known rules readers accepted, and which only count as accepted."""
    own = dict.fromkeys(known.sources[each] for each in rules if not known.accepted[each])
    if not own:
        return "readers accepted these rules in other texts"
    counts = f"rules of {listed(list(own), _NAMED)} count as accepted (--known)"
    if known.accepted[rules].any():
        return f"readers accepted the others in other texts; {counts}"
    return counts


def _no_known_flips(known_flips: KnownFlips, acting: int) -> str:
    if known_flips.not_asked:
        rules = counted(known_flips.not_asked, "known rule")
        rest = acting - known_flips.not_asked
        others = f"; none of the other {rest:,} flips a row" if rest else ""
        return f"the model could not be asked about all rewrites of {rules}{others}"
    if not acting:
        tried = len(known_flips.known.rules)
        return f"no known rule changes a searched row ({counted(tried, 'rule')} tried)"
    texts = len(set(known_flips.applications.rewrites.tolist()))
    return (
        f"{counted(acting, 'known rule changes', 'known rules change')} searched rows, but none "
        f"flips one: the model withstands all {counted(texts, 'rewrite')} of "
        f"{counted(len(known_flips.right), 'searched row')}"
    )


def _known_table(known_flips: KnownFlips, rules: Sequence[int], width: int) -> Iterator[Text]:
    rows, examples = [], []
    for rule in rules:
        flips = int(known_flips.flips_of_rule[rule])
        changed = int(known_flips.applications.changed[rule])
        source = known_flips.known.sources[rule]
        rate = rounded(flips / changed)
        name = _known_name(known_flips.known, rule)
        rows.append([name, source, f"{flips:,} of {changed:,}", rate])
        examples.append((*known_flips.example(rule), ""))
    heads = ["known rule", "from", "flips", "rate"]
    return table_lines(heads, rows, examples, width=width, right=(2, 3))


def print_discovery(
    out: Console, discovery: Discovery, output: Path, *, notes: Sequence[str] = ()
) -> None:
    """Print the rules as in the paper's Table 3, or why there are none; then how it came about.

    ``notes`` say that the rules that nearly passed were not written.
    """
    if discovery.rules:
        _print_rules(discovery, out)
        _print_sums(discovery, out)
    if any(not each.source for each in discovery.rules):
        nearly = _flipping(discovery)
        deltas = (f"  {each}" for each in _passing_delta(nearly, discovery))
        lines = [*_closest(nearly, discovery), *deltas]
        out.print(*lines, sep="\n", end="\n" if lines else "")
    else:
        out.print(*_nothing_new(discovery), sep="\n")
    out.print("how the search went:")
    out.print(*(f"  {each}" for each in (*_stages(discovery), *_questions(discovery))), sep="\n")
    if discovery.budget_reached:
        stages = ", ".join(STAGE_NAMES[each] for each in discovery.cut_short)
        out.print(f"the time budget cut these stages short: {stages}")
    out.print(f"written: {output}, {output.stem}.manifest.json, {output.stem}.md")
    if notes:
        out.print(*notes, sep="\n")
    elif near := len(discovery.near_rules):
        file, one = closest_path(output), near == 1
        out.print(
            f"{counted(near, 'rule')} that nearly passed {'is' if one else 'are'} in {file}; "
            f"`sears vet {quote(str(file))}`, with the same model and rows, asks you about "
            f"{'it' if one else 'them'}"
        )


def _stages(discovery: Discovery) -> Iterator[str]:
    """What was tried, stage by stage, in words."""
    funnel = discovery.funnel
    rows = funnel.rows - funnel.unasked
    yield (
        f"the model gets {funnel.right:,} of {counted(rows, 'row')} right; {funnel.searched:,} of "
        f"these are searched and {funnel.held_out:,} held out"
    )
    if funnel.unasked:
        why = "the time budget" if "rows" in discovery.cut_short else "the limit of questions"
        yield f"{counted(funnel.unasked, 'row')} could not be tried within {why}"
    if funnel.too_long:
        rows_are = counted(funnel.too_long, "row was", "rows were")
        yield f"{rows_are} too long to be paraphrased, in part or as a whole"
    candidates = counted(funnel.candidates, "candidate rule")
    if discovery.settings.order == "paper":
        yield f"{funnel.rows_with_adversary:,} of the searched rows have an adversary"
        yield f"{funnel.passing:,} of {candidates} pass the filter"
        return
    paraphrases = counted(funnel.paraphrases, "paraphrase")
    if _is_out_of_time(discovery):
        yield "time ran out before any row was paraphrased, so no new rules were searched for"
        return
    if not funnel.candidates:
        yield f"{paraphrases} of the searched rows suggest no rule"
        return
    suggested = counted(funnel.candidates - funnel.listed, "candidate rule")
    listed = (
        f"; {funnel.listed:,} more are changes that readers accept elsewhere"
        if funnel.listed
        else ""
    )
    yield f"{paraphrases} of the searched rows suggest {suggested}{listed}"
    yield (
        f"{funnel.judged:,} of these change enough text to be judged; {funnel.keep_meaning:,} "
        f"{'keeps' if funnel.keep_meaning == 1 else 'keep'} the meaning there"
    )
    one = funnel.passing <= 1
    passing = counted(funnel.passing, "rule") if funnel.passing else "no rule"
    left_out = ", ".join(_left_out(discovery))
    yield (
        f"{passing}, known or new, {'keeps' if one else 'keep'} the meaning and "
        f"{'flips' if one else 'flip'} enough rows"
        + (f" ({left_out})" if left_out else "")
        + (f"; {_more_places(discovery)} lists more of them" if funnel.without_place else "")
    )


def _left_out(discovery: Discovery) -> Iterator[str]:
    """Why rules that passed are not in the table, unless there was no place for them."""
    funnel = discovery.funnel
    if funnel.collapsed:
        yield counted(funnel.collapsed, "repeat")
    rest = funnel.passing - funnel.collapsed - funnel.selected - funnel.without_place
    if rest > 0:
        nothing = "no flipped row" if discovery.settings.across == "any" else "nothing"
        yield f"{rest:,} that {'adds' if rest == 1 else 'add'} {nothing}"


def _more_places(discovery: Discovery) -> str:
    return f"--rules {discovery.funnel.selected + discovery.funnel.without_place}"


def _is_out_of_time(discovery: Discovery) -> bool:
    """Whether time ran out before any paraphrase, so that nothing is known of new rules."""
    funnel = discovery.funnel
    return discovery.budget_reached and not funnel.paraphrases and funnel.skipped > 0


def _print_rules(discovery: Discovery, out: Console) -> None:
    """Print one line per rule: its flips on searched and held-out rows, and how well it reads.

    Its example, a row that it flips, stands beside it, or below if there is no room.
    """
    held_out, narrow = bool(discovery.funnel.held_out), out.width < _NARROW
    rate = ["flips"] if narrow else ["flips", "rate (95%)"]
    heads = ["rule", "from", *rate, "meaning kept"]
    heads += ["held out", *rate[1:], *([] if narrow else ["kept"])] if held_out else []
    heads += [f"flips of {name}" for name in discovery.models]
    delta = discovery.settings.delta
    marks = [_DOUBTED if _is_doubted(each, delta) else "" for each in discovery.rules]
    rows, examples = [], []
    for each, mark in zip(discovery.rules, marks, strict=True):
        cells = [_shown(each), each.source or "new"]
        cells += rate_cells(each.flips, each.asked, each.interval)[: len(rate)]
        cells.append(rounded(each.at_tau / each.asked) + mark if each.asked else "")
        if held_out and each.held_out is not None:
            held = each.held_out
            cells += rate_cells(held.flips, held.changed, held.interval)[: len(rate)]
            if not narrow:
                cells.append(rounded(held.at_tau / held.changed) if held.changed else "")
        cells += map(str, each.flips_of_models)
        rows.append(cells)
        examples.append(_example(each))
    out.print(*table_lines(heads, rows, examples, width=out.width), sep="\n")
    if any(marks):
        out.print(
            f"{_DOUBTED} the judge refuses more than {rounded(delta)} of these rewrites; known "
            "rules count as accepted all the same"
        )
    if repeats := _repeats(discovery):
        out.print(f"shown before and left out: {listed(repeats, _NAMED)}")
    single = [_shown(each) for each in discovery.rules if each.is_one_flip]
    if single:
        out.print(
            f"a single flip may be chance, as with {listed(single, _NAMED)}; more rows would tell"
        )


def _is_doubted(rule: FoundRule, delta: float) -> bool:
    """Whether the judge refuses a larger share of a known rule's rewrites than of a new one's."""
    refused = rule.asked - rule.at_tau
    return bool(rule.source and refused) and refused / rule.asked > delta


def _repeats(discovery: Discovery) -> list[str]:
    """The known rules that were shown first and for which a listed rule now stands."""
    if discovery.known is None:
        return []
    known = discovery.known.known
    shown = {print_rule(known.rules[each]): each for each in discovery.known.best()[:_SHOWN]}
    names = {each.text: _shown(each) for each in discovery.rules}
    return [
        f"{_known_name(known, shown[rule])} ({'inverse' if reason == 'inverse' else 'repeat'} "
        f"of {names[into]})"
        for rule, into, reason in discovery.collapsed
        if rule in shown and into in names
    ]


def _shown(rule: FoundRule) -> str:
    """The text of a rule, or the id of a known one whose text is no plain words."""
    return rule.id if rule.source and not _is_plain(rule.text) else rule.text


def _is_plain(text: str) -> bool:
    """Whether a person can read the text of a rule who knows nothing of the rule language."""
    return len(text) <= _LONGEST_RULE and not _NOTATION.search(text)


def _known_name(known: KnownRules, rule: int) -> str:
    """What every table calls a known rule: its text, or its id if that is no plain words."""
    text = print_rule(known.rules[rule])
    is_named = bool(known.rules[rule].name)
    return known.ids[rule] if is_named and not _is_plain(text) else text


def _example(rule: FoundRule) -> RewrittenExample | None:
    """A row that the rule flips, and what becomes of the answer."""
    if not rule.examples:
        return None
    first = rule.examples[0]
    return first.original, first.rewritten, f"  {first.label} → {first.prediction}"


def _print_sums(discovery: Discovery, out: Console) -> None:
    """Print what the rules do together, and on which rows all of this was counted."""
    funnel = discovery.funnel
    known = any(each.source for each in discovery.rules)
    together = (
        f"together they flip {'at least ' if discovery.flips_at_least else ''}"
        f"{funnel.rows_flipped:,} of {funnel.searched:,} searched rows "
        f"({100 * funnel.rows_flipped / max(1, funnel.searched):.1f}%)"
    )
    if asked := funnel.held_out - funnel.held_out_unasked:
        flipped = funnel.held_out_flipped or 0
        together += f" and {flipped:,} of {asked:,} held-out rows ({100 * flipped / asked:.1f}%)"
    if unasked := funnel.held_out_unasked:
        rows = f"{unasked:,} {'other ' if asked else ''}held-out rows"
        together += f"; time or questions ran out before {rows} were asked about"
    flips = "flips that keep the meaning" + (", and all flips of known rules" if known else "")
    out.print(together, f"  (counted: {flips})", sep="\n")
    if not funnel.held_out:
        share = discovery.settings.holdout
        if share is not None:
            why = f"--holdout {share:g}"
        elif funnel.right < HOLDOUT_FROM:
            why = f"fewer than {HOLDOUT_FROM} right rows"
        else:
            why = "rows with the same text are held out together, and the lot fell on none"
        out.print(
            f"no rows were held out ({why}), so these numbers are counted on the rows that the "
            "rules were found on"
        )
    if discovery.base_rows and all(each.q_value > CERTAIN for each in discovery.rules):
        out.print(_not_certain(discovery.base_rate, discovery.base_rows))


def _not_certain(base_rate: float, rows: int) -> str:
    """Say that no rule surely flips more rows than rewordings in general, and what that means."""
    flipped = round(base_rate * rows)
    share = f"{flipped:,} of {counted(rows, 'row')}"
    low, _ = wilson_interval(flipped, rows)
    if low >= _NEARLY_ALL:
        often = "any" if flipped == rows else "nearly any"
        return f"this model changes its answer with {often} rewording: in general, {share} flip"
    if not flipped:
        return (
            f"rewordings in general flip {share}, but the counts are too small to tell the rules "
            f"above from chance (q ≤ {CERTAIN:g})"
        )
    return (
        f"rewordings in general flip {share}; no rule above surely flips more (q ≤ {CERTAIN:g}), "
        "so each may be chance"
    )


def _questions(discovery: Discovery) -> Iterator[str]:
    """Say how many questions the model was asked, and whether there were enough."""
    funnel = discovery.funnel
    yield (
        f"the model was asked {counted(funnel.questions, 'question')}, "
        f"{funnel.questions / max(1, funnel.right):.1f} for each row that it gets right"
    )
    if discovery.question_limit_reached and funnel.question_limit is not None:
        lost = counted(funnel.not_asked, "rule was", "rules were")
        yield (
            f"the limit of {funnel.question_limit:,} questions was reached before {lost} tried to "
            f"the end; --max-questions {2 * funnel.question_limit} allows more"
        )


def _nothing_new(discovery: Discovery) -> Iterator[str]:
    """What was tried, what came closest, and what would help."""
    known = [each for each in discovery.rules if each.source]
    if discovery.funnel.new_without_place:
        yield "no place was left for new rules; the rules above were known before"
    elif known:
        yield "no new rules; the rules above were known before"
    else:
        yield "no new rules were found"
    if not known and _withstands(discovery):
        funnel = discovery.funnel
        _, high = wilson_interval(0, funnel.searched)
        yield (
            f"the model withstands all {counted(funnel.distinct_rewrites, 'rewrite')} by "
            f"{counted(funnel.keep_meaning + funnel.known, 'rule')} that keep the meaning; with "
            f"95% confidence, such rules flip fewer than {100 * float(high):.1f}% of rows like the "
            f"{counted(funnel.searched, 'searched one')}"
        )
    yield from _closest(_nearest(discovery), discovery)
    yield "what would help:"
    yield from (f"  {each}" for each in dict.fromkeys(_what_helps(discovery)))


def _flipping(discovery: Discovery) -> Sequence[NearMiss]:
    """The rules that flip enough rows and that text did not let pass."""
    return [each.numbers for each in discovery.near_rules]


def _nearest(discovery: Discovery) -> Sequence[NearMiss]:
    """The closest rules that are shown if none was found: those that flip enough, if any do."""
    return _flipping(discovery) or discovery.closest[:_CLOSEST]


def _passing_delta(misses: Sequence[NearMiss], discovery: Discovery) -> Iterator[str]:
    """The δ with which those of the rules may pass that lack nothing else: the first, and all.

    Judging stops where a rule cannot pass, so that its other rewrites may lower its bound.
    """
    by_delta = sorted(
        (delta, place)
        for place, each in enumerate(misses)
        if (delta := _delta_for(each, discovery))
    )
    if not by_delta:
        return
    (first, place), (last, _) = by_delta[0], by_delta[-1]
    one, many = f"`{_label(misses[place], discovery)}`", f"{len(by_delta):,} of them"
    alike = first == last and len(by_delta) > 1
    lets = f"--delta {first:g} may let {many if alike else one} pass"
    if last > first:
        lets += f", {last:g} may let {many}"
    shares = " or ".join(dict.fromkeys((rounded(first), rounded(last))))
    yield f"{lets}; readers may reject up to {shares} of the rewrites"


def _delta_for(each: NearMiss, discovery: Discovery) -> float | None:
    """The δ with which a rule passes; None if readers might reject most of what it writes."""
    cut_short = each.is_cut_short(discovery.settings.delta)
    if each.lacks != "meaning" or each.judged is None or each.judged.low <= HALF or cut_short:
        return None
    return ceil(100 * (1 - each.judged.low)) / 100


def _closest(misses: Sequence[NearMiss], discovery: Discovery) -> Iterator[str]:
    """Rules that nearly passed, each with a line on what it lacks."""
    if misses:
        yield "closest to passing:"
    for each in misses:
        yield from (f"  {_label(each, discovery)}", f"    {came_close(each, discovery)}")


def _label(miss: NearMiss, discovery: Discovery) -> str:
    """The text of a rule, or the name of a known one whose text is no plain words."""
    known = discovery.known and discovery.known.known
    if miss.judged is not None or not known or _is_plain(miss.rule):
        return miss.rule
    return dict(zip(map(print_rule, known.rules), known.ids, strict=True)).get(miss.rule, miss.rule)


def _withstands(discovery: Discovery) -> bool:
    """Whether all rules that keep the meaning were asked about, and none flips a row."""
    funnel, known = discovery.funnel, discovery.known
    tried = funnel.keep_meaning + funnel.known
    flipped = any(each.flips for each in discovery.closest) or (known and known.rows_flipped)
    return not flipped and bool(tried and funnel.distinct_rewrites) and not funnel.not_asked


def _what_helps(discovery: Discovery) -> Iterator[str]:
    """More rows, text, questions or time, or other thresholds: how much, by these numbers."""
    funnel = discovery.funnel
    if _is_out_of_time(discovery):
        yield (
            f"more time to paraphrase {counted(funnel.skipped, 'row')}: --resume with more "
            "--budget-seconds continues this search"
        )
        return
    if without_place := funnel.new_without_place:
        shipped = shipped_rulesets()
        any_shipped = any(each.source in shipped for each in discovery.rules)
        yield (
            f"more places: {_more_places(discovery)}, since {counted(without_place, 'new rule')} "
            f"{'passes' if without_place == 1 else 'pass'}, too"
            + ("; or --no-known, which leaves them all to new rules" if any_shipped else "")
        )
    if discovery.budget_reached:
        lost = (
            (funnel.skipped, "row", "not paraphrased"),
            (funnel.not_asked, "rule", "not tried"),
            (funnel.undecided, "rule", "not judged to the end"),
        )
        losses = "; ".join(f"{counted(count, noun)} {how}" for count, noun, how in lost if count)
        yield (
            f"more time{f' ({losses})' if losses else ''}: --resume with more --budget-seconds "
            "continues this search; fewer rows (--sample) need less"
        )
    if discovery.question_limit_reached and funnel.question_limit is not None:
        yield f"more questions: --max-questions {2 * funnel.question_limit}"
    yield from _passing_delta(_flipping(discovery), discovery)
    for each in _nearest(discovery):
        yield from _helps(each, discovery)
    if not funnel.candidates:
        yield (
            "rows of a sentence or two, a wider --beam, or other paraphrases if these are your own "
            "(--paraphrases)"
        )
    rows = funnel.rows - funnel.unasked
    if not without_place:
        yield (
            f"more rows than these {rows:,}: a rule shows only if it changes several of them"
            + (
                f"; --holdout 0 searches all {funnel.right:,} that the model gets right"
                if funnel.held_out
                else ""
            )
        )
    if _withstands(discovery):
        yield (
            "other kinds of changes: --known FILE tries your own rules, and `sears audit "
            "noise/typing` measures typing errors"
        )


def _helps(each: NearMiss, discovery: Discovery) -> Iterator[str]:
    funnel, least = discovery.funnel, discovery.least_flips(known=each.judged is None)
    rule = _label(each, discovery)
    if each.lacks == "flips" and each.flips:
        # What it flips of these rows, at this rate, once all that it changes are tried.
        expected = each.flips * each.changed / each.asked
        if expected >= least:
            lacking = f"questions or time for all {each.changed:,} rows that `{rule}` changes"
            flips = f"it would flip {int(expected)} of them"
        else:
            rows = ceil((funnel.rows - funnel.unasked) * least / expected)
            lacking, flips = f"about {rows:,} rows", f"`{rule}` would flip {least} of them"
        yield (
            f"{lacking}: at this rate, {flips}; or --minimum-flips {each.flips}, which lets it pass"
        )
    elif each.lacks == "text":
        yield f"--text FILE with unlabelled text like yours that `{rule}` changes"
    elif not each.asked and each.changed >= least and (delta := _delta_for(each, discovery)):
        yield (
            f"--delta {delta:g}, which tries `{rule}` on the model: it may flip no row, and "
            f"readers may reject up to {rounded(delta)} of its rewrites"
        )
