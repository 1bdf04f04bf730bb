"""The tags of each `option tagset`, and what replaces a tag of the other one.

A bare tag in a rule is coarse or fine. The two vocabularies share only `SYM`, which is the coarse
one when written bare. Under ``ud2`` coarse tags are those of the tagger (UPOS). Under
``sears2018`` the coarse tag is derived from the fine one by the table of the tagger that the paper
used (spaCy 1.9), so that the paper's rules fire as printed there.
"""

from __future__ import annotations

from sears_dsl.language.rule import TagsetOption

_SHARED = "ADJ ADP ADV DET INTJ NOUN NUM PART PRON PROPN PUNCT SYM VERB X"


def _tags(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UD2 = _tags(f"{_SHARED} AUX CCONJ SCONJ")
_SEARS2018 = _tags(f"{_SHARED} CONJ")

COARSE: dict[TagsetOption, frozenset[str]] = {"ud2": _UD2, "sears2018": _SEARS2018}
"""The coarse tags that a rule may name, by tagset."""

FINE = _tags(
    """CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH
    VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB ADD AFX GW HYPH NFP XX
    . , : `` '' -LRB- -RRB- $ #"""
)
"""The fine tags: Penn's, with those that OntoNotes and spaCy add."""

BARE_FINE = frozenset(tag for tag in FINE if tag[:2].isalpha())
"""The fine tags that are read as tags when they stand bare in a rule; `.` and `$` are words."""

WHITESPACE_TAGS = frozenset({"SPACE", "_SP"})
"""Tags of white space, which is not a token here."""

MOVED: dict[TagsetOption, dict[str, str]] = {
    "ud2": {"CONJ": "CCONJ"},
    "sears2018": {"AUX": "VERB", "CCONJ": "CONJ", "SCONJ": "ADP"},
}
"""Coarse tags of the other tagset and what replaces them in this one."""


def _table(text: str) -> dict[str, str]:
    pairs = (line.split(":") for line in text.split(";"))
    return {fine: coarse.strip() for fines, coarse in pairs for fine in fines.split()}


SEARS2018_COARSE: dict[str, str] = {
    **_table(
        "CC: CONJ; CD: NUM; DT: DET; EX: ADV; FW: X; IN: ADP;"
        "AFX JJ JJR JJS PDT PRP$ WDT WP$: ADJ; MD VB VBD VBG VBN VBP VBZ: VERB;"
        "NN NNS WP: NOUN; NNP NNPS: PROPN; PRP: PRON; RB RBR RBS WRB: ADV;"
        "POS RP TO: PART; UH: INTJ; SYM $ #: SYM; ADD GW XX: X;"
        "LS HYPH NFP . , `` '' -LRB- -RRB-: PUNCT"
    ),
    ":": "PUNCT",
}
"""Fine tag → coarse tag under ``sears2018``."""


def coarse_of(coarse: str, fine: str, tagset: TagsetOption) -> str:
    """The coarse tag that rules under this tagset see for a tagger's (coarse, fine) pair."""
    return coarse if tagset == "ud2" else SEARS2018_COARSE.get(fine, "X" if fine else "")
