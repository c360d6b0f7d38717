"""The closed set of reasons that WALRestores have beside those of all Spark jobs."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a WALRestore is as it is; each member says its state, and what ends it."""

    RESTORED = "Restored"
    """Ready. The end: all topics have what was planned, were read back, and Seawall's records of them begin anew. Start
    the database."""
    DRILLED = "Drilled"
    """Ready. The end: the backup came back into scratch topics, all was read back (and decoded, if `scratch.decode`),
    and they are deleted."""
    FLUSHED_UNKNOWN = "FlushedUnknown"
    """Reconciling. `padAboveFlushed` needs to know what the database has in its own files, and it does not say so: the
    message names a region, or why the ledger cannot be read. Let the database run until the restore is planned, or make
    another restore with `padTo`."""
    AWAITING_APPROVAL = "AwaitingApproval"
    """Not ready. Nothing is written yet. Read the plan, and set seawall.dev/approve to its digest."""
    DATABASE_RUNNING = "DatabaseRunning"
    """Not ready. The database runs: it would write into logs that are not whole. Stop it (the message names what runs);
    then it goes on."""
    DATABASE_UNKNOWN = "DatabaseUnknown"
    """Not ready. Nobody can say yet whether the database is stopped: no datanode must have reported for half a minute.
    Declare `dataPlane.datanodes.statefulSetRef` in the WALCluster, or let its metasrv answer; then it goes on."""
    KAFKA_UNREACHABLE = "KafkaUnreachable"
    """Reconciling. Kafka, or Seawall's records of its topics, cannot be read, or it is not the Kafka of the WALCluster;
    the message says why, and it goes on when that is over."""
    TOO_FEW_BROKERS = "TooFewBrokers"
    """Reconciling. Fewer brokers are online than the topics have replicas. Start them; then it goes on."""
    OTHER_RESTORE = "OtherRestore"
    """Reconciling. Another WALRestore is at work on the same WALCluster; this one goes on when that one is over."""
    CHAIN_EXPIRING = "ChainExpiring"
    """Reconciling. A backup that is not over deletes this chain, because its policy does not need it any more: the
    message names it. It goes on when that one is over. If you need the chain, and that WALBackup has not begun, delete
    it."""
    MAKING_TOPICS = "MakingTopics"
    """Reconciling. The topics are made, and their ids recorded: nothing is written to any other."""
    REMOVING_TOPICS = "RemovingTopics"
    """Reconciling. The attempt is over, and the topics that it made go."""
    ADOPTING = "Adopting"
    """Reconciling. All is written and read back; Seawall's records are begun anew for the new logs."""
    NOTHING_TO_RESTORE = "NothingToRestore"
    """Stalled. The end: the backup has none of the topics that are asked for."""
    CHAIN_BROKEN = "ChainBroken"
    """Stalled. The end: what the store has is not what was written; `status.findings` say where. No topic is left of
    what was made: objects are read when the topics are there, and still empty. Name an older backup in
    `source.backup`."""
    TOPIC_NOT_EMPTY = "TopicNotEmpty"
    """Stalled. The end: a topic exists already, and nothing is written to a topic that is there. If nobody needs it,
    delete it with Kafka's tools; or narrow `spec.topics`. Make another restore."""
    RECORD_TOO_LARGE = "RecordTooLarge"
    """Stalled. The end: the largest record does not fit `topics.maxMessageBytes`. Set that higher, and make another
    restore. Nothing was made."""
    CLUSTER_REPLACED = "ClusterReplaced"
    """Stalled. The end: since this restore began the WALCluster was made again, or is on another Kafka. Nothing is made
    there, and what this restore had made is left: the message, or the event `ScratchTopicsLeft`, says what, and on
    which Kafka. Delete it with Kafka's tools, and make another restore."""
    PLAN_CHANGED = "PlanChanged"
    """Stalled. The end: since the plan was made the log went on, or was restored by somebody else. Nothing was made.
    Make another restore."""
    NOT_OURS = "NotOurs"
    """Stalled. The end: something else wrote to a topic while it was restored, made it again, or may have: the database
    was started too early, say, or somebody deleted the SparkApplication, and no process knows that it was there. What
    is there is left as it is. Find out who writes; then delete the topics, and make another restore."""
    TOO_LARGE = "TooLarge"
    """Stalled. The end: more bytes would come back than `scratch.maxBytes` allows, or more records of null would be
    written before them, which count a byte each. Nothing was made. Select fewer topics, or allow more."""
    BEGINS_LATE = "CouldNotBegin"
    """Stalled. The end: a restore into scratch topics could not begin within `timeout`; the message says what it waited
    for. What it had made is deleted."""
    NOT_DECODED = "NotDecoded"
    """Stalled. The end: records that came back into scratch topics do not decode as the database would read them
    (`status.findings` say where), or the image is older than the operator and decodes none. The scratch topics are
    deleted."""
    NOT_RESTORED = "NotRestored"
    """Stalled. The end: what was written reads otherwise than it was planned; the topics were removed again. Or it was
    cut, or written to, after it was read back; the message says so, and it is left as it is."""
    TOPIC_CHANGED = "TopicChanged"
    """Stalled. The end: a topic that this restore made is gone, or was made again by somebody else. Nothing of that is
    touched. Find out who does that, and make another restore."""
