"""Rules of plain words on fresh plain text, against spaCy's tokenizer, PhraseMatcher and splicing.

In: some 3,600 British and American spellings with their counterparts, and 31 MB of English, a
sentence a line. Both sides rewrite the first occurrence of each word in each row, and keep its
casing. Theirs needs minutes for all of the text, so it runs on every sixteenth block; there the
results are compared. Compiling is timed separately. Words are counted by their spaces.

    python -m benchmarks.literals
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.record import Row, data_file, read_options, write_record
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.language.rule import Element, Literal, Rule, Text
from sears_dsl.language.ruleset import Ruleset

BLOCK = 10_000  # rows
SHARE = 16  # spaCy also does one block in so many
Done = set[tuple[int, str, str]]


def spellings() -> dict[str, str]:
    """Each spelling → its counterpart; lower-case single words."""
    pairs: dict[str, str] = {}
    for name in ("lists/british_spellings.json", "lists/american_spellings.json"):
        pairs |= json.loads(data_file(name).read_text("utf-8"))
    return {old: new for old, new in pairs.items() if old.isalpha() and old == old.lower()}


def by_spacy(nlp: Any, matcher: Any, words: dict[str, str], texts: Sequence[str]) -> Done:
    """Tokenize, look up, splice: row, word, new text."""
    done: Done = set()
    for row, doc in enumerate(nlp.pipe(texts)):
        words_of_row = set()
        for _, start, _ in sorted(matcher(doc), key=lambda hit: hit[1]):
            token = doc[start]
            if token.lower_ not in words_of_row:
                words_of_row.add(token.lower_)
                new = _cased(words[token.lower_], token.text)
                text = texts[row]
                end = token.idx + len(token.text)
                done.add((row, token.lower_, text[: token.idx] + new + text[end:]))
    return done


def _cased(new: str, old: str) -> str:
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new.capitalize() if old[0].isupper() else new


def by_us(matcher: Matcher, olds: Sequence[str], texts: Sequence[str]) -> Done:
    return {(done.row, olds[done.rule], done.text) for done in matcher.apply(texts)}


def main() -> None:
    """Run and write the record."""
    import spacy
    from spacy.matcher import PhraseMatcher

    words = spellings()
    olds = list(words)
    lines = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    blocks = [lines[low : low + BLOCK] for low in range(0, len(lines), BLOCK)]
    rules = [Rule((Element(Literal(old)),), (Text(words[old]),)) for old in olds]
    begin = time.perf_counter()
    matcher = compile_rules([Ruleset.from_rules(rules)])
    matcher.apply([f"the {olds[0]} warms up"])
    compile_time = time.perf_counter() - begin
    nlp = spacy.blank("en")
    phrases = PhraseMatcher(nlp.vocab, attr="LOWER")
    phrases.add("words", list(map(nlp.make_doc, olds)))

    ours_time = theirs_time = 0.0
    our_words = their_words = changed = same = 0
    for number, block in enumerate(blocks):
        count = sum(line.count(" ") + 1 for line in block)
        begin = time.perf_counter()
        ours = by_us(matcher, olds, block)
        ours_time += time.perf_counter() - begin
        our_words += count
        changed += len(ours)
        if number % SHARE == 0:
            begin = time.perf_counter()
            theirs = by_spacy(nlp, phrases, words, block)
            theirs_time += time.perf_counter() - begin
            their_words += count
            if ours != theirs:
                print(*sorted(ours ^ theirs)[:6], sep="\n")
                sys.exit("literals: the two sides write different texts")
            same += len(theirs)
    ours_speed, theirs_speed = our_words / ours_time, their_words / theirs_time
    ratio = ours_speed / theirs_speed
    figures: dict[str, float | int | str] = {
        "ratio": round(ratio, 1),
        "words_per_second": round(ours_speed),
        "spacy_words_per_second": round(theirs_speed),
        "words": our_words,
        "rewrites": changed,
        "same_rewrites": same,
        "compile_seconds": round(compile_time, 2),
    }
    name = f"{len(words):,} spellings against spaCy's tokenizer and PhraseMatcher"
    write_record("literals", [Row(name, figures, "5×", "15×", reached=ratio >= 5)])


if __name__ == "__main__":
    read_options(__doc__)
    main()
