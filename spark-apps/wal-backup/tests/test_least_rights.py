"""The rights that README.md names are enough, and without one of them it is said at once which."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.fs
import pytest
from backups import Answer, Bed, bed_in_folder
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from expiry_stories import OLD, OLDER, REST, STAYS, Stock
from pyspark.sql import SparkSession
from restores import Restores
from spark_marks import WITH_SPARK
from wal_logs import clean_log

from seawall_e2e import kafka_users
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from seawall_e2e.waiting import wait_until
from wal_backup.restore.target import RIGHTS

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK

README = (Path(__file__).parents[1] / "README.md").read_text()
ACLS = Path(__file__).parents[3] / "docs/kafka-acls.md"
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # the plaintext listener of the bed
}
USER, PASSWORD = "backup", "a-password"
ALLOWED, DESCRIBED, FORBIDDEN = "acl_wal_0", "acl_wal_1", "other_0"
LOG = clean_log()


@pytest.fixture(scope="module")
def strict(beds: str) -> Iterator[KafkaProcesses]:
    """A broker that knows rights, a user with those of README.md, and one topic that it may describe only."""
    with KafkaProcesses(1, sasl_ssl=True, properties=AUTHORIZER) as processes:
        yield processes


@pytest.fixture
def strict_bed(spark: SparkSession, strict: KafkaProcesses, tmp_path: Path) -> Bed:
    """A store, and that broker."""
    return bed_in_folder(spark, strict, tmp_path)


def as_user(bed: Bed, kafka: KafkaProcesses, user: str = USER) -> dict[str, Any]:
    """`kafka` of a request, with the user of the job."""
    for name, text in {"ca.crt": kafka.secure.ca_pem, "username": user, "password": PASSWORD}.items():
        (bed.folder / name).write_text(text)
    return {
        "bootstrapServers": [kafka.secure.sasl_ssl_servers[0]],
        "clusterId": kafka.cluster_id,
        "tls": {"caFile": str(bed.folder / "ca.crt"), "certFile": None, "keyFile": None},
        "sasl": {
            "mechanism": "SCRAM-SHA-512",
            "usernameFile": str(bed.folder / "username"),
            "passwordFile": str(bed.folder / "password"),
        },
    }


def ended(answer: Answer, outcome: str, sentence: str) -> None:
    """It ended so."""
    assert (answer.summary["outcome"], answer.summary["message"].partition(":")[0]) == (outcome, sentence)


def test_a_user_of_kafka_who_may_describe_and_read_is_enough_and_less_is_told_at_once(
    strict_bed: Bed, strict: KafkaProcesses
) -> None:
    bed = strict_bed
    bed.topics.fill(dict.fromkeys((ALLOWED, DESCRIBED, FORBIDDEN), LOG.records))
    boss, secure = AdminClient({"bootstrap.servers": bed.topics.servers}), strict.secure
    kafka_users.let_read(boss, USER, PASSWORD, ALLOWED)
    describe = AclBinding(
        ResourceType.TOPIC,
        DESCRIBED,
        ResourcePatternType.LITERAL,
        f"User:{USER}",
        "*",
        AclOperation.DESCRIBE,
        AclPermissionType.ALLOW,
    )
    boss.create_acls([describe])[describe].result(kafka_users.TIMEOUT)
    who = (secure.sasl_ssl_servers[0], USER, PASSWORD, secure.ca_pem)
    for topic in (ALLOWED, DESCRIBED):
        wait_until(lambda topic=topic: kafka_users.end_as(boss, topic, *who) == LOG.end, "it knows the user")  # type: ignore[misc]
    kafka = as_user(bed, strict)

    assert "--operation Describe --operation Read --topic" in README
    full = bed.back_up((ALLOWED, 0, 20), kafka=kafka, verify="Integrity")
    more = bed.back_up((ALLOWED, 20, LOG.end), parent=full, name="more", kafka=kafka, verify="Integrity")
    assert (full.code, more.code) == (0, 0), (full.summary, more.summary)
    ended(
        bed.back_up((ALLOWED, 0, LOG.end), (DESCRIBED, 0, LOG.end), kafka=kafka, name="other", chain="other"),
        "Interrupted",
        f"the user of Kafka may not read topic {DESCRIBED}",
    )
    ended(
        bed.back_up((ALLOWED, 0, LOG.end), (FORBIDDEN, 0, LOG.end), kafka=kafka, name="another", chain="another"),
        "Interrupted",
        f"the user of Kafka may not describe topic {FORBIDDEN}",
    )
    assert kafka_users.delete_as(boss, ALLOWED, "1", *who) == "TOPIC_AUTHORIZATION_FAILED"
    kafka_users.forget(boss, USER)


def test_a_user_of_kafka_with_the_rights_of_a_drill_is_enough_and_without_any_of_them_nothing_is_restored(
    strict_bed: Bed, strict: KafkaProcesses
) -> None:
    bed, user = strict_bed, "restore"
    boss, secure = AdminClient({"bootstrap.servers": bed.topics.servers}), strict.secure
    (command,) = re.findall(r"--allow-principal User:seawall-restore ((?:.*\\\n)*.*)", ACLS.read_text())
    rights = {
        AclOperation[re.sub("(?<!^)(?=[A-Z])", "_", name).upper()] for name in re.findall(r"operation (\w+)", command)
    }
    (prefix,) = re.findall(r"--topic (\S+) --resource-pattern-type prefixed", command)
    topic, scratch = "backed_up", f"{prefix}drill-0"
    bed.topics.fill({topic: LOG.records})
    assert bed.back_up((topic, 20, LOG.end)).code == 0  # what begins later is padded, and then deleted before it
    restores = Restores(bed)
    digest = restores.plan(topic).summary["plan"]["digest"]
    who = (secure.sasl_ssl_servers[0], user, PASSWORD, secure.ca_pem)

    def restored(given: Collection[AclOperation]) -> Answer:
        kafka_users.allow(boss, user, PASSWORD, prefix, *given)
        restores.make_anew(scratch)
        wait_until(lambda: kafka_users.end_as(boss, scratch, *who) == 0, "it knows the user")
        request = {**restores.request(digest, topic), **restores.scratch({topic: scratch})}
        answer = bed.run("restore", {**request, "kafka": as_user(bed, strict, user)})
        kafka_users.forget(boss, user)
        return answer

    assert rights == RIGHTS.keys()
    for missing in sorted(rights - {AclOperation.DESCRIBE}, key=lambda each: each.name):  # all others imply Describe
        ended(restored(rights - {missing}), "Refused", f"the user of Kafka lacks {RIGHTS[missing]} on topic {scratch}")
        assert restores.state(scratch).end == 0, missing
    answer = restored(rights)
    assert (answer.code, answer.summary["restored"]) == (0, 1), answer.summary


def policy(bucket: str, key: str, *actions: str, deletes: bool = False) -> dict[str, Any]:
    """README.md's policy, for this user and bucket, with those of its actions; the second one is of who deletes."""
    given = [part for part in README.split("```") if part.startswith("json\n")][deletes]
    found: dict[str, Any] = json.loads(given.removeprefix("json\n").replace("BUCKET", bucket))
    for statement in found["Statement"]:
        statement["Principal"] = {"AWS": [key]}
        statement["Action"] = [action for action in statement["Action"] if action in actions or not actions]
    found["Statement"] = [statement for statement in found["Statement"] if statement["Action"]]
    return found


