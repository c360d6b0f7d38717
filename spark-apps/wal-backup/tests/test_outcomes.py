"""Which outcome a backup has that does not come about: only a parent that is gone or another one ends the chain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparkjob.errors import Denied, Interrupted, Refused
from wal_backup.__main__ import main
from wal_backup.backup import Backup
from wal_backup.chain import ParentUnusable, read_parent
from wal_backup.layout import chain_folder, manifest_name, manifests_folder
from wal_backup.manifest import Manifest, Parent, digest_of_manifest
from wal_backup.store import Folder, Store

CONTRACT = Path(__file__).parents[1] / "contract"
TIME = "2026-11-24T18:29:00Z"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Denied("the store refuses x: INVALID_ACCESS_KEY_ID"), "Interrupted"),
        (Denied("the user of Kafka may not read topic wal_0"), "Interrupted"),
        (Interrupted("the store does not answer"), "Interrupted"),
        (ParentUnusable("the parent x is not there"), "Failed"),
        (Refused("the Kafka cluster is another"), "Refused"),
    ],
)
def test_how_a_backup_ends(error: Exception, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(_: Backup) -> None:
        raise error

    monkeypatch.setattr(Backup, "__init__", lambda *_: None)
    monkeypatch.setattr(Backup, "write", write)
    given: Any = object()
    keys = {"accessKeyIdFile": None, "secretAccessKeyFile": None}
    request = json.loads((CONTRACT / "backup.json").read_bytes())
    request["storage"]["s3"].update(keys)
    (tmp_path / "request.json").write_text(json.dumps(request))
    main(["backup", "--request", str(tmp_path / "request.json"), "--summary", str(tmp_path / "summary")], given)
    summary = json.loads((tmp_path / "summary").read_bytes())
    assert (summary["outcome"], summary["message"]) == (outcome, str(error))


def test_a_parent_that_is_gone_or_another_is_told_apart_from_a_store_that_lets_nobody_in(tmp_path: Path) -> None:
    store = Store(Folder(str(tmp_path)))
    with pytest.raises(ParentUnusable, match="is not there"):
        read_parent(store, "chain", Parent("full.json.gz", "0" * 64))
    store.write("chain/manifests/full.json.gz", b"{}")
    with pytest.raises(ParentUnusable, match="it was changed"):
        read_parent(store, "chain", Parent("full.json.gz", "0" * 64))


def stored_chain(store: Store, cluster_id: str, chain: str) -> str:
    """A full backup of nothing and one that continues it, whose name it is."""
    folder, parent = manifests_folder(chain_folder(cluster_id, chain)), None
    name = ""
    for place, backup in enumerate(("full", "next")):
        content = Manifest(cluster_id, chain, backup, 1, place, "0" * 64, parent, TIME, TIME, (), ()).to_bytes()
        name = manifest_name(backup, 1, place)
        store.write(f"{folder}/{name}", content)
        parent = Parent(name, digest_of_manifest(content))
    return name


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_key_that_is_rotated_in_the_middle_of_a_plan_breaks_no_chain(
    allowed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many manifests are read before: what the store says of the others is no finding, which nobody takes back."""
    request = json.loads((CONTRACT / "plan.json").read_bytes())
    store, read, names = Store(Folder(str(tmp_path))), Store.read, list[str]()
    backup = stored_chain(store, request["clusterId"], request["chain"])

    def read_some(self: Store, path: str) -> bytes:
        names.append(path)
        if len(names) > allowed:
            raise Denied("the store refuses x: INVALID_ACCESS_KEY_ID")
        return read(self, path)

    monkeypatch.setattr(Store, "read", read_some)
    request |= {"storage": {"folder": {"path": str(tmp_path)}}, "backup": backup}
    (tmp_path / "request.json").write_text(json.dumps(request))
    main(["plan", "--request", str(tmp_path / "request.json"), "--summary", str(tmp_path / "summary")])
    summary = json.loads((tmp_path / "summary").read_bytes())
    said: tuple[str, str, list[object]] = ("Refused", "the store refuses x: INVALID_ACCESS_KEY_ID", [])
    assert (summary["outcome"], summary["message"], summary["findings"]) == said
    assert len(names) == allowed + 1


@pytest.mark.parametrize("said", ["AWS Error INVALID_ACCESS_KEY_ID", "AWS Error ACCESS_DENIED: no", "NO_SUCH_BUCKET"])
def test_what_a_store_says_that_lets_nobody_in(said: str, tmp_path: Path) -> None:
    with pytest.raises(Denied, match="the store refuses x: "), Store(Folder(str(tmp_path)))._asking("x"):
        raise OSError(said)
