"""``sears apply`` over a folder: each part as one machine does it, by whoever works.

In: what `apply_file` is asked, with folders for files. Out: a folder and a report. Always holds:
each file is what `apply_file` makes of its part, byte for byte; a worker compiles the rules once;
batches that a killed worker had finished are not done again, where parts lie on a disk that all
reach.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sears_dsl import __version__
from sears_dsl.batch.files import ApplyProgress, ApplyReport, apply_file
from sears_dsl.batch.plan import TextMatcher
from sears_dsl.batch.recipes import RulesetRecipe
from sears_dsl.batch.requests import ApplyRequest
from sears_dsl.batch.tally import RuleTally, Tally
from sears_dsl.batch.workers import MatcherRecipe
from sears_dsl.clusters.parts import Here, Workers, apply_to_parts
from sears_dsl.errors import UsageError
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.paraphrasing.rewording import RewordingRecipe, reword
from sears_dsl.runtime.folders import Folder

# Of a request: the rest is the same for all parts, and for two runs of one job.
_DECIDES_NOTHING = ("recipe", "input", "output", "jobs", "resume")


@dataclass(slots=True)
class OnceBuilt:
    """A recipe whose matcher is made once in a process, however many parts it is for.

    Attributes:
        recipe: makes it.
    """

    recipe: MatcherRecipe
    _built: TextMatcher | None = field(default=None, repr=False)
    _identity: Mapping[str, str] | None = field(default=None, repr=False)

    def build(self) -> TextMatcher:
        """Compile the rules, if that is not done."""
        if self._built is None:
            self._built = self.recipe.build()
        return self._built

    def identity(self) -> Mapping[str, str]:
        """What decides what the matcher does."""
        if self._identity is None:
            self._identity = self.recipe.identity()
        return self._identity

    def __reduce__(self) -> tuple[Any, ...]:
        return OnceBuilt, (self.recipe,)  # compiled rules stay where they are


def recipe_of(rulesets: Sequence[Ruleset], *, tagger: str, seed: int = 0) -> RulesetRecipe:
    """How workers make a matcher; of rules that write paraphrases, with the models for it."""
    kind = RewordingRecipe if reword(rulesets) else RulesetRecipe
    return kind(tuple(rulesets), tagger=tagger, seed=seed)


@dataclass(slots=True)
class ApplyPart:
    """Applies rules to one part.

    Attributes:
        request: what to do; its input and output are not looked at.
    """

    request: ApplyRequest

    def identity(self) -> Mapping[str, Any]:
        """Rules, options and versions."""
        recipe = self.request.recipe
        own = asdict(replace(self.request, recipe=None))  # type: ignore[arg-type]
        for name in _DECIDES_NOTHING:
            del own[name]
        return {"sears": __version__, "work": "apply", **recipe.identity(), **own}

    def do(self, source: str, output: str) -> Mapping[str, Any]:
        """Apply the rules, going on after the batches of a worker that was killed."""
        request = replace(self.request, input=source, output=output, resume=True)
        try:
            report = apply_file(request)
        except UsageError:
            # What is left there is of a part that was another file then.
            report = apply_file(replace(request, resume=False))
        return {"rules": list(report.rules), "tally": report.tally.to_json()}

    def columns(self, names: Sequence[str]) -> Iterable[str]:
        """Those that are written, or looked at."""
        request = self.request
        if request.mode == "chain" or "all" in request.keep:
            return names
        spans = (name for spec in request.spans for name in spec.columns)
        ids = request.id_column or "id"
        return {ids, *request.columns, *request.protect, *request.keep, *spans}


def apply_folder(
    request: ApplyRequest,
    *,
    workers: Workers | None = None,
    progress: Callable[[ApplyProgress], object] | None = None,
) -> ApplyReport:
    """Apply rules to all parts of a folder.

    Args:
        request: what to do; input and output are folders or URIs.
        workers: who does it; None for this process, with the jobs of the request.
        progress: called after every part, in their order.

    Raises:
        DataError: parts that could not be done; the others are.
        UsageError: the output is there, or options that do not go together.
        CompileError, TaggerError: the rules cannot be compiled or run.
    """
    started = time.monotonic()
    recipe = OnceBuilt(request.recipe)
    ids = recipe.build().rule_ids
    work = ApplyPart(replace(request, recipe=recipe))
    tally = Tally()
    for parts in apply_to_parts(
        work,
        Folder(request.input),
        Folder(request.output),
        workers=workers or Here(),
        format_name=request.format,
        output_format=request.output_format,
        resume=request.resume,
    ):
        tally.add(Tally.from_json(parts.record["tally"]))
        if progress is not None:
            seconds = time.monotonic() - started
            progress(ApplyProgress(tally.rows, tally.changed, parts.done, seconds))
    rules = {rule: tally.rules.get(rule, RuleTally()) for rule in ids}
    return ApplyReport(tally, rules, time.monotonic() - started)
