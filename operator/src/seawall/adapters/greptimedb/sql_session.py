"""Connections to servers of SQL: hosts in turn until one is the primary, and a deadline for every answer."""

from __future__ import annotations

import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Generic, TypeVar

from seawall.adapters.greptimedb.sql_errors import Late, Product, Sentences
from seawall.adapters.times import HTTP_ANSWER_SECONDS, HTTP_CONNECT_SECONDS, SQL_OTHERS_SECONDS
from seawall.domain.dataplane.connection import NotReached, PartRefused, PartUnavailable
from seawall.progress import request_ended

Address = tuple[str, int]


class SQLSession(ABC):
    """One connection. It is closed in any case, which rolls back what was not committed.

    Args:
        patience: seconds for each answer.
    """

    def __init__(self, address: Address, sentences: Sentences, patience: float) -> None:
        self._sentences, self._patience = sentences, patience
        with sentences.translated():
            plain = socket.create_connection(address, min(HTTP_CONNECT_SECONDS, patience))
        plain.settimeout(None)  # each answer has a deadline; the socket's own would count anew with every byte
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._guard = plain.dup()
        try:
            with self._answers():
                self._log_in(address[0], plain)
        except BaseException:
            plain.close()
            self._guard.close()
            raise

    def leader(self) -> str:
        """Which server leads here: the same for all names that it has.

        Raises:
            PartUnavailable: it follows another one, or does not answer.
            PartRefused: it said no.
        """
        with self._answers():
            return self._leader()

    def close(self) -> None:
        """Ends it, whatever it is doing."""
        self._log_out()
        self._guard.close()

    @abstractmethod
    def _log_in(self, host: str, plain: socket.socket) -> None:
        """Makes the client library's connection of a socket."""

    @abstractmethod
    def _log_out(self) -> None: ...

    @abstractmethod
    def _leader(self) -> str:
        """As `leader`; raises Standby."""

    @contextmanager
    def _answers(self) -> Iterator[None]:
        """Where the server is asked: each error becomes a sentence, and each answer has its deadline."""
        with self._sentences.translated(), self._deadline():
            yield

    @contextmanager
    def _deadline(self) -> Iterator[None]:
        """Cuts the connection when the time is over: whoever waits for it is told at once."""
        is_late = threading.Event()

        def cut() -> None:
            is_late.set()
            with suppress(OSError):
                self._guard.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self._patience, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception as error:
            if is_late.is_set():
                raise Late from error
            raise
        finally:
            timer.cancel()
            request_ended()


SessionT = TypeVar("SessionT", bound=SQLSession)
PrimaryT = TypeVar("PrimaryT")


class Hosts(Generic[SessionT]):
    """The servers of one store; safe to use from many threads.

    Args:
        product: what they are.
        addresses: where they are.
        connect: opens a session at an address, with so many seconds for each answer.
    """

    def __init__(
        self, product: Product, addresses: Sequence[Address], connect: Callable[[Address, float], SessionT]
    ) -> None:
        self._product, self._addresses, self._connect = product, tuple(addresses), connect

    @contextmanager
    def primary(self, begin: Callable[[SessionT], PrimaryT]) -> Iterator[tuple[SessionT, PrimaryT]]:
        """A transaction on the primary, which is rolled back unless it is committed, and what `begin` says of it.

        Raises:
            PartUnavailable: no primary answered.
            PartRefused: none does, and one does not let us in or has no such table; or two lead.
        """
        session, primary = self._open(begin)
        try:
            yield session, primary
        finally:
            session.close()

    def _open(self, begin: Callable[[SessionT], PrimaryT]) -> tuple[SessionT, PrimaryT]:
        """Tries the hosts, first the one that was the primary last. A refusal is raised rather than a silence."""
        silent: PartUnavailable | None = None
        refused: PartRefused | None = None
        for address in self._addresses:
            try:
                found = self._begin(address, begin)
            except PartUnavailable as error:
                silent = silent or error
            except PartRefused as error:
                if error.why is NotReached.CONTRADICTION:
                    raise
                refused = refused or error
            else:
                self._addresses = (address, *self._addresses_without(address))
                return found
        trouble = refused or silent
        if trouble is None:
            raise ValueError("no hosts")
        raise trouble

    def _begin(self, address: Address, begin: Callable[[SessionT], PrimaryT]) -> tuple[SessionT, PrimaryT]:
        session = self._connect(address, HTTP_ANSWER_SECONDS)
        try:
            self._leads_alone(address, session.leader())
            return session, begin(session)
        except BaseException:
            session.close()
            raise

    def _leads_alone(self, address: Address, leader: str) -> None:
        """Asks the other hosts, too: an old primary that came back knows nothing of what the new one has.

        Raises:
            PartRefused: another server leads. Who is silent or refuses says nothing.
        """
        others = self._leaders(self._addresses_without(address))
        leaders = {address, *(other for other, found in others.items() if found != leader)}
        if len(leaders) > 1:
            raise PartRefused(NotReached.CONTRADICTION, self._product.two_primaries(sorted(leaders)))

    def _leaders(self, addresses: Sequence[Address]) -> Mapping[Address, str]:
        """Which of these lead, as far as they say so in time; all are asked at once."""
        found: dict[Address, str] = {}

        def ask(address: Address) -> None:
            with suppress(PartUnavailable, PartRefused), closing(self._connect(address, SQL_OTHERS_SECONDS)) as session:
                found[address] = session.leader()

        threads = [threading.Thread(target=ask, args=(address,), daemon=True) for address in addresses]
        end = time.monotonic() + SQL_OTHERS_SECONDS
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0, end - time.monotonic()))
        return dict(found)

    def _addresses_without(self, address: Address) -> tuple[Address, ...]:
        return tuple(other for other in self._addresses if other != address)
