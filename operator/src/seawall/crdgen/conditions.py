"""Writes the tables of docs/conditions.md: what a reason means, and what to do, stands at its member and nowhere else.

The page is written by hand but for what is between `<!-- reasons module.Class -->` and `<!-- end -->`: a row for each
member, of its docstring or, where members explain themselves in conditions, too, of their sentence and remedy. Where
docstrings begin with the state ("Stalled. …"), it has a column of its own.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from enum import StrEnum
from itertools import pairwise

from seawall.crdgen.markdown import PageError, markdown
from seawall.domain.text import Explained

CONDITIONS = "docs/conditions.md"
"""Below the repository."""
EXPLAINED = "operator/src/seawall/domain/overview/conditions.md"
"""The same page, which `seawall explain` and the page of `seawall ui` read wherever they are installed."""
BEGIN = re.compile(r"<!-- reasons ([\w.]+) -->\n")
STATES = ("Ready", "Reconciling", "Stalled", "Not ready", "True", "False", "Unknown", "Warning")
"""Of an object, of a condition, of an event."""

_BLOCK = re.compile(rf"({BEGIN.pattern})(?:(?!<!--).)*(?=<!-- end -->)", re.DOTALL)
_ONE = f"(?:{'|'.join(STATES)})"
_STATED = re.compile(rf"({_ONE}(?: or {_ONE})*)\. (.+)")


def with_tables(page: str) -> str:
    """The page with its tables as the code has them.

    Raises:
        PageError: a table has no end, its set is not there, or a member of it has no docstring.
    """
    written, tables = _BLOCK.subn(lambda found: f"{found[1]}\n{table(_find(found[2]))}\n", page)
    if tables != len(BEGIN.findall(page)):
        raise PageError(f"{CONDITIONS}: not each table that begins has an end")
    return written


def table(reasons: type[StrEnum]) -> str:
    """A closed set of reasons in Markdown, with an end of line.

    Raises:
        PageError: naming the members that have no docstring.
    """
    if issubclass(reasons, Explained):
        rows = [(f"`{each.value}`", each.sentence, each.remedy) for each in reasons]
        return markdown(("reason", "what it means", "what to do"), rows)
    texts = docstrings(reasons)
    if missing := [name for name in reasons.__members__ if not texts.get(name)]:
        raise PageError(f"{reasons.__module__}.{reasons.__name__}: no docstring of {', '.join(missing)}")
    stated = {name: split(texts[name]) for name in reasons.__members__}
    rows = [(f"`{reasons[name].value}`", *both) for name, both in stated.items()]
    if any(state for state, _ in stated.values()):
        return markdown(("reason", "state", "what it means and what to do"), rows)
    is_of_api = reasons.__module__.startswith("seawall.api.")
    head = ("value", "what it means") if is_of_api else ("reason", "what it means and what to do")
    return markdown(head, [(value, text) for value, _, text in rows])


def docstrings(reasons: type[StrEnum]) -> dict[str, str]:
    """Member → the text below it, in one line."""
    (definition,) = ast.parse(inspect.getsource(reasons)).body
    texts = {}
    for member, below in pairwise(getattr(definition, "body", ())):
        match member, below:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts


def split(text: str) -> tuple[str, str]:
    """The state, which may be missing, and what else there is."""
    found = _STATED.fullmatch(text)
    return (found[1], found[2]) if found else ("", text)


def _find(path: str) -> type[StrEnum]:
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, StrEnum)):
        raise PageError(f"{CONDITIONS}: {path} is no StrEnum")
    return found