def storage_as(bed: Bed, keys: tuple[str, str], name: str) -> Mapping[str, Any]:
    """The bed's bucket, with the keys of a user."""
    files = {"accessKeyIdFile": bed.folder / f"{name}-id", "secretAccessKeyFile": bed.folder / f"{name}-secret"}
    for path, text in zip(files.values(), keys, strict=True):
        path.write_text(text)
    return {"s3": {**bed.storage["s3"], **{member: str(path) for member, path in files.items()}}}


def test_a_user_of_the_store_who_may_put_get_and_list_is_enough_and_deletes_nothing(bed: Bed, s3: S3Process) -> None:
    topic, bucket, keys = "rights_of_s3", bed.storage["s3"]["bucket"], s3.make_user()
    bed.topics.fill({topic: LOG.records})
    bed.storage = storage_as(bed, keys, "writer")
    answer = bed.back_up((topic, 0, 20))
    assert answer.summary["outcome"] == "Interrupted", answer.summary
    assert "the store refuses" in answer.summary["message"]

    s3.set_policy(bucket, policy(bucket, keys[0]))
    full = bed.back_up((topic, 0, 20), verify="Integrity")
    more = bed.back_up((topic, 20, LOG.end), parent=full, name="more", verify="Integrity")
    assert (full.code, more.code, bed.check("Integrity").code) == (0, 0, 0), (full.summary, more.summary)
    asked = bed.storage["s3"]
    address = asked["endpoint"].removeprefix("http://")
    store = pyarrow.fs.S3FileSystem(
        access_key=keys[0], secret_key=keys[1], region=asked["region"], endpoint_override=address, scheme="http"
    )
    with pytest.raises(OSError, match=r"ACCESS_DENIED|AccessDenied"):
        store.delete_file(f"{bucket}/here/{bed.manifest_path(more).relative_to(bed.objects)}")
    assert bed.inspect().summary["chains"][0]["backups"] == 2


