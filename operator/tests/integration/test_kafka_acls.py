"""A user with the rights that docs/kafka-acls.md names, and one that lacks any of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import ConfigChange, KafkaConnection, KafkaView, NewTopic
from seawall.domain.kafka_log import (
    AskedEpoch,
    Deleted,
    DeleteRefused,
    DescribedTopic,
    LogOffsets,
    Nulls,
    ProducerId,
    TopicFailure,
    TopicTrouble,
)
from seawall.domain.partitions import NO_RATES, PartitionId, Rates, Replica, ThrottledReplicas
from seawall.domain.subscription.brokers import CONFIGS
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.support.kafka import topic_ids
from tests.support.records import produce
from tests.support.rights import AUTHORIZER, Right, Rights, RightsOf
from tests.support.secure_kafka import by_password

pytestmark = pytest.mark.integration

TABLE = Path(__file__).parents[3] / "docs/kafka-acls.md"
POOL = "greptimedb_wal_topic"
PRODUCERS = count(80_000)
PREFIX, TOPIC, NEW, MANY = "acl_", "acl_0", "acl_new", "acl_many"


def rights_of_table() -> dict[str, Rights]:
    """The rights that each row names, the first row's among them."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in TABLE.read_text().splitlines() if "|" in line]
    named = {
        row[0]: frozenset(
            Right(AclOperation[re.sub("(?<!^)(?=[A-Z])", "_", name).upper()], on_cluster == 1)
            for on_cluster, cell in enumerate(row[2:])
            for name in cell.split(", ")
            if name
        )
        for row in rows[2:]
    }
    first = next(iter(named.values()))
    return {work: rights | first for work, rights in named.items()}


def rights_of_jobs() -> Rights:
    """Those that the command for the jobs of verifications gives."""
    (command,) = re.findall(r"--allow-principal User:seawall-verification ((?:.*\\\n)*.*)", TABLE.read_text())
    assert "--cluster" not in command
    assert f"--topic {POOL} --resource-pattern-type prefixed" in command
    return frozenset(Right(AclOperation[name.upper()], False) for name in re.findall(r"--operation (\w+)", command))


def rights_of_rows(topic: str) -> Rights:
    """Those that a command for rows gives Seawall's own user on a topic."""
    commands = re.findall(r"--allow-principal User:seawall ((?:.*\\\n)*.*)", TABLE.read_text())
    (command,) = [each for each in commands if re.search(rf"--topic {re.escape(topic)}(\s|$)", each)]
    names = re.findall(r"--operation (\w+)", command)
    return frozenset(Right(AclOperation[re.sub("(?<!^)(?=[A-Z])", "_", name).upper()], False) for name in names)


class User:
    """Somebody with few rights, and the super user who gives them."""

    def __init__(self, kafka: KafkaProcesses) -> None:
        secure = kafka.secure
        self.boss = ConfluentKafkaAdmin(KafkaConnection(kafka.bootstrap_servers))
        self._rights = RightsOf(kafka, PREFIX)
        connection = by_password(secure)
        self.admin = ConfluentKafkaAdmin(connection)
        self.logs = self.admin.logs
        self.reassigner = self.admin.reassigner

    def give(self, rights: Rights) -> None:
        """Has these rights and no others; the broker may take a moment to know."""
        self._rights.give(rights)


def shown(admin: ConfluentKafkaAdmin) -> KafkaView:
    view = admin.view()
    assert isinstance(view, KafkaView), view
    return view


def look(user: User) -> str:
    if TOPIC not in shown(user.admin).topics:
        return NOT_SHOWN
    user.admin.describe_configs([TOPIC])
    return ""


def create(user: User) -> str:
    if NEW in shown(user.boss).topics:
        user.boss.delete_topics(topic_ids(user.boss.logs, [NEW]))
    (only,) = user.reassigner.brokers()
    user.admin.create_topics([NewTopic(NEW, 1, {"retention.ms": "-1"}, (only.id,))])
    return ""


def repair(user: User) -> str:
    user.admin.alter_configs([ConfigChange(TOPIC, {"retention.ms": "-1"})])
    return ""


def delete_pool(user: User) -> str:
    user.boss.create_topics([NewTopic(NEW, 1, {})])
    user.admin.delete_topics(topic_ids(user.boss.logs, [NEW]))
    return ""


def read(user: User) -> str:
    answers = [
        user.logs.describe_topics([TOPIC])[TOPIC],
        user.logs.describe_offsets([TOPIC])[TOPIC],
        user.logs.describe_epoch_ends({TOPIC: AskedEpoch(0, 0)})[TOPIC],
    ]
    failures = [answer for answer in answers if isinstance(answer, TopicFailure)]
    assert {failure.why for failure in failures} <= {TopicTrouble.REFUSED}
    if 0 < len(failures) < len(answers):
        return CHANGING
    assert len({failure.message for failure in failures}) <= 1  # both clients say the same
    return failures[0].message if failures else ""


