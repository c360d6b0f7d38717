"""A snapshot of the reference database while it runs, and its return: its metadata first, then its files.

As GreptimeDB's own `metadata snapshot` does, it copies the keys of the store, not the store. Of files it copies
manifests before data, because no data is ever removed, and a manifest names only what is there.

As a program, `database_snapshot.py save|restore <etcd> <storage> <snapshot>`, it needs nothing but Python.
"""

from __future__ import annotations

import json
import shutil
import sys
import urllib.request
from pathlib import Path
from typing import Any

ALL = {"key": "AA==", "range_end": "AA=="}
"""Every key, as etcd's gateway reads it (base64)."""


def save(etcd: str, storage: Path, snapshot: Path) -> str:
    """Copies all there is."""
    keys = ask(etcd, "range", ALL)["kvs"]
    snapshot.mkdir()
    (snapshot / "keys.json").write_text(json.dumps(keys))
    files = [*storage.rglob("manifest/*.json"), *storage.rglob("data/*.parquet")]
    copied = sum(copy(path, snapshot / "files" / path.relative_to(storage)) for path in files)
    return f"{len(keys)} keys, {copied} files"


def restore(etcd: str, storage: Path, snapshot: Path) -> str:
    """Puts it in the place of what is there; nobody may run meanwhile."""
    keys = json.loads((snapshot / "keys.json").read_text())
    ask(etcd, "deleterange", ALL)
    for each in keys:
        ask(etcd, "put", {"key": each["key"], "value": each.get("value", "")})
    for path in storage.iterdir():
        shutil.rmtree(path)
    for path in (snapshot / "files").iterdir():  # the folder itself is the volume's
        shutil.copytree(path, storage / path.name)
    return f"{len(keys)} keys"


def copy(path: Path, to: Path) -> bool:
    """Whether it was there: of many manifests old ones go."""
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(path, to)
    except FileNotFoundError:
        return False
    return True


def ask(etcd: str, what: str, body: dict[str, Any]) -> dict[str, Any]:
    """One request to etcd's gateway."""
    url, data = f"{etcd}/v3/kv/{what}", json.dumps(body).encode()
    with urllib.request.urlopen(url, data, 30) as answer:  # noqa: S310 - the test's own etcd
        found: dict[str, Any] = json.load(answer)
    return found


if __name__ == "__main__":
    verb, server, *folders = sys.argv[1:]
    print({"save": save, "restore": restore}[verb](server, *map(Path, folders)))