def test_without_any_of_these_rights_no_backup_is_made_and_without_put_one_is_checked(bed: Bed, s3: S3Process) -> None:
    topic, bucket, keys = "rights_of_a_reader", bed.storage["s3"]["bucket"], s3.make_user()
    bed.topics.fill({topic: LOG.records})
    full = bed.back_up((topic, 0, 20))
    bed.storage = storage_as(bed, keys, "less")
    rights = {"s3:PutObject", "s3:GetObject", "s3:ListBucket"}
    for missing in sorted(rights):
        s3.set_policy(bucket, policy(bucket, keys[0], *(rights - {missing})))
        answer = bed.back_up((topic, 20, LOG.end), parent=full, name="more")
        assert answer.summary["outcome"] == "Interrupted", (missing, answer.summary)
        assert "the store refuses" in answer.summary["message"], missing
        assert (bed.check("Integrity").code == 0) is (missing == "s3:PutObject"), missing


def test_a_user_of_the_store_who_restores_may_list_and_get_and_put_plans_and_no_more_is_needed(
    bed: Bed, s3: S3Process
) -> None:
    topic, bucket, keys = "rights_to_restore", bed.storage["s3"]["bucket"], s3.make_user()
    bed.topics.fill({topic: LOG.records})
    assert bed.back_up((topic, 0, LOG.end)).code == 0
    bed.storage, restores = storage_as(bed, keys, "restorer"), Restores(bed)
    reads = policy(bucket, keys[0], "s3:GetObject", "s3:ListBucket")
    s3.set_policy(bucket, reads)
    answer = restores.plan()
    assert (answer.summary["outcome"], "the store refuses" in answer.summary["message"]) == ("Refused", True)

    plans = f"arn:aws:s3:::{bucket}/{bed.chain.relative_to(bed.objects.parent)}/plans/*"
    put = {"Effect": "Allow", "Principal": {"AWS": [keys[0]]}, "Action": ["s3:PutObject"], "Resource": [plans]}
    s3.set_policy(bucket, {**reads, "Statement": [*reads["Statement"], put]})
    planned = restores.plan()
    assert planned.code == 0, planned.summary
    assert bed.back_up((topic, 0, LOG.end), name="other", chain="other").summary["outcome"] == "Interrupted"
    s3.set_policy(bucket, reads)  # the plan is there: who restores puts nothing
    restores.make_anew(topic)
    restored = bed.run("restore", restores.request(planned.summary["plan"]["digest"], topic))
    assert (restored.code, restored.summary["restored"]) == (0, 1), restored.summary
    assert restores.state(topic).end == LOG.end


def test_only_who_may_delete_does_and_whatever_becomes_of_it_the_backup_counts(
    bed: Bed, s3: S3Process, tmp_path: Path
) -> None:
    topic, bucket, writer, deleter = "rights_to_delete", bed.storage["s3"]["bucket"], s3.make_user(), s3.make_user()
    bed.topics.fill({topic: LOG.records})
    stock = Stock(dict(bed.storage), tmp_path, bed.cluster_id)
    statements = [*policy(bucket, writer[0])["Statement"], *policy(bucket, deleter[0], deletes=True)["Statement"]]
    s3.set_policy(bucket, {"Version": "2012-10-17", "Statement": statements})
    as_deleter, bed.storage = storage_as(bed, deleter, "deleter"), storage_as(bed, writer, "writer")
    missing = {"s3": {**as_deleter["s3"], "accessKeyIdFile": str(tmp_path / "nobody")}}
    expire = {"chains": [stock.named(each) for each in (OLDER, OLD)], "stays": [stock.named(STAYS)]}
    for number, (storage, problem) in enumerate(((missing, "Refused"), (bed.storage, "Refused"), (as_deleter, None))):
        bed.chain_name = name = f"made-{number}"
        answer = bed.back_up((topic, 0, LOG.end), name=name, expire={**expire, "storage": storage})
        found = answer.summary["expired"]
        assert (answer.code, found["problem"]) == (0, problem), answer.summary
        assert found["gone"] == ([] if problem else [OLDER, OLD])
        assert bed.inspect().code == 0
    assert stock.left() == {**REST, "made-0": 1, "made-1": 1, "made-2": 1}
