"""What functions and keys of metadata mean to who writes them: shown by hover and completion.

The reference, `grammar/README.md`, says the same at length.
"""

from __future__ import annotations

from sears_dsl.glossary import FUNCTION_MEANINGS
from sears_dsl.language.rule import INFLECTIONS, TYPING_KINDS

_AMOUNTS = "; `(2)` in two places, `(25%)` of all the text that it is given"
_HOW_TO_WRITE = {
    **dict.fromkeys(INFLECTIONS, ", where there is just one"),
    **dict.fromkeys(("homoglyph", *TYPING_KINDS, "typo"), _AMOUNTS),
    "neighbor": ", by cosine; `option vectors` names the vectors",
    "paraphrase": ": the best one of a whole unit, that differs in a word",
}

FUNCTIONS = {
    name: meaning + _HOW_TO_WRITE.get(name, "") for name, meaning in FUNCTION_MEANINGS.items()
}
"""Of each function what becomes of a word, and what else its author has to know."""

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
