"""Questions about pictures: pictures stay untouched, and are shown where rules are judged."""

from __future__ import annotations

import csv
import json
from base64 import b64decode
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from command_line import call
from PIL import Image
from starlette.testclient import TestClient

import sears_dsl as sears
from sears_dsl.data.labelled import LabelledRows, read_labelled
from sears_dsl.errors import DataError
from sears_dsl.language.loader import parse
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.models.http.endpoint import RequestMap
from sears_dsl.models.predictor import Row
from sears_dsl.pictures import picture_address, shown_picture
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.vetting.journal import Journal
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.workbench import Workbench
from sears_dsl.vetting.web.routes import application

RULES = "rule colour: color -> colour"
COLORS = {"red": (255, 0, 0), "blue": (0, 0, 255)}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Forty questions about the colours of forty pictures; two of the files are no pictures."""
    found = []
    for number in range(40):
        color = ("red", "blue")[number % 2]
        Image.new("RGB", (40, 20), COLORS[color]).save(tmp_path / f"{number}.png")
        found.append((f"What color is thing {number} ?", f"{number}.png", "red|blue|yes", color))
    (tmp_path / "5.png").write_bytes((tmp_path / "6.png").read_bytes()[:40])
    (tmp_path / "9.png").unlink()
    path = tmp_path / "questions.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("question", "image", "choices", "answer"), *found])
    return path


def seen(asked: Sequence[Row]) -> list[str]:
    """A model that looks at the picture if the question has the word that it knows."""
    found = []
    for row in asked:
        with Image.open(row["image"]) as image:
            red = image.convert("RGB").getpixel((3, 3)) == COLORS["red"]
        found.append(("red" if red else "blue") if "color" in row["question"] else "yes")
    return found


def test_a_page_shows_a_picture_as_its_file_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    for folder, color in (("a", None), ("a", "red"), ("a", "blue"), ("b", "red"), ("c", None)):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        if color is not None:
            Image.new("RGB", (4, 4), color).save("thing.png")
        shown.append(picture_address("thing.png"))
    missing, red, blue, red_again, missing_again = shown
    assert missing == missing_again == ""
    assert red == red_again != blue != ""


def test_rows_without_a_readable_picture_are_left_out_and_reported(
    rows: Path, tmp_path: Path
) -> None:
    data = read_labelled(str(rows), column="question", label="answer", image="image")
    assert len(data.rows) == 38
    assert data.number(5) == 7
    [note] = data.notes
    assert "2 rows are left out" in note
    assert "row 6, " in note
    assert "row 10, " in note
    assert "no such file" in note
    for number in (20, 21, 22, 23):
        (tmp_path / f"{number}.png").write_bytes(b"")
    [note] = read_labelled(str(rows), column="question", image="image").notes
    assert "row 23, " in note
    assert note.endswith("; row 24")
    for path in tmp_path.glob("*.png"):
        path.unlink()
    with pytest.raises(DataError, match="no picture in the column image can be read"):
        read_labelled(str(rows), column="question", label="answer", image="image")


def test_a_picture_is_content_and_its_folder_is_not(rows: Path, tmp_path: Path) -> None:
    def read(path: Path) -> LabelledRows:
        return read_labelled(str(path), column="question", label="answer", image="image")

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for path in (*tmp_path.glob("*.png"), rows):
        (elsewhere / path.name).write_bytes(path.read_bytes())
    assert read(rows).digest == read(elsewhere / rows.name).digest


def test_an_audit_shows_picture_and_choices(rows: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="left out, because the picture cannot be read"):
        done = sears.audit(
            seen, str(rows), sears.parse(RULES), text="question", label="answer", image="image",
            choices="choices", scorer=None, slices=["answer"], examples=9,
        )  # fmt: skip
    [rule] = done.rules
    assert (rule.flips.count, rule.right) == (38, 38)
    assert any("left out" in note for note in done.document.notes)
    example = rule.examples[0]
    assert example.picture == str(tmp_path / "0.png")
    # Omitted rows still count in the numbering.
    assert all(each.picture == str(tmp_path / f"{each.row - 1}.png") for each in rule.examples)
    assert example.choices == ("red", "blue", "yes")
    assert done.document.data.also == ("image", "choices")
    done.save(tmp_path / "audit")
    page = (tmp_path / "audit/audit.html").read_text("utf-8")
    address = page.split('class="picture" src="data:image/png;base64,')[1].partition('"')[0]
    with Image.open(BytesIO(b64decode(address))) as image:
        assert image.convert("RGB").getpixel((5, 5)) == COLORS["red"]
    assert '<li class="chosen">yes <b class="after">after</b></li>' in page
    assert '>red <b class="right">right</b> <b class="before">before</b></li>' in page


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_a_transparent_picture_is_shown_on_white(tmp_path: Path, mode: str) -> None:
    """Drawings and logos are black on nothing; on black nobody could see them."""
    path = tmp_path / "drawing.png"
    if mode == "P":
        drawing = Image.new("P", (8, 8), 0)
        drawing.putpalette([0, 0, 0, 0, 0, 0])
        drawing.putpixel((0, 0), 1)
        drawing.save(path, transparency=0)
    else:
        drawing = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
        drawing.putpixel((0, 0), (0, 0, 0, 255))
        drawing.convert(mode).save(path)
    with Image.open(BytesIO(shown_picture(str(path), side=8))) as image:
        assert image.mode == "RGB"
        assert image.getpixel((7, 7)) == (255, 255, 255)
        assert image.getpixel((0, 0)) == (0, 0, 0)


def test_the_vetting_page_shows_picture_and_choices(rows: Path, tmp_path: Path) -> None:
    data = read_labelled(
        str(rows), column="question", label="answer", image="image", choices="choices"
    )
    tagger, ruleset = PinnedTagger(), parse(RULES)
    bench = Workbench(
        ruleset, data, CachedPredictor(CallablePredictor(seen)), tokens=tagger.tag(data.texts),
        tagger=tagger,
    )  # fmt: skip
    with Journal(tmp_path / "a.vetting.jsonl", ruleset=ruleset, reviewer="ana") as journal:
        session = RuleSession(bench, journal, most=20, choices=())
        app = application({"ana": session}, tokens={"t": "ana"}, hosts=frozenset({"testserver"}),
                          write=lambda: "")  # fmt: skip
        page = TestClient(app)
        found = page.get("/t/api/examples", params={"id": "colour"}).json()
        example = next(each for each in found["examples"] if each["before"] == "blue")
        assert example["picture"]
        assert example["choices"] == ["red", "blue", "yes"]
        assert example["labels"] == ["blue"]
        # Two rows are left out; the page counts rows as the file does.
        assert {int(each["original"].split()[4]) + 1 for each in found["examples"]} == {
            each["number"] for each in found["examples"]
        }
        assert any(each["number"] != each["row"] for each in found["examples"])
        reply = page.get("/t/api/picture", params={"row": example["row"]})
        assert reply.headers["content-type"] == "image/png"
        with Image.open(BytesIO(reply.content)) as image:
            assert image.size == (320, 160)
            assert image.convert("RGB").getpixel((5, 5)) == COLORS["blue"]
        assert page.get("/t/api/picture", params={"row": "99"}).status_code == 400
        assert page.get("/wrong/api/picture", params={"row": "1"}).status_code == 403
        (tmp_path / "0.png").unlink()
        gone = page.get("/t/api/picture", params={"row": "1"})
        assert gone.status_code == 507
        assert "no such file" in gone.json()["error"]


def test_the_command_takes_pictures(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules.sear").write_text(RULES + "\n")
    module = f"{__name__.rpartition('.')[2]}:seen"
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    done = call(
        "audit", "rules.sear", "--model", module, "--data", rows.name, "--column", "question",
        "--image", "image", "--choices", "choices", "--label", "answer", "--scorer", "none",
        "--json", folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rules"][0]["flips"]["count"] == 38


def test_an_endpoint_gets_the_picture_itself(rows: Path, tmp_path: Path) -> None:
    body = RequestMap.read('{"body": {"q": "$column.question", "picture": "$picture.image"}}')
    path = tmp_path / "0.png"
    sent = body.render([{"question": "What?", "image": str(path)}])
    assert sent["q"] == "What?"
    assert b64decode(sent["picture"]) == path.read_bytes()
    assert rows.exists()


def test_a_repaired_model_is_trained_on_rows_with_pictures(rows: Path) -> None:
    trained: list[Row] = []

    def train(given: Sequence[Row], labels: Sequence[str], seed: int) -> object:
        trained.extend(given)
        assert len(given) == len(labels)
        assert seed == 0
        knows = any("colour" in row["question"] for row in given)
        return lambda asked: [
            answer if answer != "yes" or not knows else seen([{**row, "question": "color"}])[0]
            for row, answer in zip(asked, seen(asked), strict=True)
        ]

    for number in (5, 9):
        Image.new("RGB", (40, 20), COLORS["blue"]).save(rows.parent / f"{number}.png")
    held_out = rows.with_name("held-out.csv")
    held_out.write_text(rows.read_text().replace("thing", "object"))
    done = sears.fix(
        str(rows), str(held_out), sears.parse(RULES), text="question", label="answer",
        image="image", train=train, seeds=1, control=False, same_rows=True,
    )  # fmt: skip
    assert {tuple(row) for row in trained} == {("question", "image")}
    assert all(Path(row["image"]).is_absolute() for row in trained)
    assert done.repair.sensitivity.original.error == 1
    assert done.repair.sensitivity.augmented.error == 0
