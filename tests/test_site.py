"""The documentation site builds without a warning, alone, with a page for everything."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
from page_examples import examples, run_commands, run_page

from docs_site.commands import command_pages
from docs_site.findings import error_pages, explanations
from docs_site.language import language_pages
from docs_site.python import python_pages
from sears_dsl.cli.commands import sears
from sears_dsl.runtime.files import resource_folder

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = (resource_folder("grammar") / "README.md").read_text("utf-8")
GRAMMAR = (resource_folder("grammar") / "sears.lark").read_text("utf-8")


def test_every_section_of_the_reference_is_on_one_page() -> None:
    pages = language_pages(REFERENCE, GRAMMAR)
    titles = [page.title for page in pages]
    assert len(titles) == len(set(titles)) > 15
    language, errors = REFERENCE.split("## Errors and warnings")
    constructs = "\n".join(page.text for page in pages)
    for block in re.findall(r"^```sears\n(.*?)^```", language, re.DOTALL | re.MULTILINE):
        assert constructs.count(block) == 1
    assert "E101" not in constructs
    assert errors.partition("## Reserved")[2].strip()[:80] in constructs


def test_every_code_has_a_page_that_shows_what_is_printed() -> None:
    told = explanations(REFERENCE)
    assert {each.code for each in told} == set(re.findall(r"\*\*([EW]\d{3})\*\*", REFERENCE))
    overview, *pages = error_pages(REFERENCE)
    for each, page in zip(told, pages, strict=True):
        assert f"[{each.code}]({each.code}.md)" in overview.text
        assert each.text in page.text
        if each.example:
            assert each.example.rstrip("\n") in page.text
            assert f"[{each.code}]: " in page.text, "the example prints this very finding"


def test_every_command_has_a_page_with_its_options() -> None:
    overview, *pages = command_pages(sears)
    context = click.Context(sears)
    loaded = (sears.get_command(context, name) for name in sears.list_commands(context))
    commands = [each for each in loaded if each and not each.hidden]
    assert [page.title for page in pages] == [f"sears {each.name}" for each in commands]
    for page, command in zip(pages, commands, strict=True):
        assert f"({page.title.removeprefix('sears ')}.md)" in overview.text
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else []:
                assert option in page.text
        rows = re.findall(r"^\| `([^`]*)` \|", page.text, re.MULTILINE)
        assert max(map(len, rows), default=0) <= 50, "the column of options is too wide"


def test_pages_of_functions_are_the_same_in_each_build() -> None:
    assert not [page.path for page in python_pages() if " at 0x" in page.text]


# `sears audit … --slice`, in a command or in a sentence, and `audit --slice` in a sentence.
_SEARS = re.compile(
    r"(?:^|[ `$(|;&])sears ([a-z-]+ [^\n`|;>&]*)|`([a-z-]+ --[a-z][^`]*)`", re.MULTILINE
)
_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_options_that_a_page_names_are_those_of_the_command(page: Path) -> None:
    context = click.Context(sears)
    text = page.read_text("utf-8").replace("\\\n", " ")
    for line, inline in _SEARS.findall(text):
        name, *words = (line or inline).split()
        command = sears.get_command(context, name)
        while isinstance(command, click.Group) and words:
            command = command.get_command(context, words.pop(0))
        if command is None:
            continue
        known = {"--help"}.union(*(each.opts + each.secondary_opts for each in command.params))
        named = {word.partition("=")[0].rstrip(".,:)'") for word in words if word[:2] == "--"}
        assert named - {""} <= known, f"sears {name}"


# Tags that load something; a full parser would take seconds.
_LOADING = re.compile(r"""<(?:link|script|img|iframe|source)\b(?:"[^"]*"|'[^']*'|[^>"'])*>""")


