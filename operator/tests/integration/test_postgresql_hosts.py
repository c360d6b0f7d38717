"""PostgreSQL with more than one server or Seawall: who freezes, who follows, who refuses, and two who lead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from seawall.adapters.greptimedb import sql_session
from seawall.adapters.greptimedb.keys import HasValue
from seawall.adapters.greptimedb.postgresql import PostgreSQL
from seawall.adapters.times import SQL_OTHERS_SECONDS, SQL_WRITE_SECONDS
from seawall.domain.dataplane.connection import NotReached, PartRefused, PartUnavailable, PostgresConnection
from seawall_e2e.loopback.postgresql import PostgresProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("postgresql")]

_WRITER = """
import os, signal, sys
from seawall.adapters.greptimedb.keys import HasValue
from seawall.adapters.greptimedb.postgresql import PostgreSQL
from seawall.domain.dataplane.connection import PartUnavailable, PostgresConnection, User

class Freezing(PostgreSQL):
    def _is_old(self, session, compare, before):
        os.kill(os.getpid(), signal.SIGSTOP)
        return super()._is_old(session, compare, before)

port, password = sys.argv[1:]
store = Freezing(PostgresConnection((("127.0.0.1", int(port)),), "metadata", User("seawall", password)))
try:
    print(store.write({"x": "late"}, [HasValue("x", None)]))
except PartUnavailable as silence:
    print(silence)
"""


@pytest.fixture
def own() -> Iterator[PostgresProcess]:
    """A server that only one test has."""
    with PostgresProcess() as process:
        yield process


def with_hosts(first: PostgresProcess, *others: PostgresProcess) -> PostgresConnection:
    """The first one's user at all of them, in this order."""
    hosts = (host for server in (first, *others) for host in server.connection.hosts)
    return replace(first.connection, hosts=tuple(hosts))


@contextmanager
def frozen_writer(connection: PostgresConnection) -> Iterator[subprocess.Popen[str]]:
    """Another Seawall, which is stopped while it holds the lock of a write."""
    arguments = [sys.executable, "-c", _WRITER, str(connection.hosts[0][1]), connection.user.password]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:  # noqa: S603 - ours
        try:
            os.waitid(os.P_PID, writer.pid, os.WSTOPPED | os.WNOWAIT)
            yield writer
        finally:
            writer.kill()


def test_a_seawall_that_freezes_in_a_write_lets_others_go_on(own: PostgresProcess) -> None:
    """The metasrv's lease ends after 5 s, and it renews it in this table."""
    with frozen_writer(own.connection) as writer:
        begin = time.monotonic()
        own.put("lease", "renewed")
        assert time.monotonic() - begin < SQL_WRITE_SECONDS + 1.5
        writer.send_signal(signal.SIGCONT)
        said, _ = writer.communicate(timeout=30)
    assert said.startswith("PostgreSQL at"), "it is told when it wakes"
    assert own.get("x") is None, "and has written nothing"
    assert PostgreSQL(own.connection).write({"x": "1"}, [HasValue("x", None)])


def test_a_write_that_meets_a_standby_first_finds_the_primary(own: PostgresProcess) -> None:
    """A standby refuses what a write begins with, before it says what it is."""
    with PostgresProcess(standby_of=own) as standby:
        assert PostgreSQL(with_hosts(standby, own)).write({"x": "1"}, [HasValue("x", None)])
        assert own.get("x") == "1"
        with pytest.raises(PartUnavailable, match="is a standby, which may lag: name the primary"):
            PostgreSQL(standby.connection).write({"y": "1"}, [HasValue("y", None)])


def test_who_refuses_hides_no_primary_behind_it(own: PostgresProcess) -> None:
    with PostgresProcess() as stranger:
        with PostgreSQL(replace(own.connection, hosts=with_hosts(stranger, own).hosts)).view() as view:
            assert view.get("x") is None
        own.kill()
        with (
            pytest.raises(PartRefused, match="refused the user name or password") as refused,
            PostgreSQL(replace(own.connection, hosts=with_hosts(own, stranger).hosts)).view(),
        ):
            pass
        assert refused.value.why is NotReached.AUTHENTICATION_FAILED, "which tells more than that nobody is there"


def test_a_primary_that_lets_nobody_write_is_told(own: PostgresProcess) -> None:
    """As some do when their disk is nearly full."""
    own.sql("ALTER ROLE seawall SET default_transaction_read_only = on")
    store = PostgreSQL(own.connection)
    with pytest.raises(PartRefused, match=r"lets nobody write \(cannot execute INSERT in") as refused:
        store.write({"x": "1"}, [HasValue("x", None)])
    assert refused.value.why is NotReached.AUTHENTICATION_FAILED
    with store.view() as view:
        assert view.get("x") is None


def promoted(standby: PostgresProcess) -> None:
    """Returns when it leads."""
    standby.promote()
    deadline = time.monotonic() + 20
    while standby.sql("SELECT pg_is_in_recovery()") != [[False]]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_two_primaries_are_neither_read_nor_written(own: PostgresProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failover while the old primary lived: what is written to either is missing in the other."""
    monkeypatch.setattr(sql_session, "SQL_OTHERS_SECONDS", 5)  # a busy machine lets nobody in within its bound
    with PostgresProcess(standby_of=own) as standby:
        stores = [PostgreSQL(with_hosts(own, standby)), PostgreSQL(with_hosts(standby, own))]
        for store in stores:
            with store.view() as view:
                assert view.get("x") is None, "a standby is no second primary"
        promoted(standby)
        standby.put("x", "new")
        sentences = set()
        for store in stores:
            with pytest.raises(PartRefused) as read, store.view():
                pass
            with pytest.raises(PartRefused) as written:
                store.write({"y": "1"}, [HasValue("y", None)])
            assert read.value.why is written.value.why is NotReached.CONTRADICTION
            sentences |= {str(read.value), str(written.value)}
        hosts = sorted(with_hosts(own, standby).hosts)
        leaders = ", ".join(f"{host}:{port}" for host, port in hosts)
        advice = "fence the old one, or correct metadataStore.postgresql.hosts"
        assert sentences == {f"two primaries of PostgreSQL answer ({leaders}): {advice}"}
        assert own.get("y") is standby.get("y") is None
        own.kill()
        for store in stores:
            with store.view() as view:
                found = view.get("x")
            assert found is not None, "one is left"
            assert found.value == "new"


def test_one_server_by_two_names_is_one_primary(own: PostgresProcess) -> None:
    ((_, port),) = own.connection.hosts
    store = PostgreSQL(replace(own.connection, hosts=(("127.0.0.1", port), ("127.1", port))))
    assert store.write({"x": "1"}, [HasValue("x", None)])


def test_another_host_that_hangs_holds_up_nobody_for_long(own: PostgresProcess) -> None:
    with PostgresProcess(standby_of=own) as standby:
        standby.pause()
        store = PostgreSQL(with_hosts(own, standby))
        begin = time.monotonic()
        assert store.write({"x": "1"}, [HasValue("x", None)])
        took = time.monotonic() - begin
        standby.resume()
        assert took < SQL_OTHERS_SECONDS + 1
