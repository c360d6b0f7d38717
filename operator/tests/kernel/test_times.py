"""Every wait and deadline has a name and a reason in one of two files, so that they can be read side by side."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "seawall"
TABLES = ("domain/times.py", "adapters/times.py")
OF_THE_API = "api/"
"""Defaults and bounds of fields are the API's."""
UNIT = re.compile(r"(_SECONDS|_MS|_MINUTES)$")


def times_in(text: str) -> set[str]:
    """The public constants of a module that are a time: a timedelta, or a number with a unit in its name."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        targets, value = ([node.target], node.value) if isinstance(node, ast.AnnAssign) else ([], None)
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value  # type: ignore[assignment]
        is_delta = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "timedelta"
        flat = [each for target in targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
        for target in flat:
            if isinstance(target, ast.Name) and not target.id.startswith("_") and (is_delta or UNIT.search(target.id)):
                found.add(target.id)
    return found


def test_times_stand_in_the_two_tables_only() -> None:
    files = {str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")}
    found = {f"{path}: {name}" for path, text in files.items() for name in times_in(text)}
    assert not {each for each in found if not each.startswith((*TABLES, OF_THE_API))}
    assert len({each for each in found if each.startswith(TABLES)}) > 80, "they are here"


def test_each_says_what_it_is_for() -> None:
    for table in TABLES:
        body = ast.parse((SOURCE / table).read_text()).body
        for node, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.Assign):
                said = after.value if isinstance(after, ast.Expr) else None
                assert isinstance(said, ast.Constant), f"{ast.unparse(node)} has no reason"


def test_a_time_elsewhere_is_found() -> None:
    text = "A = timedelta(1)\nB_SECONDS: float = 2\nE, F_MS = 1, 2\n_C = timedelta(1)\nD = 3\n"
    assert times_in(text) == {"A", "B_SECONDS", "F_MS"}
