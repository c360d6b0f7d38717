"""What goes wrong with PostgreSQL, as sentences that stay the same."""

from __future__ import annotations

import errno
import socket
import ssl
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from pg8000.exceptions import DatabaseError, InterfaceError
from scramp import ScramException

from seawall.adapters.times import HTTP_ANSWER_SECONDS
from seawall.adapters.tls import tls_sentence
from seawall.domain.dataplane.connection import NotReached, PartRefused, PartUnavailable, PostgresConnection

_OF = "metadataStore.postgresql"
RIGHTS = "SELECT on the table, EXECUTE on pg_control_system(), and INSERT and UPDATE where Seawall moves the markers"
_MEANINGS = {
    "28P01": (NotReached.AUTHENTICATION_FAILED, f"refused the user name or password: correct the Secret of {_OF}.auth"),
    "28000": (NotReached.AUTHENTICATION_FAILED, f"does not let us in ({{said}}): correct {_OF}, or its pg_hba.conf"),
    "25006": (NotReached.AUTHENTICATION_FAILED, "lets nobody write ({said}): end its default_transaction_read_only"),
    "42501": (NotReached.AUTHENTICATION_FAILED, f"does not let the user do this ({{said}}): it needs {RIGHTS}"),
    "3D000": (NotReached.UNEXPECTED_ANSWER, f"has no database {{database}}: correct {_OF}.database"),
    "3F000": (NotReached.UNEXPECTED_ANSWER, f"has no schema {{schema}}: correct {_OF}.schemaName"),
    "42P01": (
        NotReached.UNEXPECTED_ANSWER,
        "has no table {table} in its database {database}: correct schemaName and tableName",
    ),
}
"""By SQLSTATE."""
_PASSING = ("08", "25P03", "25P04", "40", "53", "55", "57", "58")
"""How a SQLSTATE begins: it starts or stops, has too many connections, somebody holds the table for too long, or we
said nothing for too long."""


_NONSENSE = (LookupError, AttributeError, TypeError, ValueError, OverflowError, struct.error)
"""What the client library raises of bytes that it does not expect. It checks few of them."""


class Late(Exception):  # noqa: N818 - never leaves the adapter
    """There was no whole answer in time."""


class Standby(Exception):  # noqa: N818 - never leaves the adapter
    """It follows another server, and may lag."""


class Sentences:
    """What an error of one server means."""

    def __init__(self, address: tuple[str, int], connection: PostgresConnection) -> None:
        self._where, self._connection = f"PostgreSQL at {address[0]}:{address[1]}", connection

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raises PartUnavailable or PartRefused instead of what the client library and sockets raise."""
        try:
            yield
        except (DatabaseError, InterfaceError, OSError, Late, Standby, ScramException, *_NONSENSE) as error:
            raise self._meaning(error) from error

    def _meaning(self, error: BaseException) -> PartUnavailable | PartRefused:
        """The client library may fail while it closes what the server ended: what came first tells more."""
        chain = [*_chain(error)]
        said = next((each for each in chain if isinstance(each, DatabaseError)), None)
        if said is not None:
            return self._of_state(dict(said.args[0]))
        tls = next((each for each in chain if isinstance(each, ssl.SSLError)), None)
        if tls is not None and not isinstance(tls, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return PartRefused(NotReached.TLS_FAILED, f"{self._where}: {tls_sentence(tls)}")
        if "refuses SSL" in str(error):
            advice = f"turn its ssl on, or remove {_OF}.tls"
            return PartRefused(NotReached.TLS_FAILED, f"{self._where} speaks no TLS: {advice}")
        nonsense = self._nonsense(chain if isinstance(error, InterfaceError) else [error])
        return nonsense or PartUnavailable(NotReached.METADATA_STORE_UNREACHABLE, f"{self._where} {_silence(error)}")

    def _nonsense(self, chain: Sequence[BaseException]) -> PartRefused | None:
        """What the client library cannot make sense of: our words, or the server's."""
        for each in chain:
            match each:
                case ScramException(args=(said, *_)):
                    sentence = f"{self._where} does not let us in ({said}): correct the Secret of {_OF}.auth"
                    return PartRefused(NotReached.AUTHENTICATION_FAILED, sentence)
                case UnicodeError() if not isinstance(each, UnicodeDecodeError):
                    sentence = f"{self._where} is no name of a host: correct {_OF}.hosts"
                    return PartRefused(NotReached.UNEXPECTED_ANSWER, sentence)
                case error if isinstance(error, _NONSENSE):
                    sentence = f"{self._where} does not speak PostgreSQL's protocol: correct {_OF}.hosts"
                    return PartRefused(NotReached.UNEXPECTED_ANSWER, sentence)
        return None

    def _of_state(self, said: dict[str, str]) -> PartUnavailable | PartRefused:
        state, message, connection = said.get("C", ""), said.get("M", ""), self._connection
        if state.startswith(_PASSING):
            sentence = f"{self._where} cannot answer now ({message})"
            return PartUnavailable(NotReached.METADATA_STORE_UNREACHABLE, sentence)
        if state not in _MEANINGS:
            advice = f"is it PostgreSQL 13 or newer, and the table {connection.table_name} GreptimeDB's?"
            sentence = f"{self._where} refused a statement ({message}): {advice}"
            return PartRefused(NotReached.UNEXPECTED_ANSWER, sentence)
        why, meaning = _MEANINGS[state]
        names = {"database": connection.database, "schema": connection.schema, "table": connection.table_name}
        return PartRefused(why, f"{self._where} {meaning.format(said=message, **names)}")


def two_primaries(addresses: Iterable[tuple[str, int]]) -> str:
    """What is wrong when more than one server leads."""
    leaders = ", ".join(f"{host}:{port}" for host, port in addresses)
    return f"two primaries of PostgreSQL answer ({leaders}): fence the old one, or correct {_OF}.hosts"


def _silence(error: BaseException) -> str:
    """What follows the address."""
    match error:
        case Standby():
            return f"is a standby, which may lag: name the primary in {_OF}.hosts"
        case socket.gaierror():
            return f"has no IP address: correct {_OF}.hosts, or the DNS"
        case Late():
            why = f"no whole answer within {HTTP_ANSWER_SECONDS:g} s"
        case TimeoutError():
            why = "no connection in time"
        case ConnectionRefusedError() | OSError(errno=errno.EHOSTUNREACH | errno.ENETUNREACH):
            why = str(error.strerror)
        case _:
            return "closes connections: check that it is PostgreSQL, and that it runs"
    return f"does not answer ({why}): check that it runs and that network policies let Seawall in"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """What was raised before, as far as it is the client library's: the caller may be handling another trouble."""
    while error is not None and not isinstance(error, PartUnavailable | PartRefused):
        yield error
        error = error.__cause__ or error.__context__
