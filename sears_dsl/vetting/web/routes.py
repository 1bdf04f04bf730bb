"""The routes of the page: its files, questions and decisions.

In: sessions, one for each reviewer. Out: an ASGI application. Only the files listed here are
served, so no path leads outside. Questions change nothing. One thread makes decisions one after
another, and another thread asks the model, so that a slow model never keeps a decision waiting.
Every error is answered in JSON, with what to do about it.

    GET  /, /vetting.css, /*.js       the page
    GET  /api/overview                where the reviewer stands
    GET  /api/rule?id=                one rule
    GET  /api/examples?id=&only=mistakes|all&first=
    GET  /api/choice?number=          one sentence with adversaries
    GET  /api/template?id=&first=     one template with some of its sentences
    GET  /api/picture?row=            the picture of a row
    POST /api/typed {text}            what a typed rule means, where it applies
    POST /api/mistakes {text}         what it does to the model, as far as the time allowed
                       {text, rule}   the same of both for a rule that would replace another one
    POST /api/decide {kind, revision, …}
    POST /api/write                   write the vetted ruleset
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib.resources import files
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sears_dsl.errors import DataError, ModelError, SearsError, UsageError
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.sessions import Outdated, ReviewSession
from sears_dsl.vetting.review.template_session import TemplateSession
from sears_dsl.vetting.web.security import PageAnswer, PageGuard, refused

Write: TypeAlias = Callable[[], str]
"""Writes what the reviewers decided, and returns a sentence about it."""

# How many seconds a question about a typed rule may ask the model before it reports its progress.
_PATIENCE = 0.08
_EXAMPLES = 20
_MOST_EXAMPLES = 200
_ANY_NUMBER = 1_000_000_000
# Requests with a JSON body; the others have their parameters in the address.
_POSTED = ("typed", "mistakes", "decide", "write")

_FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "vetting.css": ("vetting.css", "text/css; charset=utf-8"),
    **{
        f"{name}.js": (f"{name}.js", "text/javascript; charset=utf-8")
        for name in ("main", "server", "parts", "reasons", "judge", "write", "pick", "read")
    },
    "icon.svg": ("icon.svg", "image/svg+xml"),
}

_Answering: TypeAlias = Callable[["_PageRequest"], Awaitable[object]]


class _PageRequest(NamedTuple):
    """A request: the reviewer's session, the query and the JSON body."""

    session: ReviewSession
    query: Mapping[str, str]
    content: Mapping[str, Any]

    @property
    def rules(self) -> RuleSession:
        """The session, which must be about rules."""
        if not isinstance(self.session, RuleSession):
            raise UsageError("no rules are judged here", help="reload the page")
        return self.session

    @property
    def templates(self) -> TemplateSession:
        """The session, which must be about templates."""
        if not isinstance(self.session, TemplateSession):
            raise UsageError("no templates are judged here", help="reload the page")
        return self.session

    def number(self, name: str, most: int) -> int:
        """A whole number of the query, `most` at most; 0 if it is missing."""
        text = self.query.get(name, "0")
        if not text.isdecimal() or len(text) > 12:
            raise UsageError(f"{name} is {text!r}, not a number", help="reload the page")
        return min(int(text), most)

    def text(self, name: str) -> str:
        """A text of the body."""
        text = self.content.get(name)
        if not isinstance(text, str):
            raise UsageError(f"{name} is {text!r}, not a text", help="reload the page")
        return text

    @property
    def replaced(self) -> str | None:
        """The id of the rule that a typed one would replace."""
        return self.text("rule") if "rule" in self.content else None


def _rows(request: _PageRequest) -> dict[str, int]:
    return {
        "first": request.number("first", _ANY_NUMBER),
        "most": request.number("most", _MOST_EXAMPLES) or _EXAMPLES,
    }


