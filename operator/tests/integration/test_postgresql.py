"""PostgreSQL as it is out there: users, TLS, standbys, writers that overlap, backups that are restored."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from seawall.adapters.greptimedb.keys import Comparison, HasValue, NothingNewer, Unchanged
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.adapters.greptimedb.postgresql import PostgreSQL
from seawall.adapters.greptimedb.postgresql_errors import RIGHTS
from seawall.adapters.times import HTTP_ANSWER_SECONDS, SQL_LOCK_SECONDS
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    NotReached,
    PartRefused,
    PartUnavailable,
    PostgresConnection,
)
from seawall.domain.dataplane.metadata import MarkerMove
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.postgresql import PostgresProcess
from seawall_e2e.loopback.sql_server import TABLE
from tests.support.sql import as_user, marked, said, server, trouble_with, with_tls

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("postgresql")]

AUTHENTICATION, TLS = NotReached.AUTHENTICATION_FAILED, NotReached.TLS_FAILED
UNEXPECTED, SILENT = NotReached.UNEXPECTED_ANSWER, NotReached.METADATA_STORE_UNREACHABLE
NEEDS = f"it needs {RIGHTS}"


@pytest.fixture
def mine(postgresql: PostgresProcess) -> PostgresConnection:
    """A corner of the shared server."""
    return replace(postgresql.connection, prefix=uuid.uuid4().hex)


@pytest.fixture
def secure(secure_postgresql: PostgresProcess) -> PostgresConnection:
    """A corner of the server with TLS."""
    return replace(secure_postgresql.connection, prefix=uuid.uuid4().hex)


@pytest.fixture
def own() -> Iterator[PostgresProcess]:
    """A server that only one test has."""
    with PostgresProcess() as process:
        yield process


def test_a_wrong_password_is_told(mine: PostgresConnection) -> None:
    for wrong in (as_user(mine, password="wrong"), as_user(mine, name="nobody"), as_user(mine, password="")):
        assert said(wrong, AUTHENTICATION) == (
            "PostgreSQL at HOST refused the user name or password: correct the Secret of metadataStore.postgresql.auth"
        )


def test_a_user_without_the_right_is_told(mine: PostgresConnection, postgresql: PostgresProcess) -> None:
    postgresql.sql("CREATE TABLE closed (k bytea PRIMARY KEY, v bytea)")
    assert said(replace(mine, table="closed"), AUTHENTICATION) == (
        f"PostgreSQL at HOST does not let the user do this (permission denied for table closed): {NEEDS}"
    )


def test_a_user_who_may_not_know_which_server_it_is_is_told(own: PostgresProcess) -> None:
    own.sql("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    assert said(own.connection, AUTHENTICATION) == (
        f"PostgreSQL at HOST does not let the user do this (permission denied for function pg_control_system): {NEEDS}"
    )


def test_a_user_who_may_only_read_reads_and_is_told_when_it_writes(own: PostgresProcess) -> None:
    own.sql(f"REVOKE INSERT, UPDATE ON {TABLE} FROM seawall")
    store = GreptimeMetadata(PostgreSQL(own.connection))
    assert store.snapshot().claims == {}
    with pytest.raises(PartRefused, match="permission denied for table"):
        store.claim("wal", "me", None)


def test_rows_that_a_policy_hides_are_told(mine: PostgresConnection, postgresql: PostgresProcess) -> None:
    """They would be regions that nobody knows of."""
    postgresql.sql("CREATE TABLE hiding (k bytea PRIMARY KEY, v bytea)")
    postgresql.sql("GRANT SELECT ON hiding TO seawall")
    postgresql.sql("ALTER TABLE hiding ENABLE ROW LEVEL SECURITY")
    with PostgreSQL(replace(mine, table="hiding")).view() as view, pytest.raises(PartRefused) as refused:
        view.get("x")
    assert "row-level security" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"database": "elsewhere"}, "has no database elsewhere: correct metadataStore.postgresql.database"),
        ({"schema": "elsewhere"}, "has no schema elsewhere: correct metadataStore.postgresql.schemaName"),
        (
            {"table": "elsewhere"},
            'has no table "elsewhere" in its database metadata: correct schemaName and tableName',
        ),
    ],
    ids=["database", "schema", "table"],
)
def test_what_is_not_there_is_told(mine: PostgresConnection, change: dict[str, str], sentence: str) -> None:
    assert said(replace(mine, **change), UNEXPECTED) == f"PostgreSQL at HOST {sentence}"  # type: ignore[arg-type]


def test_a_table_that_is_not_greptimedbs_is_told(mine: PostgresConnection, postgresql: PostgresProcess) -> None:
    postgresql.sql("CREATE TABLE other (name text)")
    postgresql.sql("GRANT SELECT ON other TO seawall")
    with PostgreSQL(replace(mine, table="other")).view() as view, pytest.raises(PartRefused) as refused:
        view.get("x")
    assert 'column "k" does not exist' in str(refused.value)
    assert "is it PostgreSQL 13 or newer, and the table" in str(refused.value)


def test_a_table_in_a_schema_is_found(mine: PostgresConnection, postgresql: PostgresProcess) -> None:
    postgresql.sql("CREATE SCHEMA greptime_schema")
    postgresql.sql("CREATE TABLE greptime_schema.meta (k bytea PRIMARY KEY, v bytea)")
    postgresql.sql("GRANT USAGE ON SCHEMA greptime_schema TO seawall")
    postgresql.sql("GRANT SELECT, INSERT, UPDATE ON greptime_schema.meta TO seawall")
    store = PostgreSQL(replace(mine, schema="greptime_schema", table="meta"))
    assert store.write({"x": "1"}, [HasValue("x", None)])
    with store.view() as view, PostgreSQL(mine).view() as elsewhere:
        assert view.get("x") is not None
        assert elsewhere.get("x") is None
        assert view.store_id != elsewhere.store_id


def test_a_missing_client_certificate_is_told(secure: PostgresConnection) -> None:
    sentence = said(with_tls(secure, client_cert_pem=None, client_key_pem=None), AUTHENTICATION)
    assert sentence.startswith("PostgreSQL at HOST does not let us in (connection requires a valid client certificate)")


def test_no_tls_to_a_server_that_wants_it_is_told(secure: PostgresConnection) -> None:
    sentence = said(replace(secure, tls=None), AUTHENTICATION)
    assert sentence.startswith('PostgreSQL at HOST does not let us in (no pg_hba.conf entry for host "127.0.0.1"')


def test_an_unknown_ca_is_told(secure: PostgresConnection, tmp_path_factory: pytest.TempPathFactory) -> None:
    stranger = CertificateAuthority(tmp_path_factory.mktemp("ca")).cert.read_text()
    for ca in (stranger, None):
        assert said(with_tls(secure, ca_pem=ca), TLS).startswith("PostgreSQL at HOST: its certificate does not fit (")


def test_a_certificate_for_another_host_is_told(secure: PostgresConnection) -> None:
    """This is another way to write 127.0.0.1, and not the name in the certificate."""
    sentence = said(replace(secure, hosts=(("127.1", secure.hosts[0][1]),)), TLS)
    assert sentence.startswith("PostgreSQL at HOST: its certificate does not fit (Hostname mismatch")


def test_tls_to_a_server_without_is_told(mine: PostgresConnection) -> None:
    assert said(replace(mine, tls=SYSTEM_TRUST), TLS) == (
        "PostgreSQL at HOST speaks no TLS: turn its ssl on, or remove metadataStore.postgresql.tls"
    )


@pytest.mark.parametrize("text", ["", "no PEM", "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----"])
def test_a_ca_that_is_none_is_told(secure: PostgresConnection, text: str) -> None:
    with pytest.raises(PartRefused, match=r"the CA certificate .* of PostgreSQL cannot be read") as refused:
        PostgreSQL(with_tls(secure, ca_pem=text))
    assert refused.value.why is TLS


def test_who_does_not_answer_is_told(mine: PostgresConnection) -> None:
    advice = "check that it runs and that network policies let Seawall in"
    nobody = said(replace(mine, hosts=(("127.0.0.1", 1),)), SILENT)
    assert nobody == f"PostgreSQL at HOST does not answer (Connection refused): {advice}"
    nowhere = said(replace(mine, hosts=(("postgresql.invalid", 5432),)), SILENT)
    assert nowhere == "PostgreSQL at HOST has no IP address: correct metadataStore.postgresql.hosts, or the DNS"


def test_what_closes_connections_is_told(mine: PostgresConnection) -> None:
    with server(b"") as port:
        sentence = said(replace(mine, hosts=(("127.0.0.1", port),)), SILENT)
    assert sentence == "PostgreSQL at HOST closes connections: check that it is PostgreSQL, and that it runs"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n",
        bytes(64),
        b"R\0\0\0\x00" + bytes(64),
        b"R\0\0\0\x06\0\0",
        b"R\0\0\0\x0c\0\0\0\x0bxxxx",
        b"R\0\0\0\x0c\0\0\0\x0a\xff\xfe\0\0",
        b"R\0\0\0\x08\0\0\0\0S\0\0\0\x0cclient_enc\0",
        b"R\0\0\0\x08\0\0\0\0" + 4 * b"Z\0\0\0\x05I",
    ],
    ids=["HTTP", "SSH", "zeros", "no length", "short", "no SCRAM before", "no text", "no pair", "answers to nothing"],
)
def test_what_speaks_otherwise_is_told(mine: PostgresConnection, answer: bytes) -> None:
    with server(answer) as port:
        trouble = trouble_with(replace(mine, hosts=(("127.0.0.1", port),)))
    assert str(trouble).startswith(f"PostgreSQL at 127.0.0.1:{port} "), trouble
    told = trouble.why, "correct metadataStore.postgresql.hosts" in str(trouble)
    assert told in {(UNEXPECTED, True), (SILENT, False)}, "it may close before it is understood"


def test_bytes_that_are_not_the_protocol_are_told(mine: PostgresConnection) -> None:
    with server(bytes(64), pause=1) as port:
        assert said(replace(mine, hosts=(("127.0.0.1", port),)), UNEXPECTED) == (
            "PostgreSQL at HOST does not speak PostgreSQL's protocol: correct metadataStore.postgresql.hosts"
        )


@pytest.mark.parametrize("host", ["pg..svc", "a" * 70 + ".svc"], ids=["empty label", "long label"])
def test_a_host_that_cannot_be_one_is_told(mine: PostgresConnection, host: str) -> None:
    assert said(replace(mine, hosts=((host, 5432),)), UNEXPECTED) == (
        "PostgreSQL at HOST is no name of a host: correct metadataStore.postgresql.hosts"
    )


@pytest.mark.parametrize(
    ("user", "what"),
    [
        ({"password": "line\n"}, "control"),
        ({"password": "\0"}, "control"),
        ({"password": "\ue000"}, "private use"),
        ({"name": "line\n"}, "control"),
    ],
    ids=["new line", "NUL", "private", "user"],
)
def test_a_user_or_password_that_cannot_be_one_is_told(
    mine: PostgresConnection, user: dict[str, str], what: str
) -> None:
    """The new line at the end of a file, most often."""
    assert said(as_user(mine, **user), AUTHENTICATION) == (
        f"PostgreSQL at HOST does not let us in ({what} characters forbidden):"
        " correct the Secret of metadataStore.postgresql.auth"
    )


def test_a_trickle_is_cut_in_time(mine: PostgresConnection) -> None:
    """A timeout of the socket would count anew with every byte."""
    begin = time.monotonic()
    with server(b"R" + (4_000).to_bytes(4, "big"), pause=0.2, times=60) as port:
        trouble = trouble_with(replace(mine, hosts=(("127.0.0.1", port),)))
        assert time.monotonic() - begin < HTTP_ANSWER_SECONDS + 2
    assert "no whole answer within 5 s" in str(trouble)


def test_a_server_that_hangs_is_told_in_time_and_used_again(own: PostgresProcess) -> None:
    own.pause()
    begin = time.monotonic()
    assert "no whole answer within 5 s" in str(trouble_with(own.connection))
    assert time.monotonic() - begin < HTTP_ANSWER_SECONDS + 2
    own.resume()
    with PostgreSQL(own.connection).view() as view:
        assert view.get("x") is None


def test_many_threads_share_one_client(secure: PostgresConnection) -> None:
    store = PostgreSQL(secure)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: GreptimeMetadata(store).head().store_id, range(16)))
    assert len(set(found)) == 1


def test_no_connection_is_left(own: PostgresProcess) -> None:
    store = GreptimeMetadata(PostgreSQL(own.connection))
    store.snapshot()
    store.claim("wal", "me", None)
    assert not store.claim("wal", "me", None)
    deadline = time.monotonic() + 10
    while own.sql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'seawall'") != [[0]]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_standby_is_never_read(own: PostgresProcess) -> None:
    own.put("x", "old")
    with PostgresProcess(standby_of=own) as standby:
        own.put("x", "new")
        assert said(standby.connection, SILENT) == (
            "PostgreSQL at HOST is a standby, which may lag: name the primary in metadataStore.postgresql.hosts"
        )
        both = PostgreSQL(replace(own.connection, hosts=standby.connection.hosts + own.connection.hosts))
        with both.view() as view:
            found, store_id = view.get("x"), view.store_id
        assert found is not None
        assert found.value == "new"
        assert both.write({"y": "1"}, [HasValue("y", None)]), "the primary is found to write, too"
        own.kill()
        with pytest.raises(PartUnavailable), both.view():
            pass
        standby.promote()
        deadline = time.monotonic() + 20
        while standby.sql("SELECT pg_is_in_recovery()") != [[False]]:
            assert time.monotonic() < deadline
        with both.view() as view:
            assert view.store_id == store_id, "a failover is no other database"
            assert view.get("y") is None, "this standby had lagged"


def test_a_region_that_was_being_born_while_the_snapshot_was_taken_stops_the_marker(
    mine: PostgresConnection, postgresql: PostgresProcess
) -> None:
    """Its transaction is older than others that the snapshot has: ids of transactions say when they begin."""
    store = GreptimeMetadata(PostgreSQL(mine))
    with postgresql.open() as birth:
        birth.run("BEGIN")
        birth.run(f"INSERT INTO {TABLE} VALUES (:k, '')", k=f"{mine.prefix}__topic_region/t/2".encode())
        postgresql.put(f"{mine.prefix}__topic_name/kafka/other", "")  # younger, and over
        postgresql.put(f"{mine.prefix}__topic_name/kafka/t", '{"pruned_entry_id":0}')
        postgresql.put(f"{mine.prefix}seawall/claim/wal", "me")
        before = store.snapshot()
        assert before.region_keys == {}
        assert before.topics["t"].mod_revision > before.revision, "it is not said to be older than what is open"
        birth.run("COMMIT")
    move = MarkerMove("t", 7, before.topics["t"], before.revision)
    refused = store.advance_markers([move], "wal", "me")["t"]
    assert "region of t changed" in refused
    assert "has been open since before then" in refused, "and what else it may be"


def test_a_marker_waits_for_whoever_is_writing(mine: PostgresConnection, postgresql: PostgresProcess) -> None:
    """Whether that is a region of the topic nobody knows before the end."""
    store = GreptimeMetadata(PostgreSQL(mine))
    before = marked(store, postgresql, mine.prefix)
    move = MarkerMove("t", 7, before.topics["t"], before.revision)
    with postgresql.open() as birth:
        birth.run("BEGIN")
        birth.run(f"INSERT INTO {TABLE} VALUES (:k, '')", k=f"{mine.prefix}__topic_region/t/2".encode())
        begin = time.monotonic()
        with pytest.raises(PartUnavailable, match="cannot answer now"):
            store.advance_markers([move], "wal", "me")
        assert SQL_LOCK_SECONDS - 0.5 < time.monotonic() - begin < SQL_LOCK_SECONDS + 2
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(store.advance_markers, [move], "wal", "me")
            time.sleep(0.5)
            birth.run("COMMIT")
            assert "region of t changed" in waiting.result(10)["t"]
    assert store.snapshot().topics["t"].pruned_entry_id == 0


class Counting(PostgreSQL):
    """Counts the writes that are tried."""

    writes = 0

    def write(self, values: Mapping[str, str], compare: Sequence[Comparison]) -> bool:
        self.writes += 1
        return super().write(values, compare)


def topics_of_an_open_transaction(mine: PostgresConnection, server: PostgresProcess, count: int) -> None:
    """Topics with a region each, all of which count as newer than what is read."""
    for form, value in (("__topic_name/kafka/t_%s", '{"pruned_entry_id":1}'), ("__topic_region/t_%s/1", "")):
        server.sql(
            f"INSERT INTO {TABLE} SELECT convert_to(format(:form, n), 'UTF8'), convert_to(:value, 'UTF8')"
            f" FROM generate_series(1, {count}) AS n",
            form=mine.prefix + form,
            value=value,
        )


def test_markers_that_cannot_move_are_not_written(mine: PostgresConnection, postgresql: PostgresProcess) -> None:
    """Each write locks the table, and its metasrv waits."""
    keys = Counting(mine)
    store = GreptimeMetadata(keys)
    assert store.claim("wal", "me", None)
    with postgresql.open("postgres") as elsewhere:
        elsewhere.run("BEGIN")
        elsewhere.run("SELECT pg_current_xact_id()")
        topics_of_an_open_transaction(mine, postgresql, 200)
        before = store.snapshot()
    moves = [MarkerMove(topic, 7, marker, before.revision) for topic, marker in before.topics.items()]
    keys.writes = 0
    refused = store.advance_markers(moves, "wal", "me")
    assert len(refused) == 200
    assert all("has been open since before then" in why for why in refused.values())
    assert len(store.advance_markers(moves, "wal", "another")) == 200
    assert keys.writes == 0
    again = store.snapshot()
    moves = [MarkerMove(topic, 7, marker, again.revision) for topic, marker in again.topics.items()]
    assert store.advance_markers(moves, "wal", "me") == {}, "it was that transaction"
    assert keys.writes < 10


def test_a_table_that_is_filled_anew_while_somebody_waits_to_read_it_is_read_whole(
    mine: PostgresConnection, postgresql: PostgresProcess
) -> None:
    """A snapshot that is older than a TRUNCATE finds the table empty."""
    with postgresql.open() as other, ThreadPoolExecutor(1) as reader:
        other.run("BEGIN")
        other.run(f"LOCK TABLE {TABLE}")
        waiting = reader.submit(GreptimeMetadata(PostgreSQL(mine)).snapshot)
        time.sleep(0.5)
        other.run(f"CREATE TEMPORARY TABLE kept AS SELECT * FROM {TABLE}")
        other.run(f"TRUNCATE {TABLE}")
        other.run(f"INSERT INTO {TABLE} SELECT * FROM kept")
        other.run(f"INSERT INTO {TABLE} VALUES (:k, '')", k=f"{mine.prefix}__topic_region/t/1".encode())
        other.run("COMMIT")
        assert set(waiting.result(10).region_keys) == {("t", 1)}


def test_two_who_compare_the_same_do_not_both_write(mine: PostgresConnection) -> None:
    store = PostgreSQL(mine)
    assert store.write({"x": "0"}, [HasValue("x", None)])
    with store.view() as view:
        found = view.get("x")
    assert found is not None
    with ThreadPoolExecutor(4) as threads:
        won = list(threads.map(lambda n: store.write({"x": str(n)}, [Unchanged("x", found.mod_revision)]), range(4)))
    assert won.count(True) == 1


def test_keys_are_compared_letter_for_letter(mine: PostgresConnection) -> None:
    """`_` and `%` stand for others in SQL's patterns, which GreptimeDB uses."""
    store = PostgreSQL(mine)
    assert store.write({"__a/x": "1", "_ba/x": "2", "__a%": "3", "\\x41": "4"}, [])
    with store.view() as view:
        assert [pair.key for pair in view.range("__a/")] == ["__a/x"]
        assert [pair.value for pair in view.range("\\x")] == ["4"]
        revision = view.revision
    assert store.write({"_ba/y": ""}, [NothingNewer("__a/", revision)])
    assert store.write({"__a/y": ""}, [NothingNewer("__a/", revision)])
    assert not store.write({"__a/z": ""}, [NothingNewer("__a/", revision)])


