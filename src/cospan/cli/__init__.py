"""The command line.

`app` has the commands and their arguments, `options` and `reading_options` every option once,
`groups` what makes one argument of many options. `terminal` says where things are printed and how a
command ends; `comparing`, `commands`, `model_commands` and `doctor`
do the work. Only typer is imported at first: ``cospan --help`` answers at once.
"""

from cospan.cli.app import app, main

__all__ = ["app", "main"]
