"""Builds the wheel and tries it alone: an empty environment, an empty folder, no checkout in sight.

Run by ``make wheel-test``. Prints what it does; exits 1 at the first thing that does not work.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]

RULES = """\
ruleset try 1.0.0

rule which: What NOUN -> Which NOUN
  test "What/PRON/WP color/NOUN/NN ?" => "Which color ?"
  test "It/PRON/PRP is/AUX/VBZ red ." => none
"""

SCRIPT = """\
import pathlib, sys
import sears_dsl as sears
assert pathlib.Path(sears.__file__).is_relative_to(sys.prefix), sears.__file__
rewrites = sears.load("try.sear").compile().apply(["What color is it?", "It is red."])
assert [rewrite.text for rewrite in rewrites] == ["Which color is it?"], rewrites
assert "spacy" not in sys.modules
"""


def _run(command: list[str], folder: Path) -> str:
    name, *arguments = command
    shown = ["…" if "\n" in argument else argument for argument in arguments]
    print("$", Path(name).name, *shown)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n")
        sys.exit(f"exit code {done.returncode}")
    return done.stdout


def _shows_the_rewrite(path: Path) -> None:
    written = path.read_text("utf-8")
    if "Which color is it?" not in written:
        sys.exit(f"apply wrote:\n{written}")


def main() -> None:
    """Build, install, use."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder)], CHECKOUT)
        wheel = next(folder.glob("*.whl"))
        venv.create(folder / "env", with_pip=True)
        python = str(folder / "env" / "bin" / "python")
        sears = str(folder / "env" / "bin" / "sears")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pip.append("--no-compile")  # little of what it installs is imported
        constraints = ["-c", str(CHECKOUT / "constraints.txt")]

        (folder / "work").mkdir()
        work = folder / "work"
        (work / "try.sear").write_text(RULES, "utf-8")
        (work / "in.csv").write_text("text\nWhat color is it?\nIt is red.\n", "utf-8")

        _run([*pip, *constraints, str(wheel)], work)
        _run([sears, "--help"], work)
        catalogue = json.loads(_run([sears, "rules", "--json"], work))
        print(f"  {len(catalogue)} rulesets in the wheel")
        _run([sears, "check", "try.sear"], work)
        _run([sears, "test", "try.sear"], work)
        _run([python, "-c", SCRIPT], work)
        _run([sears, "apply", "try.sear", "in.csv", "-o", "out.csv"], work)
        _shows_the_rewrite(work / "out.csv")
        bare = subprocess.run(
            [sears, "apply", "try.sear", "in.csv", "-o", "out.csv", "--tagger", "spacy"],
            cwd=work, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if bare.returncode != 2 or "pip install" not in bare.stderr:
            sys.exit(f"without spaCy, its tagger must say what to install:\n{bare.stderr}")
        print("  without spaCy:", bare.stderr.strip().splitlines()[0])
        bare = subprocess.run(
            [sears, "discover", "--model", "a:b", "--data", "in.csv", "-o", "found.sear"],
            cwd=work, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if bare.returncode != 2 or "sears-dsl[discovery]" not in bare.stderr:
            sys.exit(f"without torch, discover must say what to install:\n{bare.stderr}")
        print("  without torch:", bare.stderr.strip().splitlines()[0])

        _run([*pip, *constraints, f"{wheel}[spacy]"], work)
        _run([sears, "apply", "try.sear", "in.csv", "-o", "spacy.csv", "--tagger", "spacy"], work)
        _shows_the_rewrite(work / "spacy.csv")
    print("the wheel works alone")


if __name__ == "__main__":
    main()
