"""How large a run of a benchmark is, as its command line says: `--size small`, or a number for each field of its size.

Only a full run without other numbers writes to `bench/results`: that is what is committed and compared.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from report import ROOT, Report
from result_table import table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

RESULTS, TRIALS = ROOT / "bench/results", ROOT / "bench/trials"


@dataclass(frozen=True, slots=True)
class Sizes(Generic[T]):
    """The sizes of one benchmark: dataclasses whose fields are numbers, each of which is an option as well."""

    name: str
    description: str | None
    full: T
    small: T

    def parse(self, arguments: Sequence[str] | None) -> Run[T]:
        """What a command line asks for (None: the process's own)."""
        parser = argparse.ArgumentParser(description=self.description)
        parser.add_argument("--size", choices=["full", "small"], default="full")
        parser.add_argument("--results", type=Path, help="the folder of the JSON")
        for each in fields(self.full):
            kind = type(getattr(self.full, each.name))
            parser.add_argument(f"--{each.name.replace('_', '-')}", dest=each.name, type=kind)
        given = vars(parser.parse_args(arguments))
        size_name, folder = given.pop("size"), given.pop("results")
        changed = {name: value for name, value in given.items() if value is not None}
        size = replace(self.full if size_name == "full" else self.small, **changed)
        words = [f"make bench BENCH={self.name}", *(["SIZE=small"] if size_name == "small" else [])]
        if changed:
            flags = [f"--{name.replace('_', '-')}={value}" for name, value in changed.items()]
            words = [f"bench/{self.name}.py --size {size_name}", shlex.join(flags)]
        default = RESULTS if size == self.full else TRIALS
        return Run(self.name, " ".join(words), size, folder or default)


@dataclass(frozen=True, slots=True)
class Run(Generic[T]):
    """One run: how large it is, and where its result goes."""

    name: str
    command: str
    size: T
    folder: Path

    def report(self, setting: dict[str, Any]) -> Report:
        """An empty report; the setting has what is not in the size."""
        sizes = {each.name: getattr(self.size, each.name) for each in fields(self.size)}
        return Report(self.name, self.command, {**setting, **sizes})

    def finish(self, report: Report) -> None:
        """Writes the report and prints it."""
        path = report.write(self.folder)
        print(f"\n{table([path])}\nwritten to {path}")
