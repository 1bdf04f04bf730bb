"""``sears trust``: what the project file names may run."""

from __future__ import annotations

import click

from sears_dsl.errors import UsageError


@click.command("trust", epilog="Example: sears trust")
@click.option("--show", is_flag=True, help="Show what needs your consent, without giving it.")
def trust_command(*, show: bool) -> None:
    """Allow commands to ask the models that the project file names.

    Asking a model may run code (a module, a pickle) or send rows somewhere (an endpoint). A file
    that came with a project may not do that without your consent. Read what is printed, and the
    module or file that it names. If the file names another model, consent is needed again.
    """
    from sears_dsl.project.consent import agree, agreed, what_it_does
    from sears_dsl.project.file import find_project

    project = find_project()
    if project is None:
        raise UsageError("there is no project file here", help="`sears init` writes one")
    count = 0
    for name, model in project.fields.models.items():
        effect = what_it_does(model)
        if effect:
            count += 1
            before = " (already allowed)" if agreed(project, model) else ""
            click.echo(f"{project.key('models', name)} {effect}{before}")
            if not show:
                agree(project, model)
    if not count:
        click.echo(f"{project.path} names no model that needs consent")
    elif not show:
        click.echo(f"allowed for {project.path}")
