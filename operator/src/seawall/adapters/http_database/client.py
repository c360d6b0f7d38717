"""Asks a database by the contract: the ports DataPlane, MetadataStore and MaintenanceSwitch."""

from __future__ import annotations

from http import HTTPStatus
from typing import TypeVar

from pydantic import ValidationError

from seawall.adapters.http import Answer, Http, Part, basic_header, context_for, url_of
from seawall.adapters.http_database.wire import Message, Problem
from seawall.adapters.times import HTTP_ANSWER_SECONDS
from seawall.domain.dataplane.connection import (
    CONTRACT_ROOT,
    HTTPConnection,
    NotReached,
    PartRefused,
    PartUnavailable,
    User,
    identity_by_contract,
)

M = TypeVar("M", bound=Message)

DATABASE = Part("the database", "dataPlane.http.url", NotReached.DATABASE_UNREACHABLE, "dataPlane.http.tls")
DECLARED = "dataPlane.http.auth"
MAX_BYTES = 20 * 2**20
"""No more of an answer is read: some 100,000 regions. As objects they take ten times that, for as long as it takes to
make columns of them."""
_NO_ENTRY = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_SERVER_ERROR = 500


class Client:
    """Requests and answers as the contract has them; safe to use from many threads."""

    def __init__(self, connection: HTTPConnection, *, max_bytes: int = MAX_BYTES) -> None:
        """Connects to nothing yet.

        Raises:
            PartRefused: a certificate, key or user name makes no sense.
        """
        self._url, self._user, self._max_bytes = connection.url.rstrip("/"), connection.user, max_bytes
        self._database = identity_by_contract(connection.database)
        self._headers = headers_for(connection.user)
        context = context_for(DATABASE, connection.url, connection.tls)
        self._http = Http(DATABASE, tls=context, max_bytes=max_bytes)

    def close(self) -> None:
        """Closes what is kept open."""
        self._http.close()

    def get(self, path: str, model: type[M]) -> M:
        """Asks.

        Raises:
            PartUnavailable: there is no answer, or one that may pass.
            PartRefused: it does not let us in, or what it says makes no sense.
        """
        return self._read(self._request("GET", path, b"", HTTP_ANSWER_SECONDS), model)

    def get_sized(self, path: str, model: type[M]) -> tuple[M, float]:
        """The same, and how much of the longest answer that is read this one took, from 0 to 1."""
        answer = self._request("GET", path, b"", HTTP_ANSWER_SECONDS)
        return self._read(answer, model), len(answer.body) / self._max_bytes

    @property
    def meant(self) -> str:
        """The identity of the database that a change is asked of.

        Raises:
            PartRefused: it is not known: whoever answers here would change something.
        """
        if self._database is None:
            message = f"which database is meant at {url_of(self._url)} is not known yet: nothing in it is changed"
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, message)
        return self._database

    def may_mean(self, database: str) -> bool:
        """Whether it is the database that is meant, as far as that is known."""
        return self._database in {None, database}

    def send(self, method: str, path: str, body: Message, model: type[M], seconds: float = HTTP_ANSWER_SECONDS) -> M:
        """Asks for a change; raises as `get` does. Without an answer, nobody knows whether it happened."""
        return self._read(self._request(method, path, body.model_dump_json(by_alias=True).encode(), seconds), model)

    def _request(self, method: str, path: str, body: bytes, seconds: float) -> Answer:
        answer = self._http.request(method, f"{self._url}{CONTRACT_ROOT}{path}", body, self._headers, seconds)
        if answer.status in _NO_ENTRY:
            raise PartRefused(NotReached.AUTHENTICATION_FAILED, self._no_entry(answer))
        if not answer.is_ok:
            raise _unexpected(answer)
        return answer

    def _read(self, answer: Answer, model: type[M]) -> M:
        try:
            return model.model_validate_json(answer.body)
        except (ValidationError, RecursionError) as error:
            message = (
                f"the database's answer makes no sense ({_first_finding(error)}): is it version 1 of the contract?"
            )
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, message) from error

    def _no_entry(self, answer: Answer) -> str:
        """Without its own words, which may name the user."""
        said = f"the database at {url_of(self._url)} answers {answer.status}"
        if self._user is None:
            return f"{said}: it wants a user name and password, set {DECLARED}"
        if answer.status == HTTPStatus.FORBIDDEN:
            return f"{said}: the user may not do this"
        return f"{said}: it refused the user name or password, correct the Secret of {DECLARED}"


def headers_for(user: User | None) -> dict[str, str]:
    """Those of each request. No proxy may answer by what it has kept: old metadata beside new reports delete too much.

    Raises:
        PartRefused: the user's name has a colon, at which it would end.
    """
    kind = "application/json"
    return {
        "Accept": kind,
        "Content-Type": kind,
        "Cache-Control": "no-cache",
        **basic_header(user, DATABASE.name, DECLARED),
    }


def _first_finding(error: Exception) -> str:
    """A sentence that does not quote the answer, which may be large and change."""
    if not isinstance(error, ValidationError):
        return type(error).__name__
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _unexpected(answer: Answer) -> PartRefused | PartUnavailable:
    """Problem details, if they are any; else the start of what was said."""
    try:
        problem = Problem.model_validate_json(answer.body)
        said = f"{answer.status} {problem.detail or problem.title}"
    except (ValidationError, RecursionError):
        said = answer.shown()
    if answer.status >= _SERVER_ERROR:
        return PartUnavailable(DATABASE.silent, f"{DATABASE.name} answers {said}")
    return PartRefused(NotReached.UNEXPECTED_ANSWER, f"{DATABASE.name} answers {said}: correct {DATABASE.declared}")
