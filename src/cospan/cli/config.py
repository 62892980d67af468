"""Options from a file: cospan.toml, or [tool.cospan] in pyproject.toml.

Keys are options without their dashes. At the top they hold for every command that has them; under
[compare], [profile] or [monitor] (in pyproject.toml: [tool.cospan.compare], …) for that one. What
is given on the command line comes first.

A file in the current folder may be somebody else's. So it is read only if it is a regular file of
ordinary size, and it cannot name a scheduler: whoever runs one can run code here.
"""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from cospan._text import printable

#: The commands whose options a file may hold.
COMMANDS = ("compare", "profile", "monitor")
#: Options that only a person may give, on the command line or in a file that --config names.
PERSONAL = ("scheduler",)
#: The name of the file that was read: no output may replace it.
file_read: ContextVar[str | None] = ContextVar("file_read", default=None)
#: Bytes of the largest file that is read.
LARGEST = 2**20
#: What options stand for that are text and never a number.
TEXTS = ("COLUMN", "NAME", "FILE", "MODEL", "PROFILE", "ADDRESS", "LENGTH", "Z", "NAME,NAME,…")


def defaults_for(context: typer.Context, given: Path | None) -> dict[str, Any] | None:
    """The defaults of every command, as click takes them; None where there is no file."""
    content, name = _content(given)
    file_read.set(name or None)
    if not content:
        return None
    if given is None:
        _check_personal(content, name)
    group: Any = context.command
    options = {command: _options(group.commands[command]) for command in COMMANDS}
    found: dict[str, dict[str, Any]] = {command: {} for command in COMMANDS}
    shared = {key: value for key, value in content.items() if key not in COMMANDS}
    for key, value in shared.items():
        having = [command for command in COMMANDS if _plain(key) in options[command]]
        if not having:
            raise typer.BadParameter(
                _unknown(name, key, {*COMMANDS, *(k for own in options.values() for k in own)})
            )
        for command in having:
            option = options[command][_plain(key)]
            found[command][option.name] = _value(option, value, f"{name}: {key}", context)
    for command in COMMANDS:
        own = content.get(command, {})
        if not isinstance(own, Mapping):
            raise typer.BadParameter(f"{name}: {command} is not a table; write [{command}].")
        for key, value in own.items():
            if _plain(key) not in options[command]:
                raise typer.BadParameter(_unknown(name, key, set(options[command])))
            option = options[command][_plain(key)]
            found[command][option.name] = _value(option, value, f"{name}: {key}", context)
    return found


def _content(given: Path | None) -> tuple[dict[str, Any], str]:
    paths = [given] if given is not None else [Path("cospan.toml"), Path("pyproject.toml")]
    for path in paths:
        try:
            content = tomllib.loads(_text_of(path))
        except (OSError, UnicodeDecodeError) as error:
            if given is None and isinstance(error, FileNotFoundError | PermissionError):
                continue
            reason = getattr(error, "strerror", None) or "it is not text"
            raise typer.BadParameter(f"cannot read {path}: {reason}.") from None
        except (ValueError, RecursionError) as error:  # also numbers too long, lists too deep
            if path.name == "pyproject.toml" and given is None:
                continue  # others will say so
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
            raise typer.BadParameter(f"{path} is not TOML: {reason}.") from None
        tools = content.get("tool", {})
        if path.name == "pyproject.toml":
            content = tools.get("cospan", {}) if isinstance(tools, dict) else {}
        if isinstance(content, dict) and (content or given is not None):
            return content, str(path)
    return {}, ""


def _text_of(path: Path) -> str:
    """The text of a regular file of ordinary size: a pipe would be waited for, a device not end."""
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise OSError(None, "it is a folder")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is not a regular file")
    if found.st_size > LARGEST:
        raise OSError(None, f"it has more than {LARGEST:,} bytes")
    return path.read_text(encoding="utf-8")


def _check_personal(content: Mapping[str, Any], name: str) -> None:
    tables = [content, *(content.get(command) for command in COMMANDS)]
    for key in (key for table in tables if isinstance(table, Mapping) for key in table):
        if _plain(key) in PERSONAL:
            raise typer.BadParameter(
                f"{name}: {key} is not taken from a file in the current folder, which may be "
                f"somebody else's; give --{_plain(key)}, or name the file with --config."
            )


def _options(command: Any) -> dict[str, Any]:
    """The options of a command by their names without dashes; not those that are about talking."""
    return {
        _plain(flag.lstrip("-")): option
        for option in command.params
        if option.param_type_name == "option"
        for flag in option.opts
        if flag.startswith("--")
    }


def _plain(key: str) -> str:
    return key.replace("_", "-")


def _value(option: Any, value: Any, where: str, context: typer.Context) -> Any:
    """A value as the command line would have it, checked here so that the file can be named."""
    _check_kind(option, value, where)
    if isinstance(value, bool):
        return value
    texts = [str(one) for one in value] if isinstance(value, list) else [str(value)]
    # Names may stand in one option, conditions in one each.
    found = texts if option.multiple else ",".join(texts)
    try:
        option.process_value(context, found)
    except typer.BadParameter as error:
        reason = error.message.removeprefix("Value error, ")
        raise typer.BadParameter(f"{where} is {_shown(value)}: {reason.rstrip('.')}.") from None
    return found


def _check_kind(option: Any, value: Any, where: str) -> None:
    """Whether a value is of the kind that an option takes."""
    parts = value if isinstance(value, list) else [value]
    wanted = "text, a number, true, false, or a list of these"
    if option.is_flag:
        wanted, right = "true or false", isinstance(value, bool)
    elif any(isinstance(one, bool) for one in parts):
        wanted, right = ("text" if option.metavar in TEXTS else "text or a number"), False
    elif option.metavar in TEXTS:
        listed = " or a list of such" if option.metavar == TEXTS[-1] else ""
        wanted = f"text in quotes{listed}"
        right = all(isinstance(one, str) for one in parts)
    else:
        right = all(isinstance(one, str | int | float) for one in parts)
    if not right:
        raise typer.BadParameter(f"{where} must be {wanted}, not {_shown(value)}.")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float | list):
        return printable(repr(value), 40)
    return "a table" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def _unknown(name: str, key: str, known: set[str]) -> str:
    close = get_close_matches(_plain(key), known, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{name}: {key!r} is not an option.{hint}"