def scan(user: User) -> str:
    ends = user.boss.logs.describe_offsets([TOPIC])[TOPIC]
    assert isinstance(ends, LogOffsets)
    found = user.logs.find_unreadable(TOPIC, ends.log_start)
    return found.message if isinstance(found, TopicFailure) else ""


def witness(user: User) -> str:
    ends = user.boss.logs.describe_offsets([TOPIC])[TOPIC]
    assert isinstance(ends, LogOffsets)
    found = user.logs.read_keys({TOPIC: (ends.log_start, ends.high_watermark)})[TOPIC]
    return found.message if isinstance(found, TopicFailure) else ""


def delete_records(user: User) -> str:
    outcome = user.logs.delete_records({TOPIC: 1})[TOPIC]
    if isinstance(outcome, DeleteRefused):
        return outcome.message
    assert outcome == Deleted(1)
    return ""


def take_producer_id(user: User) -> str:
    try:
        user.logs.take_producer_id()
    except OutsideUnavailable:  # a young broker cannot say for a moment
        return CHANGING
    return ""


def ask_whose(user: User) -> str:
    state = user.logs.describe_producer([TOPIC], 1)[TOPIC]
    return state.message if isinstance(state, TopicFailure) else ""


def ask_memory(user: User) -> str:
    (told,) = user.admin.describe_broker_configs(CONFIGS).values()
    assert told.keys() == set(CONFIGS)
    return ""


def promote(user: User) -> str:
    """A producer of its own each time: the first batch of any fits."""
    if refused := ask_whose(user):
        return refused
    described = user.boss.logs.describe_topics([TOPIC])[TOPIC]
    assert isinstance(described, DescribedTopic)
    user.logs.append_nulls(Nulls(TOPIC, described.topic_id, ProducerId(next(PRODUCERS), 0), 0, 1))
    return ""


def measure(user: User) -> str:
    sizes = user.logs.describe_sizes([TOPIC])[TOPIC]
    if isinstance(sizes, TopicFailure):
        assert sizes.why is TopicTrouble.REFUSED
        return sizes.message
    return ""


def see_brokers(user: User) -> str:
    assert [broker.id for broker in user.reassigner.brokers()] == [1]
    assert user.reassigner.quorum().leader == 1
    assert user.reassigner.sizes().reported == {1}
    return ""


def see_reassignments(user: User) -> str:
    assert user.reassigner.ongoing() == {}
    assert user.reassigner.throttles([TOPIC]).by_broker == {}
    return ""


def throttle(user: User) -> str:
    user.reassigner.alter_throttles(Rates(1_000_000), {TOPIC: ThrottledReplicas(frozenset({Replica(0, 1)}))})
    user.reassigner.alter_throttles(NO_RATES, {TOPIC: ThrottledReplicas()})
    return ""


def reassign(user: User) -> str:
    one = PartitionId(TOPIC, 0)
    assert user.reassigner.reassign({one: (1,)}) == {}
    assert user.reassigner.elect_preferred_leaders([one]) == {}
    return ""


def widen(user: User) -> str:
    partitions = shown(user.boss).topics[MANY].partitions
    user.admin.add_partitions({MANY: partitions + 1})
    return ""


def read_newest(user: User) -> str:
    found = user.logs.read_newest(TOPIC, [0])[0]
    return found.message if isinstance(found, TopicFailure) else ""


NOT_SHOWN = "the topic is not shown"
CHANGING = "the broker hears of the change between two answers"
WORK: dict[str, Callable[[User], str]] = {
    "looks at the pool": look,
    "creates topics": create,
    "repairs configs": repair,
    "deletes the pool": delete_pool,
    "reads ids, offsets and epochs": read,
    "looks for the record that a datanode cannot read": scan,
    "asks a log whether these regions wrote it": witness,
    "deletes records": delete_records,
    "takes a producer id, in the target of a mirror": take_producer_id,
    "asks how much of a mirror is its own, in the target": ask_whose,
    "asks how long brokers remember producers, in the target of a mirror": ask_memory,
    "promotes a mirror, in its target": promote,
    "measures bytes on disk": measure,
    "sees brokers and controllers": see_brokers,
    "sees what is reassigned, and its throttles": see_reassignments,
    "throttles reassignments": throttle,
    "moves replicas, elects preferred leaders": reassign,
}
"""Each does its work once, and returns the sentence by which it was refused, or nothing."""
FOR_ROWS: dict[str, dict[AclOperation, Callable[[User], str]]] = {
    "$name": {
        AclOperation.DESCRIBE: read,
        AclOperation.DESCRIBE_CONFIGS: look,
        AclOperation.CREATE: create,
    },
    "seawall.db.changes.": {
        AclOperation.DESCRIBE: read,
        AclOperation.DESCRIBE_CONFIGS: look,
        AclOperation.CREATE: create,
        AclOperation.ALTER: widen,
        AclOperation.ALTER_CONFIGS: repair,
        AclOperation.READ: read_newest,
    },
}
"""By the topic of a command what each of its rights is for, where rows are handed on."""
IMPLIED = {AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS}
"""By Read, Alter or AlterConfigs: without them nothing is missing."""


