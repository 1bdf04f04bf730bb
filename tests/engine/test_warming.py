"""After a warm-up nothing is compiled any more, whatever is applied."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sears_dsl.engine.warming import warm_up
from sears_dsl.runtime.kernels import _folder_beside, kernels

SEARS = str(Path(sys.executable).with_name("sears"))

# Rows with all that text can have; via a file, both modes and both scopes, in two threads.
_PROGRAM = """
import json, sys
from pathlib import Path
import sears_dsl as sears
from sears_dsl.runtime.kernels import Kernel, _names, kernels
from sears_dsl.engine.compile import program
from sears_dsl.batch.files import apply_file
from sears_dsl.batch.files import ApplyRequest
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.catalogue import load_rulesets
from sears_dsl.engine.warming import warm_up
alike = [kernel for kernel in kernels() if kernel._is_alike]
for kernel in alike:
    kernel._is_alike = False  # so that the types of its arguments are looked at each time
def has_code(kernel):
    return set(kernel.dispatcher().signatures)
warm_up()
warm = {kernel: has_code(kernel) for kernel in kernels()}
folder = Path(sys.argv[1])
rows = ["What color is the tray?", "It's a café, isn't it :) ?", "the “good” movie… don't x:) )"]
(folder / "rows.txt").write_text("\\n".join(rows * 200))
changed = []
for rules, mode, scope in [
    ("questions/wh-words", "each", "first"),
    ("contractions", "chain", "all"),
    ("punctuation", "each", "all"),
    ("spelling", "chain", "first"),
    ("synonyms/reviews", "each", "first"),
]:
    recipe = RulesetRecipe(tuple(load_rulesets([rules])), tagger="fast")
    request = ApplyRequest(recipe=recipe, input=str(folder / "rows.txt"), mode=mode, scope=scope,
                           output=str(folder / "out.csv"))
    changed.append(apply_file(request).tally.changed)
program._MOST_BITS = 10  # so that some rules are too many to follow them as bits
tests = "the a ADJ ? good DET".split()
mined = "\\n".join(f"{first} {second} -> x" for first in ("NOUN", "!DET") for second in tests)
many_words = " ".join(f"w{number}" for number in range(1_000))
tagger = sears.load_tagger("fast")
for rules in (mined, "lemma=be -> was"):
    matcher = sears.parse(rules).compile(tagger=tagger)
    assert (matcher.program.planes is None) == (rules == mined)
    for scope in ("first", "all"):
        matcher.apply([*rows * 30, many_words], scope=scope)
        matcher.apply(rows * 30, scope=scope, protected=[[(0, 4)]] * 90, unit="sentence")
        matcher.find(tagger.tag(rows * 3_000), scope=scope, jobs=2)
names = [kernel.__qualname__ for kernel in kernels() if has_code(kernel) - warm.get(kernel, set())]
# Kernels that neither Python called in the warm-up nor those that it called.
reached = [kernel for kernel in warm if warm[kernel]]
for kernel in reached:
    names_in = vars(sys.modules[kernel.plain.__module__])
    called = [names_in.get(name) for name in _names(kernel.plain.__code__)]
    reached += {each for each in called if isinstance(each, Kernel)} - set(reached)
cold = [kernel.__qualname__ for kernel in kernels() if kernel not in reached]
several = [each.__qualname__ for each in alike if len(has_code(each)) != 1]
print(json.dumps([changed, names, cold, sum(map(bool, map(has_code, kernels()))), several]))
"""


def run(*command: str, **more: str) -> tuple[str, str]:
    clean = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    environment = {**clean, "SEARS_COMPILE": "always", **more}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_everything_is_compiled_after_a_warm_up(tmp_path: Path) -> None:
    """No code is compiled for argument types that the warm-up lacked.

    This also holds with too many rules for bits; and no kernel is left out.
    """
    changed, compiled, cold, used, several = json.loads(
        run(sys.executable, "-c", _PROGRAM, str(tmp_path))[0]
    )
    assert compiled == []
    assert cold == []
    assert several == []
    assert used > 15
    assert changed[0] == 200
    assert all(count in (0, 200, 400, 600) for count in changed)


def test_a_warm_up_says_what_it_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder has the code of all kernels but one: compiling all takes a minute or more."""
    warm_up()
    homes = {Path(each.plain.__code__.co_filename).parent for each in kernels()}
    kept = {home: _folder_beside(home) for home in homes}
    chosen = str(tmp_path / "kernels")
    monkeypatch.setenv("NUMBA_CACHE_DIR", chosen)
    for home, folder in kept.items():
        own = _folder_beside.__wrapped__(home)
        assert folder is not None
        assert own is not None
        for file in folder.glob("*.nbc"):
            if not file.name.startswith("arrays.number_sequences"):
                shutil.copy(file, own)
    told, waiting = run(SEARS, "warm-up", NUMBA_CACHE_DIR=chosen)
    assert " compiled in " in told
    assert waiting.startswith("compiling the inner loops")
    told, waiting = run(SEARS, "warm-up", NUMBA_CACHE_DIR=chosen)
    assert " are compiled already" in told
    assert waiting == ""
