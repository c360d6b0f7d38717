"""A WALCluster with its database: what is seen of it, and what is said and goes on when it does not answer."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from seawall.domain.dataplane.connection import SYSTEM_TRUST
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.mysql import MysqlProcess
from seawall_e2e.loopback.postgresql import PostgresProcess
from seawall_e2e.loopback.refdb import RefDbProcesses, wait_healthy
from tests.integration.conftest import NewOperator
from tests.support.kube import Object
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration

KIND = "DataPlaneReachable"
RESYNC_SECONDS = 3
NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def served(own_site: Site, new_operator: NewOperator) -> Site:
    """A corner whose operator looks often."""
    new_operator(resync_seconds=RESYNC_SECONDS).start()
    return own_site


def greptimedb(refdb: RefDbProcesses, **changes: Any) -> Object:
    return refdb.declared(**{"frontend": f"http://{refdb.frontend_address}/", **changes})


def secured(refdb: RefDbProcesses, etcd: EtcdProcess) -> Object:
    tls = {"caSecretRef": {"name": "ca"}, "clientCertSecretRef": {"name": "client"}}
    auth = {"credentialsSecretRef": {"name": "user"}}
    store = {"endpoints": [etcd.url], "prefix": etcd.access.prefix, "tls": tls, "auth": auth}
    return greptimedb(refdb, metadataStore={"etcd": store})


def sentence(found: Object) -> str:
    return str(condition(found, KIND)["message"])


def test_a_database_that_answers_is_counted(site: Site, refdb: RefDbProcesses) -> None:
    refdb.sql("CREATE TABLE counted(ts TIMESTAMP, n STRING, PRIMARY KEY(n), TIME INDEX (ts)) ENGINE=mito")
    site.declare(greptimedb=greptimedb(refdb))
    found = site.wait_for(KIND, "True", "Connected")
    assert sentence(found) == "3 of 3 datanodes report"
    shown = found["status"]["dataPlane"]
    assert shown.pop("regions") >= shown.pop("topicsInUse") >= 1
    assert shown.pop("identity").endswith(f"/{refdb.prefix}/")
    known = {"datanodes": 3, "reporting": 3, "readsMarkerAtOpen": True, "claimed": False, "version": "1.1.0"}
    assert shown == known
    site.wait_ready()


def test_its_status_is_written_once(served: Site, refdb: RefDbProcesses) -> None:
    """Reports come every second; looks and ticks go on; nothing of that is news."""
    served.declare(greptimedb=greptimedb(refdb))
    served.wait_for(KIND, "True")
    served.wait_ready()
    served.wait_for("WALIntact", "True")
    # A look that began before the topics were created has numbers too: of no topic.
    served.wait_object(
        lambda found: found["status"].get("wal", {}).get("topics") == 2, "the ledger tells of both topics"
    )
    served.wait_brokers_told()
    served.operator.wait_for_idle_ticks()
    before = served.read()
    for _ in range(3):
        served.operator.wait_for_idle_ticks()
    now = served.read()
    changed_status = {part: (before["status"].get(part), reported) for part, reported in now["status"].items()}
    assert {part: both for part, both in changed_status.items() if both[0] != both[1]} == {}
    assert now == before


def test_a_metasrv_that_dies_is_told_and_its_return_too_and_the_topics_are_tended_meanwhile(
    served: Site, refdb: RefDbProcesses
) -> None:
    served.declare(greptimedb=greptimedb(refdb))
    known = served.wait_for(KIND, "True")["status"]["dataPlane"]
    served.wait_ready()
    refdb.metasrv.kill()
    try:
        found = served.wait_for(KIND, "False", "MetasrvUnreachable")
        # The frontend, which asks the metasrv for what runs, is named after it.
        assert sentence(found).split("; ")[0] == (
            f"the metasrv at http://{refdb.metasrv_address} does not answer (Connection refused):"
            " check that it runs and that network policies let Seawall in"
        )
        assert condition(found, "Ready")["status"] == "True"
        assert found["status"]["dataPlane"] == known
        assert served.wait_event("MetasrvUnreachable")["type"] == "Warning"
        served.edit(count=3)
        assert served.wait_ready()["status"]["topics"]["ready"] == 3
    finally:
        refdb.metasrv.start()
        wait_healthy(refdb.metasrv, refdb.metasrv_address)
    served.wait_object(lambda found: sentence(found) == "3 of 3 datanodes report", "all is as before")


def test_every_silent_part_is_named(site: Site, refdb: RefDbProcesses) -> None:
    store = {"etcd": {"endpoints": [NOBODY, "http://127.0.0.1:2"]}}
    site.declare(greptimedb=greptimedb(refdb, frontend=NOBODY, metadataStore=store))
    reported = sentence(site.wait_for(KIND, "False", "MetadataStoreUnreachable")).split("; ")
    assert [part.split(" does not answer")[0] for part in reported] == [
        f"etcd at {NOBODY}",
        f"the frontend at {NOBODY}",
    ]
    site.wait_ready()


def test_a_hanging_part_delays_no_topic(site: Site, refdb: RefDbProcesses) -> None:
    """The look takes 5 s for each of its endpoints."""
    with EtcdProcess() as frozen:
        frozen.pause()
        store = {"etcd": {"endpoints": [frozen.url] * 16}}
        site.declare(greptimedb=greptimedb(refdb, metadataStore=store))
        found = site.wait_ready()
        assert condition(found, KIND)["status"] == "Unknown", "the topics are ready before the look has ended"


def lets_in_who_has_the_right_password(served: Site, username: str, password: str) -> None:
    """A wrong one is told; the right one leads to a store, which is empty, and not that of the metasrv."""
    served.make_secret("user", username=username, password="wrong")
    refused = sentence(served.wait_for(KIND, "False", "DataPlaneAuthenticationFailed"))
    assert "refused the user name or password" in refused
    encoded = base64.b64encode(password.encode()).decode()
    served.kube.merge(served.core("secrets", "user"), {"data": {"password": encoded}})
    served.wait_for(KIND, "False", "DatabaseContradictsItself")
    assert password not in served.operator.log()


def test_etcd_is_reached_by_mutual_tls_and_a_user(
    served: Site, refdb: RefDbProcesses, secure_etcd: EtcdProcess
) -> None:
    access = secure_etcd.access
    served.declare(greptimedb=secured(refdb, secure_etcd))
    assert sentence(served.wait_for(KIND, "False", "SecretMissing")) == "Secret ca does not exist"
    served.make_secret("ca", ca_crt=access.ca_pem)
    served.make_secret("client", tls_crt=access.client_cert_pem, tls_key=access.client_key_pem)
    lets_in_who_has_the_right_password(served, access.username, access.password)


@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_a_store_of_sql_is_reached_by_tls_a_client_certificate_and_a_user(
    served: Site, refdb: RefDbProcesses, name: str, request: pytest.FixtureRequest
) -> None:
    server: PostgresProcess | MysqlProcess = request.getfixturevalue(f"secure_{name}")
    access = server.connection
    tls = {"caSecretRef": {"name": "ca"}, "clientCertSecretRef": {"name": "client"}}
    store = {
        "hosts": [f"{host}:{port}" for host, port in access.hosts],
        "database": access.database,
        "tls": tls,
        "auth": {"credentialsSecretRef": {"name": "user"}},
    }
    served.declare(greptimedb=greptimedb(refdb, metadataStore={name: store}))
    assert sentence(served.wait_for(KIND, "False", "SecretMissing")) == "Secret ca does not exist"
    client = access.tls or SYSTEM_TRUST
    served.make_secret("client", tls_crt=client.client_cert_pem or "", tls_key=client.client_key_pem or "")
    served.make_secret("ca", ca_crt=client.ca_pem or "")
    lets_in_who_has_the_right_password(served, access.user.name, access.user.password)


def test_a_database_that_is_declared_no_more_is_not_shown(site: Site, refdb: RefDbProcesses) -> None:
    site.declare(greptimedb=greptimedb(refdb))
    site.wait_for(KIND, "True")
    site.kube.merge(site.path(), {"spec": {"dataPlane": None}})
    site.wait_object(
        lambda found: not condition(found, KIND) and found["status"]["dataPlane"].keys() <= {"identity", "claimed"},
        "nothing is said of the database",
    )
