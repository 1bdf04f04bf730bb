"""Compiles every kernel once, so that no later run has to wait for it.

In: nothing. Out: how many kernels were compiled. Their code lies beside the modules, or in numba's
cache folder of the user where the package cannot be written. Always holds: afterwards everything is
compiled that `sears apply` calls with the fast tagger, also on csv and JSON lines, and for rulesets
with too many rules to follow as bits. Costs a minute and a half of a core the first time and a
second or two of reading after that.
"""

from __future__ import annotations

from dataclasses import replace

from sears_dsl.data.csv_kernels import FieldColumns, quoted_lines
from sears_dsl.data.json_rows import columns_of_lines
from sears_dsl.engine.match.search import search
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import parse
from sears_dsl.runtime.kernels import ENOUGH_TO_COMPILE, expect, kernels
from sears_dsl.tagging.fast.fast_tagger import FastTagger

# Rules that draw: rates, look-alikes and slips, by share and by number.
_NOISE = "\n".join(
    (
        "_ -> $1.homoglyph(25%)\n  rate: 100%",
        "/[a-z]+/ -> $1.homoglyph\n  rate: 50%",
        "/[a-z]+/ -> $1.typo\n  rate: 50%",
        "/[a-z]+/ -> $1.typo(10%)\n  rate: 50%",
        "/[a-z]+/i -> $1.upper\n  rate: 50%",
    )
)
# Formats, templates, deletions, insertions, contexts, inflections, many edges and many negations.
_RULES = "\n".join(
    (
        "What NOUN -> Which NOUN",
        "movie -> film",
        "very -> <>",
        "<> -> really / is __ ADJ",
        "PRON is -> PRON 's",
        "is -> $1.VBD / __ !NOUN",
        "<s> (the|a) NOUN -> this NOUN",
        "NOUN ? -> NOUN ?!",
        "DET ADJ NOUN -> DET NOUN",
        *(f"!w{number} (a|an|the) -> $1 $2 one" for number in range(12)),
    )
)
# Repeated, so that they do not count as few rows, which take another path.
_TEXTS = 12 * (
    "What color is the tray? It is a very good movie, isn't it?",
    "The movies weren't bad…  don't “you” think so :) http://example.com e.g. 3.5km café",
    "What  movie is it ?",
    "",
)

# Enough distinct words to be looked up together.
_MANY_WORDS = " ".join(f"word{number}" for number in range(300))


def warm_up() -> int:
    """Compile all kernels, or read those compiled before; return how many had to be compiled."""
    compile_usual()
    _compile_for_many_rules()
    return sum(kernel.misses > 0 for kernel in kernels())


def compile_usual() -> None:
    """Compile or read what most runs call: all kernels but those for very many rules."""
    expect(ENOUGH_TO_COMPILE + 1)
    tagger = FastTagger()
    matcher = compile_rules([parse(_RULES)], tagger=tagger)
    exact = compile_rules([parse("option case = exact\nADJ NOUN -> NOUN")], tagger=tagger)
    literal = compile_rules([parse("movie -> film")], tagger=tagger)
    noise = compile_rules([parse(_NOISE)], tagger=tagger)
    protected = [[(0, 4)] for _ in _TEXTS]
    compile_rules([parse("lemma=be -> was")], tagger=tagger).apply([*_TEXTS, _MANY_WORDS])
    for compiled in (matcher, exact, literal, noise):
        for scope in ("first", "all"):
            compiled.apply(_TEXTS, scope=scope).distinct()
            compiled.apply(_TEXTS, scope=scope, protected=protected, unit="sentence")
            compiled.chain(_TEXTS, scope=scope)
            compiled.chain(_TEXTS, scope=scope, protected=protected)
        compiled.find(tagger.tag(_TEXTS), scope="every")
    many = tagger.tag(30 * _TEXTS)  # enough for two threads
    for extent in ("first", "every"):
        matcher.find(many, scope=extent, jobs=2)
    fields = FieldColumns.of(b'1,"a ""b"", c"\n', ["id", "text"])
    quoted_lines(list((fields or {}).values()))
    columns_of_lines(b'{"id": 1, "text": "a"}\n')


def _compile_for_many_rules() -> None:
    """Compile the walk along the trie, for rulesets with too many rules to follow as bits."""
    tagger = FastTagger()
    program = compile_rules([parse(_RULES)], tagger=tagger).program
    search(replace(program, planes=None), tagger.tag(_TEXTS), extent="first")
