"""Notation of noise and templates in any order: it gives rules or findings, never anything else.

    python tests/language/fuzz.py --lines 1000000 --seed 1

Each file is drawn from the seed and its number alone, so that one that fails comes again by
``--first NUMBER --lines 1``. What is held: only `RuleSyntaxError` is raised, its findings have
places in the text; what parses prints to text that parses to the same rules, templates and ids; no
line takes a second of processor time.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter

from sears_dsl.errors import RuleSyntaxError
from sears_dsl.generating.sentences import template_findings
from sears_dsl.language.loader import parse

_SLOWEST = 1.0
HEADS = ("", "set S = good | nice\n", 'set NAME = Uma | "a b"\nset S = bad\n')
_PIECES = (
    "{", "}", "{{", "}}", "{$", "%", "(", ")", "(25%)", "(2)", "(0", "25%", "100%", "1%",
    "<unit>", "<>", "<s>", "@", "@S", "@NAME", "S", "NAME", "$", "$1", "$0", "$n", "n:", "who:",
    ".", ".typo", ".swap", ".homoglyph", ".upper", ".VBD", ".neighbor", ".paraphrase", ".as($1)",
    "rate:", "seed:", "label:", "template ", "template", "rule ", "set ", "option unit = ",
    "option vectors = ", "import ", "sentence", "expect: flip", "test ", "=> none", "=>", " ",
    "  ", "\t", "->", " -> ", "/", " / ", "__", "|", "=", "?", ":", "!", "&", "[", "]", "[a-z]+",
    "lemma=", "NOUN", "X", "movie", "film", '"', "'", "'s", '"a"', "\\", "#", "~", "_", "1", "0",
    "99999999999999999999", "é", "😀", "\u0301", "\x00",
)  # fmt: skip
_CONSEQUENT = (
    "$1", "$0", "$n", "$1.typo", "$1.swap(2)", "$1.homoglyph(25%)", "$0.paraphrase", ".upper",
    "(10%)", "@S", "@NAME", "film", "x", "$", "%", "~", "?", ".", "'s", '"a"', "NOUN", ")", "1",
    ".as($1)", " ", " ", " ",
)  # fmt: skip
_LINES = (
    "_ -> $1.homoglyph(25%)", "  rate: 100%", "/[a-z]{6,}/ -> $1.swap(2)",
    "(NOUN|VERB|ADJ) -> $1.typo", "  seed: 7", "  tags: noise typing", "@NAME -> @NAME",
    "<> -> @S / (is|was) __ ADJ", 'rule f: <unit> -> "It is false that" $0.uncap',
    "  expect: flip", "be:lemma=be ADJ -> $be not ADJ",
    'template "This {S} movie is not {NAME?} bad."', "  label: positive",
    "option unit = sentence",
    'template "{who:NAME.cap} acted well, but {$who} could not save this {S} movie."',
    '  test "It is a good movie ." => "\\u0399t is"', "option vectors = glove-6b-50d",
)  # fmt: skip


def _some(pieces: tuple[str, ...], most: int, draw: random.Random) -> str:
    return "".join(draw.choice(pieces) for _ in range(draw.randint(1, most)))


def _line(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.2:
        return f'template "{_some(_PIECES, 14, draw).replace(chr(34), "")}"'
    if kind < 0.5:
        antecedent = draw.choice(("a", "NOUN", "n:a", "_", "<unit>", "NOUN a", "@S", "template x"))
        return f"{antecedent} -> {_some(_CONSEQUENT, 6, draw)}"
    if kind < 0.6:
        return f"{_some(_PIECES, 8, draw)} -> {_some(_PIECES, 8, draw)}"
    if kind < 0.7:
        return "  " + _some(_PIECES, 8, draw)
    if kind < 0.8:
        return _some(_PIECES, 14, draw)
    line = draw.choice(_LINES)
    for _ in range(draw.randint(0, 2)):
        place = draw.randint(0, len(line))
        line = line[:place] + draw.choice(("", *_PIECES)) + line[place + draw.randint(0, 2) :]
    return line


def drawn_file(seed: int, number: int) -> str:
    """The file for a number: half of the time one line, else up to forty."""
    draw = random.Random(f"{seed} {number}")
    lines = draw.choice((1, 1, 1, 2, 5, 40))
    return draw.choice(HEADS) + "\n".join(_line(draw) for _ in range(lines)) + "\n"


def findings(text: str) -> list[str]:
    """The codes of the errors in a file; fails if they are not reported as required."""
    try:
        parse(text)
    except RuleSyntaxError as error:
        lines = text.count("\n") + 1
        for each in error.diagnostics:
            span = each.span
            assert re.fullmatch(r"[EW]\d{3}", each.code), each
            assert each.message, each
            assert span is not None, each
            assert 1 <= span.line <= lines, each
            assert span.column < span.end_column, each
            each.render().encode("utf-8", "surrogatepass")
        return [each.code for each in error.diagnostics]
    return []


def held(text: str) -> list[str]:
    """`findings`; if there are none, fails unless the file is printed as it was read."""
    codes = findings(text)
    if codes:
        return codes
    ruleset = parse(text)
    template_findings(ruleset)
    printed = ruleset.format()
    again = parse(printed)
    assert (again.rules, again.templates) == (ruleset.rules, ruleset.templates), printed
    assert again.rule_ids == ruleset.rule_ids, printed
    assert again.format() == printed, printed
    return []


def main() -> int:
    """Draw files until there are enough lines; returns 1 if a file fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    chosen = parser.parse_args()
    held("a -> b\n")  # one-time costs do not count for a line
    lines = sound = failed = 0
    codes: Counter[str] = Counter()
    slowest, number = (0.0, 0), chosen.first
    while lines < chosen.lines:
        text = drawn_file(chosen.seed, number)
        began = time.process_time()
        try:
            found = held(text)
        # Any other exception is a fault, which this program looks for.
        except Exception as error:
            failed += 1
            print(f"file {number}: {type(error).__name__}: {error}\n{text!r}", flush=True)
        else:
            codes.update(found)
            sound += not found
        slowest = max(slowest, ((time.process_time() - began) / text.count("\n"), number))
        if lines // 50_000 < (lines + text.count("\n")) // 50_000:
            print(f"{lines:,} lines, {number} files, {failed} failed", flush=True)
        lines += text.count("\n")
        number += 1
    print(
        f"{lines:,} lines in {number - chosen.first:,} files of seed {chosen.seed}: {sound:,} "
        f"files without errors, {len(codes)} codes, {failed} failed; the slowest line "
        f"{1000 * slowest[0]:.0f} ms (file {slowest[1]})"
    )  # fmt: skip
    return int(failed > 0 or slowest[0] > _SLOWEST)


if __name__ == "__main__":
    sys.exit(main())
