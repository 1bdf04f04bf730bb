"""The page in a real browser: the three tasks by mouse and by keyboard, accessible to all."""

from __future__ import annotations

import csv
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
from free_port import free_port

import sears_dsl as sears
from sears_dsl.catalogue import load_rulesets, shipped_rulesets
from sears_dsl.language.loader import load
from sears_dsl.tagging.pinned import parse_pinned

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# For a busy machine; if all is well nothing here waits so long.
sync_api.expect.set_options(timeout=60_000)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
    pytest.mark.long,
]

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
RULES = """\
option case = exact

movie -> film
good movie -> good film
good -> fine
. -> !
book -> novel
"""
ROWS = [
    (text.format(number), label) for number in range(12)
    for text, label in (("a good movie no {} .", "positive"),
                        ("a good book & <b>no</b> {} .", "positive"),
                        ("a bad movie no {} .", "negative"))
]  # fmt: skip
# All sit before one page, each with a journal of her own, so that tests do not interfere.
REVIEWERS = [f"reviewer{number}" for number in range(30)]

Seat: TypeAlias = tuple[str, Path]
"""The address of a page, and the journal of what is decided there."""


def brittle(texts: list[str]) -> list[str]:
    if any("boom" in text for text in texts):
        raise ValueError("no such layer: 12")
    return ["positive" if "good" in text and "film" not in text else "negative" for text in texts]


@contextmanager
def served(
    folder: Path, rules: str, rows: Sequence[tuple[str, str]] = ROWS, **options: Any
) -> Iterator[Seat]:
    """The page of these rules, from this process."""
    (folder / "words.sear").write_text(rules, "utf-8")
    with sears.vet(
        brittle, rows, folder / "words.sear", reviewers=["ana"], port=free_port(),
        tagger="pinned", **options,
    ) as page:  # fmt: skip
        yield page.address, page.place.journals["ana"]


class Command(NamedTuple):
    """`sears vet` as a user starts it."""

    process: subprocess.Popen[str]
    seat: Seat

    def end(self) -> str:
        """Press Ctrl-C; returns the output."""
        self.process.send_signal(signal.SIGINT)
        _, told = self.process.communicate(timeout=600)
        return told


def start(
    folder: Path,
    *options: str,
    reviewer: str = "ana",
    tagger: str = "pinned",
    label: str | None = "label",
    **environment: str,
) -> Command:
    code = "from sears_dsl.cli.model.vet import vet_command; vet_command(prog_name='sears vet')"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "words.sear", "--model", "brittle:predict", "--data",
         "words.csv", "--column", "text", *(() if label is None else ("--label", label)),
         "--tagger", tagger, "--reviewer", reviewer, *options],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environment,
             "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"},
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert "http" in address, process.communicate()[1]
    return Command(process, (address, folder / f"words.{reviewer}.vetting.jsonl"))


def fill(folder: Path) -> None:
    source = inspect.getsource(brittle).replace("def brittle", "def predict")
    (folder / "brittle.py").write_text(source, "utf-8")
    (folder / "words.sear").write_text(RULES, "utf-8")
    with (folder / "words.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *ROWS])


@pytest.fixture(scope="module")
def seats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[Seat]]:
    rules = tmp_path_factory.mktemp("vetting") / "words.sear"
    rules.write_text(RULES, "utf-8")
    with sears.vet(
        brittle, ROWS, rules, reviewers=REVIEWERS, port=free_port(), tagger="pinned"
    ) as page:
        yield ((page.addresses[name], page.place.journals[name]) for name in REVIEWERS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


class Tab(NamedTuple):
    """A page of the browser, what it asked for, and the errors that it reported."""

    page: Any
    requests: list[str]
    complaints: list[str]


@pytest.fixture(scope="module")
def tabs(browser: Any) -> Callable[[int], Tab]:
    """Tabs by their number; a new one costs more than most tests."""
    return cache(lambda _: new_tab(browser))


def new_tab(browser: Any, **options: Any) -> Tab:
    tab = Tab(browser.new_page(**options), [], [])
    tab.page.set_default_timeout(60_000)
    tab.page.on("request", lambda request: tab.requests.append(request.url))
    tab.page.on(
        "console", lambda told: tab.complaints.append(told.text) if told.type == "error" else None
    )
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    return tab


class Sitting(NamedTuple):
    """A page in front of a reviewer."""

    page: Any
    journal: Path
    complaints: list[str]

    def entries(self) -> list[dict[str, Any]]:
        lines = self.journal.read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines[1:]]

    def kinds(self) -> list[str]:
        return [entry["kind"] for entry in self.entries()]

    def wait(self, kind: str, times: int = 1) -> None:
        """Wait until the journal has the decision and the page shows what follows."""
        for _ in range(2_400):
            if self.kinds().count(kind) >= times:
                self.page.wait_for_selector("body:not([data-busy])")
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"no {kind} in {self.kinds()}")

    def text(self, selector: str) -> str:
        found: str = self.page.inner_text(selector)
        return found

    def shows(self, selector: str, text: str) -> None:
        sync_api.expect(self.page.locator(selector)).to_contain_text(text)

    def counts(self, selector: str, numbers: list[str]) -> None:
        """Wait for the numbers in boxes: those of what was typed before may still be there."""
        self.page.wait_for_function(
            """([selector, numbers]) => {
                const lines = document.querySelector(selector).innerText.split("\\n");
                return `${lines.filter((_, at) => at % 2 === 0)}` === `${numbers}`;
            }""",
            arg=[selector, numbers],
        )

    def rule(self, text: str) -> None:
        sync_api.expect(self.page.locator("#rule-text")).to_have_text(
            text.replace(" -> ", " →  becomes ")
        )

    def read_to_the_end(self, items: str, more: str) -> None:
        while self.page.locator(more).is_visible():
            shown = self.page.locator(items).count()
            self.page.dispatch_event(more, "click")
            sync_api.expect(self.page.locator(items)).not_to_have_count(shown)


def opened(tab: Tab, seat: Seat) -> Sitting:
    address, journal = seat
    tab.page.goto(address)
    tab.page.wait_for_selector("body[data-ready]")
    return Sitting(tab.page, journal, tab.complaints)


