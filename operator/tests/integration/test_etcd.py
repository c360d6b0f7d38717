"""etcd as it is out there: users, TLS, members that are away or hang, answers that are cut short."""

from __future__ import annotations

import http.server
import json
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from seawall.adapters.greptimedb.etcd import Etcd
from seawall.adapters.greptimedb.keys import KeyValue, Unchanged
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.adapters.times import HTTP_ANSWER_SECONDS
from seawall.domain.dataplane.connection import EtcdConnection, NotReached, PartRefused, PartUnavailable, User
from seawall.domain.dataplane.metadata import MarkerMove, TopicMarker
from seawall_e2e.loopback.etcd import TOKEN_SECONDS, EtcdProcess
from seawall_e2e.loopback.pki import CertificateAuthority
from tests.contract.test_metadata_store_contract import connection_to

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("etcd")]

AUTHENTICATION, TLS = NotReached.AUTHENTICATION_FAILED, NotReached.TLS_FAILED
UNEXPECTED, SILENT = NotReached.UNEXPECTED_ANSWER, NotReached.METADATA_STORE_UNREACHABLE


@pytest.fixture
def secure(secure_etcd: EtcdProcess) -> EtcdConnection:
    """A corner of the secure etcd."""
    return connection_to(secure_etcd, f"{secure_etcd.access.prefix}{uuid.uuid4().hex}")


@pytest.fixture
def mine(etcd: EtcdProcess) -> EtcdConnection:
    """A corner of the open etcd."""
    return EtcdConnection((etcd.url,), f"{uuid.uuid4().hex}")


def with_tls(connection: EtcdConnection, **changes: str | None) -> EtcdConnection:
    return replace(connection, tls=replace(connection.tls, **changes))


def with_user(connection: EtcdConnection, **changes: str) -> EtcdConnection:
    assert connection.user is not None
    return replace(connection, user=replace(connection.user, **changes))


def said(connection: EtcdConnection, why: NotReached) -> str:
    """The sentence of a refusal, which stays the same."""
    sentences = set()
    for _ in range(2):
        trouble = trouble_with(connection)
        assert trouble.why is why, trouble
        sentences.add(str(trouble).replace(connection.endpoints[0], "URL"))
    (sentence,) = sentences
    return sentence


def trouble_with(connection: EtcdConnection) -> PartRefused | PartUnavailable:
    try:
        Etcd(connection).get("x")
    except (PartRefused, PartUnavailable) as trouble:
        return trouble
    raise AssertionError(f"{connection} answers")


def test_a_wrong_password_is_told(secure: EtcdConnection) -> None:
    sentence = said(with_user(secure, password="wrong"), AUTHENTICATION)
    assert sentence == (
        "etcd at URL refused the user name or password (authentication failed, invalid user ID or password):"
        " correct the Secret of etcd.auth"
    )


def test_a_missing_user_is_told(secure: EtcdConnection) -> None:
    sentence = said(replace(secure, user=None), AUTHENTICATION)
    assert sentence == "etcd at URL wants a user name and password: set metadataStore.etcd.auth"


def test_a_user_without_the_right_is_told(secure: EtcdConnection) -> None:
    sentence = said(replace(secure, prefix="elsewhere/"), AUTHENTICATION)
    assert (
        sentence
        == "etcd at URL does not let the user do this (permission denied): grant its role the keys below the prefix"
    )


def test_a_client_certificate_with_a_common_name_is_told(secure: EtcdConnection, secure_etcd: EtcdProcess) -> None:
    """This is a rule of etcd: its gateway must not let a certificate's name pass for a user."""
    access = secure_etcd.access
    named = with_tls(secure, client_cert_pem=access.named_cert_pem, client_key_pem=access.named_key_pem)
    assert said(named, AUTHENTICATION) == (
        "etcd at URL refused our client certificate: with users, its JSON gateway wants client certificates without a"
        " common name"
    )


def test_a_missing_client_certificate_is_told(secure: EtcdConnection) -> None:
    """Whether its alert comes before the end of the connection is chance."""
    trouble = trouble_with(with_tls(secure, client_cert_pem=None, client_key_pem=None))
    assert trouble.why in {TLS, SILENT}
    assert "client certificate" in str(trouble)


def test_an_unknown_ca_is_told(secure: EtcdConnection, tmp_path_factory: pytest.TempPathFactory) -> None:
    stranger = CertificateAuthority(tmp_path_factory.mktemp("ca")).cert.read_text()
    for ca in (stranger, None):
        assert said(with_tls(secure, ca_pem=ca), TLS).startswith("etcd at URL: its certificate does not fit (")


CLOSES = "etcd at URL closes connections: check http:// or https://, and whether it wants a client certificate"


