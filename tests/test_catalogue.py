"""What names of rules stand for."""

from __future__ import annotations

from pathlib import Path

from sears_dsl.catalogue import find_rule_files, load_rulesets


def test_rejected_rules_are_checked_with_their_folder_but_not_applied(tmp_path: Path) -> None:
    kept, rejected = tmp_path / "a.sear", tmp_path / "a.left-out.sear"
    kept.write_text("movie -> film\n", "utf-8")
    rejected.write_text("good -> bad\n", "utf-8")
    assert find_rule_files([str(tmp_path)]) == [rejected, kept]
    assert [ruleset.path for ruleset in load_rulesets([str(tmp_path)])] == [str(kept)]
    assert len(load_rulesets([str(tmp_path), str(rejected)])) == 2
    assert [ruleset.path for ruleset in load_rulesets([str(rejected)])] == [str(rejected)]
