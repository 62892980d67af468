"""Options that travel together: a command takes them as one dataclass, a user one by one.

A parameter typed with a dataclass becomes an option for each of its fields (`grouped`); one typed
:class:`Terminal` becomes --quiet, --verbose and --debug, and the command runs inside it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

import typer

from cospan.cli.terminal import Terminal


def grouped(*flags: str, default: Any = None, **about: Any) -> Any:
    """A field of such a dataclass: its default, and what typer is to make of it."""
    return dataclasses.field(default=default, metadata={"option": typer.Option(*flags, **about)})


_flag = partial(grouped, default=False)


@dataclasses.dataclass(frozen=True)
class _Talk:
    quiet: bool = _flag("--quiet", "-q", help="Only results and errors.")
    verbose: bool = _flag("--verbose", "-v", help="Say what is being done.")
    debug: bool = _flag("--debug", help="Show the traceback of an error.")


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer takes it, every option a parameter of its own."""
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    groups = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    terminal = [name for name, hint in hints.items() if hint is Terminal]
    found: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name in groups:
            found += _parameters(groups[name])
        elif name not in terminal:
            found.append(_parameter(name, parameter.default, hints[name]))
    found += _parameters(_Talk)

    def run(**given: Any) -> None:
        made = {name: _taken(group, given) for name, group in groups.items()}
        talk = _taken(_Talk, given)
        with Terminal(talk.quiet, talk.verbose, talk.debug) as opened:
            command(**dict.fromkeys(terminal, opened), **made, **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in found}
    # What typer reads; the type checker knows of no such attribute of functions.
    run.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    return run


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    found = []
    for f in dataclasses.fields(group):
        about = f.metadata.get("option")
        hint = hints[f.name] if about is None else Annotated[hints[f.name], about]
        found.append(_parameter(f.name, f.default, hint))
    return found


def _parameter(name: str, default: Any, hint: Any) -> inspect.Parameter:
    arguments = get_args(hint)
    if arguments and arguments[0] in (bool, bool | None):  # a flag takes no value to mention
        for info in arguments[1:]:
            info.metavar = ""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _taken(group: Any, given: dict[str, Any]) -> Any:
    """The group made of its options, which are taken out of what is given."""
    return group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