class _Loaded(HTMLParser):
    """The files that a page loads by itself, and its colours."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.classes |= set((given.get("class") or "").split())
        if tag == "link" and "canonical" not in (given.get("rel") or ""):
            self.addresses.append(given.get("href") or "")
        elif tag in ("script", "img", "iframe", "source"):
            self.addresses.append(given.get("src") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("the site is built by mkdocs, which is not installed (the extra `docs`)")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        # Without --quiet, which hides what --strict counts.
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_has_every_page(site: Path) -> None:
    for name in ("index", "start", "ci", "language/literals", "commands/apply", "errors/E201",
                 "rules/paper-sentiment", "editors"):  # fmt: skip
        assert (site / f"{name}.html").is_file()


def test_links_lead_where_they_lead_in_a_checkout(site: Path) -> None:
    noise = (site / "noise.html").read_text("utf-8")
    assert 'href="language/noise.html"' in noise
    assert "the benchmarks (<code>benchmarks/README.md</code>)" in noise
    assert 'href="discover.html"' in (site / "python" / "index.html").read_text("utf-8")
    assert 'href="python/discover.html"' in (site / "python.html").read_text("utf-8")
    assert 'href="noise.html"' in (site / "language" / "consequents.html").read_text("utf-8")
    assert 'href="../errors/index.html"' in (site / "language" / "index.html").read_text("utf-8")


def test_bars_in_the_code_of_a_table_have_no_backslash(site: Path) -> None:
    assert "<code>lemma=be|have</code>" in (site / "limits.html").read_text("utf-8")


def test_the_site_loads_nothing_from_outside(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        found = _Loaded()
        found.feed("</script>".join(_LOADING.findall(page.read_text("utf-8"))))
        outside = [each for each in found.addresses if re.match(r"(https?:)?//", each)]
        assert not outside, f"{page.name} loads {outside}"


def test_the_site_is_searched_from_the_disk_too(site: Path) -> None:
    """The index is a script and the worker is our own, since the theme would fetch one."""
    assert (site / "search" / "search_index.js").is_file()
    for name in ("index.html", "errors/E201.html"):
        found = _Loaded()
        found.feed((site / name).read_text("utf-8"))
        [worker] = [each for each in found.addresses if "worker" in each]
        assert ((site / name).parent / worker).is_file()


def test_rules_are_coloured_on_the_site(site: Path) -> None:
    found = _Loaded()
    found.feed((site / "language" / "tags.html").read_text("utf-8"))
    assert {"language-sears", "nc"} <= found.classes


def test_the_recipe_for_ci_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    yaml = pytest.importorskip("yaml", reason="the recipe is YAML, and PyYAML is not installed")
    page = ROOT / "docs" / "ci.md"
    run_page(page, tmp_path, monkeypatch)
    recipes = [yaml.safe_load(each.text) for each in examples(page.read_text("utf-8"))
               if each.language == "yaml"]  # fmt: skip
    hooks, github, gitlab = recipes
    ours = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for hook in hooks["repos"][0]["hooks"]] == [hook["id"] for hook in ours]
    steps = [step.get("run", "") for step in github["jobs"]["rules"]["steps"]]
    commands = [*steps, *gitlab["robustness"]["script"]]
    run = [command for command in commands if command.startswith("sears ")]
    assert len(run) == 7
    # Where GitHub keeps the text that the pull request shows.
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    for command in run:
        run_commands(f'$ {command}; echo "exit code $?"\nexit code 0\n', page.name, tmp_path)


def test_hooks_name_commands_that_there_are() -> None:
    yaml = pytest.importorskip("yaml", reason="hooks are YAML, and PyYAML is not installed")
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")):
        program, name = shlex.split(hook["entry"])
        assert program == "sears"
        command = sears.get_command(click.Context(sears), name)
        assert command is not None
        options = {option for parameter in command.params for option in parameter.opts}
        assert set(hook.get("args", ())) <= options
        assert re.search(hook["files"], "rules/wh.sear")
        assert not re.search(hook["files"], "rules/wh.sears")
