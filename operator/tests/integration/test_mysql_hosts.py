"""MySQL with more than one server or Seawall: who freezes, who follows, who refuses, and two who lead."""

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
from seawall.adapters.greptimedb.mysql import MySQL
from seawall.adapters.times import SQL_OTHERS_SECONDS, SQL_WRITE_SECONDS
from seawall.domain.dataplane.connection import MySQLConnection, NotReached, PartRefused
from seawall_e2e.loopback.mysql import MysqlProcess
from tests.support.sql import said

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mysql")]

SILENT = NotReached.METADATA_STORE_UNREACHABLE
_WRITER = """
import os, signal, sys
from seawall.adapters.greptimedb.keys import HasValue, NothingNewer
from seawall.adapters.greptimedb.mysql import MySQL
from seawall.domain.dataplane.connection import MySQLConnection, PartUnavailable, User

class Freezing(MySQL):
    def _is_old(self, session, store_id, compare):
        is_old = super()._is_old(session, store_id, compare)
        os.kill(os.getpid(), signal.SIGSTOP)
        return is_old

port, password = sys.argv[1:]
store = Freezing(MySQLConnection((("127.0.0.1", int(port)),), "metadata", User("seawall", password)))
try:
    print(store.write({"x": "late"}, [HasValue("x", None), NothingNewer("r/", 1)]))
except PartUnavailable as silence:
    print(silence)
"""


@pytest.fixture
def own() -> Iterator[MysqlProcess]:
    """A server that only one test has."""
    with MysqlProcess() as process:
        yield process


def with_hosts(first: MysqlProcess, *others: MysqlProcess) -> MySQLConnection:
    """The first one's user at all of them, in this order."""
    hosts = (host for server in (first, *others) for host in server.connection.hosts)
    return replace(first.connection, hosts=tuple(hosts))


@contextmanager
def frozen_writer(connection: MySQLConnection) -> Iterator[subprocess.Popen[str]]:
    """Another Seawall, which is stopped while it holds the locks of a write."""
    arguments = [sys.executable, "-c", _WRITER, str(connection.hosts[0][1]), connection.user.password]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:  # noqa: S603 - ours
        try:
            os.waitid(os.P_PID, writer.pid, os.WSTOPPED | os.WNOWAIT)
            yield writer
        finally:
            writer.kill()


def test_a_seawall_that_freezes_in_a_write_lets_others_go_on(own: MysqlProcess) -> None:
    """The metasrv's lease ends after 5 s; it is in another table, and nothing else waits for long either."""
    own.put("q", "")
    with frozen_writer(own.connection) as writer:
        begin = time.monotonic()
        own.put("q", "not compared")
        assert time.monotonic() - begin < SQL_WRITE_SECONDS / 2
        own.put("r/1", "born where nothing was")
        assert SQL_WRITE_SECONDS / 2 < time.monotonic() - begin < SQL_WRITE_SECONDS + 1.5
        writer.send_signal(signal.SIGCONT)
        answer, _ = writer.communicate(timeout=30)
    assert answer.startswith("MySQL at"), "it is told when it wakes"
    assert own.get("x") is None, "and has written nothing"
    assert MySQL(own.connection).write({"x": "1"}, [HasValue("x", None)])


def test_a_replica_is_never_read_though_it_can_be_written(own: MysqlProcess) -> None:
    own.put("x", "old")
    with MysqlProcess(standby_of=own) as replica:
        own.put("x", "new")
        assert said(replica.connection, SILENT) == (
            "MySQL at HOST is a replica, which may lag: name the primary in metadataStore.mysql.hosts"
        )
        both = MySQL(with_hosts(replica, own))
        with both.view() as view:
            found, store_id = view.get("x"), view.store_id
        assert found is not None
        assert found.value == "new"
        assert both.write({"y": "1"}, [HasValue("y", None)]), "the primary is found to write, too"
        replica.sql("SET GLOBAL super_read_only = 1")
        own.kill()
        assert said(replica.connection, SILENT) == (
            "MySQL at HOST is read_only, as replicas are, which may lag:"
            " name the primary in metadataStore.mysql.hosts, or end its read_only"
        )
        replica.promote()
        with both.view() as view:
            assert view.store_id != store_id, "a failover is another server, whose log says nothing of the old one's"
            assert view.get("x") is not None


def test_two_primaries_are_neither_read_nor_written(own: MysqlProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failover while the old primary lived: what is written to either is missing in the other."""
    monkeypatch.setattr(sql_session, "SQL_OTHERS_SECONDS", 5)  # a busy machine lets nobody in within its bound
    with MysqlProcess(standby_of=own) as replica:
        stores = [MySQL(with_hosts(own, replica)), MySQL(with_hosts(replica, own))]
        for store in stores:
            with store.view() as view:
                assert view.get("x") is None, "a replica is no second primary"
        replica.promote()
        sentences = set()
        for store in stores:
            with pytest.raises(PartRefused) as read, store.view():
                pass
            with pytest.raises(PartRefused) as written:
                store.write({"y": "1"}, [HasValue("y", None)])
            assert read.value.why is written.value.why is NotReached.CONTRADICTION
            sentences |= {str(read.value), str(written.value)}
        leaders = ", ".join(f"{host}:{port}" for host, port in sorted(with_hosts(own, replica).hosts))
        advice = "fence the old one, or correct metadataStore.mysql.hosts"
        assert sentences == {f"two primaries of MySQL answer ({leaders}): {advice}"}
        assert own.get("y") is replica.get("y") is None


def test_a_copy_of_the_server_is_a_second_primary(own: MysqlProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the same server_uuid."""
    monkeypatch.setattr(sql_session, "SQL_OTHERS_SECONDS", 5)
    with MysqlProcess() as copy:
        copy.passwords = own.passwords
        copy.restore(own.back_up())
        assert copy.sql("SELECT @@server_uuid") == own.sql("SELECT @@server_uuid")
        sentence = said(with_hosts(own, copy), NotReached.CONTRADICTION)
        assert sentence.startswith("two primaries of MySQL answer (")


def test_many_primaries_of_one_group_are_told() -> None:
    flags = ("--plugin-load-add=group_replication.so", "--loose-group-replication-single-primary-mode=OFF")
    with MysqlProcess(flags=flags) as group:
        sentence = said(group.connection, NotReached.UNEXPECTED_ANSWER)
        assert sentence.startswith("MySQL at HOST is one of several primaries (Galera, or Group Replication in")


def test_one_server_by_two_names_is_one_primary(own: MysqlProcess) -> None:
    ((_, port),) = own.connection.hosts
    store = MySQL(replace(own.connection, hosts=(("127.0.0.1", port), ("127.1", port))))
    assert store.write({"x": "1"}, [HasValue("x", None)])


def test_who_refuses_hides_no_primary_behind_it(own: MysqlProcess) -> None:
    with (
        MysqlProcess() as stranger,
        MySQL(replace(own.connection, hosts=with_hosts(stranger, own).hosts)).view() as view,
    ):
        assert view.get("x") is None


def test_another_host_that_hangs_holds_up_nobody_for_long(own: MysqlProcess) -> None:
    with MysqlProcess(standby_of=own) as replica:
        replica.pause()
        store = MySQL(with_hosts(own, replica))
        begin = time.monotonic()
        assert store.write({"x": "1"}, [HasValue("x", None)])
        took = time.monotonic() - begin
        replica.resume()
        assert took < SQL_OTHERS_SECONDS + 1
