"""Lists of objects of one kind, as `kubectl get` has them: `-A`, `-o`, `--watch`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from seawall.api.meta import GROUP, VERSION, Kind
from seawall.cli.connection import add_connection
from seawall.cli.output import FORMATS, Columns, add_output, as_data, changes, table
from seawall.domain.errors import Refused

Get = Callable[[str], Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class ObjectList:
    """How the objects of a kind are listed.

    Attributes:
        row: the fields of a line, of an object as the API server has it.
        columns: heading → field.
        wide: those that `-o wide` has beside them.
        order: by what lines are sorted.
    """

    kind: Kind
    row: Callable[[Mapping[str, Any]], dict[str, Any]]
    columns: Columns
    wide: Columns
    order: Callable[[Mapping[str, Any]], Any]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The flags of a list."""
        add_connection(parser)
        add_all_namespaces(parser)
        add_output(parser, FORMATS)

    def show(self, arguments: argparse.Namespace, get: Get, pause: Callable[[], None]) -> Iterator[str]:
        """What is printed.

        Raises:
            Refused: the person may not list them, or what was typed does not go together.
            OutsideUnavailable: the API server did not answer.
        """
        columns = {**self.columns, **(self.wide if arguments.output == "wide" else {})}
        if arguments.all_namespaces:
            columns = {"NAMESPACE": "namespace", **columns}

        def lines() -> list[dict[str, Any]]:
            return self._lines(self._read(arguments, get))

        if arguments.watch:
            if arguments.output not in {"text", "table", "wide"}:
                raise Refused("--watch prints a table: -o table, or -o wide")
            yield from changes(lines, columns, pause)
        elif arguments.output in {"json", "yaml"}:
            found = self._read(arguments, get)
            yield as_data({"apiVersion": "v1", "kind": "List", "items": found}, arguments.output)
        else:
            found = lines()
            if arguments.output == "name":
                yield "\n".join(f"{self.kind.kind.lower()}.{GROUP}/{line['name']}" for line in found)
            else:
                yield table(found, columns) if found else f"There are no {self.kind.kind}s."

    def _read(self, arguments: argparse.Namespace, get: Get) -> list[dict[str, Any]]:
        where = "" if arguments.all_namespaces else f"/namespaces/{arguments.namespace}"
        found = get(f"/apis/{GROUP}/{VERSION}{where}/{self.kind.plural}")
        if found is None:
            raise Refused(f"the API server knows no {self.kind.plural}: are Seawall's CRDs there?")
        return list(found.get("items", ()))

    def _lines(self, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        lines = [{"namespace": each["metadata"].get("namespace"), **self.row(each)} for each in found]
        return sorted(lines, key=lambda line: (line["namespace"] or "", self.order(line)))


def add_all_namespaces(parser: argparse.ArgumentParser) -> None:
    """The flags of whatever goes beyond one object."""
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces")
    parser.add_argument("-w", "--watch", action="store_true", help="go on, and print what changes")