@pytest.fixture(scope="module")
def user() -> Iterator[User]:
    """A broker that knows rights, with one topic."""
    with KafkaProcesses(1, sasl_ssl=True, properties=AUTHORIZER) as kafka:
        found = User(kafka)
        found.boss.create_topics([NewTopic(TOPIC, 1, {}), NewTopic(MANY, 1, {})])
        produce(kafka.bootstrap_servers, {TOPIC: 3})
        yield found


def refusal(user: User, work: str) -> str:
    return refusal_of(user, WORK[work])


def refusal_of(user: User, does: Callable[[User], str]) -> str:
    try:
        return does(user)
    except Refused as refused:
        return str(refused)


def settled_refusal(user: User, does: Callable[[User], str]) -> str:
    return "" if (said := refusal_of(user, does)) == CHANGING else said


def is_let(user: User, work: str) -> bool:
    return not refusal(user, work)


def test_the_table_names_all_work() -> None:
    assert rights_of_table().keys() == WORK.keys()


@pytest.mark.parametrize("work", WORK)
def test_the_rights_in_the_table_are_enough(user: User, work: str) -> None:
    user.give(rights_of_table()[work])
    wait_until(lambda: not refusal(user, work), f"the user {work}", explain=lambda: refusal(user, work))


@pytest.mark.parametrize("work", WORK)
def test_without_the_rights_of_its_row_the_work_is_refused(user: User, work: str) -> None:
    rights = rights_of_table()
    needed = rights[work] - rights["looks at the pool"] or {
        right for right in rights[work] if work == "looks at the pool" or right.operation is AclOperation.DESCRIBE
    }
    for right in needed:
        user.give(rights[work] - {right})
        said = wait_until(partial(settled_refusal, user, WORK[work]), f"a user without {right} is refused")
        assert said == NOT_SHOWN or "authorization failed" in said.lower(), said


def test_topics_that_may_be_created_and_not_described_are_refused(user: User) -> None:
    """Metadata of all topics leave them out without an error."""
    rights = rights_of_table()
    user.give((rights["creates topics"] - rights["looks at the pool"]) | {Right(AclOperation.DESCRIBE, True)})

    def said() -> str:
        return settled_refusal(user, create)

    refused = wait_until(said, "it is refused", explain=said)
    wait_until(lambda: NEW in shown(user.boss).topics, "it is there")
    wait_until(lambda: "without the right Describe" in said(), "what lacks is named", explain=said)
    assert "authorization failed" in refused.lower()


def test_the_user_of_verifications_reads_the_log_and_may_change_nothing(user: User) -> None:
    user.give(rights_of_jobs())
    for work in ("reads ids, offsets and epochs", "looks for the record that a datanode cannot read"):
        wait_until(partial(is_let, user, work), f"the user {work}", explain=partial(refusal, user, work))
    for work in ("deletes records", "deletes the pool", "repairs configs", "creates topics", "throttles reassignments"):
        assert "authorization failed" in refusal(user, work).lower(), work


@pytest.mark.parametrize("topic", FOR_ROWS)
def test_the_rights_for_rows_are_enough_and_without_any_of_them_its_work_is_refused(user: User, topic: str) -> None:
    rights, works = rights_of_rows(topic), FOR_ROWS[topic]
    assert {right.operation for right in rights} == works.keys()
    user.give(rights)
    for operation, does in works.items():
        wait_until(lambda does=does: not refusal_of(user, does), f"{operation} is enough")  # type: ignore[misc]
    for operation in works.keys() - (IMPLIED if AclOperation.READ in works else set()):
        user.give(rights - {Right(operation)})
        said = wait_until(partial(settled_refusal, user, works[operation]), f"a user without {operation} is refused")
        assert said == NOT_SHOWN or "authorization failed" in said.lower(), said
