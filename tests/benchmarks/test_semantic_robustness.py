"""The nets, bounds and tests of the benchmark on semantic robustness keep their promises."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")

from benchmarks.record import DATA, WITHOUT_DATA  # noqa: E402
from benchmarks.semantic_robustness import __main__ as command  # noqa: E402
from benchmarks.semantic_robustness.beds import (  # noqa: E402
    PHENOMENA,
    Rows,
    augmenting,
    template_halves,
)
from benchmarks.semantic_robustness.bounds import bounds, certified  # noqa: E402
from benchmarks.semantic_robustness.nets import NETS, WordVectors, answers, parameters, trained  # noqa: E402
from benchmarks.semantic_robustness.report import templates_right, welch_tests  # noqa: E402
from benchmarks.semantic_robustness.running import Outcome, Training  # noqa: E402


def test_nets_have_the_parameters_that_were_counted_for_the_paper() -> None:
    counted = {name: parameters(net()) for name, net in NETS.items()}
    assert counted == {"FC": 41_154, "CNN": 39_126, "LSTM": 40_598, "attention": 40_857}


@pytest.mark.parametrize("name", ["FC", "CNN"])
def test_outputs_of_random_points_lie_within_the_bounds_of_their_box(name: str) -> None:
    torch.manual_seed(1)
    net = NETS[name]()
    middle = torch.randn(1, 25, 50)
    low, high = bounds(net, middle - 0.02, middle + 0.02)
    with torch.inference_mode():
        said = net(middle + 0.02 * (2 * torch.rand(1000, 25, 50) - 1))
    assert (said >= low - 1e-5).all()
    assert (said <= high + 1e-5).all()


def test_the_bounds_of_one_layer_are_reached_at_corners_of_the_box() -> None:
    torch.manual_seed(3)
    net, middle = torch.nn.Sequential(torch.nn.Linear(50, 2)), torch.randn(1, 50)
    low, high = bounds(net, middle - 0.02, middle + 0.02)
    for label, weights in enumerate(net[0].weight):
        corner = 0.02 * weights.sign()
        torch.testing.assert_close(net(middle + corner)[0, label], high[0, label])
        torch.testing.assert_close(net(middle - corner)[0, label], low[0, label])


@pytest.mark.parametrize("name", ["FC", "CNN"])
def test_a_box_of_one_point_has_the_outputs_of_the_plain_net(name: str) -> None:
    torch.manual_seed(2)
    net, points = NETS[name](), torch.randn(8, 25, 50)
    low, high = bounds(net, points, points)
    assert torch.equal(low, high)
    torch.testing.assert_close(low, net(points))
    said = net(points).argmax(1)
    assert certified(net, points, said, 0.0) == 1.0
    assert certified(net, points, said, 10.0) == 0.0


def test_a_net_with_a_layer_that_has_no_bounds_is_refused() -> None:
    with pytest.raises(TypeError, match="LastState"):
        bounds(NETS["LSTM"](), torch.zeros(1, 25, 50), torch.zeros(1, 25, 50))


@pytest.mark.parametrize("name", sorted(NETS))
def test_every_net_learns_two_words(name: str) -> None:
    rows = Rows(("it is good", "it is bad") * 128, (1, 0) * 128)
    vectors = WordVectors(rows)
    net = trained(name, rows, vectors, seed=0)
    assert answers(net, ["It is GOOD !", "It is bad."], vectors).tolist() == [1, 0]


@pytest.mark.parametrize("phenomenon", PHENOMENA)
def test_no_template_is_both_trained_on_and_asked(phenomenon: str) -> None:
    first, second = template_halves(phenomenon)
    assert not first.templates.keys() & second.templates.keys()
    seen = {text for rows in first.templates.values() for text in rows.texts}
    assert not any(seen & set(rows.texts) for rows in second.templates.values())
    for half in (first, second):
        assert all(len(set(rows.labels)) == 1 for rows in half.templates.values())
    more = augmenting(first, 600)
    assert len(more) == 600
    assert sum(more.labels) == 300


def _outcome(seed: int, kind: str, right: float) -> Outcome:
    templates = {
        phenomenon: {name: right for half in template_halves(phenomenon) for name in half.templates}
        for phenomenon in PHENOMENA
    }
    training = Training(seed, "FC", kind, 0.0 if kind == "plain" else 0.33)
    return Outcome(training, right, templates, dict.fromkeys(PHENOMENA, 0.5))


def test_every_comparison_is_a_welch_test_with_a_q_value() -> None:
    plain, taught = [0.2, 0.25, 0.3], [0.6, 0.7, 0.65]
    outcomes = [_outcome(seed, "plain", right) for seed, right in enumerate(plain)]
    outcomes += [_outcome(seed, "negation", right) for seed, right in enumerate(taught)]
    tests = {test.name: test for test in welch_tests(outcomes)}
    assert len(tests) == 3
    found = tests["FC, negation 33%: negation, other templates"]
    assert found.p == pytest.approx(stats.ttest_ind(plain, taught, equal_var=False).pvalue)
    assert found.p <= found.q < 0.05
    assert tests["FC, negation 33%: negation, judged"].q == 1.0


def test_the_mean_over_templates_is_not_that_over_sentences() -> None:
    outcome = _outcome(0, "plain", 0.0)
    outcome.templates["negation"]["negation-false"] = 1.0  # 81 of 248 sentences, 1 of 8 templates
    pooled = templates_right(outcome, "negation", swapped=False, pooled=True)
    mean = templates_right(outcome, "negation", swapped=False, pooled=False)
    assert (pooled, mean) == (pytest.approx(81 / 248), 1 / 8)


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not beside this checkout")
def test_a_report_of_no_trainings_leaves_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = tmp_path / "TABLES.md"
    tables.write_text("as published", "utf-8")
    monkeypatch.setattr(command, "TABLES", tables)
    monkeypatch.setattr(command, "RESULTS", tmp_path / "none.jsonl")
    monkeypatch.setattr("sys.argv", ["semantic_robustness", "--report"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == WITHOUT_DATA
    assert "none.jsonl has no trainings" in capsys.readouterr().out
    assert tables.read_text("utf-8") == "as published"