@pytest.fixture
def look(tabs: Callable[[int], Tab]) -> Iterator[Callable[..., Sitting]]:
    """Opens pages, which may report no error and load nothing from elsewhere."""
    used: list[tuple[Tab, str]] = []

    def open_page(
        seat: Seat, *, width: int = 1280, height: int = 900, scheme: str = "light"
    ) -> Sitting:
        tab = tabs(len(used))
        tab.requests.clear()
        tab.complaints.clear()
        tab.page.set_viewport_size({"width": width, "height": height})
        tab.page.emulate_media(color_scheme=scheme)
        used.append((tab, seat[0].split("/")[2]))
        return opened(tab, seat)

    yield open_page
    for tab, origin in used:
        assert all(url.split("/")[2] == origin for url in tab.requests), tab.requests
        unexpected = [each for each in tab.complaints if "409" not in each]
        assert not unexpected, unexpected
        tab.page.unroute_all()
        tab.page.evaluate("localStorage.clear()")


@pytest.fixture
def sit(look: Callable[..., Sitting], seats: Iterator[Seat]) -> Callable[..., Sitting]:
    """Opens pages for a reviewer who has decided nothing yet."""
    return partial(look, next(seats))


# ---------------------------------------------------------------- judge


def test_rules_are_judged_by_mouse(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    page = sitting.page
    sitting.shows("#rule-place", "Rule 1 of 5")
    sitting.rule("good -> fine")
    sitting.shows("#rule", "Replace the first “good” with “fine”.")
    assert page.locator("#examples li").count() == 20
    example = page.locator("#examples li").first
    assert example.locator("del").evaluate("each => each.lastChild.data") == "good"
    assert example.locator("ins").evaluate("each => each.lastChild.data") == "fine"
    assert "positive" in example.inner_text()
    assert "negative" in example.inner_text()

    page.click("#reject")
    page.get_by_label("The rule is not grammatical").check()
    page.fill("#note", "nobody says so")
    page.click("#reject-dialog button[type=submit]")
    sitting.wait("reject")
    entry = sitting.entries()[-1]
    assert (entry["reason"], entry["note"], entry["text"]) == (
        "grammar", "nobody says so", "good -> fine"
    )  # fmt: skip
    # Selected now, since the rejected rule covered it before.
    sitting.rule("movie -> film")
    page.click("#accept")
    sitting.wait("accept")
    page.click("#skip")
    sitting.wait("skip")
    page.click("#undo-judge")
    sitting.wait("undo")
    sitting.shows("#tally", "1 accepted, 1 rejected, 3 left")
    sitting.shows("#status", "Undone: skip")


def test_of_a_long_list_only_what_is_in_sight_is_laid_out(sit: Callable[..., Sitting]) -> None:
    """With two thousand rules each decision took a second, most of it for lines out of sight."""
    page = sit().page
    seen = page.eval_on_selector_all(
        "#queue li", "all => all.map(each => getComputedStyle(each).contentVisibility)"
    )
    assert set(seen) == {"auto"}
    page.set_viewport_size({"width": 360, "height": 740})
    for place in range(2, 6):
        page.keyboard.press("j")
        sync_api.expect(page.locator("#rule-place")).to_contain_text(f"Rule {place} of 5")
    top, current, end = page.evaluate(
        "() => { const box = (each) => document.querySelector(each).getBoundingClientRect();"
        " return [box('#queue').top, box('#queue [aria-current]').top, box('#queue').bottom]; }"
    )
    assert top <= current < end


def test_signs_and_contexts_are_said_in_words(look: Callable[..., Sitting], tmp_path: Path) -> None:
    rules = "rule n-t: bad -> ~n't good / a __ (movie|book)\nrule gone: good -> <> / __ movie\n"
    with served(tmp_path, rules) as seat:
        explained_in_words(look(seat))


def explained_in_words(sitting: Sitting) -> None:
    sitting.page.click("#queue button:has-text('bad -> ')")
    sitting.rule("bad -> ~n't good")  # without its context
    sitting.shows("#rule-place", "n-t")
    sitting.shows(
        "#rule", "Replace the first “bad” after “a” and before “(movie|book)” with “n't good”, "
        "glued to the word before.",
    )  # fmt: skip
    sitting.shows("#rule .signs", "no space: glued to the word before")
    sitting.shows("#rule", "a __ (movie|book)")
    sitting.page.click("#queue button:has-text('good -> ')")
    sitting.shows("#rule", "Remove the first “good” before “movie”.")
    # The blank that goes with the word is not marked.
    sync_api.expect(sitting.page.locator("#examples ins")).to_have_count(0)
    gone = sitting.page.locator("#examples del").first
    assert gone.evaluate("each => each.lastChild.data") == "good"


def test_rows_are_mistakes_or_all_and_pairs_are_judged(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    page = sitting.page
    page.click("#queue button:has-text('movie -> film')")
    sitting.rule("movie -> film")
    sync_api.expect(page.locator("#examples li")).to_have_count(12)
    page.locator("input[name=only][value=all]").check(force=True)
    sync_api.expect(page.locator("#examples li")).to_have_count(20)
    page.click("#more")
    sync_api.expect(page.locator("#examples li")).to_have_count(24)
    page.click("#examples li >> nth=0 >> text=differs")
    sitting.wait("pair")
    assert sitting.entries()[-1]["same"] is False
    pressed = page.locator("#examples li").first.locator("button[aria-pressed=true]")
    sync_api.expect(pressed).to_have_text("differs")


def test_more_rows_come_once_and_a_server_that_was_stopped_is_reported(
    sit: Callable[..., Sitting],
) -> None:
    sitting = sit()
    page = sitting.page
    page.click("#queue button:has-text('movie -> film')")
    sitting.rule("movie -> film")
    page.locator("input[name=only][value=all]").check(force=True)
    sync_api.expect(page.locator("#examples li")).to_have_count(20)
    page.dblclick("#more")
    page.wait_for_load_state("networkidle")
    sync_api.expect(page.locator("#examples li")).to_have_count(24)
    page.route("**/api/examples*", lambda route: route.abort())
    page.keyboard.press("m")
    sitting.shows("#alert", "Has it been stopped?")
    assert all("ERR_FAILED" in each for each in sitting.complaints)
    sitting.complaints.clear()


def test_what_differs_proposes_the_narrowed_rule_and_a_key_takes_it(
    sit: Callable[..., Sitting],
) -> None:
    sitting = sit()
    page = sitting.page
    page.click("#queue button:has-text('movie -> film')")
    sitting.rule("movie -> film")
    sync_api.expect(page.locator("#narrowed")).to_be_hidden()
    page.keyboard.press("n")
    sitting.shows("#status", "mark an example that differs")
    page.keyboard.press("m")
    bad = page.locator("#examples li", has_text="a bad").first
    button = bad.get_by_role("button", name="differs")
    button.scroll_into_view_if_needed()
    top = button.bounding_box()["y"]
    button.click()
    sitting.wait("pair")
    sitting.shows("#narrowed", "movie -> film / good __")
    sitting.shows("#narrowed", "keeps 0 of 1 pair marked as differing")
    sitting.shows("#narrowed", "changes 12 of 24 rows, induces 12 of 12 mistakes")
    sitting.shows("#status", "Narrowed rule: movie -> film / good __")
    # What appeared above moved nothing under the mouse, and the focus stays.
    assert abs(button.bounding_box()["y"] - top) < 2
    sync_api.expect(button).to_be_focused()
    page.get_by_role("button", name="Look… at what movie -> film / good __ does").click()
    sync_api.expect(page.locator("#edit-text")).to_have_value("movie -> film / good __")
    sitting.shows("#edit-numbers", "mistakes induced")
    assert sitting.text("#edit-numbers").split("\n")[1::2][1:3] == [
        "right rows changed", "of these become wrong (95%: 76% to 100%)"
    ]  # fmt: skip
    page.keyboard.press("Escape")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(NAMELESS) == []
    page.keyboard.press("n")
    sitting.wait("edit")
    entry = sitting.entries()[-1]
    assert (entry["text"], entry["new"]) == ("movie -> film", "movie -> film / good __")
    sitting.shows("#queue", "movie -> film / good __")
    sitting.shows("#tally", "1 accepted")
    page.keyboard.press("u")
    sitting.wait("undo")
    sitting.rule("movie -> film")
    page.get_by_role("button", name="Take movie -> film / good __ instead").click()
    sitting.wait("edit", 2)


def test_of_a_rule_that_may_change_the_label_the_label_is_judged(
    look: Callable[..., Sitting], tmp_path: Path
) -> None:
    with served(tmp_path, "rule bad: good -> bad\n  expect: flip\n") as seat:
        judged_by_label(look(seat))


def judged_by_label(sitting: Sitting) -> None:
    page = sitting.page
    sitting.shows("#rule", "its rewrites should have another label than the row")
    # The model does as the rule expects: it has no mistake to show.
    sitting.shows("#tally", "induce 0 mistakes")
    group = page.get_by_role(
        "group", name="Does this rewrite have the label that the rule says?"
    ).first
    group.get_by_role("button", name="does not fit").click()
    sitting.wait("pair")
    assert (sitting.entries()[-1]["same"], sitting.entries()[-1]["expect"]) == (False, "flip")
    sync_api.expect(page.locator("#narrowed")).to_be_visible()
    sitting.shows("#narrowed", "marked as not fitting")
    page.click("#edit")
    page.fill("#edit-text", "good book -> good film")
    # Their label changes, as the rule expects that this one would replace.
    sitting.shows("#edit-numbers", "12")
    sync_api.expect(page.locator("#edit-save")).to_be_enabled()
    numbers = page.locator("#edit-numbers div", has_text="mistakes induced")
    sync_api.expect(numbers).to_contain_text("0")
    page.click("#edit-dialog [data-close]")
    page.click("#reject")
    page.get_by_label("The rule has a debatable label").check()
    page.click("#reject-dialog button[type=submit]")
    sitting.wait("reject")
    assert sitting.entries()[-1]["reason"] == "label"
    page.click("#queue li.decided button")
    sitting.shows("#rule", "rejected: has a debatable label")


def test_texts_from_right_to_left_run_that_way_and_the_rule_does_not_turn_round(
    look: Callable[..., Sitting], tmp_path: Path
) -> None:
    edges = """all => [...all].map(each => {
        const range = document.createRange();
        range.selectNodeContents(each.matches("li .text") ? each.firstChild : each);
        const { left, right } = range.getBoundingClientRect();
        return each.matches("li .text") ? each.getBoundingClientRect().right - right : left;
    })"""
    rows = [("הסרט film טוב.", "negative")]
    with served(tmp_path, "טוב -> נהדר\nfilm -> movie\n", rows) as seat:
        page = look(seat).page
        for rule in ("#rule-text", "#queue li:has-text('טוב')"):
            old, new = page.locator(f"{rule} bdi").evaluate_all(edges)
            assert old < new
        page.click("#queue button:has-text('film -> movie')")
        sync_api.expect(page.locator("#examples ins")).to_contain_text("movie")
        # The first word is at the right edge, and the new word comes after the old one.
        [gap] = page.locator("#examples .text").evaluate_all(edges)
        assert gap < 2
        old, new = page.locator("#examples del, #examples ins").evaluate_all(edges)
        assert new < old


def test_marks_that_no_condition_tells_apart_are_reported(sit: Callable[..., Sitting]) -> None:
    sitting = sit(width=640, height=450)
    page = sitting.page
    page.click("#queue button:has-text('good movie -> good film')")
    sitting.rule("good movie -> good film")
    for number in range(12):
        page.dispatch_event(f"#examples li >> nth={number} >> text=differs", "click")
        sitting.wait("pair", number + 1)
    sitting.shows("#narrowed", "No condition on the words in or beside the change")
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    page.keyboard.press("n")
    page.wait_for_timeout(100)
    assert "edit" not in sitting.kinds()


def test_what_was_chosen_to_be_seen_stays(sit: Callable[..., Sitting]) -> None:
    """A rule without mistakes shows all rows; the next one mistakes only, as before."""
    sitting = sit()
    page = sitting.page
    shown = "document.querySelector('input[name=only]:checked').value"
    page.click("#queue button:has-text('book -> novel')")
    sitting.shows("#examples", "novel")
    assert page.evaluate(shown) == "all"
    page.click("#queue button:has-text('movie -> film')")
    sitting.rule("movie -> film")
    sync_api.expect(page.locator("#examples li")).to_have_count(12)
    assert page.evaluate(shown) == "mistakes"
    # Further rows that were requested stay too when a pair far below is judged.
    page.keyboard.press("m")
    page.click("#more")
    sync_api.expect(page.locator("#examples li")).to_have_count(24)
    page.click("#examples li >> nth=22 >> text=same")
    sitting.wait("pair")
    sync_api.expect(page.locator("#examples li")).to_have_count(24)
    row = page.locator("#examples li").nth(22)
    sync_api.expect(row.locator("button[aria-pressed=true]")).to_be_focused()


def test_keys_in_a_hurry_decide_what_is_shown(sit: Callable[..., Sitting]) -> None:
    """The keys ask for the next rule and decide it, so the dialog is about that rule."""
    sitting = sit()
    page = sitting.page
    page.route("**/api/rule?*", lambda route: (page.wait_for_timeout(150), route.continue_()))
    page.keyboard.press("j")
    page.keyboard.press("r")
    sync_api.expect(page.locator("#reject-dialog")).to_be_visible()
    assert sitting.text("#reject-rule") == "movie -> film"
    page.keyboard.press("Enter")
    sitting.wait("reject")
    entry = sitting.entries()[-1]
    assert (entry["text"], entry["reason"], entry["note"]) == ("movie -> film", "none", "")


@contextmanager
def held(page: Any, address: str) -> Iterator[None]:
    """Press J, and hold back what the page asks for until the block ends."""
    page.route(address, lambda _: None)
    with page.expect_request(address):
        page.keyboard.press("j")
    yield
    page.unroute(address)  # what waited goes on


def test_an_example_is_marked_for_the_rule_beside_it(sit: Callable[..., Sitting]) -> None:
    """Although the next rule was asked for, and is not there yet."""
    sitting = sit()
    page = sitting.page
    sitting.rule("good -> fine")
    place = sitting.text("#rule-place")
    with held(page, "**/api/rule?*"):
        page.click("#examples li >> nth=0 >> text=differs")
    sitting.wait("pair")
    assert place.endswith(f" {sitting.entries()[-1]['rule']}")
    assert "fine" in sitting.entries()[-1]["rewritten"]
    sitting.rule("movie -> film")


def test_no_reason_is_chosen_for_anybody_and_typed_words_go_into_the_box(
    sit: Callable[..., Sitting],
) -> None:
    sitting = sit()
    page = sitting.page
    page.keyboard.press("r")
    sync_api.expect(page.locator("#reject-dialog")).to_be_visible()
    assert page.locator("#reasons input:checked").count() == 0
    page.keyboard.type("nobody says 1 of these")
    assert page.input_value("#note") == "nobody says 1 of these"
    page.keyboard.press("Enter")
    sitting.wait("reject")
    entry = sitting.entries()[-1]
    assert (entry["reason"], entry["note"]) == ("other", "nobody says 1 of these")
    page.keyboard.press("r")
    page.keyboard.press("Enter")
    sitting.wait("reject", 2)
    assert sitting.entries()[-1]["reason"] == "none"
    page.keyboard.press("k")
    page.keyboard.press("k")
    page.click("#queue li.decided >> nth=1")
    sitting.shows("#rule", "rejected: no reason given")


def test_a_rule_is_edited_with_what_the_new_one_does(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    page = sitting.page
    page.click("#edit")
    sync_api.expect(page.locator("#edit-save")).to_be_disabled()
    page.fill("#edit-text", "good NUON -> fine")
    sitting.shows("#edit-findings", "^^^^")
    sync_api.expect(page.locator("#edit-save")).to_be_disabled()
    page.fill("#edit-text", "good book -> fine book")
    sitting.shows("#edit-numbers", "12")
    sync_api.expect(page.locator("#edit-findings pre")).to_have_count(0)
    page.click("#edit-save")
    sitting.wait("edit")
    assert sitting.entries()[-1]["new"] == "good book -> fine book"
    sitting.shows("#queue", "good book -> fine book")
    sitting.shows("#tally", "induce 12 mistakes")


def test_one_mistake_is_not_several(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    sitting.page.click("#edit")
    sitting.page.fill("#edit-text", "no 7 -> no film")
    sitting.shows("#edit-numbers", "1")
    sitting.page.click("#edit-save")
    sitting.wait("edit")
    sitting.shows("#tally", "accepted rules induce 1 mistake")
    assert "mistakes" not in sitting.page.inner_text("#tally")


def test_everything_is_done_without_a_mouse(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    page = sitting.page
    page.keyboard.press("a")
    sitting.wait("accept")
    page.keyboard.press("r")
    sync_api.expect(page.locator("#reject-dialog")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    sitting.wait("reject")
    assert sitting.entries()[-1]["reason"] == "grammar"
    page.keyboard.press("s")
    sitting.wait("skip")
    page.keyboard.press("u")
    sitting.wait("undo")
    sitting.shows("#status", "Undone: skip good movie -> good film")
    sitting.rule("good movie -> good film")
    page.keyboard.press("e")
    page.keyboard.press("End")
    page.keyboard.type("s")
    sync_api.expect(page.locator("#edit-save")).to_be_enabled()
    page.keyboard.press("Escape")
    sync_api.expect(page.locator("#edit-dialog")).to_be_hidden()
    before = sitting.text("#rule-text")
    page.keyboard.press("k")
    sync_api.expect(page.locator("#rule-text")).not_to_have_text(before)
    # In text fields letters are letters; elsewhere shortcuts can be switched off.
    page.keyboard.press("?")
    page.get_by_label("Single keys are shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.wait_for_timeout(200)
    assert sitting.kinds() == ["accept", "reject", "skip", "undo"]


def test_the_order_of_focus_is_that_of_reading(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    page = sitting.page
    seen = []
    for _ in range(16):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className "
                "|| document.activeElement.name || document.activeElement.tagName"
            )
        )
        visible = page.evaluate(
            "getComputedStyle(document.activeElement).outlineStyle !== 'none' || "
            "document.activeElement.matches('.switch input')"
        )
        assert visible, f"no focus is to be seen on {seen[-1]}"
    assert seen[:4] == ["skip", "tab-judge", "help-button", "finish"]
    assert seen[9:12] == ["accept", "reject", "edit"]
    page.focus("#tab-judge")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-write"
    sync_api.expect(page.locator("#write")).to_be_visible()
    sync_api.expect(page.locator("#judge")).to_be_hidden()


# ---------------------------------------------------------------- write, pick


def test_rules_are_written_and_tried_while_typing(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    page = sitting.page
    page.click("#tab-write")
    page.get_by_label("Replace the first instance of").press_sequentially("good BUK")
    page.get_by_label("with", exact=True).press_sequentially("nice")
    sitting.shows("#findings", "^^^")
    sitting.shows("#findings", "`BUK` is not a tag")
    page.fill("#antecedent", "good")
    sitting.shows("#numbers-write", "mistakes if this rule is saved")
    sitting.counts("#numbers-write", ["24", "24", "0", "24"])
    assert page.locator("#applies li").count() == 20
    page.click("#save")
    sitting.wait("save")
    sitting.shows("#saved", "good -> nice")
    page.fill("#antecedent", "a good movie")
    page.fill("#consequent", "a good film")
    sitting.counts("#numbers-write", ["12", "12", "24", "24"])
    page.keyboard.press("Enter")
    sitting.wait("save", 2)
    sitting.shows("#saved", "12 mistakes, 0 of them new")
    page.get_by_role("button", name="Remove good -> nice").click()
    sitting.wait("remove")
    sitting.shows("#saved-total", "12 mistakes induced by 1 rule")
    page.click("#undo-write")
    sitting.wait("undo")
    sitting.shows("#saved-total", "24 mistakes induced by 2 rules")
    # Every row shows the model's answer, not only the mistakes.
    page.fill("#antecedent", "bad")
    page.fill("#consequent", "poor")
    sitting.shows("#numbers-write", "mistakes if this rule is saved")
    assert sitting.text("#applies li >> nth=0").split()[-5:] == [
        "negative",
        "→",
        "negative",
        "row",
        "3",
    ]


def test_the_closest_adversary_is_picked_or_none(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    page = sitting.page
    page.click("#tab-pick")
    sitting.shows("#pick-place", "Sentence 1 of 24")
    page.locator("#pick-choices input").nth(1).check()
    page.click("#pick-save")
    sitting.wait("pick")
    entry = sitting.entries()[-1]
    assert entry["choice"] == entry["shown"][1]
    sitting.shows("#pick-place", "Sentence 2 of 24")
    page.keyboard.press("0")
    sitting.wait("pick", 2)
    assert sitting.entries()[-1]["choice"] is None
    sitting.shows("#pick-place", "Sentence 3 of 24")
    page.keyboard.press("u")
    sitting.wait("undo")
    sitting.shows("#pick-place", "Sentence 2 of 24")


# ---------------------------------------------------------------- what may go wrong


def test_two_tabs_never_decide_over_something_unseen(sit: Callable[..., Sitting]) -> None:
    first, second = sit(), sit()
    first.page.keyboard.press("a")
    first.wait("accept")
    second.page.evaluate("document.getElementById('reject').click()")
    second.page.fill("#note", "nobody says so")
    second.page.keyboard.press("Enter")
    second.shows("#reject-dialog .alert", "another tab")
    second.shows("#tally", "1 accepted, 0 rejected")
    assert first.kinds() == ["accept"]
    # What was typed stays, and can be decided again now that the state is known.
    sync_api.expect(second.page.locator("#note")).to_have_value("nobody says so")
    second.page.keyboard.press("Enter")
    second.wait("reject")
    sync_api.expect(second.page.locator("#reject-dialog")).to_be_hidden()
    assert second.entries()[-1]["note"] == "nobody says so"


@pytest.mark.parametrize("by", ["reject", "edit"])
def test_a_dialog_decides_about_the_rule_that_it_names(
    look: Callable[..., Sitting], tmp_path: Path, by: str
) -> None:
    """Whatever another tab does to the list meanwhile."""
    with served(tmp_path, RULES, most=3) as seat:
        first = look(seat)
        first.page.click("#queue button:has-text('movie -> film') >> nth=0")
        first.rule("movie -> film")
        first.page.click("#reject")
        first.page.click("#reject-dialog button[type=submit]")
        first.wait("reject")
        first.page.click("#queue button:has-text('. -> !')")
        first.rule(". -> !")
        second = look(seat)
        first.page.click(f"#{by}")
        if by == "reject":
            first.page.fill("#note", "it shouts")
        else:
            first.page.fill("#edit-text", ". -> ?")
            sync_api.expect(first.page.locator("#edit-save")).to_be_enabled()
        second.page.keyboard.press("u")
        second.wait("undo")
        first.page.evaluate("window.dispatchEvent(new Event('focus'))")
        first.shows(f"#{by}-dialog .alert", "Another tab has decided something")
        sync_api.expect(first.page.locator("#queue")).not_to_contain_text(". -> !")
        first.page.keyboard.press("Enter")
        first.wait(by, 2 if by == "reject" else 1)
        assert first.entries()[-1]["text"] == ". -> !"


def test_an_edit_at_which_the_model_fails_stays_in_its_dialog(
    sit: Callable[..., Sitting],
) -> None:
    sitting = sit()
    page = sitting.page
    page.click("#edit")
    page.fill("#edit-text", "good -> boom")
    sitting.shows("#edit-findings", "no such layer")
    page.click("#edit-save")
    sitting.shows("#edit-dialog .alert", "no such layer")
    sync_api.expect(page.locator("#edit-text")).to_have_value("good -> boom")
    assert sitting.kinds() == []
    # Nothing of a rule that was typed before stays beside a text that cannot be tried.
    page.fill("#edit-text", "good movie -> fine movie")
    sitting.shows("#edit-examples", "fine")
    page.evaluate("document.getElementById('edit-text').value = 'x'.repeat(70_000)")
    page.evaluate("document.getElementById('edit-text').dispatchEvent(new Event('input'))")
    sitting.shows("#edit-findings", "64 KiB")
    sync_api.expect(page.locator("#edit-numbers div, #edit-examples li")).to_have_count(0)
    sync_api.expect(page.locator("#edit-save")).to_be_disabled()
    # The browser reports each refusal.
    assert {re.sub(r".*status of (\d+).*", r"\1", each) for each in sitting.complaints} == {
        "413", "502"
    }  # fmt: skip
    sitting.complaints.clear()


def test_a_decision_that_is_on_its_way_is_not_cancelled(sit: Callable[..., Sitting]) -> None:
    page = sit().page
    page.click("#edit")
    page.evaluate("document.body.dataset.busy = 'true'")
    page.click("#edit-dialog [data-close]")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.locator("#edit-dialog").is_visible()
    page.evaluate("delete document.body.dataset.busy")
    page.keyboard.press("Escape")
    sync_api.expect(page.locator("#edit-dialog")).not_to_be_visible()


def test_a_long_list_is_read_to_its_end(look: Callable[..., Sitting], tmp_path: Path) -> None:
    """The server gives two hundred items at once."""
    rows = [(f"a good movie\nno {number} .", "positive") for number in range(230)]
    with served(tmp_path, RULES, rows) as seat:
        sitting = look(seat)
        page = sitting.page
        sitting.read_to_the_end("#examples > li", "#more")
        sync_api.expect(page.locator("#examples > li")).to_have_count(230)
        # As it is in the file, with its line breaks.
        assert "movie\nno" in page.locator("#examples .text").first.inner_text()
        button = page.locator("#examples > li").nth(225).get_by_role("button", name="differs")
        button.click()
        sync_api.expect(button).to_have_attribute("aria-pressed", "true")
        sync_api.expect(button).to_be_focused()
        sync_api.expect(page.locator("#examples > li")).to_have_count(230)


def test_a_rule_with_a_long_word_stays_in_its_card(
    look: Callable[..., Sitting], tmp_path: Path
) -> None:
    long = "|".join(f"word{number}" for number in range(150))
    rules = f"({long}|movie) -> film\nmovie -> film\ngood -> fine\n"
    with served(tmp_path, rules) as seat:
        sitting = look(seat)
        page = sitting.page
        for _ in range(3):
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
            # In one go, since the card may be drawn anew between two looks.
            assert not page.evaluate(
                "[...document.querySelectorAll('#rule *')].map(one => one.getBoundingClientRect())"
                ".some(box => box.right > "
                "document.getElementById('rule').getBoundingClientRect().right)"
            )
            page.keyboard.press("j")
            page.wait_for_timeout(200)
        page.click("#queue button:has-text('word149')")
        sitting.shows("#rule-text", "word149")
        page.keyboard.press("r")
        sync_api.expect(page.locator("#reject-dialog")).to_be_visible()
        dialog = page.locator("#reject-dialog").bounding_box()
        assert dialog["x"] + dialog["width"] <= 1280
        assert (
            page.evaluate("document.getElementById('reject-dialog').scrollWidth")
            <= (dialog["width"])
        )


def test_the_help_begins_at_its_beginning(sit: Callable[..., Sitting]) -> None:
    sitting = sit(width=640, height=400)
    sitting.page.keyboard.press("?")
    sync_api.expect(sitting.page.locator("#help-title")).to_be_in_viewport()
    assert sitting.page.evaluate("document.getElementById('help-dialog').scrollTop") == 0


def test_after_a_pick_comes_the_next_sentence_and_undo_leads_back(
    sit: Callable[..., Sitting],
) -> None:
    sitting = sit()
    page = sitting.page
    page.click("#tab-pick")
    page.click("#pick-forward")
    sitting.shows("#pick-place", "Sentence 2 of 24")
    page.click("#pick-forward")
    sitting.shows("#pick-place", "Sentence 3 of 24")
    page.keyboard.press("1")
    sitting.wait("pick")
    sitting.shows("#pick-place", "Sentence 4 of 24")
    undone = f"pick {sitting.entries()[-1]['choice']}"
    sync_api.expect(page.locator("#undo-pick")).to_have_attribute("title", f"Undo: {undone}")
    page.click("#pick-forward")
    page.keyboard.press("u")
    sitting.wait("undo")
    sitting.shows("#pick-place", "Sentence 3 of 24")
    sitting.shows("#status", f"Undone: {undone}")


def test_half_a_rule_applies_to_nothing_yet(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    sitting.page.click("#tab-write")
    sitting.page.fill("#consequent", "nice")
    sitting.page.wait_for_timeout(200)
    sitting.shows("#applies-empty", "Rows appear here while you type.")


def test_texts_of_rows_are_never_read_as_html(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    sitting.page.click("#queue button:has-text('book -> novel')")
    sitting.shows("#examples", "<b>no</b>")
    assert sitting.page.locator("#examples b").count() == 0


def test_a_sitting_survives_kill_9(look: Callable[..., Sitting], tmp_path: Path) -> None:
    fill(tmp_path)
    killed = start(tmp_path)
    sitting = look(killed.seat)
    sitting.page.keyboard.press("a")
    sitting.wait("accept")
    killed.process.send_signal(signal.SIGKILL)
    killed.process.communicate()
    sitting.page.keyboard.press("s")
    sitting.shows("#alert", "does not answer")
    sitting.complaints.clear()

    started = start(tmp_path, "--resume")
    again = look(started.seat)
    again.shows("#tally", "1 accepted, 0 rejected, 4 left")
    again.page.click("#finish")
    again.shows("#alert", "1 rule kept, in words.vetted.sear; 4 left out")
    assert [len(load(tmp_path / "words.vetted.sear").rules)] == [1]
    told = started.end()
    assert started.process.returncode == 0
    assert "1 accepted, 0 rejected, 4 left" in told


def test_the_address_is_no_argument_of_the_browser(browser: Any, tmp_path: Path) -> None:
    """All users of a machine see arguments; only the owner may read the file with the address."""
    fill(tmp_path)
    script = tmp_path / "browser.sh"
    script.write_text(
        '#!/bin/sh\nstat -c %a "${1#file://}" > mode\necho "$@" > arguments\n', "utf-8"
    )
    script.chmod(0o755)
    command = start(tmp_path, "--open", "--rules", "3", BROWSER=f"{script} %s")
    for _ in range(1_200):
        if (tmp_path / "arguments").exists() and (tmp_path / "arguments").read_text():
            break
        time.sleep(0.05)
    given = (tmp_path / "arguments").read_text("utf-8").strip()
    address, _ = command.seat
    assert given.startswith("file://")
    assert address.split("/")[3] not in given
    assert (tmp_path / "mode").read_text("utf-8").strip() == "600"
    page = browser.new_page()
    page.goto(given)
    page.wait_for_selector("body[data-ready]")
    assert page.url == address
    page.close()
    told = command.end()
    assert not Path(given.removeprefix("file://")).exists()
    # Rules that the page does not show are reported.
    assert "the page shows 3 of 5 rules" in told
    assert "--rules 5 shows all" in told


# ---------------------------------------------------------------- for everybody's eyes

CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const part = (value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = rgba(getComputedStyle(each).backgroundColor);
      if (colour[3] > 200) return colour;
    }
    return rgba(getComputedStyle(document.documentElement).backgroundColor);
  };
  const weak = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility()) continue;
    if (element.closest(".hidden, .skip, :disabled")) continue;
    const style = getComputedStyle(element);
    const [one, other] = [light(rgba(style.color)), light(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 ||
      (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    const told = `${element.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`;
    if (ratio < (large ? 3 : 4.5)) weak.push(told);
  }
  return weak;
}
"""
NAMELESS = """
() => [...document.querySelectorAll("button, input, textarea, dialog, img, progress, section")]
  .filter((element) => element.closest("dialog:not([open])") === null)
  .filter((element) => {
    const named = (element.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean)
      .map((id) => document.getElementById(id)?.textContent.trim()).join("");
    const labels = [...(element.labels ?? [])].map((label) => label.textContent.trim()).join("");
    const text = element.matches("button") ? element.textContent.trim() : "";
    return !(named || labels || text || element.getAttribute("aria-label") ||
      element.hasAttribute("alt"));
  }).map((element) => element.outerHTML.slice(0, 80))
"""
TWICE = """
() => { const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
        return ids.filter((id, place) => ids.indexOf(id) !== place); }
"""


def test_texts_have_contrast_and_controls_have_names(sit: Callable[..., Sitting]) -> None:
    sitting = sit()
    page = sitting.page

    def check() -> None:
        page.mouse.move(1, 1)
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            # Colours change slowly, and begin to with the next frame.
            page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
            # Not by wait_for_function: it evaluates text in the page, which its policy forbids.
            page.evaluate(
                "Promise.all(document.getAnimations().map(each => each.finished.catch(() => null)))"
            )
            assert page.evaluate(CONTRAST) == [], scheme
        assert page.evaluate(NAMELESS) == []
        assert page.evaluate(TWICE) == []

    check()
    page.keyboard.press("a")
    sitting.wait("accept")
    page.keyboard.press("r")
    check()
    page.keyboard.press("Enter")
    sitting.wait("reject")
    page.keyboard.press("e")
    page.fill("#edit-text", "good NUON -> fine")
    sitting.shows("#edit-findings", "^^^^")
    check()
    page.keyboard.press("Escape")
    page.click("#tab-write")
    page.fill("#antecedent", "good")
    page.fill("#consequent", "nice")
    sitting.shows("#numbers-write", "if this rule is saved")
    check()
    page.click("#tab-pick")
    check()
    assert page.get_attribute("html", "lang") == "en"
    assert page.locator("h1").count() == 1


def test_the_header_is_one_row_and_the_buttons_stand_under_their_card(
    sit: Callable[..., Sitting],
) -> None:
    sitting = sit()
    tops = {
        round(box["y"] + box["height"] / 2)
        for name in (".brand", ".tabs", ".tools")
        if (box := sitting.page.locator(name).bounding_box())
    }
    assert max(tops) - min(tops) <= 2
    card, first, last = (
        sitting.page.locator(name).bounding_box() for name in ("#rule", "#accept", "#undo-judge")
    )
    assert abs(card["x"] - first["x"]) < 1
    assert abs(card["x"] + card["width"] - last["x"] - last["width"]) < 1


def test_at_200_percent_nothing_is_cut_off(sit: Callable[..., Sitting]) -> None:
    """A window of 1280 by 900 at 200% has 640 by 450 CSS pixels."""
    sitting = sit(width=640, height=450)
    page = sitting.page
    for task in ("judge", "write", "pick"):
        page.click(f"#tab-{task}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 640
        boxes = page.eval_on_selector_all(
            f"#{task} button:visible", "all => all.map(each => each.getBoundingClientRect())"
        )
        assert boxes
        assert all(box["left"] >= 0 and box["right"] <= 640 for box in boxes)
    page.click("#tab-judge")
    page.click("#accept")
    sitting.wait("accept")


# ---------------------------------------------------------------- templates

TEMPLATES = """\
set GOOD = great | charming | brilliant
set BAD = bad | dull | terrible
set KIND = film | comedy

template nothing-good: "There is nothing {GOOD} about this {KIND}."
  label: negative
  tags: negation

template nothing-bad: "There is nothing {BAD} about this {KIND}."
  label: positive
  tags: negation
"""


@contextmanager
def reading(folder: Path, templates: str, reviewer: str = "ana") -> Iterator[Seat]:
    """The page of these templates."""
    (folder / "words.sear").write_text(templates, "utf-8")
    with sears.vet(
        None, None, folder / "words.sear", reviewers=[reviewer], port=free_port()
    ) as page:
        yield page.address, page.place.journals[reviewer]


def test_a_template_of_many_sentences_is_read_to_its_end(
    look: Callable[..., Sitting], tmp_path: Path
) -> None:
    words = " | ".join(f"word{number}" for number in range(16))
    rules = f'set A = {words}\n\ntemplate many: "{{A}} and {{A}}."\n  label: negative\n'
    with reading(tmp_path, rules) as seat:
        sitting = look(seat)
        page = sitting.page
        total = int(page.inner_text("#template strong").split()[0])
        assert total > 210
        sitting.read_to_the_end("#sentences > li", "#more-sentences")
        sync_api.expect(page.locator("#sentences > li")).to_have_count(total)
        button = page.locator("#sentences > li").nth(205).locator("button")
        button.click()
        sitting.wait("sentence")
        sync_api.expect(button).to_be_focused()
        sync_api.expect(page.locator("#sentences > li").nth(205)).to_have_class("rejected")


def test_templates_are_read_by_keyboard(look: Callable[..., Sitting], tmp_path: Path) -> None:
    with reading(tmp_path, TEMPLATES) as seat:
        read_by_keyboard(look(seat, width=640, height=450, scheme="dark"))
    vetted = load(tmp_path / "words.vetted.sear")
    assert [each.name for each in vetted.templates] == ["nothing-good"]


def test_a_sentence_is_rejected_for_the_template_above_it(
    look: Callable[..., Sitting], tmp_path: Path
) -> None:
    with reading(tmp_path, TEMPLATES) as seat:
        sitting = look(seat)
        sitting.shows("#template-place", "Template 1 of 2")
        with held(sitting.page, "**/api/template?*"):
            sitting.page.click("#sentences li >> nth=0 >> text=Reject")
        sitting.wait("sentence")
        assert sitting.entries()[-1]["template"] == "nothing-good"
        sitting.shows("#template-place", "Template 2 of 2")


def read_by_keyboard(sitting: Sitting) -> None:
    page = sitting.page
    for task in ("#judge", "#write", "#pick", ".tabs"):
        assert page.locator(task).is_hidden()
    sitting.shows("#template-place", "Template 1 of 2")
    sitting.shows("#template", "Each of its 6 sentences should have the label negative")
    page.keyboard.press("2")
    sitting.wait("sentence")
    second = page.locator("#sentences li").nth(1)
    sync_api.expect(second).to_have_class("rejected")
    page.keyboard.press("a")
    sitting.wait("template")
    sitting.shows("#template-place", "Template 2 of 2")
    page.keyboard.press("r")
    page.keyboard.press("ArrowDown")
    sitting.shows("#reasons", "The template has a debatable label")
    page.keyboard.press("Enter")
    sitting.wait("template", 2)
    sitting.shows("#alert", "All templates are judged")
    sitting.shows("#tally-read", "1 accepted, 1 rejected, 0 left; 1 sentence rejected")
    last = sitting.entries()[-1]
    assert (last["template"], last["verdict"], last["reason"]) == ("nothing-bad", "reject", "label")
    page.keyboard.press("u")
    sitting.wait("undo")
    sitting.shows("#tally-read", "1 accepted, 0 rejected, 1 left; 1 sentence rejected")
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    page.click("#finish")
    sitting.shows("#alert", "1 template kept")


def test_pictures_for_the_readme(browser: Any, tmp_path: Path, update_golden: bool) -> None:
    if not update_golden:
        pytest.skip("pictures are made with --update-golden")
    fill_with_shipped_sentences(tmp_path)
    look = {"viewport": {"width": 1280, "height": 900}, "device_scale_factor": 1.5}
    tab = new_tab(browser, **look)
    page = tab.page
    command = start(tmp_path, tagger="fast", label=None)
    sitting = opened(tab, command.seat)
    folder = Path(__file__).resolve().parents[2] / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    page.click("#queue button:has-text('not -> ')")
    sitting.shows("#rule", "glued to the word before")
    page.mouse.move(1, 1)
    page.wait_for_timeout(300)
    page.screenshot(path=folder / "vetting-judge.png", animations="disabled")
    page.click("#tab-write")
    page.fill("#antecedent", "AUX not")
    page.fill("#consequent", "$1n't")
    sitting.shows("#numbers-write", "if this rule is saved")
    page.screenshot(path=folder / "vetting-write.png", animations="disabled")
    command.end()

    with reading(tmp_path, TEMPLATES, "cleo") as seat:
        opened(tab, seat)
        page.keyboard.press("2")
        page.wait_for_selector("#sentences .rejected")
        page.screenshot(path=folder / "vetting-read.png", animations="disabled")

    (tmp_path / "words.sear").write_text("so -> very\nfilm -> movie\n", "utf-8")
    command = start(tmp_path, tagger="fast", label=None, reviewer="ben")
    sitting = opened(tab, command.seat)
    page.click("#queue button:has-text('so -> ')")
    page.locator("input[name=only][value=all]").check(force=True)
    for text, said in (("It rained,", "differs"), ("It is in fact", "differs"), ("It was", "same")):
        example = page.locator("#examples li", has_text=text)
        example.first.get_by_role("button", name=said).click()
        page.wait_for_selector("body:not([data-busy])")
    sitting.shows("#narrowed", "so -> very / ")
    place = "document.querySelector('#narrowed').getBoundingClientRect().top"
    page.evaluate(f"window.scrollBy(0, {place} - 100)")
    page.mouse.move(1, 1)
    page.wait_for_timeout(300)
    page.screenshot(path=folder / "vetting-narrow.png", animations="disabled")
    page.close()
    command.end()


def fill_with_shipped_sentences(folder: Path) -> None:
    """Rows that somebody would recognize: the sentences on which shipped rules are tested."""
    (folder / "brittle.py").write_text(
        "def predict(texts):\n"
        "    bad = {'not', 'no', 'never', 'bad', 'weak', 'slow', 'poor', 'terrible'}\n"
        "    words = [set(text.lower().replace('.', ' ').split()) for text in texts]\n"
        "    return ['negative' if bad & each else 'positive' for each in words]\n", "utf-8",
    )  # fmt: skip
    (folder / "words.sear").write_text(
        "ruleset reviews 1.0.0\n\n"
        "rule not-to-nt: not -> ~n't / AUX __\n"
        "rule good-to-not-bad: good -> not bad\n"
        "rule film-to-movie: film -> movie\n"
        "rule it-is: it is -> it's\n"
        "rule very-to-really: very -> really / __ ADJ\n", "utf-8",
    )  # fmt: skip
    tests = [test.text for ruleset in load_rulesets(shipped_rulesets())
             for rule in ruleset.rules for test in rule.metadata.tests]  # fmt: skip
    plain = [found[0] if (found := parse_pinned(text)) else text for text in tests]
    with (folder / "words.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text"])
        for text in dict.fromkeys(plain):
            writer.writerow([re.sub(r" ([.,?!])", r"\1", text).replace(" n't", "n't")])
