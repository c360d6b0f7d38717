"""Asks datanodes what they run with: each process once, as it does not change before it starts anew.

A datanode serves its options at `/config` of its HTTP port, without users and without TLS (GreptimeDB 0.16 to 1.2,
`src/datanode/src/service.rs`). The port is no part of any metadata: a datanode reports the address of its gRPC only.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from seawall.adapters.greptimedb.settings import read_datanode_settings
from seawall.adapters.http import Http, Part
from seawall.adapters.times import DATANODE_ANSWER_SECONDS, DATANODE_SILENT_SECONDS
from seawall.domain.dataplane.connection import NotReached, PartRefused, PartUnavailable
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.wal_settings import DatanodeSettings
from seawall.progress import in_this_tick

DATANODE = Part("a datanode", "dataPlane.greptimedb.datanodeHttpPort", NotReached.UNEXPECTED_ANSWER, "no TLS")
AT_ONCE = 16
"""Datanodes that are asked at the same time."""
AT_MOST = 2 * AT_ONCE
"""Datanodes that are asked in one call, so that it takes two deadlines however many are silent."""
MAX_BYTES = 2**20
"""Of an answer: all options of a datanode are some kB, and many are read at once."""

_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]", re.ASCII)
_Process = tuple[int, str, int]
"""A datanode's id, its address, and its epoch: another process has another epoch."""


class DatanodeConfigs:
    """What the datanodes of one database run with; safe to use from many threads."""

    def __init__(self, port: int, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._port, self._seconds = port, seconds
        self._http = Http(DATANODE, connections=AT_ONCE, max_bytes=MAX_BYTES)
        self._lock = threading.Lock()
        self._known: dict[_Process, DatanodeSettings] = {}
        self._silent: dict[_Process, float] = {}
        """Until when each is not asked again."""

    def close(self) -> None:
        """Closes what is kept open."""
        self._http.close()

    def of(self, reports: Sequence[DatanodeReport]) -> Mapping[int, DatanodeSettings]:
        """Asks those that are not known yet, a bounded number of them; by id what is known then."""
        processes = {(report.datanode_id, report.address, report.node_epoch) for report in reports}
        with self._lock:
            now = self._seconds()
            self._known = {each: found for each, found in self._known.items() if each in processes}
            self._silent = {each: until for each, until in self._silent.items() if each in processes}
            due = processes - self._known.keys() - {each for each, until in self._silent.items() if until > now}
            asked = sorted(due, key=lambda each: (self._silent.get(each, 0.0), each))[:AT_MOST]
        if asked:
            self._ask(asked)
        with self._lock:
            return {process[0]: found for process, found in self._known.items() if process in processes}

    def _ask(self, asked: Sequence[_Process]) -> None:
        with ThreadPoolExecutor(min(AT_ONCE, len(asked)), thread_name_prefix="datanode-config") as pool:
            answers = list(zip(asked, pool.map(in_this_tick(self._answer), asked), strict=True))
        with self._lock:
            again = self._seconds() + DATANODE_SILENT_SECONDS
            for process, found in answers:
                if found is None:
                    self._silent[process] = again
                else:
                    self._known[process] = found

    def _answer(self, process: _Process) -> DatanodeSettings | None:
        """None: it does not say. Why is of no use: nothing depends on it, and its port may be closed on purpose."""
        host = process[1].rpartition(":")[0]
        if _HOST.fullmatch(host) is None:
            return None
        try:
            answer = self._http.get(f"http://{host}:{self._port}/config", seconds=DATANODE_ANSWER_SECONDS)
            return read_datanode_settings(answer.body) if answer.is_ok else None
        except (PartUnavailable, PartRefused, ValueError, RecursionError):
            return None
