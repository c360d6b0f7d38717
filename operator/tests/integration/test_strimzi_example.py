"""docs/examples/strimzi is applied as it is to an API server with the real CRDs; its users have the right rights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from seawall.domain.walconfig.render import TLS_MOUNT
from seawall_e2e.loopback import KafkaProcesses
from tests.integration.conftest import NewOperator
from tests.integration.test_kafka_acls import POOL, TABLE, rights_of_jobs, rights_of_table
from tests.support.kube import Object
from tests.support.site import Site
from tests.support.strimzi import GROUP, install_strimzi_crds

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).parents[3] / "docs/examples/strimzi"
SCRATCH, DATABASE = "seawall-scratch-", "greptimedb"
RESTORES = {"Describe", "DescribeConfigs", "Read", "Write", "Delete"}

Rights = dict[tuple[str, str | None], set[str]]


def documents(name: str) -> Iterator[Object]:
    yield from yaml.safe_load_all((EXAMPLE / name).read_text())


def rights_of(user: str) -> Rights:
    """Operations by type and name of what they are allowed on."""
    (found,) = (each for each in documents("kafka-users.yaml") if each["metadata"]["name"] == user)
    acls = found["spec"]["authorization"]["acls"]
    assert all(acl["resource"].get("patternType") == "prefix" for acl in acls if acl["resource"]["type"] == "topic")
    return {(acl["resource"]["type"], acl["resource"].get("name")): set(acl["operations"]) for acl in acls}


def shown_for_drills(user: str) -> set[str]:
    """What the command of docs/kafka-acls.md gives for drills."""
    drills = TABLE.read_text().partition("## Drills")[2].partition("\n## ")[0]
    (command,) = re.findall(rf"--allow-principal User:{user} ((?:.*\\\n)*.*)", drills)
    assert f"--topic {SCRATCH} --resource-pattern-type prefixed" in command
    return set(re.findall(r"--operation (\w+)", command))


def words(rights: Any, *, on_cluster: bool) -> set[str]:
    """As Strimzi writes operations: ALTER_CONFIGS is AlterConfigs."""
    return {right.operation.name.title().replace("_", "") for right in rights if right.on_cluster is on_cluster}


def test_the_user_of_the_operator_may_all_that_the_table_names_and_no_more() -> None:
    """In the Kafka of the WALCluster; what is done in the target of a mirror needs more there, and nothing here."""
    here = [rights for work, rights in rights_of_table().items() if "target" not in work]
    named = {right for rights in here for right in rights}
    assert rights_of("seawall") == {
        ("topic", POOL): words(named, on_cluster=False),
        ("cluster", None): words(named, on_cluster=True),
        ("topic", SCRATCH): shown_for_drills("seawall"),
    }


def test_the_users_of_jobs_may_what_the_page_says_and_no_more() -> None:
    assert rights_of("seawall-reader") == {("topic", POOL): words(rights_of_jobs(), on_cluster=False)}
    assert shown_for_drills("seawall-restore") == RESTORES
    assert rights_of("seawall-restore") == {("topic", POOL): RESTORES, ("topic", SCRATCH): RESTORES}


def test_the_database_writes_and_deletes_nothing() -> None:
    assert rights_of(DATABASE) == {("topic", POOL): {"Describe", "Read", "Write"}}


def test_the_patch_of_a_greptimedbcluster_names_the_databases_user_and_the_ca() -> None:
    """At the path, and by the variables, that the rendered `[wal]` names."""
    (cluster,), (patch,) = documents("walcluster.yaml"), documents("greptimedbcluster-patch.yaml")
    authority, spec = cluster["spec"]["kafka"]["external"]["tls"]["caSecretRef"]["name"], patch["spec"]
    env = {each["name"]: each for each in spec["base"]["main"]["env"]}
    for role in ("METASRV", "DATANODE"):
        assert env[f"GREPTIMEDB_{role}__WAL__SASL__USERNAME"]["value"] == DATABASE
        password = env[f"GREPTIMEDB_{role}__WAL__SASL__PASSWORD"]["valueFrom"]["secretKeyRef"]
        assert password == {"name": DATABASE, "key": "password"}
    for role in ("meta", "datanode"):
        template = spec[role]["template"]
        (volume,), (mount,) = template["volumes"], template["main"]["volumeMounts"]
        assert (volume["name"], volume["secret"]["secretName"]) == (mount["name"], authority)
        assert mount["mountPath"] == TLS_MOUNT


def test_the_walcluster_names_the_users_and_strimzis_secrets() -> None:
    (cluster,) = documents("walcluster.yaml")
    kafka = next(each for each in documents("kafka.yaml") if each["kind"] == "Kafka")["metadata"]["name"]
    users = {each["metadata"]["name"]: each for each in documents("kafka-users.yaml")}
    spec = cluster["spec"]
    external = spec["kafka"]["external"]
    assert external["bootstrapServers"] == [f"{kafka}-kafka-bootstrap:9093"]
    assert external["tls"]["caSecretRef"]["name"] == f"{kafka}-cluster-ca-cert"
    named = {(external["sasl"]["username"], external["sasl"]["credentialsSecretRef"]["name"])}
    for job in (spec["verification"], spec["backup"], spec["backup"]["restore"]):
        named.add((job["kafkaUsername"], job["kafkaCredentialsSecretRef"]["name"]))
    assert named | {(DATABASE, DATABASE)} == {(name, name) for name in users}
    assert {user["metadata"]["labels"]["strimzi.io/cluster"] for user in users.values()} == {kafka}


def test_the_example_is_applied_as_it_is(own_site: Site) -> None:
    site = own_site
    install_strimzi_crds(site.kube)
    site.kube.server.kubectl("apply", "-n", site.namespace, "-k", str(EXAMPLE))
    users = site.kube.request("GET", f"{GROUP}/namespaces/{site.namespace}/kafkausers")["items"]
    assert {user["metadata"]["name"] for user in users} == {"seawall", "seawall-reader", "seawall-restore", DATABASE}
    assert site.read()["spec"]["kafka"]["external"]["sasl"]["username"] == "seawall"
    lines = site.kube.server.kubectl("apply", "-n", site.namespace, "-k", str(EXAMPLE)).splitlines()
    assert len(lines) == 8
    assert all(line.endswith(" unchanged") for line in lines), "nothing of it was dropped or defaulted away"


def test_the_examples_connection_works_with_the_secrets_that_strimzi_makes(
    own_site: Site, sasl_kafka: KafkaProcesses, new_operator: NewOperator
) -> None:
    """Only addresses, the user's name and the size of the pool are this test bed's."""
    site, secure = own_site.on(sasl_kafka), sasl_kafka.secure
    login = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="{secure.username}";'
    site.make_secret("wal-cluster-ca-cert", ca_crt=secure.ca_pem, ca_password="unused")
    site.make_secret("seawall", password=secure.password, sasl_jaas_config=login)
    (cluster,) = documents("walcluster.yaml")
    external = cluster["spec"]["kafka"]["external"]
    external |= {"bootstrapServers": list(secure.sasl_ssl_servers)}
    external["sasl"] |= {"username": secure.username}
    new_operator().start()
    site.declare(topics={"replicationFactor": 1}, external=external)
    site.wait_ready()
