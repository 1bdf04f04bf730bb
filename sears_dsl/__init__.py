"""Search-and-replace rules over words and tags that find bugs in NLP models.

    >>> import sears_dsl as sears
    >>> ruleset = sears.parse("What NOUN -> Which NOUN")
    >>> [rewrite.text for rewrite in ruleset.compile().apply(["What color is it?"])]
    ['Which color is it?']

Importing the package loads nothing heavy: the first use of a public name imports the module that
defines it.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # importing `typing` would take most of the time
if TYPE_CHECKING:
    from sears_dsl.api.applying import apply, apply_folder, arrow_rewriter
    from sears_dsl.api.auditing import AuditResult, AuditsResult, GridResult, audit
    from sears_dsl.api.comparing import ComparisonResult, ErrorsResult, compare, predict_errors
    from sears_dsl.api.discovering import AdversaryResult, DiscoveryResult, adversaries, discover
    from sears_dsl.api.generating import GenerationResult, generate
    from sears_dsl.api.repairing import AmountsResult, RepairResult, augment, fix, fix_by_amount
    from sears_dsl.api.scoring import ParaphraseResult, ScoreResult, paraphrase, score
    from sears_dsl.api.vetting import VettingResult, vet
    from sears_dsl.catalogue import load
    from sears_dsl.engine.matcher import Matcher, compile_rules
    from sears_dsl.engine.matches import Edit, Matches, Rewrite, SpanMap
    from sears_dsl.errors import (
        CacheError,
        CompileError,
        DataError,
        Diagnostic,
        ModelError,
        RuleSyntaxError,
        SearsError,
        Span,
        TaggerError,
        UsageError,
    )
    from sears_dsl.language.loader import parse
    from sears_dsl.language.rule import Metadata, Options, Rule
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.models.loading import load_predictor
    from sears_dsl.rule_tests import RuleTestResult, run_tests
    from sears_dsl.tagging.cache import TagCache
    from sears_dsl.tagging.tagger import Tagger, load_tagger
    from sears_dsl.tagging.tokens import Token, Tokens

__version__ = "0.1.0"

_MODULE_OF = {
    name: f"sears_dsl.{module}"
    for module, names in {
        "api.auditing": "AuditResult AuditsResult GridResult audit",
        "api.comparing": "ComparisonResult ErrorsResult compare predict_errors",
        "api.discovering": "AdversaryResult DiscoveryResult adversaries discover",
        "api.applying": "apply apply_folder arrow_rewriter",
        "api.generating": "GenerationResult generate",
        "api.repairing": "AmountsResult RepairResult augment fix fix_by_amount",
        "api.scoring": "ParaphraseResult ScoreResult paraphrase score",
        "api.vetting": "VettingResult vet",
        "catalogue": "load",
        "engine.matcher": "Matcher compile_rules",
        "engine.matches": "Edit Matches Rewrite SpanMap",
        "errors": "CacheError CompileError DataError Diagnostic ModelError RuleSyntaxError "
        "SearsError Span TaggerError UsageError",
        "language.rule": "Metadata Options Rule",
        "language.loader": "parse",
        "language.ruleset": "Ruleset",
        "models.loading": "load_predictor",
        "rule_tests": "RuleTestResult run_tests",
        "tagging.cache": "TagCache",
        "tagging.tagger": "Tagger load_tagger",
        "tagging.tokens": "Token Tokens",
    }.items()
    for name in names.split()
}

__all__ = [
    "AdversaryResult", "AmountsResult", "AuditResult", "AuditsResult", "CacheError",
    "ComparisonResult", "CompileError", "DataError", "Diagnostic", "DiscoveryResult", "Edit",
    "ErrorsResult", "GenerationResult", "GridResult", "Matcher", "Matches", "Metadata",
    "ModelError", "Options", "ParaphraseResult", "RepairResult", "Rewrite", "Rule",
    "RuleSyntaxError", "RuleTestResult", "Ruleset", "ScoreResult", "SearsError", "Span", "SpanMap",
    "TagCache", "Tagger", "TaggerError", "Token", "Tokens", "UsageError", "VettingResult",
    "adversaries", "apply", "apply_folder", "arrow_rewriter", "audit", "augment", "compare",
    "compile_rules", "discover", "fix", "fix_by_amount", "generate", "load", "load_predictor",
    "load_tagger", "paraphrase", "parse", "predict_errors", "run_tests", "score", "vet",
]  # fmt: skip


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if module.startswith(f"{__name__}.api."):
        from sears_dsl.runtime.interrupts import import_whole  # noqa: PLC0415 - as asked for

        import_whole("numpy")  # which every one of them uses
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