def test_plain_http_to_a_tls_port_is_told(secure: EtcdConnection) -> None:
    endpoints = (secure.endpoints[0].replace("https", "http"),)
    assert said(replace(secure, endpoints=endpoints), SILENT) == CLOSES


def test_tls_to_a_plain_port_is_told(mine: EtcdConnection) -> None:
    endpoints = (mine.endpoints[0].replace("http", "https"),)
    assert said(replace(mine, endpoints=endpoints), SILENT) == CLOSES


@pytest.mark.parametrize("text", ["", "no PEM", "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----"])
def test_a_ca_that_is_none_is_told(secure: EtcdConnection, text: str) -> None:
    with pytest.raises(PartRefused, match=r"the CA certificate .* cannot be read .*: correct the Secret") as refused:
        Etcd(with_tls(secure, ca_pem=text))
    assert refused.value.why is TLS


def test_a_key_that_does_not_fit_is_told(secure: EtcdConnection, secure_etcd: EtcdProcess) -> None:
    for key in ("no PEM", secure_etcd.access.named_key_pem):
        with pytest.raises(PartRefused, match=r"the client certificate .* cannot be read \(.+\): correct the Secret"):
            Etcd(with_tls(secure, client_key_pem=key))


def test_credentials_for_an_etcd_without_users_are_not_needed(mine: EtcdConnection) -> None:
    assert Etcd(replace(mine, user=User("somebody", "secret"))).get("x") is None


def test_a_token_that_expired_is_renewed(secure: EtcdConnection) -> None:
    etcd = Etcd(secure)
    assert etcd.write({"x": "1"}, [Unchanged("x", 0)])
    time.sleep(TOKEN_SECONDS + 1.5)
    found = etcd.get("x")
    assert found is not None
    assert found.value == "1"


def test_a_token_that_an_edit_of_users_voids_is_renewed(secure: EtcdConnection, secure_etcd: EtcdProcess) -> None:
    etcd = Etcd(secure)
    assert etcd.get("x") is None
    secure_etcd.add_user(uuid.uuid4().hex)
    assert etcd.get("x") is None


