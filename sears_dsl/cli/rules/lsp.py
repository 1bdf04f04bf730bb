"""``sears lsp``: the language server, started by an editor."""

from __future__ import annotations

import sys

import click


@click.command("lsp", epilog="Example, in an editor's settings: sears lsp")
@click.option("--stdio", is_flag=True, help="Some editors pass it; there is no other way.")
def lsp_command(*, stdio: bool) -> None:
    """Check and format rule files in an editor that speaks the Language Server Protocol.

    The server talks over standard input and output, by pygls: `pip install 'sears-dsl[lsp]'`.
    """
    from sears_dsl.runtime.extras import need_language_server

    need_language_server()
    from sears_dsl.language_server.server import serve

    sys.exit(serve())
