"""What a WALCluster says of a database that serves the contract, and who Seawall is to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.http_database import HTTPDatabase
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    ClientTLS,
    HTTPConnection,
    NoDataPlane,
    NotReached,
    User,
    contract_address,
    url_of_contract,
)
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.dataplane.wal_settings import Capabilities, WALSettings
from seawall.domain.step import Record
from seawall.observe.connections import required_access, resolve_data_plane
from tests.domain.builders import make_cluster, make_kafka, make_spec, make_topic, next_step, observe
from tests.domain.test_data_plane import GREPTIMEDB
from tests.fakes.kube import FakeKube

URL = "https://queue.db:8443"
SPEC = make_spec(dataPlane={"http": {"url": URL}})
POOL = make_kafka(make_topic("wal_0"), make_topic("wal_1"))
ALL = Capabilities(markers=True, durable_starts=True, flush=True, maintenance=True)
NOTHING = Capabilities(markers=False, durable_starts=False, flush=False, maintenance=False)
SAID = WALSettings("kafka", "wal", 2, 0.0, capabilities=ALL)


def view(said: WALSettings | None = SAID) -> DataPlaneView:
    return DataPlaneView(
        datanodes=1, reporting=1, regions=2, topics_in_use=2, store_id="http/q", claims={}, version="1.0.0", wal=said
    )


def shown(kind: ConditionType, data_plane: DataPlaneView | NoDataPlane | None) -> tuple[str, str, str]:
    cluster = make_cluster(spec=SPEC)
    step = next_step(cluster, observe(SPEC, POOL, data_plane=data_plane))
    assert isinstance(step, Record)
    found = find_condition(step.status.conditions, kind)
    assert found is not None
    return found.status, found.reason, found.message


@pytest.mark.parametrize(
    ("capabilities", "said"),
    [
        (ALL, "1 of 1 datanodes report"),
        (
            replace(ALL, markers=False),
            "1 of 1 datanodes report; the database has no markers (mode C: idle regions hold their logs back)",
        ),
        (
            NOTHING,
            f"1 of 1 datanodes report; the database has {', '.join(NOTHING.absent)}",
        ),
    ],
)
def test_what_the_database_cannot_do_is_said(capabilities: Capabilities, said: str) -> None:
    answer = view(replace(SAID, capabilities=capabilities))
    assert shown(ConditionType.DATA_PLANE_REACHABLE, answer) == ("True", "Connected", said)


def test_all_that_is_missing_is_named() -> None:
    assert [clause.partition(" (")[0] for clause in NOTHING.absent] == [
        "neither markers nor durable starts",
        "no flush",
        "no maintenance",
    ]


@pytest.mark.parametrize(
    ("data_plane", "status", "reason", "said"),
    [
        (view(), "False", "AsDeclared", "the database says what is declared"),
        (view(replace(SAID, num_topics=3)), "True", "ConfigDiffers", "wal.topicCount is 3 and 2 is declared"),
        (
            view(replace(SAID, topic_name_prefix="q")),
            "True",
            "ConfigDiffers",
            "wal.topicPrefix is q and wal is declared",
        ),
        (view(replace(SAID, auto_prune_seconds=None)), "True", "SecondPruner", "make it stop"),
        (view(None), "Unknown", "SettingsUnknown", "the database does not answer"),
        (NoDataPlane(NotReached.DATABASE_UNREACHABLE, "silent"), "Unknown", "SettingsUnknown", "does not answer"),
        (None, "Unknown", "NotAsked", "has not ended yet"),
    ],
)
def test_what_it_says_is_compared_with_what_is_declared(
    data_plane: DataPlaneView | NoDataPlane | None, status: str, reason: str, said: str
) -> None:
    found = shown(ConditionType.DATA_PLANE_CONFIG_DIFFERS, data_plane)
    assert found[:2] == (status, reason)
    assert said in found[2]


@pytest.mark.parametrize("markers", [True, False])
def test_the_status_says_what_is_pinned_and_whether_regions_read_the_marker(*, markers: bool) -> None:
    answer = view(replace(SAID, capabilities=replace(ALL, markers=markers)))
    step = next_step(make_cluster(spec=SPEC), observe(SPEC, POOL, data_plane=answer))
    assert isinstance(step, Record)
    found = step.status.data_plane
    assert found is not None
    assert (found.identity, found.version, found.reads_marker_at_open) == ("http/q", "1.0.0", markers)


SECRETS = {"queue-user": {"username": b"seawall", "password": b"hunter2"}, "queue-ca": {"ca.crt": b"PEM"}}
ACCESS = {
    "tls": {"caSecretRef": {"name": "queue-ca"}},
    "auth": {"credentialsSecretRef": {"name": "queue-user"}},
}


def test_the_connection_is_that_of_the_spec_and_its_secrets() -> None:
    spec = HTTPDatabase.model_validate({"url": f"{URL}/", **ACCESS})
    found = resolve_data_plane(spec, SECRETS.get)
    assert found == HTTPConnection(URL, ClientTLS("PEM"), User("seawall", "hunter2"))
    missing = resolve_data_plane(spec, lambda _: None)
    assert isinstance(missing, NoDataPlane)
    assert missing.why is NotReached.SECRET_MISSING


@pytest.mark.parametrize(
    ("data_plane", "address", "user"),
    [
        ({"http": {"url": URL, **ACCESS}}, contract_address(URL), User("seawall", "hunter2")),
        ({"http": {"url": URL, **ACCESS}}, contract_address("https://other:8443"), None),
        ({"http": {"url": URL, **ACCESS}}, "https://metasrv:4000", None),
        ({"greptimedb": GREPTIMEDB}, contract_address(URL), None),
    ],
)
def test_a_password_goes_only_to_where_it_is_declared_for(data_plane: Any, address: str, user: User | None) -> None:
    kube = FakeKube()
    cluster: WALCluster = make_cluster(spec=make_spec(dataPlane=data_plane))
    for name, data in SECRETS.items():
        kube.secrets[Key(cluster.metadata.namespace, name)] = data
    tls, found = required_access(kube, cluster, address)
    assert found == user
    assert (tls == SYSTEM_TRUST) is ("http" not in data_plane or url_of_contract(address) is None)
