"""The closed set of reasons of a WALCluster's conditions."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a WALCluster is as it is; each member says its state, and what ends it."""

    READY = "Ready"
    """Ready. Everything is as declared."""
    CONNECTED = "Connected"
    """True. KafkaReachable, DataPlaneReachable: it answers. The message of the latter counts the datanodes that
    reported in the last minute."""
    INTACT = "Intact"
    """True. WALIntact: every log begins at or before what a restart would read, and is the one that the database
    wrote."""
    NOT_ASKED = "NotAsked"
    """Reconciling or Unknown. It was not asked yet, or something else must be mended first: the spec, for one."""
    INVALID_SPEC = "InvalidSpec"
    """Stalled. The spec does not fit this operator's models: mend it, or upgrade CRDs and operator together."""
    WRONG_CLUSTER = "WrongCluster"
    """Stalled. Kafka's cluster id is not the expected one; nothing is touched. Correct the addresses. Of a Kafka that
    was made anew do not just make the WALCluster again: it would make empty topics, and the database new rows at
    offsets that the next replay skips (docs/disaster.md#kafka-has-another-cluster-id)."""
    PREFIX_CLAIMED = "PrefixClaimed"
    """Stalled. An older WALCluster owns this prefix on this Kafka: delete one of the two."""
    PREFIX_CONTESTED = "PrefixContested"
    """Stalled. A younger WALCluster claims the same topics: its database may write there, so nothing is deleted from
    them. Delete one of the two, or give one another topics.prefix."""
    DATABASE_CHANGED = "DatabaseChanged"
    """Stalled. Another database answers than the one that was pinned, or this WALCluster's claim is gone from its
    store: nothing is deleted, granted or restarted. Correct the addresses; if it is right (the store was restored or
    moved), set seawall.dev/readopt (docs/purging.md#which-database)."""
    DATABASE_CLAIMED = "DatabaseClaimed"
    """Stalled. Another WALCluster announces markers in this database's metadata store: delete one of the two, or set
    seawall.dev/readopt on the one that stays."""
    VERSION_DIFFERS = "VersionDiffers"
    """Stalled. An older GreptimeDB runs than `version` declares: nothing is deleted, because it does not read what
    Seawall announces. Declare the oldest version that runs, or finish the upgrade."""
    AS_DECLARED = "AsDeclared"
    """False. DataPlaneConfigDiffers: the metasrv, and each datanode that was read, run with the `[wal]` that is
    declared, as far as Seawall needs it."""
    CONFIG_DIFFERS = "ConfigDiffers"
    """True. DataPlaneConfigDiffers: the `[wal]` of the metasrv or of datanodes is not as declared; the message has the
    keys and both values. What runs counts, and nothing is deleted while it is about pruning: set the keys and restart
    every metasrv, or those datanodes, or declare what runs."""
    CONFIG_NOT_PASTED = "ConfigNotPasted"
    """True. DataPlaneConfigDiffers: the GreptimeDBCluster has not the `[wal]` that Seawall renders: paste it from the
    ConfigMap into the field that the message names (docs/greptimedb-operator.md#paste-the-wal-configuration)."""
    GATED = "Gated"
    """True. RestartsGated: an edit of the GreptimeDBCluster restarts no datanode before Seawall lets it."""
    PARTITION_OPEN = "PartitionOpen"
    """False. RestartsGated: Kubernetes restarts datanodes by itself when the GreptimeDBCluster is edited, **whether
    their WAL can be replayed or not**: set `rollingUpdate.partition` as the message says
    (docs/greptimedb-operator.md#gate-the-restarts)."""
    CLUSTER_UNKNOWN = "GreptimeDBClusterUnknown"
    """Unknown. RestartsGated: the GreptimeDBCluster cannot be read; DataPlaneReachable says why."""
    SECOND_PRUNER = "SecondPruner"
    """True. DataPlaneConfigDiffers: the database deletes records by itself, **through any hold**: none is granted, and
    Seawall deletes nothing. Set the key that the message names in the `[wal]` of every metasrv, restart them, and say
    so in `autoPrune` (docs/purging.md#a-database-that-deletes-by-itself)."""
    SETTINGS_UNKNOWN = "SettingsUnknown"
    """Unknown. DataPlaneConfigDiffers: the metasrv does not say what it runs with; no hold is granted and nothing is
    deleted. Look whether `dataPlane.greptimedb.metasrv` answers `GET /config`."""
    FIRST_CONTACT = "FirstContact"
    """Reconciling. Kafka answered for the first time and its cluster id is being pinned."""
    PAUSED = "Paused"
    """Not ready. seawall.dev/paused is set and not everything is as declared: remove the annotation."""
    TOPIC_LOST = "TopicLost"
    """Stalled. Kafka does not know a topic any more that was in use. It is not made again: the next replay would skip
    rows that are written to a new log. Restore it, or give up its records and such rows by seawall.dev/readopt
    (docs/purging.md#walintact-is-false)."""
    TOPIC_ID_CHANGED = "TopicIdChanged"
    """Stalled. Somebody deleted a topic that was in use and made it again, and no database is declared, or it cannot be
    observed: the next replay skips rows that are written there, up to the ids that the database knows of the log
    before. When that is mended, begin a new record by seawall.dev/readopt (docs/purging.md#walintact-is-false)."""
    TOPIC_RECORD_UNREADABLE = "TopicRecordUnreadable"
    """Stalled. Topics are missing, and whether they were in use cannot be read: they are not made. Do what the message
    says; a ConfigMap that is gone: restore it, or set seawall.dev/readopt."""
    REPLICATION_FACTOR_TOO_HIGH = "ReplicationFactorTooHigh"
    """Stalled. More replicas are declared than there are brokers: lower it, or add brokers."""
    DELETING = "DeletingTopics"
    """Reconciling. The object is being deleted, and its topics with it if deletionPolicy says so."""
    DELETES_STOPPED = "DeletesStopped"
    """Stalled. The object is being deleted and seawall.dev/stop-deletes is set: remove it, or set deletionPolicy:
    Retain."""
    HELD = "TopicsHeld"
    """Stalled. The object is being deleted and a WALHold claims records of its topics: release or delete the hold, or
    set deletionPolicy: Retain."""
    IN_USE = "TopicsInUse"
    """Stalled. The object is being deleted, and regions of the database write to its topics, or one vanished less than
    one openGrace ago: drop their tables, wait, or set deletionPolicy: Retain."""
    USE_UNKNOWN = "TopicUseUnknown"
    """Reconciling or Stalled. The object is being deleted, and who needs its topics, or whether they are those that
    were to go, cannot be read (the database, a WALHold, a record, a topic), or Seawall has just started. Do what the
    message says, or set deletionPolicy: Retain."""
    TOPICS_CHANGED = "TopicsChanged"
    """Stalled. The object is being deleted, and a topic was made anew or written to since that was decided: somebody
    needs it, or this object came back with a backup (docs/install.md#a-deletion-that-comes-back-from-a-backup). Set
    deletionPolicy: Retain, or delete topics that nobody needs by hand."""
    NOT_ALLOWED = "NotAllowed"
    """Stalled. The operator may not read what it must: give its Kafka user (docs/kafka-acls.md), or its Role, the right
    that the message names."""
    TOPICS_MANAGED = "TopicsManagedByStrimzi"
    """True or Stalled. SharedWithStrimzi: a KafkaTopic manages topics of the pool, so Seawall neither makes, alters,
    moves nor deletes them; who deletes the KafkaTopic **deletes the log**. Annotate it `strimzi.io/managed: "false"`,
    then delete it (docs/strimzi.md#one-owner-of-a-topic). Stalled: such a topic is not as declared, or is to be deleted
    with the WALCluster."""
    REBALANCE_RUNNING = "RebalanceRunning"
    """True. SharedWithStrimzi: a KafkaRebalance moves replicas: no reassignment of Seawall goes on until it is over."""
    NOT_SHARED = "NotShared"
    """False. SharedWithStrimzi: no KafkaTopic manages a topic of the pool, and no KafkaRebalance moves replicas."""
    STRIMZI_UNKNOWN = "StrimziUnknown"
    """Unknown. SharedWithStrimzi: the operator may not read Strimzi's resources, or the API server does not list them,
    so it moves no replicas and deletes no topics: set the chart's `strimzi.namespaces`, or `strimzi.enabled: false`."""
    LARGE_ANSWER = "LargeAnswer"
    """True. NearLimit: the metasrv's answer about the regions takes 80 % or more of what Seawall reads of one (80 MiB,
    about 64,000 regions), or that of any other database about reports or metadata (20 MiB, some 100,000). Beyond it
    nothing is purged, granted or restarted, because nobody knows what regions need: drop tables, give them fewer
    regions, or let another database have some."""
    CONFIG_MAP_TAKEN = "ConfigMapTaken"
    """Stalled. The ConfigMap exists and belongs to somebody else: set another configMapName, or delete it."""
    PARTITIONS_DIFFER = "PartitionsDiffer"
    """Stalled. A topic of the pool has more than one partition. It cannot be a WAL topic: entry ids are offsets of
    partition 0."""
    REPLICATION_FACTOR_DIFFERS = "ReplicationFactorDiffers"
    """Stalled. Topics have another replication factor than declared, and nothing moves them: Kafka refused, or an abort
    is set. Do what the message says."""
    REASSIGNING = "Reassigning"
    """Reconciling. Replicas are being moved, or that is being planned: the message and status.reassignment say how far
    it is, and what it waits for (docs/replication.md)."""
    AWAITING_APPROVAL = "AwaitingApproval"
    """Not ready. Replicas are to be moved, and a person is asked: read the plan (`seawall plan`), then edit the spec,
    or set seawall.dev/approve-reassignment to the plan's digest."""
    REASSIGNMENT_INFEASIBLE = "ReassignmentInfeasible"
    """Stalled. What is declared of replicas and brokers cannot be planned: too few brokers, too many excluded, an
    unknown id, a partition without a leader. Do what the message says."""
    REASSIGNMENT_UNREADABLE = "ReassignmentUnreadable"
    """Stalled. A newer Seawall has written a reassignment that this one cannot read: no replica is moved, and what
    that run has set stays, until the newer one runs again (docs/releases.md). Deleted before, the WALCluster goes
    without what that run has throttled being removed."""
    BROKERS_MISSING = "BrokersMissing"
    """Reconciling. Fewer brokers are online than replicas are declared: bring them back."""
    CREATING = "CreatingTopics"
    """Reconciling. Topics are missing and are being created."""
    LEADERLESS = "WaitingForLeaders"
    """Reconciling. Topics have no leader yet."""
    REPAIRING = "RepairingConfigs"
    """Reconciling. Topic configs differ and are being repaired."""
    UNDER_MIN_ISR = "UnderMinISR"
    """Reconciling. Topics have too few in-sync replicas, so **Kafka refuses writes**: bring brokers back."""
    WRITING_CONFIG = "WritingWALConfig"
    """Reconciling. The WAL configuration is being written."""
