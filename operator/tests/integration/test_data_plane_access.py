"""A database that asks who is there: its frontend wants a user, and TLS before its HTTP ports client certificates.

The TLS is refdb's own second port, in place of the proxy that GreptimeDB needs for it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from seawall.adapters.data_planes import AllDataPlanes
from seawall.adapters.greptimedb.interfaces import GreptimeDB, GreptimeMaintenance
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    ClientTLS,
    DataPlaneConnection,
    EtcdConnection,
    NotReached,
    PartRefused,
    PartUnavailable,
    User,
)
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.pki import Certificate, CertificateAuthority
from seawall_e2e.loopback.processes import free_ports
from seawall_e2e.loopback.refdb import RefDbProcesses, wait_healthy
from seawall_e2e.loopback.refdb_access import USER, RefDbAccess
from tests.integration.conftest import NewOperator
from tests.integration.test_purge import Purged, purged_cluster, shrink, skipped  # noqa: F401 - a fixture
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration

KIND = "DataPlaneReachable"
AUTHENTICATION, TLS = NotReached.AUTHENTICATION_FAILED, NotReached.TLS_FAILED


@pytest.fixture(scope="module")
def guarded(
    kafka: KafkaProcesses, etcd: EtcdProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RefDbProcesses]:
    """A database with one datanode, behind TLS and a user."""
    access = RefDbAccess(tmp_path_factory.mktemp("access"))
    with RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=1, access=access) as processes:
        answer = processes.sql("CREATE TABLE t(ts TIMESTAMP TIME INDEX, k STRING, PRIMARY KEY(k))")
        assert "code" not in answer, answer
        yield processes


def access_of(database: RefDbProcesses) -> RefDbAccess:
    assert database.access is not None
    return database.access


def tls_of(database: RefDbProcesses, client: Certificate | None = None) -> ClientTLS:
    access = access_of(database)
    shown = client or access.client
    return ClientTLS(access.authority.cert.read_text(), shown.cert.read_text(), shown.key.read_text())


def user_of(database: RefDbProcesses) -> User:
    return User(USER, access_of(database).password)


def let_in(database: RefDbProcesses) -> GreptimeDB:
    return GreptimeDB(database.metasrv_url, database.frontend_url, tls_of(database), user_of(database))


def said(why: NotReached, ask: Callable[[], object]) -> str:
    """The sentence of a refusal, which stays the same."""
    sentences = set()
    for _ in range(2):
        with pytest.raises(PartRefused) as refused:
            ask()
        assert refused.value.why is why, refused.value
        sentences.add(str(refused.value))
    (sentence,) = sentences
    return sentence


def test_who_is_let_in_is_told_all_and_may_flush_and_turn_maintenance_on(guarded: RefDbProcesses) -> None:
    database = let_in(guarded)
    (report,) = database.reports()
    assert report.datanode_id == 0
    assert {node.node_id for node in database.nodes()} == {0}
    assert database.wal_settings().provider == "kafka"
    ((region,),) = guarded.rows("SELECT region_id FROM information_schema.region_peers")
    assert database.flush_regions([region]) == {}
    switch = GreptimeMaintenance(guarded.metasrv_url, tls_of(guarded))
    for enabled in (True, False):
        switch.set_maintenance(enabled=enabled)
        assert switch.in_maintenance() is enabled


def test_a_wrong_password_and_a_missing_user_are_told(guarded: RefDbProcesses) -> None:
    metasrv, url, tls = guarded.metasrv_url, guarded.frontend_url, tls_of(guarded)
    for user in (User(USER, "wrong"), User("nobody", access_of(guarded).password)):
        sentence = said(AUTHENTICATION, GreptimeDB(metasrv, url, tls, user).nodes)
        assert sentence.startswith(f"the frontend at {url} answers 401 (code 700")
        assert sentence.endswith(
            "it refused the user name or password, correct the Secret of dataPlane.greptimedb.auth"
        )
    assert said(AUTHENTICATION, GreptimeDB(metasrv, url, tls).nodes) == (
        f"the frontend at {url} answers 401 (code 7003): it wants a user name and password, set"
        " dataPlane.greptimedb.auth"
    )
    with pytest.raises(PartRefused, match="cannot have a colon"):
        GreptimeDB(metasrv, url, tls, User("a:b", "c"))


def test_a_user_who_may_only_read_looks_and_cannot_flush(guarded: RefDbProcesses) -> None:
    ((region,),) = guarded.rows("SELECT region_id FROM information_schema.region_peers")
    try:
        access_of(guarded).new_password("ro")
        database = let_in(guarded)
        assert database.nodes()
        assert said(AUTHENTICATION, lambda: database.flush_regions([region])) == (
            f"the frontend at {guarded.frontend_url} answers 403 (code 7006): the user may not do this, let it read and"
            " write"
        )
    finally:
        access_of(guarded).new_password()


def test_a_changed_password_is_used_at_once(guarded: RefDbProcesses) -> None:
    before = let_in(guarded)
    assert before.nodes()
    access_of(guarded).new_password()
    assert "refused the user name or password" in said(AUTHENTICATION, before.nodes)
    assert let_in(guarded).nodes()


def test_an_unknown_ca_is_told(guarded: RefDbProcesses, tmp_path: Path) -> None:
    stranger = CertificateAuthority(tmp_path).cert.read_text()
    for tls in (replace(tls_of(guarded), ca_pem=stranger), SYSTEM_TRUST):
        sentence = said(TLS, GreptimeDB(guarded.metasrv_url, guarded.frontend_url, tls).reports)
        assert sentence.startswith(f"the metasrv at {guarded.metasrv_url}: its certificate does not fit (")
        assert sentence.endswith("dataPlane.greptimedb.tls.caSecretRef must hold the CA that signed it")


@pytest.mark.parametrize(
    ("days", "names", "sentence"),
    [
        ("-1", None, "(certificate has expired): renew it, where it is served"),
        (
            "2",
            "DNS:elsewhere.example",
            (
                "(IP address mismatch, certificate is not valid for '127.0.0.1'):"
                " declare a name that it is for, or have one issued for this address"
            ),
        ),
    ],
    ids=["expired", "another name"],
)
def test_a_certificate_that_does_not_fit_is_told(
    guarded: RefDbProcesses, days: str, names: str | None, sentence: str
) -> None:
    access = access_of(guarded)
    issued = access.authority.issue(f"bad{days}", "/CN=bad", names, days=days)
    address = f"127.0.0.1:{free_ports(1)[0]}"
    frontend, plain = guarded.new_frontend(f"frontend{days}", *access.tls_flags(address, issued))
    frontend.start()
    try:
        wait_healthy(frontend, plain)
        database = GreptimeDB(guarded.metasrv_url, f"https://{address}", tls_of(guarded))
        told = said(TLS, database.nodes)
        assert told == f"the frontend at https://{address}: its certificate does not fit {sentence}"
        assert GreptimeDB(guarded.metasrv_url, f"http://{plain}").nodes(), "its plain port is open, and has no users"
    finally:
        frontend.kill()


def test_a_client_certificate_that_is_missing_or_refused_is_told(guarded: RefDbProcesses, tmp_path: Path) -> None:
    """Whether the alert comes before the end of the connection is chance."""
    issued = {
        "expired": access_of(guarded).authority.issue("expired-client", "/CN=expired", days="-1"),
        "a stranger's": CertificateAuthority(tmp_path).issue("stranger", "/CN=seawall"),
    }
    none = replace(tls_of(guarded), client_cert_pem=None, client_key_pem=None)
    for tls in (none, *(tls_of(guarded, client) for client in issued.values())):
        with pytest.raises((PartRefused, PartUnavailable), match="client certificate") as refused:
            GreptimeDB(guarded.metasrv_url, guarded.frontend_url, tls).reports()
        assert isinstance(refused.value, PartRefused | PartUnavailable)
        assert refused.value.why in {TLS, NotReached.METASRV_UNREACHABLE}


def test_http_to_a_tls_port_and_tls_to_an_http_port_are_told(guarded: RefDbProcesses) -> None:
    plain = guarded.metasrv_url.replace("https", "http")
    with pytest.raises((PartRefused, PartUnavailable), match=r"check http:// or https://|answers 400"):
        GreptimeDB(plain, guarded.frontend_url, tls_of(guarded)).reports()
    secure = f"https://{guarded.metasrv_address}"
    with pytest.raises((PartRefused, PartUnavailable), match=r"check http:// or https://|check that it speaks TLS"):
        GreptimeDB(secure, guarded.frontend_url, tls_of(guarded)).reports()


class Connections:
    """Established ones to the ports of a database since this was made (/proc/net/tcp: addresses, state 01).

    Those from before are of tests whose clients nobody has collected yet: an exception that was caught keeps them.
    """

    def __init__(self, database: RefDbProcesses) -> None:
        self._urls = database.metasrv_url, database.frontend_url
        self._before = {url: self._to(url) for url in self._urls}

    def count(self) -> tuple[int, int]:
        """How many there are to the metasrv, and to the frontend."""
        metasrv, frontend = (len(self._to(url) - self._before[url]) for url in self._urls)
        return metasrv, frontend

    @staticmethod
    def _to(url: str) -> set[str]:
        """The client's end of each."""
        port = f":{int(url.rsplit(':', 1)[1]):04X}"
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return {row[1] for row in rows if row[2].endswith(port) and row[3] == "01"}


