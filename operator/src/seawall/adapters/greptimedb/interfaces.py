"""GreptimeDB's HTTP interfaces and their small answers: the ports DataPlane and MaintenanceSwitch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from seawall.adapters.greptimedb.authorization import basic, require_entry, require_entry_as
from seawall.adapters.greptimedb.datanode_settings import DatanodeConfigs
from seawall.adapters.greptimedb.heartbeats import read_heartbeats
from seawall.adapters.greptimedb.settings import read_settings
from seawall.adapters.http import MAX_BYTES, Answer, Http, Part, context_for
from seawall.adapters.times import FLUSH_SECONDS, HTTP_ANSWER_SECONDS
from seawall.domain.dataplane.connection import SYSTEM_TRUST, ClientTLS, NotReached, PartRefused, PartUnavailable, User
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.identity import Node, NodeRole
from seawall.domain.dataplane.reports import DatanodeReport, newest_reports
from seawall.domain.dataplane.wal_settings import DatanodeSettings, WALSettings
from seawall.progress import in_this_tick

_TRANSIENT = frozenset({1000, 1002, 1003, *range(1005, 1010), *range(4007, 4011), 5000, 5001, 6000, 6001})
"""Codes of failures that may pass: a datanode is away or suspended (1009), the region is opening, busy or moving,
storage is slow (`src/common/error/src/status_code.rs`)."""


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Enabled(_Answer):
    enabled: bool


class _SQL(_Answer):
    """An answer to a statement: a code and a sentence if it failed."""

    code: int = 0
    error: str = ""
    output: list[Any] | None = None


class _Schema(_Answer):
    """The columns of a result, in their order."""

    column_schemas: list[dict[str, Any]]


class _Records(_Answer):
    """The rows of a result."""

    schema_: _Schema = Field(alias="schema")
    rows: list[list[Any]]


class _Output(_Answer):
    """One result."""

    records: _Records


_ENABLED, _SQL_ANSWER, _OUTPUT = TypeAdapter(_Enabled), TypeAdapter(_SQL), TypeAdapter(_Output)

NODES = "SELECT peer_id, peer_type, peer_addr, version FROM information_schema.cluster_info"
_ROLES = {role.value: role for role in NodeRole if role is not NodeRole.OTHER}


def read_switch(body: bytes) -> bool:
    """Whether a switch is on.

    Raises:
        ValueError: this is no such answer.
    """
    return _ENABLED.validate_json(body).enabled


def read_sql(body: bytes) -> FlushFailure | None:
    """What became of a statement.

    Raises:
        ValueError: this is no answer to a statement.
    """
    answer = _SQL_ANSWER.validate_json(body)
    if answer.code:
        return FlushFailure(f"{answer.code}: {answer.error}", final=answer.code not in _TRANSIENT)
    if answer.output is None:
        raise ValueError("neither output nor code")
    return None


def read_nodes(body: bytes) -> list[Node]:
    """The rows of NODES.

    Raises:
        ValueError: this is no such answer.
    """
    answer = _SQL_ANSWER.validate_json(body)
    if answer.code or not answer.output:
        raise ValueError(f"information_schema.cluster_info cannot be read ({answer.code}: {answer.error})")
    records = _OUTPUT.validate_python(answer.output[0]).records
    names = [str(column.get("name")) for column in records.schema_.column_schemas]
    return [_node(dict(zip(names, row, strict=True))) for row in records.rows]


def _node(row: Mapping[str, Any]) -> Node:
    """A role that this version does not know is no datanode; an address or a version may be null."""
    number = row.get("peer_id")
    if not isinstance(number, int):
        raise ValueError("peer_id is no number")  # noqa: TRY004 - as all that makes no sense
    role = _ROLES.get(str(row.get("peer_type")).upper(), NodeRole.OTHER)
    return Node(role, number, str(row.get("peer_addr") or ""), str(row.get("version") or ""))


_TLS = "dataPlane.greptimedb.tls"
METASRV = Part("the metasrv", "dataPlane.greptimedb.metasrv", NotReached.METASRV_UNREACHABLE, _TLS)
FRONTEND = Part("the frontend", "dataPlane.greptimedb.frontend", NotReached.FRONTEND_UNREACHABLE, _TLS)
SWITCH = Part("the metasrv", "its address", NotReached.METASRV_UNREACHABLE, _TLS)
"""Its address may be one of before: it is not the spec that is to be corrected."""
FLUSHES = 10
"""Flushes that are asked for at once."""

_SERVER_ERROR = 500
T = TypeVar("T")


class GreptimeDB:
    """One GreptimeDB cluster, by the URLs of its metasrv and its frontend.

    Any metasrv of several may answer: those that do not lead ask their leader.
    """

    def __init__(
        self,
        metasrv: str,
        frontend: str,
        tls: ClientTLS = SYSTEM_TRUST,
        user: User | None = None,
        *,
        flush_seconds: float = FLUSH_SECONDS,
        datanode_http_port: int = 4000,
    ) -> None:
        """Connects to nothing yet; the user is the frontend's, and the metasrv never hears of it.

        Raises:
            PartRefused: a certificate, key or user name makes no sense.
        """
        self._admin, self._frontend = _Metasrv(METASRV, metasrv, tls), frontend.rstrip("/")
        self._sql = Http(FRONTEND, tls=context_for(FRONTEND, frontend, tls), connections=FLUSHES)
        self._user, self._headers = user, {"Content-Type": "application/x-www-form-urlencoded", **basic(user)}
        self._flush_seconds = flush_seconds
        self._datanodes = DatanodeConfigs(datanode_http_port)

    def close(self) -> None:
        """Closes what is kept open."""
        self._admin.close()
        self._sql.close()
        self._datanodes.close()

    def reports(self) -> Sequence[DatanodeReport]:
        """The newest report of every datanode: the metasrv keeps the last few of each, the newest last."""
        answer = self._admin.get("/admin/heartbeat")
        used = len(answer.body) / MAX_BYTES
        found = _read(METASRV, answer, read_heartbeats)
        return newest_reports(replace(report, answer_used=used) for report in found)

    def nodes(self) -> Sequence[Node]:
        """Asks by SQL."""
        return _read(FRONTEND, self._execute(NODES, HTTP_ANSWER_SECONDS), read_nodes)

    def wal_settings(self) -> WALSettings:
        """Asks the metasrv for its options; they are its own, and it does not ask its leader for them."""
        return _read(METASRV, self._admin.get("/config"), read_settings)

    def datanode_settings(self, reports: Sequence[DatanodeReport]) -> Mapping[int, DatanodeSettings]:
        """Asks each datanode at the host that it reports."""
        return self._datanodes.of(reports)

    def flush_regions(self, region_ids: Sequence[int]) -> Mapping[int, FlushFailure]:
        """Asks for flushes by SQL, a few at a time."""
        with ThreadPoolExecutor(FLUSHES, thread_name_prefix="flush") as pool:
            failures = zip(region_ids, pool.map(in_this_tick(self._flush), region_ids), strict=True)
            return {region: failure for region, failure in failures if failure is not None}

    def _flush(self, region_id: int) -> FlushFailure | None:
        answer = self._execute(f"ADMIN flush_region({int(region_id)})", self._flush_seconds)
        try:
            return read_sql(answer.body)
        except ValueError as error:
            raise _unexpected(FRONTEND, answer) from error

    def _execute(self, statement: str, seconds: float) -> Answer:
        form = urlencode({"sql": statement}).encode()
        answer = self._sql.post(f"{self._frontend}/v1/sql", body=form, headers=self._headers, seconds=seconds)
        require_entry_as(self._user, answer, FRONTEND, self._frontend)
        return answer


class GreptimeMaintenance:
    """The switch of a GreptimeDB cluster, by the URL of its metasrv."""

    def __init__(self, metasrv: str, tls: ClientTLS = SYSTEM_TRUST) -> None:
        """Connects to nothing yet.

        Raises:
            PartRefused: a certificate or key makes no sense.
        """
        self._admin = _Metasrv(SWITCH, metasrv, tls, connections=1)

    def close(self) -> None:
        """Closes what is kept open."""
        self._admin.close()

    def set_maintenance(self, *, enabled: bool) -> None:
        """Turns it on or off, and believes only the answer."""
        switch = "enable" if enabled else "disable"
        answer = self._admin.post(f"/admin/maintenance/{switch}")
        if _read(SWITCH, answer, read_switch) is not enabled:
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, f"the metasrv did not {switch} maintenance")

    def in_maintenance(self) -> bool:
        """Asks for the switch."""
        return _read(SWITCH, self._admin.get("/admin/maintenance/status"), read_switch)


class _Metasrv:
    """A metasrv's HTTP port, which knows no users."""

    def __init__(self, part: Part, url: str, tls: ClientTLS, *, connections: int = 4) -> None:
        self._part, self._url = part, url.rstrip("/")
        self._http = Http(part, tls=context_for(part, url, tls), connections=connections)

    def get(self, path: str) -> Answer:
        return self._let_in(self._http.get(self._url + path))

    def post(self, path: str) -> Answer:
        return self._let_in(self._http.post(self._url + path))

    def close(self) -> None:
        self._http.close()

    def _let_in(self, answer: Answer) -> Answer:
        require_entry(answer, self._part, self._url)
        return answer


def _read(part: Part, answer: Answer, read: Callable[[bytes], T]) -> T:
    """The answer as what it should be."""
    if not answer.is_ok:
        raise _unexpected(part, answer)
    try:
        return read(answer.body)
    except (ValueError, OverflowError, RecursionError) as error:
        message = f"{part.name}'s answer makes no sense ({_first_finding(error)}): is it GreptimeDB 0.16 or newer?"
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, message) from error


def _first_finding(error: Exception) -> str:
    """A sentence that does not quote the answer, which may be large and change."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _unexpected(part: Part, answer: Answer) -> PartRefused | PartUnavailable:
    if answer.status >= _SERVER_ERROR:
        return PartUnavailable(part.silent, f"{part.name} answers {answer.shown()}")
    message = f"{part.name} answers {answer.shown()}: correct {part.declared}"
    return PartRefused(NotReached.UNEXPECTED_ANSWER, message)
