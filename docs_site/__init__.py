"""The pages of the documentation that are made from the project itself.

`language` cuts the tested reference into a page for each construct, `findings` explains every error
code with what is printed for its example, `commands` reads the command line. `hook` hands them to
MkDocs. Nothing of this is part of the package.
"""
