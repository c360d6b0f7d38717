"""Code speaks of the database: GreptimeDB is named by its adapters, by the API, and by the files that are listed here.

Identifiers and imports count. Sentences may name it: fields of the API are users' words, and facts have a source.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.kernel.test_words import SOURCE, names_in

NAME = "greptime"
ITS_OWN = ("adapters/greptimedb/", "api/")
"""Folders: what speaks to it, and the fields that users type."""
OF_THE_KIND = "the kind GreptimeDBCluster of greptimedb-operator is read, or what was read of it is judged"
MAY_NAME = {
    "adapters/data_planes.py": "chooses between its adapter and that of the contract",
    "adapters/kube/greptimedb_cluster.py": OF_THE_KIND,
    "adapters/kube/objects.py": OF_THE_KIND,
    "ports/kube.py": OF_THE_KIND,
    "observe/declared_database.py": OF_THE_KIND,
    "domain/dataplane/declared.py": "has the fields of the spec",
    "domain/dataplane/greptimedb_cluster.py": OF_THE_KIND,
    "domain/dataplane/pasted.py": OF_THE_KIND,
    "domain/cluster/gate.py": OF_THE_KIND,
    "domain/cluster/observed.py": OF_THE_KIND,
    "domain/cluster/settings.py": "compares the [wal] that runs with the one that is declared, which only it has",
    "domain/walconfig/render.py": "renders its [wal]",
    "observe/connections.py": "makes plain values of the spec",
}
"""By file, why."""


def names_it(text: str) -> set[str]:
    """The identifiers and modules of a text that have the name."""
    if NAME not in text.lower():
        return set()
    return {name for node in ast.walk(ast.parse(text)) for name in names_in(node) if NAME in name.lower()}


def found_in(root: Path) -> dict[str, set[str]]:
    """By file what it names, outside of its own folders."""
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
    read = {name: names_it(path.read_text()) for name, path in files.items() if not name.startswith(ITS_OWN)}
    return {name: found for name, found in read.items() if found}


def test_only_these_files_name_a_database() -> None:
    found = found_in(SOURCE)
    assert {name: names for name, names in found.items() if name not in MAY_NAME} == {}
    assert MAY_NAME.keys() - found.keys() == set(), "they do not need it any more: take them out of the list"


def test_a_name_is_found_wherever_it_is() -> None:
    text = "from a.greptimedb import b\nclass GreptimeTLS: ...\nx = spec.greptimedb(greptime=1)\n"
    assert names_it(text) == {"greptimedb", "GreptimeTLS", "greptime"}
    assert not names_it('"""GreptimeDB: dataPlane.greptimedb."""\nx = "greptimedb"\n')
