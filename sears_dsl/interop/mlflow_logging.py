"""Logs an audit to a run of MLflow: its numbers as metrics, its files as artifacts.

    with mlflow.start_run():
        log_audit(sears.audit(model, rows, "rules.sear"))

In: an audit, also of several models. Out: metrics, parameters, a tag and artifacts in the tracking
store. Always holds: audits with different prefixes overwrite nothing of each other; the numbers are
those of the audit; a rate of no row is not logged, rather than logged as 0; data goes only to the
store that MLflow was told to use. Costs a few requests to it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sears_dsl.api.auditing import AuditResult, AuditsResult
from sears_dsl.discovery.names import numbered
from sears_dsl.errors import UsageError
from sears_dsl.runtime.extras import import_tool

_INSTALL = "pip install mlflow-skinny"
# What MLflow refuses in the name of a metric, and how long a parameter may be.
_ODD = re.compile(r"[^\w\-./ ]")
_LONGEST = 500


def log_audit(
    audit: AuditResult | AuditsResult, *, prefix: str = "sears", run_id: str | None = None
) -> None:
    """Log an audit; of several models the audit of each, with the prefix ``sears.MODEL``.

    Metrics are ``sears.flip_rate`` of all rules together, ``sears.accuracy`` before and
    ``sears.accuracy_worst`` against the worst rule, ``sears.rules_failed`` and so on, and
    ``sears.rule.ID`` of each rule that was tested; the verdict is a tag; the page, Markdown, JSON
    and JUnit are artifacts, in a folder called like the prefix.

    Args:
        audit: what `sears.audit` gives, or `sears_dsl.api.auditing.AuditResult` of a document.
        prefix: the prefix of all names; give each audit in a run its own.
        run_id: the run; None for the active one, or a new one if there is none.

    Raises:
        UsageError: MLflow is not installed, or this is no audit.
    """
    mlflow = import_tool("mlflow", tool="MLflow", install=_INSTALL)
    if isinstance(audit, AuditsResult):
        names = _names_of(list(audit.audits))
        for name, each in zip(names, audit.audits.values(), strict=True):
            log_audit(each, prefix=f"{prefix}.{name}", run_id=run_id)
        return
    if not isinstance(audit, AuditResult):
        raise UsageError(
            f"an object of type {type(audit).__name__} is not an audit",
            help="pass what sears.audit returns",
        )
    document = audit.document
    mlflow.log_metrics(_metrics(audit, prefix), run_id=run_id)
    params = {
        f"{prefix}.model": document.model,
        f"{prefix}.rows": document.data.rows,
        f"{prefix}.rules": len(document.rules),
        f"{prefix}.scorer": document.scorer or "none",
        f"{prefix}.seed": document.seed,
    }
    run = run_id or mlflow.active_run().info.run_id
    client = mlflow.MlflowClient()
    for name, value in params.items():
        client.log_param(run, name, str(value)[:_LONGEST])
    client.set_tag(run, f"{prefix}.verdict", audit.verdict.outcome)
    with tempfile.TemporaryDirectory() as folder:
        audit.save(Path(folder))
        mlflow.log_artifacts(folder, prefix, run_id=run)


def _names_of(models: Sequence[str]) -> list[str]:
    """A name for each model that MLflow takes, no two the same; a name that it takes stays."""
    # Each is a path: none of its parts may be empty or dots alone.
    plain = [
        "/".join(part for part in _ODD.sub("_", model).split("/") if part.strip(".")) or "model"
        for model in models
    ]
    return numbered(plain, models)


def _metrics(audit: AuditResult, prefix: str) -> dict[str, float]:
    together, counts = audit.document.together, audit.verdict.counts
    metrics: dict[str, Any] = {
        "flip_rate": together.flipped.rate,
        "flipped": together.flipped.count,
        **{f"rules_{outcome.replace(' ', '_')}": count for outcome, count in counts.items()},
    }
    if together.accuracy is not None:
        metrics["accuracy"] = together.accuracy.before.rate
        metrics["accuracy_worst"] = together.accuracy.worst.rate
    for rule in audit.rules:
        metrics[f"rule.{_ODD.sub('_', rule.id)}"] = rule.judgement.failures.rate
    return {f"{prefix}.{name}": value for name, value in metrics.items() if value is not None}