def test_no_connection_outlives_the_certificate_or_user_that_it_was_made_with(
    guarded: RefDbProcesses, etcd: EtcdProcess
) -> None:
    connections, planes, key = Connections(guarded), AllDataPlanes(), Key("db", "wal")
    connection = DataPlaneConnection(
        guarded.metasrv_url,
        guarded.frontend_url,
        EtcdConnection((etcd.url,), f"{guarded.prefix}/"),
        tls_of(guarded),
        user_of(guarded),
    )
    parts = planes.connect(key, connection)
    assert planes.connect(key, replace(connection)) is parts
    parts.data_plane.reports()
    parts.data_plane.nodes()
    planes.maintenance_of(key, guarded.metasrv_url, connection.tls).in_maintenance()
    assert connections.count() == (2, 1)
    other = tls_of(guarded, access_of(guarded).authority.issue("next-client", "/CN=next"))
    planes.connect(key, replace(connection, tls=other))
    assert connections.count() == (1, 0)
    switch = planes.maintenance_of(key, guarded.metasrv_url, other)
    assert connections.count() == (0, 0)
    switch.in_maintenance()
    planes.forget(key)
    assert connections.count() == (0, 0)


@pytest.fixture
def served(own_site: Site, new_operator: NewOperator) -> Site:
    """A corner whose operator looks often."""
    new_operator(resync_seconds=3).start()
    return own_site