def test_a_crash_is_no_restore(own: PostgresProcess) -> None:
    store = GreptimeMetadata(PostgreSQL(own.connection))
    marked(store, own, "")
    before = store.head()
    own.kill()
    assert "does not answer" in str(trouble_with(own.connection))
    own.start()
    after = store.head()
    assert (after.store_id, after.claims) == (before.store_id, before.claims)
    assert after.revision >= before.revision


def test_a_restored_copy_of_the_files_has_an_older_revision(own: PostgresProcess) -> None:
    store = GreptimeMetadata(PostgreSQL(own.connection))
    own.put("__topic_name/kafka/t", "")
    copy = own.back_up()
    own.put("__topic_name/kafka/t", '{"pruned_entry_id":7}')
    own.put("__topic_region/t/1", "")
    before = store.head()
    own.restore(copy)
    after = store.head()
    assert after.store_id == before.store_id
    assert after.revision < before.revision


def test_a_restore_is_seen_while_somebody_writes_for_hours(own: PostgresProcess) -> None:
    """In another database of the server: the newest revision of which all older ones are over stands still then."""
    store = GreptimeMetadata(PostgreSQL(own.connection))
    before = marked(store, own, "")
    own.sql("CREATE TABLE etl (x int)", "postgres")
    with own.open("postgres") as etl:
        etl.run("BEGIN")
        etl.run("INSERT INTO etl VALUES (1)")
        own.put("lease", "1")
        copy = own.back_up_online()
        own.put("lease", "2")
        own.put("__topic_name/kafka/t", '{"pruned_entry_id":7}')
        decided = store.snapshot()
        assert decided.revision - before.revision <= 2, "it stands still"
    own.restore(copy)
    own.put("lease", "3")
    assert store.snapshot().issued_revision < decided.issued_revision
    assert store.head().issued_revision < decided.issued_revision


