"""The closed set of reasons that WALSubscriptions have beside those of all Spark jobs and of topics that stop."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a WALSubscription is as it is; each member says its state, and what ends it."""

    STREAMING = "Streaming"
    """Ready. Records are copied as they are written."""
    SUSPENDED = "Suspended"
    """Ready. `suspend` is set: nothing is copied. The source keeps what is not copied until lagBudget is used up."""
    LAGGING = "Lagging"
    """Reconciling. Records are copied, and the target has been behind for a minute or longer, or half of
    `lagBudget.maxBytes` is used up. Give it more executors, or find out what is slow."""
    IN_DOUBT = "CopyInDoubt"
    """Reconciling. The target ends further than this subscription is known to have copied: somebody else writes there,
    the target has forgotten the producer, or it does not let Seawall's user read. The source keeps what is not certain;
    the message names the topics. A forgotten producer is known again with the next record."""
    TOPICS_STOPPED = "TopicsStopped"
    """Stalled. Some topics are not copied any more; the message names the first, `status.worst` says why and where. All
    others go on."""
    HOLD_REFUSED = "HoldRefused"
    """Stalled. What runs goes on, but the WALHold cannot follow: what it claims is not granted, for the reason in the
    message, which is the hold's. What was granted before stands, so purges wait for records that are copied already,
    until lagBudget is used up. Do what the message says."""
    LOST = "Lost"
    """Stalled. The copy was further behind than lagBudget allows: the source keeps nothing for it, and purges go on.
    Find out why; then set `resync`. A topic of which records are gone by then stops (SourceGap)."""
    PROMOTING = "Promoting"
    """Reconciling. `promote` is set: what copies goes, writers that wake up late are fenced, the logs are padded."""
    NOT_EVEN = "WaitingForCopy"
    """Reconciling. `promote: Switchover` waits until the target has all of the source: stop what writes to that."""
    PROMOTED = "Promoted"
    """Ready. The end: make a WALCluster of the target, and start the database on it. What it lacks is in
    `status.promotion`."""
    CANNOT_PROMOTE = "CannotPromote"
    """Stalled. A topic of the copy cannot be promoted: it is gone, was made again, or never was one; or `suspend` keeps
    from being copied what a Switchover waits for. The message says which."""
    MAKING_TOPICS = "MakingTopics"
    """Reconciling. The topics of the target are made, and their ids recorded: nothing is written to any other."""
    NOT_DECLARED = "TargetNotDeclared"
    """Stalled. The WALCluster has no `spec.subscription`, or names no such target in it: declare it."""
    TARGET_IS_SOURCE = "TargetIsSource"
    """Stalled. The target is the Kafka of the WALCluster itself: correct `spec.subscription.targets`."""
    OTHER_TARGET = "OtherTarget"
    """Stalled. Another Kafka than the one that the copy was begun in answers at the target's addresses. Correct them;
    for another target make another WALSubscription."""
    SOURCE_UNREACHABLE = "SourceUnreachable"
    """Reconciling. The WALCluster's Kafka does not answer, or is not the pinned one; the message says why. What runs
    goes on."""
    TARGET_UNREACHABLE = "TargetUnreachable"
    """Reconciling. The target does not answer; the message says why. The source keeps what is not copied."""
    TARGET_ACCESS = "TargetAccess"
    """Stalled. The target lets nobody in: a Secret is missing or wrong, TLS fails, or a right is missing; the message
    says which. Mend it; it is read again by itself."""
    TARGET_UNSAFE = "TargetUnsafe"
    """Stalled. Brokers of the target forget producers before they close idle connections; the message says which.
    Nothing is begun: make `producer.id.expiration.ms` longer."""
    TOPIC_OF_POOL = "TopicOfPool"
    """Stalled. Rows are to go to a topic that is named as those of the log, in the same Kafka: make another
    WALSubscription with another `sink.records.topic`."""
    NAMES_UNKNOWN = "NamesUnknown"
    """Reconciling. The database does not say which tables it has; the message says why. What runs goes on; nothing is
    begun that needs their names."""
    TOO_FEW_BROKERS = "TooFewBrokers"
    """Reconciling. The target has fewer brokers online than `replicationFactor` of the sink: start them."""
    NOTHING_SELECTED = "NothingSelected"
    """Stalled. `spec.topics` selects no topic of the pool: edit it."""
    TOO_MANY = "TooManyTopics"
    """Stalled. More than 1,000 topics are selected, too many for one: narrow `spec.topics`, and make several."""
    TOO_MANY_TABLES = "TooManyTables"
    """Stalled. The names of the tables are too many for one request (1 MiB, packed): narrow `spec.tables`, and make
    several. What was begun before goes on with the tables that it knows."""
    SPARK_NOT_ALLOWED = "SparkNotAllowed"
    """Stalled. Image, account or registry in `spec.spark` are not what the WALCluster declares: leave them out."""
    INVALID_SPEC = "InvalidSpec"
    """Stalled. The spec does not fit this operator's models: upgrade the CRDs."""
    NAME_UNUSABLE = "NameUnusable"
    """Stalled. Spark cannot name its Services after it: make another one with another name."""
    NAME_TAKEN = "NameTaken"
    """Stalled. A hold, a ConfigMap or a SparkApplication of its name is somebody else's: delete that, or make another
    WALSubscription."""
    CLUSTER_MISSING = "ClusterMissing"
    """Stalled. There is no such WALCluster in the namespace, or it is being deleted: create it."""
    REFUSED = "RequestRefused"
    """Stalled. The application can do nothing with its request; the message says why (another Kafka, a right that is
    missing). Mend that: it is tried again every five minutes, and after each edit."""
    RESTARTING = "ApplicationOver"
    """Reconciling. The SparkApplication ended without a word that counts; it is made anew."""