def test_many_threads_share_one_client(secure: EtcdConnection) -> None:
    etcd, found = Etcd(secure), list[KeyValue | None]()
    threads = [threading.Thread(target=lambda: found.append(etcd.get("x"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [None] * 16


def test_a_member_that_is_away_is_passed_over(mine: EtcdConnection) -> None:
    etcd = Etcd(replace(mine, endpoints=("http://127.0.0.1:1", *mine.endpoints)))
    assert etcd.get("x") is None


def test_when_all_members_are_away_the_first_is_told(mine: EtcdConnection) -> None:
    nobody = replace(mine, endpoints=("http://127.0.0.1:1", "http://127.0.0.1:2"))
    assert said(nobody, SILENT) == (
        "etcd at URL does not answer (Connection refused): check that it runs and that network policies let Seawall in"
    )


def test_a_name_that_does_not_exist_is_told(mine: EtcdConnection) -> None:
    nowhere = replace(mine, endpoints=("http://etcd.invalid:2379",))
    assert said(nowhere, SILENT) == "etcd at URL has no IP address: correct metadataStore.etcd.endpoints, or the DNS"


def test_a_member_that_hangs_is_passed_over_within_seconds_and_asked_last_from_then_on(mine: EtcdConnection) -> None:
    with EtcdProcess() as frozen:
        etcd = Etcd(replace(mine, endpoints=(frozen.url, *mine.endpoints)))
        frozen.pause()
        assert etcd.get("x") is None
        started = time.monotonic()
        assert [etcd.get("x") for _ in range(4)] == [None] * 4
        assert time.monotonic() - started < 3 * HTTP_ANSWER_SECONDS, "it is not waited for again"


def test_an_etcd_that_comes_back_is_used_again(mine: EtcdConnection) -> None:
    with EtcdProcess() as process:
        etcd = Etcd(EtcdConnection((process.url,)))
        assert etcd.write({"x": "1"}, [Unchanged("x", 0)])
        process.kill()
        with pytest.raises(PartUnavailable):
            etcd.get("x")
        process.start()
        found = etcd.get("x")
        assert found is not None
        assert found.value == "1"


def test_a_snapshot_is_of_one_revision_though_keys_change_between_its_pages(mine: EtcdConnection) -> None:
    etcd = Etcd(mine, page=1)
    for name in "abc":
        etcd.write({name: "old"}, [])
    head = etcd.head("a")
    pages = etcd.range("", head)
    first = next(pages)
    for name in "abcd":
        etcd.write({name: "new"}, [])
    assert [(pair.key, pair.value) for pair in (first, *pages)] == [("a", "old"), ("b", "old"), ("c", "old")]


def test_a_revision_that_is_compacted_while_it_is_read_is_no_answer(mine: EtcdConnection, etcd: EtcdProcess) -> None:
    client = Etcd(mine, page=1)
    for name in "abc":
        client.write({name: "1"}, [])
    pages = client.range("", client.head("a"))
    next(pages)
    client.write({"a": "2"}, [])
    etcd.compact()
    with pytest.raises(PartUnavailable, match="has been compacted"):
        list(pages)


def test_the_prefix_has_no_separator(mine: EtcdConnection, etcd: EtcdProcess) -> None:
    near = replace(mine, prefix=f"{mine.prefix}0")
    Etcd(mine).write({"x": "mine"}, [])
    Etcd(near).write({"x": "near"}, [])
    assert etcd.get(f"{mine.prefix}x") == "mine"
    assert {pair.key: pair.value for pair in Etcd(near).range("", Etcd(near).head("x"))} == {"x": "near"}


def test_a_page_that_was_cut_short_is_an_error(mine: EtcdConnection) -> None:
    client = Etcd(mine)
    for name in "abc":
        client.write({f"__topic_region/t/{ord(name)}": ""}, [])
    with cutting_proxy(mine.endpoints[0]) as url, pytest.raises(PartRefused, match="etcd left out 1 keys") as refused:
        GreptimeMetadata(Etcd(replace(mine, endpoints=(url,)))).snapshot()
    assert refused.value.why is UNEXPECTED


def test_a_value_that_makes_no_sense_fails_the_snapshot_and_names_its_key(mine: EtcdConnection) -> None:
    etcd = Etcd(mine)
    etcd.write({"__topic_region/t/1": ""}, [])
    GreptimeMetadata(etcd).snapshot()
    etcd.write({"__topic_region/t/2": "{"}, [])
    with pytest.raises(PartRefused, match="the metadata key __topic_region/t/2 makes no sense") as refused:
        GreptimeMetadata(etcd).snapshot()
    assert refused.value.why is UNEXPECTED


def marked(connection: EtcdConnection, region: str) -> tuple[Etcd, TopicMarker]:
    """A topic `t` with a marker of 0 and, written last, one region."""
    etcd = Etcd(connection)
    etcd.write({"__topic_name/kafka/t": '{"pruned_entry_id":0}', "seawall/claim/wal": "me"}, [])
    etcd.write({f"__topic_region/t/{region}": ""}, [])
    return etcd, GreptimeMetadata(etcd).snapshot().topics["t"]


def test_a_region_that_is_the_newest_of_the_snapshot_does_not_stop_the_marker(mine: EtcdConnection) -> None:
    etcd, recorded = marked(mine, "1")
    newest = etcd.get("__topic_region/t/1")
    assert newest is not None
    assert not GreptimeMetadata(etcd).advance_markers([MarkerMove("t", 7, recorded, newest.mod_revision)], "wal", "me")


def test_a_region_that_is_one_revision_newer_than_the_snapshot_stops_the_marker(mine: EtcdConnection) -> None:
    etcd, recorded = marked(mine, "1")
    newest = etcd.get("__topic_region/t/1")
    assert newest is not None
    changed = GreptimeMetadata(etcd).advance_markers(
        [MarkerMove("t", 7, recorded, newest.mod_revision - 1)], "wal", "me"
    )
    assert "region of t changed" in changed["t"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("__tombstone/__topic_region/t/4398046511105", ""),
        (
            "__tombstone/__dn_table/0/1024",
            '{"regions":[1],"region_wal_options":{"1":"{\\"wal.provider\\":\\"kafka\\",\\"wal.kafka.topic\\":\\"t\\"}"}}',
        ),
    ],
    ids=["its region key", "its table on a datanode"],
)
def test_a_dropped_region_is_found_though_only_one_of_its_tombstones_is_there(
    mine: EtcdConnection, key: str, value: str
) -> None:
    """Tables are dropped and restored in several transactions."""
    etcd = Etcd(mine)
    etcd.write({key: value}, [])
    found = GreptimeMetadata(etcd).snapshot()
    assert found.tombstoned_topics == {4398046511105: frozenset({"t"})}
    assert not found.wal_topics


@contextmanager
def cutting_proxy(url: str) -> Iterator[str]:
    """Forwards to etcd and loses the last key of every answer."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with urllib.request.urlopen(url + self.path, body, 10) as answer:  # noqa: S310 - http
                data = json.load(answer)
            if data.get("kvs"):
                data["kvs"].pop()
            text = json.dumps(data).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
