"""A datanode id belongs to one home folder, and a home folder to one process.

The folder's lock (flock) is the kernel's: it ends with the process, however that dies, so a restart never waits. The id
is claimed in etcd by compare-and-create and never expires: that a datanode is silent does not prove that it is dead.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

from refdb.errors import DatabaseError, StatusCode
from refdb.meta import keys
from refdb.meta.store import Store
from refdb.meta.values import Peer, dumps, node_address_value


class Home:
    """A locked home folder; the lock is held as long as this object lives."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatabaseError(StatusCode.INTERNAL, f"another datanode runs in {folder}") from None
        name = folder / "id"
        if not name.exists():
            aside = folder / "id.aside"
            aside.write_text(uuid.uuid4().hex)
            aside.replace(name)
        self.id = name.read_text()


def claim_node_id(etcd: Store, peer: Peer, home: Home) -> int:
    """Takes the id, or refuses; returns the epoch. Also says where the node listens.

    It is the time of the start in milliseconds, as GreptimeDB's (src/datanode/src/heartbeat.rs), and rises with every
    start: also after etcd was restored from an older copy, and while a clock goes back.
    """
    held = etcd.get(keys.datanode_claim(peer.id))
    before: dict[str, Any] = json.loads(held.value) if held.exists else {"home": home.id, "epoch": 0}
    epoch = max(int(before["epoch"]) + 1, time.time_ns() // 1_000_000)
    mine = {held.key: dumps({"home": home.id, "epoch": epoch}), keys.node_address(peer.id): node_address_value(peer)}
    if before["home"] != home.id or not etcd.txn([held], mine):
        raise DatabaseError(
            StatusCode.INTERNAL,
            f"datanode id {peer.id} belongs to another home: "
            f"give this one an id of its own, or delete {held.key} in etcd",
        )
    return epoch
