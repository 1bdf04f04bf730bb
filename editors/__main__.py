"""``python -m editors``: write the TextMate grammar of the VS Code folder from `highlighting`."""

from __future__ import annotations

import json
from pathlib import Path

from sears_dsl.highlighting import textmate_grammar
from sears_dsl.runtime.writing import write_atomically

FILE = Path(__file__).parent / "vscode" / "syntaxes" / "sears.tmLanguage.json"

if __name__ == "__main__":
    text = json.dumps(textmate_grammar(), indent=2, ensure_ascii=False) + "\n"
    write_atomically(FILE, text.encode("utf-8"))
