"""A datanode with a region whose log is not what it must be says so and does not start. Real records, real topics."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from refdb.region.files import RegionFiles
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.refdb import RefDbProcesses
from walrecord import First, Full, Middle, RecordKey, encode_key

pytestmark = pytest.mark.integration
FIRST = 4398046511105
KEY = encode_key(RecordKey(region_id=FIRST, type=Full()))


@pytest.fixture
def one_node(make_db: Callable[..., RefDbProcesses]) -> RefDbProcesses:
    """Two regions of two topics on one datanode; three rows in the first region."""
    db = make_db(datanodes=1)
    sql = "CREATE TABLE t (ts TIMESTAMP TIME INDEX, k STRING) PARTITION BY RANGE COLUMNS (k) ("
    assert "code" not in db.sql(sql + "PARTITION a VALUES LESS THAN ('m'), PARTITION b VALUES LESS THAN (MAXVALUE))")
    for number in range(3):
        assert "code" not in db.sql(f"INSERT INTO t VALUES ({number}, 'a')")
    return db


def refused(db: RefDbProcesses) -> str:
    """Starts the datanode that was killed: it ends at once, because of the first region, and serves the other neither.

    Returns its last word.
    """
    datanode = db.datanodes[0]
    datanode.start()
    datanode.wait_ended(30)
    assert datanode.exit_code == 1
    last = datanode.log_since_start().rstrip().splitlines()[-1]
    assert f"cannot start with 1 of 2 regions closed: region {FIRST}(1024, 1) cannot be opened" in last
    assert "code" in db.sql("INSERT INTO t VALUES (9, 'z')")
    return last


def topic_of(db: RefDbProcesses) -> str:
    return f"wal_{db.prefix}_0"


def produce(kafka: KafkaProcesses, topic: str, key: bytes | None, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers[0]})
    producer.produce(topic, value, key, partition=0)
    assert producer.flush(10) == 0


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (None, b"canary", "Missing required key in a record"),
        (KEY, b"\x0a\x7f\x08", "the value is not a whole WalEntry"),
        (KEY.replace(b'"version":0', b'"version":1'), b"", "version 1 is not 0"),
        (b"not JSON", b"x", "the key is not JSON"),
    ],
)
def test_a_record_that_cannot_be_read(
    one_node: RefDbProcesses, one_kafka: KafkaProcesses, key: bytes | None, value: bytes, said: str
) -> None:
    one_node.datanodes[0].kill()
    produce(one_kafka, topic_of(one_node), key, value)
    assert refused(one_node).endswith(f"Failed to read WAL, provider: Kafka(topic={topic_of(one_node)}): {said}")


def test_a_hole_in_the_log(one_node: RefDbProcesses, one_kafka: KafkaProcesses) -> None:
    one_node.datanodes[0].kill()
    end = 4  # a noop and three rows
    producer = Producer({"bootstrap.servers": one_kafka.bootstrap_servers[0], "transactional.id": topic_of(one_node)})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(topic_of(one_node), None, None, partition=0)
    producer.commit_transaction(10)
    assert f"topic {topic_of(one_node)} has no record at offset {end + 1}: it is compacted" in refused(one_node)


def test_middles_in_another_order_end_every_region_of_the_topic(
    one_node: RefDbProcesses, one_kafka: KafkaProcesses
) -> None:
    one_node.datanodes[0].kill()
    nobody = 77
    for part in (First(), Middle(2)):
        produce(one_kafka, topic_of(one_node), encode_key(RecordKey(region_id=nobody, type=part)), b"x")
    assert "Illegal sequence of a middle record" in refused(one_node)


def test_a_log_that_was_purged_beyond_the_start_of_replay(one_node: RefDbProcesses, one_kafka: KafkaProcesses) -> None:
    one_node.datanodes[0].kill()
    admin = AdminClient({"bootstrap.servers": one_kafka.bootstrap_servers[0]})
    (deleted,) = admin.delete_records([TopicPartition(topic_of(one_node), 0, 3)]).values()
    deleted.result(10)
    said = refused(one_node)
    assert "OffsetOutOfRange" in said
    assert "begins at 3, but replay must begin at 1" in said


def test_a_purge_up_to_what_was_flushed_is_fine(one_node: RefDbProcesses, one_kafka: KafkaProcesses) -> None:
    assert "code" not in one_node.sql(f"ADMIN flush_region({FIRST})")
    one_node.datanodes[0].kill()
    admin = AdminClient({"bootstrap.servers": one_kafka.bootstrap_servers[0]})
    (deleted,) = admin.delete_records([TopicPartition(topic_of(one_node), 0, 4)]).values()
    deleted.result(10)
    one_node.start_datanode(0)
    assert len(one_node.rows("SELECT * FROM t")) == 3


def test_a_region_is_opened_that_a_later_leader_had_before_its_metadata_were_restored(one_node: RefDbProcesses) -> None:
    one_node.datanodes[0].kill()
    files = RegionFiles(one_node.folder / "storage/1024" / str(FIRST))
    manifest = files.latest()
    assert manifest is not None
    files.commit(manifest.opened(manifest.term + 1))
    one_node.start_datanode(0)
    assert "code" not in one_node.sql("INSERT INTO t VALUES (9, 'z')")
    assert f"Metadata of region {FIRST}(1024, 1) are older than it" in one_node.datanodes[0].log_since_start()
    one_node.metasrv.wait_ready(lambda: "code" not in one_node.sql("INSERT INTO t VALUES (9, 'a')"), 30)


def test_a_topic_that_was_deleted(one_node: RefDbProcesses, one_kafka: KafkaProcesses) -> None:
    admin = AdminClient({"bootstrap.servers": one_kafka.bootstrap_servers[0]})
    (deleted,) = admin.delete_topics([topic_of(one_node)]).values()
    deleted.result(10)
    # The controller has deleted it; the broker hears of it later.
    one_node.metasrv.wait_ready(lambda: topic_of(one_node) not in admin.list_topics(timeout=10).topics, 30)
    answer = one_node.sql("INSERT INTO t VALUES (9, 'a')")
    assert "code" in answer, "a write was acknowledged without a log"
    one_node.datanodes[0].kill()
    assert "does not exist: was it deleted?" in refused(one_node)


def test_a_topic_that_was_made_again(one_node: RefDbProcesses, one_kafka: KafkaProcesses) -> None:
    assert "code" not in one_node.sql(f"ADMIN flush_region({FIRST})")
    one_node.datanodes[0].kill()
    admin = AdminClient({"bootstrap.servers": one_kafka.bootstrap_servers[0]})
    (deleted,) = admin.delete_topics([topic_of(one_node)]).values()
    deleted.result(10)
    one_node.metasrv.kill()
    one_node.metasrv.start()  # makes missing topics
    one_node.metasrv.wait_ready(lambda: bool(_healthy(one_node)), 30)
    assert "was it deleted and made again?" in refused(one_node)


def _healthy(db: RefDbProcesses) -> object:
    try:
        return db.admin("/health")
    except OSError:
        return None