def sentence_of(site: Site, status: str, reason: str) -> str:
    return str(condition(site.wait_for(KIND, status, reason), KIND)["message"])


def test_secrets_are_named_when_they_are_missing_and_read_again_when_they_change(
    served: Site, guarded: RefDbProcesses, tmp_path: Path
) -> None:
    access = access_of(guarded)
    secrets = access.secrets()
    served.declare(greptimedb=guarded.declared())
    assert sentence_of(served, "False", "SecretMissing") == "Secret greptimedb-ca does not exist"
    served.make_secret("greptimedb-ca", ca_crt=CertificateAuthority(tmp_path).cert.read_text())
    served.make_secret("greptimedb-client", **secrets["greptimedb-client"])
    served.make_secret("greptimedb-user", username=USER)
    served.wait_object(
        lambda found: condition(found, KIND)["message"] == "Secret greptimedb-user has no key password",
        "the missing key is named",
    )
    change(served, "greptimedb-user", password="wrong")
    told = sentence_of(served, "False", "DataPlaneTLSFailed")
    assert "the metasrv" in told
    assert "the frontend" in told
    change(served, "greptimedb-ca", **{"ca.crt": access.authority.cert.read_text()})
    assert "it refused the user name or password" in sentence_of(served, "False", "DataPlaneAuthenticationFailed")
    change(served, "greptimedb-user", password=access.password)
    assert sentence_of(served, "True", "Connected") == "1 of 1 datanodes report"
    served.wait_ready()
    log = served.operator.log()
    for secret in (access.password, base64.b64encode(f"{USER}:{access.password}".encode()).decode()):
        assert secret not in log
    assert "PRIVATE KEY" not in log


def change(site: Site, name: str, **values: str) -> None:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    site.kube.merge(site.core("secrets", name), {"data": data})


# The tests above ask this database all that a purge asks; integration/test_purge.py purges.
@pytest.mark.soak
def test_a_purge_works_behind_tls_and_a_user_and_deletes_nothing_while_its_password_is_refused(
    purged_cluster: Callable[..., AbstractContextManager[Purged]],  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    access = RefDbAccess(tmp_path)
    with purged_cluster(access) as purged:
        shrink(purged)
        purged.write()
        before, password = purged.log_starts(), access.new_password()
        assert "it refused the user name or password" in sentence_of(
            purged.site, "False", "DataPlaneAuthenticationFailed"
        )
        run = purged.run()
        assert set(skipped(run).values()) == {"VersionUnknown"}, run["status"]
        assert purged.log_starts() == before
        change(purged.site, "greptimedb-user", password=password)
        sentence_of(purged.site, "True", "Connected")
        shrink(purged)
        assert purged.missing() == set()
        assert password not in purged.site.operator.log()
