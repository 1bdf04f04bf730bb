"""``sears trust``: what the project file names may run."""

from __future__ import annotations

import click

from sears_dsl.errors import UsageError


@click.command("trust", epilog="Example: sears trust")
@click.option("--show", is_flag=True, help="Say what there is to agree to, and agree to nothing.")
def trust_command(*, show: bool) -> None:
    """Agree that commands ask the models that the project file names.

    Asking some models runs code or sends rows somewhere: modules, pickles, endpoints. A file that
    came along with a project may not have that done unasked. Read what is printed, and the module
    or file that it names. Another model in the file has to be agreed to anew.
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
            before = " (agreed to before)" if agreed(project, model) else ""
            click.echo(f"{project.key('models', name)} {effect}{before}")
            if not show:
                agree(project, model)
    if not count:
        click.echo(f"{project.path} names no model that has to be agreed to")
    elif not show:
        click.echo(f"agreed, for {project.path}")
