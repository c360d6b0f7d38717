"""What goes wrong with a server of SQL, as sentences that stay the same; PostgreSQL and MySQL add their own codes."""

from __future__ import annotations

import errno
import socket
import ssl
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from seawall.adapters.times import HTTP_ANSWER_SECONDS
from seawall.adapters.tls import tls_sentence
from seawall.domain.dataplane.connection import NotReached, PartRefused, PartUnavailable

NONSENSE = (LookupError, AttributeError, NameError, TypeError, ValueError, OverflowError, AssertionError, struct.error)
"""What client libraries raise of bytes that they do not expect. They check few of them: PyMySQL reads a greeting that
ends early on as if it did not, and misses what it would have assigned."""


class Late(Exception):  # noqa: N818 - never leaves the adapter
    """There was no whole answer in time."""


class Standby(Exception):  # noqa: N818 - never leaves the adapter
    """It follows another server, and may lag."""


@dataclass(frozen=True, slots=True)
class Product:
    """A kind of server, in sentences.

    Attributes:
        name: its own.
        declared: the field of the spec.
        standby: what it calls a server that follows.
        errors: what its client library raises.
    """

    name: str
    declared: str
    standby: str
    errors: tuple[type[Exception], ...]

    def two_primaries(self, addresses: Iterable[tuple[str, int]]) -> str:
        """What is wrong when more than one server leads."""
        leaders = ", ".join(f"{host}:{port}" for host, port in addresses)
        advice = f"fence the old one, or correct {self.declared}.hosts"
        return f"two primaries of {self.name} answer ({leaders}): {advice}"


class Sentences(ABC):
    """What an error of one server means."""

    def __init__(self, product: Product, address: tuple[str, int]) -> None:
        self._product, self._where = product, f"{product.name} at {address[0]}:{address[1]}"
        self._of = product.declared
        self._raised: tuple[type[Exception], ...] = (*product.errors, OSError, Late, Standby, *NONSENSE)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raises PartUnavailable or PartRefused instead of what the client library and sockets raise."""
        try:
            yield
        except self._raised as error:
            raise self._meaning(error) from error

    def _meaning(self, error: BaseException) -> PartUnavailable | PartRefused:
        """The client library may fail while it closes what the server ended: what came first tells more."""
        chain = [*_chain(error)]
        said = self._of_answer(chain)
        if said is not None:
            return said
        tls = next((each for each in chain if isinstance(each, ssl.SSLError)), None)
        if tls is not None and not isinstance(tls, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return PartRefused(NotReached.TLS_FAILED, f"{self._where}: {tls_sentence(tls)}")
        return self._of_nonsense(chain) or self._silent(chain)

    @abstractmethod
    def _of_answer(self, chain: Sequence[BaseException]) -> PartUnavailable | PartRefused | None:
        """What the server itself said, by its code."""

    @abstractmethod
    def _of_nonsense(self, chain: Sequence[BaseException]) -> PartRefused | None:
        """What the client library cannot make sense of: our words, or the server's."""

    def _other_protocol(self, chain: Sequence[BaseException]) -> PartRefused | None:
        for each in chain:
            if isinstance(each, UnicodeError) and not isinstance(each, UnicodeDecodeError):
                sentence = f"{self._where} is no name of a host: correct {self._of}.hosts"
                return PartRefused(NotReached.UNEXPECTED_ANSWER, sentence)
            if isinstance(each, NONSENSE):
                sentence = f"{self._where} does not speak {self._product.name}'s protocol: correct {self._of}.hosts"
                return PartRefused(NotReached.UNEXPECTED_ANSWER, sentence)
        return None

    def _passing(self, message: str) -> PartUnavailable:
        sentence = f"{self._where} cannot answer now ({message})"
        return PartUnavailable(NotReached.METADATA_STORE_UNREACHABLE, sentence)

    def _silent(self, chain: Sequence[BaseException]) -> PartUnavailable:
        said = next((sentence for each in chain if (sentence := self._silence(each))), None)
        said = said or f"closes connections: check that it is {self._product.name}, and that it runs"
        return PartUnavailable(NotReached.METADATA_STORE_UNREACHABLE, f"{self._where} {said}")

    def _silence(self, error: BaseException) -> str | None:
        """What follows the address; None where the error does not tell."""
        match error:
            case Standby():
                product = self._product
                return f"is a {product.standby}, which may lag: name the primary in {product.declared}.hosts"
            case socket.gaierror():
                return f"has no IP address: correct {self._of}.hosts, or the DNS"
            case Late():
                why = f"no whole answer within {HTTP_ANSWER_SECONDS:g} s"
            case TimeoutError():
                why = "no connection in time"
            case ConnectionRefusedError() | OSError(errno=errno.EHOSTUNREACH | errno.ENETUNREACH):
                why = str(error.strerror)
            case _:
                return None
        return f"does not answer ({why}): check that it runs and that network policies let Seawall in"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """What was raised before, as far as it is the client library's: the caller may be handling another trouble."""
    while error is not None and not isinstance(error, PartUnavailable | PartRefused):
        yield error
        error = error.__cause__ or error.__context__
