"""The page of an audit in a real browser: search, filters, opening; it loads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audited import audited, rows_of, sample_audit

from sears_dsl.auditing.gates import Gates
from sears_dsl.auditing.reports.page import audit_page
from sears_dsl.language.loader import parse

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "audit.png"
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update",
             "--disable-sync"]  # fmt: skip

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium here")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    rules = parse(
        "rule film: movie -> film\n  tags: words\n"
        "rule tape: movie -> tape\n"
        "rule turn: movie -> reel\n  expect: flip\n"
    )
    document = audited(
        rows_of("k" * 30 + "ff"), rules=rules, gates=Gates(flip_rate=0.1), sure=(0.95, 0.95)
    )
    (tmp_path / "audit.html").write_text(audit_page(document), "utf-8")
    opened = browser.new_page()
    opened.problems = []
    opened.on("console", lambda message: opened.problems.append(message.text))
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.requested = []
    opened.on("request", lambda request: opened.requested.append(request.url))
    opened.goto((tmp_path / "audit.html").as_uri())
    yield opened
    assert not opened.problems
    assert [url.split(":")[0] for url in opened.requested] == ["file"]
    opened.close()


def shown(page: Any) -> list[str]:
    return [each.inner_text() for each in page.locator("td.rule a").all() if each.is_visible()]


def test_rules_are_found_by_their_words_and_verdicts(page: Any) -> None:
    assert shown(page) == ["movie -> film", "movie -> tape", "movie -> reel"]
    page.get_by_label("Find").fill("words")
    assert shown(page) == ["movie -> film"]
    assert page.get_by_role("status").inner_text() == "1 rule"
    page.get_by_label("Find").fill("")
    page.get_by_role("button", name="failed").click()
    assert shown(page) == ["movie -> reel"]
    page.get_by_role("button", name="all").click()
    assert len(shown(page)) == 3


def test_a_rule_leads_to_its_rows_by_keyboard(page: Any) -> None:
    details = page.locator("details.rule").nth(1)
    assert not details.locator(".examples").is_visible()
    page.get_by_role("link", name="movie -> film").focus()
    page.keyboard.press("Enter")
    details.locator(".examples").wait_for(state="visible", timeout=60_000)
    first = details.locator(".examples li").first
    assert first.locator("del").inner_text().strip() == "movie"
    assert first.locator("ins").inner_text().strip() == "film"
    assert "yes 95%" in first.locator(".answers").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_light_and_dark(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 20
    assert not [each for each in contrasts if each["ratio"] < 4.5], scheme


def test_nothing_is_cut_off_on_a_small_screen(page: Any) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_the_picture_of_the_documentation_is_of_this_page(
    browser: Any, tmp_path: Path, update_golden: bool
) -> None:
    """``--update-golden`` takes a new one."""
    (tmp_path / "audit.html").write_text(audit_page(sample_audit()), "utf-8")
    opened = browser.new_page(viewport={"width": 1180, "height": 1580})
    opened.goto((tmp_path / "audit.html").as_uri())
    taken = opened.screenshot()
    opened.close()
    if update_golden:
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        PICTURE.write_bytes(taken)
    size = slice(16, 24)  # width and height in a PNG
    assert taken.startswith(b"\x89PNG")
    assert PICTURE.read_bytes()[size] == taken[size]


# Contrast of each piece of text with what is behind it, as WCAG counts it.
CONTRASTS = """() => {
  const channels = (text) => text.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = channels(getComputedStyle(each).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest("svg, script, style") || !element.checkVisibility()) continue;
    const pair = [light(channels(getComputedStyle(element).color)), light(behind(element))];
    found.push({ text: element.textContent.trim().slice(0, 40),
      ratio: (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) });
  }
  return found;
}"""
