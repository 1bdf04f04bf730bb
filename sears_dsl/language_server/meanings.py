"""What functions and keys of metadata mean, in a sentence each: shown by hover and completion.

The reference, `grammar/README.md`, says the same at length.
"""

from __future__ import annotations

from sears_dsl.language.rule import INFLECTIONS

_CHARACTERS = "; `(2)` in two places, `(25%)` of all the text that it is given"
_FORMS = {
    "VB": "base form of a verb",
    "VBD": "past tense",
    "VBG": "form with -ing",
    "VBN": "past participle",
    "VBZ": "third person singular",
    "NN": "singular",
    "NNS": "plural",
    "JJR": "comparative",
    "JJS": "superlative",
}

FUNCTIONS = {
    "lower": "in lower case",
    "upper": "in upper case",
    "cap": "with a capital",
    "uncap": "without its capital, unless it is `I` or has another one",
    **{tag: f"the {_FORMS[tag]}, where there is just one" for tag in INFLECTIONS},
    "homoglyph": f"characters become others that look alike{_CHARACTERS}",
    "swap": f"two neighbouring letters change places{_CHARACTERS}",
    "drop": f"a letter is left out, never the last one{_CHARACTERS}",
    "double": f"a letter is written twice{_CHARACTERS}",
    "key": f"a letter becomes one whose key touches its own{_CHARACTERS}",
    "typo": f"a slip of typing, drawn: swap, drop, double or key{_CHARACTERS}",
    "neighbor": "the word of the nearest vector, by cosine; `option vectors` names the vectors",
    "paraphrase": "the best paraphrase of a whole unit, that differs in a word",
}
"""Of each function what becomes of a word."""

METADATA = {
    "expect": "what a model should do on the rewritten row: `same`, `flip` or `label NAME`",
    "label": "the label of a template's sentences",
    "rate": "the share of its instances in each unit that the rule rewrites, drawn; what 10% "
    "changes, 25% changes too",
    "seed": "added to the seed of the run: another draw, always the same one",
    "severity": "`low`, `medium` or `high`",
    "tags": "words to select rules by",
    "author": "who wrote it",
    "why": "why it is there",
    "test": '`test "in" => "out"`, or `=> none` where nothing is written',
}
"""Of each key what its line says."""
