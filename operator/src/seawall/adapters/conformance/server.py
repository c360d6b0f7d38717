"""A server that is examined: requests as Seawall makes them, and what comes back before anybody believes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import ValidationError

from seawall.adapters.http import Answer, Http, context_for
from seawall.adapters.http_database import changes, wire
from seawall.adapters.http_database.client import DATABASE, headers_for
from seawall.adapters.times import FLUSH_SECONDS
from seawall.domain.dataplane.connection import CONTRACT_ROOT, HTTPConnection

M = TypeVar("M", bound=wire.Message)
_OK = 200
_ERROR, _CONFLICT = 400, 409
_LONGEST = 240
"""An identity has 256 characters at most."""


class Broken(Exception):  # noqa: N818 - a finding
    """What the contract says and the server does not keep, in one sentence."""


class Skipped(Exception):  # noqa: N818 - a finding
    """Why nothing could be examined, in one sentence."""


def require(holds: object, sentence: str) -> None:
    """Finds fault.

    Raises:
        Broken: it does not hold.
    """
    if not holds:
        raise Broken(sentence)


@dataclass
class Server:
    """One server.

    Attributes:
        connection: to it.
        may_write: whether claims, markers, maintenance and flushes may be tried: of a database for tests.
        pause: lets some seconds pass.
    """

    connection: HTTPConnection
    may_write: bool
    pause: Callable[[float], None]
    _http: Http = field(init=False)
    _headers: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._http = Http(DATABASE, tls=context_for(DATABASE, self.connection.url, self.connection.tls))
        self._headers = headers_for(self.connection.user)

    def close(self) -> None:
        """Closes what is kept open."""
        self._http.close()

    def ask(self, method: str, path: str, body: bytes = b"") -> Answer:
        """Any request, and its answer."""
        url = f"{self.connection.url.rstrip('/')}{CONTRACT_ROOT}{path}"
        return self._http.request(method, url, body, self._headers, FLUSH_SECONDS)

    def get(self, path: str, model: type[M]) -> M:
        """An answer that fits the document.

        Raises:
            Broken: it does not.
        """
        return _fitting(f"GET {path or '/'}", self.ask("GET", path), model)

    def send(self, method: str, path: str, body: wire.Message, model: type[M]) -> M:
        """The same with a request body."""
        answer = self.ask(method, path, body.model_dump_json(by_alias=True).encode())
        return _fitting(f"{method} {path}", answer, model)

    def describe(self) -> wire.Description:
        """The description."""
        return self.get("", wire.Description)

    def refuse_change(self, method: str, path: str, body: changes.ChangeRequest) -> None:
        """The request as it would be of another database: it must be an error of status 409.

        Raises:
            Broken: it is another one, or none, or no problem of RFC 9457.
        """
        other = body.model_copy(update={"database": f"{body.database[:_LONGEST]}-other"})
        what, asked = f"{method} {path} that means another database", other.model_dump_json(by_alias=True).encode()
        answer = self._refused(what, self.ask(method, path, asked))
        require(answer.status == _CONFLICT, f"{what} must answer {_CONFLICT}, and answers {answer.status}")

    def refuse(self, method: str, path: str, body: bytes = b"") -> None:
        """A request that must be an error.

        Raises:
            Broken: it is none, or no problem of RFC 9457.
        """
        self._refused(f"{method} {path}", self.ask(method, path, body))

    @staticmethod
    def _refused(what: str, answer: Answer) -> Answer:
        require(answer.status >= _ERROR, f"{what} must be an error here, and answers {answer.status}")
        try:
            problem = wire.Problem.model_validate_json(answer.body)
        except ValidationError as error:
            raise Broken(f"{what} answers {answer.status} without a problem of RFC 9457: {_first(error)}") from error
        require(
            problem.status == answer.status, f"{what}: the problem says {problem.status}, and it is {answer.status}"
        )
        return answer

    def writing(self, *, has: bool, capability: str) -> None:
        """Before anything is tried.

        Raises:
            Skipped: the server does not declare it, or nothing may be written.
        """
        if not has:
            raise Skipped(f"the server declares no {capability}")
        if not self.may_write:
            raise Skipped("it changes the database: with --write, of a database for tests")


def _fitting(what: str, answer: Answer, model: type[M]) -> M:
    require(answer.status == _OK, f"{what} answers {answer.shown()}")
    try:
        return model.model_validate_json(answer.body)
    except ValidationError as error:
        raise Broken(f"{what}: {_first(error)}") from error


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
