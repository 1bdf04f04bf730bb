"""Texts that tokenizers get wrong, some made from our tables; and spaCy's tokens of them."""

from __future__ import annotations

import os
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from sears_dsl.tagging.fast.cutting import shipped_tables

DATA = Path(os.environ.get("SEARS_DATA") or Path(__file__).parents[4] / "shared" / "data")

WHITE_SPACE = [chr(code) for code in range(0x3001) if chr(code).isspace()]
AFFIXES = [
    *"§%=—–+…,:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪.'\"”“`‘´’‚„»«「」『』（）〔〕【】《》〈〉⟦⟧$£€-~/^@\\|°²",
    *["..", "...", "……", "US$", "C$", "A$", "--", "---", "----", "——", "'s", "’S", "'S", "’s"],
]
WORDS = """
    the Hello WORLD I don't it's o'clock naïve Ünder ÉA a A b Z café привет Мир 日本語 ひらがな
    한국어 हिन्दी مرحبا שלום ａｂｃ ＡＢ １２ x1 3 10 1,000 3.14 192.168.0.1 10.0.0.1 8.8.8.8 1.2.3
    file.txt http://a.b/c?d=1&e=2 www.x.org a@b.com u.s.a U.S. e.g. x.com:80 ftp://foo_bar.museum/p
    user:pw@host.de:8080/x#y 10km 5% 20°C. 20°F 1st 1990s he'll rock'n'roll well-known said--Mr. x=y
    a/b a:b a<b>c and/or 3-4 3*4 3^4 +1 +a mother-in-law John's dogs' no--Dr. x.I .Net C++ C#
""".split()  # noqa: SIM905 - a list of them is harder to read
MARKS = [
    *[
        "😀",
        "👍🏽",
        "👨‍👩‍👧",
        "🇩🇪",
        "❤️",
        "☺",
        "✂",
        "♥",
        "©",
        "®",
        "™",
        "½",
        "﷼",
        "₿",
        "ﬁ",
        "ǅ",
        "ƻ",
    ],
    *["\u0301", "\u200b", "\u200d", "\ufeff", "\x00", "\x01", "\x7f", "\xad", "\ufffd"],
]
SURROGATES = ["\ud800", "\udfff", "\ud83d"]


@cache
def pieces() -> list[str]:
    """All texts above, and those that the tables name."""
    tables = shipped_tables("en")
    runs = {token for run in tables.joined.values() for token in run}
    return [*AFFIXES, *WORDS, *MARKS, *SURROGATES, *tables.specials, *sorted(runs), *tables.units]


def rows(*, most: int = 10) -> st.SearchStrategy[str]:
    """Rows made of such pieces, of any characters, and of every kind of white space."""
    piece = st.one_of(
        st.sampled_from(pieces()),
        st.sampled_from(AFFIXES),
        st.sampled_from(sorted(shipped_tables("en").specials)),
        st.sampled_from(WHITE_SPACE),
        st.just(" "),
        st.text(st.characters(exclude_categories=[]), max_size=3),
        st.text(st.sampled_from("abS's’.,-—:()1…\"A+=/8DoO"), max_size=5),
    )
    return st.lists(piece, max_size=most).map("".join)


def generated(seed: int, count: int) -> list[str]:
    """Seeded rows, made faster than by Hypothesis."""
    draw = random.Random(seed)
    sources = [
        pieces(),
        AFFIXES,
        sorted(shipped_tables("en").specials),
        [" "] * 8 + WHITE_SPACE,
        list("abcS's’.,-—:()1…\"A+=/8DoO\\~^%|"),
    ]
    weights = [2, 3, 2, 2, 5]
    return [
        "".join(
            draw.choice(source)
            for source in draw.choices(sources, weights, k=draw.choice((1, 2, 3, 5, 8, 12)))
        )
        for _ in range(count)
    ]


@cache
def spacys_own() -> Any:
    """spaCy's English tokenizer."""
    import spacy

    return spacy.blank("en").tokenizer


def wanted(text: str) -> list[tuple[int, int]]:
    """The places of spaCy's tokens, white space left out; it cannot read surrogates."""
    readable = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return [(t.idx, t.idx + len(t)) for t in spacys_own()(readable) if not t.is_space]
