"""``python -m editors``: write the TextMate grammar of the VS Code folder from `highlighting`.

With ``--vsix FILE`` the folder is packed as well, as editors install it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from editors import vsix
from sears_dsl.highlighting import textmate_grammar
from sears_dsl.runtime.files import write_atomically

FILE = vsix.FOLDER / "syntaxes" / "sears.tmLanguage.json"

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--vsix", type=Path, metavar="FILE", help="pack the VS Code folder")
    options = parser.parse_args()
    text = json.dumps(textmate_grammar(), indent=2, ensure_ascii=False) + "\n"
    write_atomically(FILE, text.encode("utf-8"))
    if options.vsix is not None:
        vsix.write(options.vsix)
