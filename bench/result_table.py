"""One table of results: metric, ours, peer or limit in the same run, ratio, goal, met."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HEAD = ("metric", "ours", "peer or limit in the same run", "ratio", "goal", "met")
NAME = "README.md"
NOTE = (
    "Written by `make bench`; a run of one benchmark renews its lines. Medians, and in brackets the least and the\n"
    "most of several runs in turns (ours, the peer's, ours, …). What is measured how: [bench](../README.md)."
)
RUN_HEAD = ("benchmark", "command", "load1 before", "commit")


def table(paths: Iterable[Path]) -> str:
    """The lines of some results for a terminal, each result below what it is of."""
    parts = []
    for body in _read(paths):
        parts.append(f"{body['command']}  (load1 before: {body['load1']}, commit {body['commit']})")
        parts.append(_aligned([HEAD, *map(_row, body["results"])]))
    return "\n".join(parts)


def write_table(folder: Path) -> Path:
    """Writes the table of all results in a folder, beside them, for GitHub."""
    bodies = _read(sorted(folder.glob("*.json")))
    runs = [(body["name"], f"`{body['command']}`", f"{body['load1']}", body["commit"]) for body in bodies]
    parts = [f"# Results\n\n{NOTE}\n", _markdown([RUN_HEAD, *runs])]
    parts += [f"\n## {body['name']}\n\n{_markdown([HEAD, *map(_row, body['results'])])}" for body in bodies]
    path = folder / NAME
    path.write_text("\n".join(parts) + "\n")
    return path


def _read(paths: Iterable[Path]) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in paths]


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    unit = result["unit"]
    return (
        result["metric"],
        _amount(result["value"], result.get("min"), result.get("max"), unit),
        _other_side(result),
        f"{result['ratio']:.2f}" if result["ratio"] is not None else "",
        result["goal"] or "",
        {True: "yes", False: "NO", None: ""}[result["met"]],
    )


def _other_side(result: dict[str, Any]) -> str:
    if result["against"]:
        least, most = result.get("againstMin"), result.get("againstMax")
        return f"{_amount(result['againstValue'], least, most, result['unit'])} {result['against']}"
    return f"limit {result['goal'].removeprefix('value ≤ ')} {result['unit']}".strip() if result["goal"] else ""


def _amount(value: float, least: float | None, most: float | None, unit: str) -> str:
    is_range = least is not None and most is not None and least < most
    return f"{value:.3g} {f'[{least:.3g} … {most:.3g}] ' if is_range else ''}{unit}".strip()


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body])
