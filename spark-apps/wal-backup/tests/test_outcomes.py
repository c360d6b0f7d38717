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
from wal_backup.manifest import Parent
from wal_backup.store import Folder, Store

CONTRACT = Path(__file__).parents[1] / "contract"


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


@pytest.mark.parametrize("said", ["AWS Error INVALID_ACCESS_KEY_ID", "AWS Error ACCESS_DENIED: no", "NO_SUCH_BUCKET"])
def test_what_a_store_says_that_lets_nobody_in(said: str, tmp_path: Path) -> None:
    with pytest.raises(Denied, match="the store refuses x: "), Store(Folder(str(tmp_path)))._asking("x"):
        raise OSError(said)