def test_a_marker_with_the_same_revision_and_another_value_does_not_move(own: PostgresProcess) -> None:
    """After a restore transactions have ids that others had before."""
    store = GreptimeMetadata(PostgreSQL(own.connection))
    before = marked(store, own, "")
    other = replace(before.topics["t"], pruned_entry_id=5)
    refused = store.advance_markers([MarkerMove("t", 7, other, before.revision)], "wal", "me")
    assert "is not the one that was read" in refused["t"]
    assert store.advance_markers([MarkerMove("t", 7, before.topics["t"], before.revision)], "wal", "me") == {}


def test_a_table_that_was_restored_from_a_dump_is_another_store(own: PostgresProcess) -> None:
    """However many transactions there have been since."""
    store = GreptimeMetadata(PostgreSQL(own.connection))
    own.put("__topic_name/kafka/t", "")
    before = store.head()
    own.restore_dump()
    after = store.head()
    assert after.store_id != before.store_id
    assert after.revision > before.revision, "which tells nothing"
    assert set(store.snapshot().topics) == {"t"}


def test_a_vacuum_writes_nothing(own: PostgresProcess) -> None:
    store = GreptimeMetadata(PostgreSQL(own.connection))
    before = marked(store, own, "")
    own.sql(f"VACUUM (FREEZE) {TABLE}")
    own.sql(f"VACUUM FULL {TABLE}")
    after = store.snapshot()
    assert (after.topics, after.region_keys) == (before.topics, before.region_keys)
    assert after.store_id == before.store_id
    assert store.advance_markers([MarkerMove("t", 7, before.topics["t"], before.revision)], "wal", "me") == {}
