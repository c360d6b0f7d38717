"""The small answers of GreptimeDB's HTTP interfaces: switches, and what became of a statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from seawall.domain.dataplane.connection import NotReached, PartRefused
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.identity import Node, NodeRole

_TRANSIENT = frozenset({1000, 1002, 1003, 1005, 1006, 1007, 1008, 4007, 4008, 4009, 4010, 5000, 5001, 6000, 6001})
"""Codes of failures that may pass: a datanode is away, the region is opening, busy or moving, storage is slow."""
_AUTH = range(7000, 8000)


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
        PartRefused: the frontend wants a user, or another one.
        ValueError: this is no answer to a statement.
    """
    answer = _sql(body)
    if answer.code:
        return FlushFailure(f"{answer.code}: {answer.error}", final=answer.code not in _TRANSIENT)
    if answer.output is None:
        raise ValueError("neither output nor code")
    return None


def read_nodes(body: bytes) -> list[Node]:
    """The rows of NODES.

    Raises:
        PartRefused: the frontend wants a user, or another one.
        ValueError: this is no such answer.
    """
    answer = _sql(body)
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


def _sql(body: bytes) -> _SQL:
    answer = _SQL_ANSWER.validate_json(body)
    if answer.code in _AUTH:
        message = f"the frontend wants a user name and password ({answer.code}: {answer.error}), which Seawall has not"
        raise PartRefused(NotReached.AUTHENTICATION_FAILED, message)
    return answer