# Questions that the thread of decisions answers.
_QUESTIONS: Mapping[str, Callable[[_PageRequest], object]] = {
    "overview": lambda asked: asked.session.overview(),
    "rule": lambda asked: asked.rules.rule(asked.query.get("id", "")),
    "examples": lambda asked: asked.rules.examples(
        asked.query.get("id", ""), mistakes=asked.query.get("only") != "all", **_rows(asked)
    ),
    "choice": lambda asked: asked.rules.choice(asked.number("number", _ANY_NUMBER)),
    "template": lambda asked: asked.templates.template(asked.query.get("id", ""), **_rows(asked)),
    "typed": lambda asked: asked.rules.typed(asked.text("text"), instead_of=asked.replaced),
    "picture": lambda asked: Response(
        asked.rules.bench.picture(asked.number("row", _ANY_NUMBER)), media_type="image/png"
    ),
}


def _mistakes(request: _PageRequest) -> object:
    deadline = monotonic() + _PATIENCE
    text, replaced = request.text("text"), request.replaced
    return request.rules.mistakes(text, deadline=deadline, instead_of=replaced)


def application(
    sessions: Mapping[str, ReviewSession],
    *,
    tokens: Mapping[str, str],
    hosts: frozenset[str],
    write: Write,
) -> ASGIApp:
    """The application behind the page."""
    decisions = ThreadPoolExecutor(1, thread_name_prefix="decisions")
    model = ThreadPoolExecutor(1, thread_name_prefix="model")

    async def in_thread(thread: Executor, do: Callable[[], object]) -> object:
        return await asyncio.get_running_loop().run_in_executor(thread, do)

    async def decide(request: _PageRequest) -> object:
        kind, revision = request.text("kind"), request.content.get("revision")
        if not isinstance(revision, int):
            raise UsageError(f"revision is {revision!r}, not a number", help="reload the page")
        if request.session.unasked(kind, request.content):
            await in_thread(model, lambda: request.rules.prepare(kind, request.content))
        return await in_thread(
            decisions, lambda: request.session.decide(kind, request.content, revision=revision)
        )

    def answering(thread: Executor, answer: Callable[[_PageRequest], object]) -> _Answering:
        return lambda request: in_thread(thread, lambda: answer(request))

    answers: dict[str, _Answering] = {
        **{name: answering(decisions, answer) for name, answer in _QUESTIONS.items()},
        "mistakes": answering(model, _mistakes),
        "decide": decide,
        "write": answering(decisions, lambda _: {"written": write()}),
    }
    routes = [
        *(
            Route(
                f"/api/{name}",
                _answering(answer, sessions),
                methods=["POST"] if name in _POSTED else ["GET"],
            )
            for name, answer in answers.items()
        ),
        Route("/{name:path}", _file),
    ]
    handlers = {HTTPException: _not_allowed, Exception: _failed}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return PageGuard(app, tokens=tokens, hosts=hosts)


async def _not_allowed(_request: Request, error: Any) -> Response:
    return refused(error.status_code, error.detail, headers=error.headers)


async def _failed(_request: Request, error: Exception) -> Response:
    """A defect: the page shows it, and the terminal of the command shows the traceback."""
    return refused(
        500, f"internal error in sears: {type(error).__name__}: {error}",
        "earlier decisions are in the journal; please report this error",
    )  # fmt: skip


def _answering(
    answer: _Answering, sessions: Mapping[str, ReviewSession]
) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        try:
            content = await _content(request) if request.method == "POST" else {}
            page_request = _PageRequest(
                sessions[request.state.reviewer], request.query_params, content
            )
            answered = await answer(page_request)
            return answered if isinstance(answered, Response) else PageAnswer(answered)
        except SearsError as error:
            kinds = {Outdated: 409, ModelError: 502, DataError: 507}
            status = next((code for kind, code in kinds.items() if isinstance(error, kind)), 400)
            return refused(status, error.message, error.help)

    return respond


async def _content(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UsageError("the request is not JSON", help="reload the page")
    try:
        content = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the request is not JSON: {error}", help="reload the page") from error
    if not isinstance(content, dict):
        raise UsageError("the request is not a JSON object", help="reload the page")
    return content


async def _file(request: Request) -> Response:
    known = _FILES.get(request.path_params["name"])
    if known is None:
        return refused(404, "there is nothing at this address", "use the printed address")
    name, kind = known
    content = files(__package__).joinpath("pages", name).read_bytes()
    return Response(content, headers={"Content-Type": kind})
