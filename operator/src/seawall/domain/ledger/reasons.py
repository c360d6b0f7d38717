"""Why a topic is left alone, in the order in which the ledger asks; each reason explains itself.

The sentence is what conditions, events and `seawall ledger` show; the remedy is what a person can do. `make crds`
writes both into docs/conditions.md.
"""

from __future__ import annotations

from seawall.domain.text import Explained


class Reason(Explained):
    """Why nothing of a topic is deleted now."""

    LOG_START_BEYOND_REPLAY = (
        "LogStartBeyondReplay",
        "Disaster: the log starts after the first offset that a region would read: a restart fails or loses rows.",
        (
            "Do not restart its datanode: write a row to the region and flush it (a flush alone moves nothing of an "
            "idle region); docs/purging.md says what else there is."
        ),
    )
    FENCE_BROKEN = (
        "IdentityFenceBroken",
        "The log is not the one that the database wrote: it was recreated or cut, or a region's flushed id went back.",
        "Find out what happened to the topic; when the log is right again, set seawall.dev/readopt: <reason>@<expiry>.",
    )
    OFFSETS_UNKNOWN = (
        "OffsetsUnknown",
        "Kafka did not say where the log starts and ends.",
        "Look whether the topic exists and has a leader, and whether Seawall's user may describe it.",
    )
    MARKER_MISSING = (
        "MarkerMissing",
        "The metadata store has no pruned marker for this topic, so nobody knows where a restart begins to read.",
        (
            "Wait until the database has used the topic for the first time; if it did, look at its metadata. "
            "One that is reached by http has to say 0, and not null, of a topic with regions: see seawall conformance."
        ),
    )
    REGION_START_UNKNOWN = (
        "RegionStartUnknown",
        "The report of a region has no flushed entry id, so where its replay starts is unknown.",
        "Look at the region on its datanode: its manifest cannot be read, or its version does not report it.",
    )
    REGION_UNMAPPED = (
        "RegionUnmapped",
        "The database's metadata disagree about which region writes to which topic, or do not know a region.",
        (
            "The sentence names the region; its table's id is the region's divided by 2^32. Of a table that there is: "
            "reconcile its metadata (ADMIN reconcile_table). Of one that was dropped: a key that is left beside the "
            "topic (__topic_region/<topic>/<region>) is to be deleted from the metadata store; a datanode that goes "
            "on to report the region is to be restarted; one that is gone counts for one openGrace only."
        ),
    )
    REGION_MISSING = (
        "RegionMissing",
        "A region of this topic has no report from its leader, or it vanished a moment ago and may come back.",
        "Start its datanode, migrate the region, or drop its table.",
    )
    REGION_DROPPED = (
        "RegionDropped",
        "A table that wrote to this topic was dropped and may be undropped; it would read on from its flushed id.",
        "Wait until its retention ends, or purge the dropped table (ADMIN purge_table) to let the topic go.",
    )
    REGION_STALE = (
        "RegionStale",
        "The newest report of a region is older than staleAfter, or has not been seen to advance yet.",
        (
            "Look whether its datanode runs and reports; if all topics are so most of the time, whether staleAfter is "
            "longer than three times heartbeat_interval of the metasrv."
        ),
    )
    REGION_OPENING = (
        "RegionOpening",
        "A region of this topic is being opened, moved or staged.",
        "Wait until it is done; a migration that hangs must be ended in the database.",
    )
    FOLLOWER_MISSING = (
        "FollowerMissing",
        "A follower of a region of this topic has not said what of the log it still needs.",
        (
            "Start its datanode or remove the follower; a database whose followers read no log, as GreptimeDB's, "
            "needs no safety.countFollowers."
        ),
    )
    DECLARATION_CONTRADICTED = (
        "DeclarationContradicted",
        "A region is named by seawall.dev/dead-regions and reports, or that ended while a run relied on it.",
        "Flush the region, then take it out of the annotation: what it still needs may be before the marker.",
    )
    NO_REGIONS = (
        "NoRegions",
        "No region writes to this topic, so nothing says what of it is still needed.",
        "Look who wrote them; if nobody needs them, set seawall.dev/purge-unused-topics: <topics>: <reason>@<expiry>.",
    )
    UNDER_MIN_ISR = (
        "UnderMinISR",
        "The topic has fewer in-sync replicas than min.insync.replicas.",
        "Bring its brokers back.",
    )
    DATANODE_RESTARTS = (
        "DatanodeRestarts",
        "A datanode that reads this topic when it comes back restarts, or cannot come up.",
        "Wait for it; if it does not come up, DatanodesHealthy of the WALCluster says why.",
    )
    COMPACTED = (
        "TopicCompacted",
        "The topic's cleanup.policy is not delete: Kafka refuses to delete records, and compaction destroys a WAL.",
        "Look why the WALCluster could not repair the topic's config, and whether the log is still whole.",
    )
    HOLDS_UNREADABLE = (
        "HoldsUnreadable",
        "The holds could not be read, and a hold that cannot be read counts as one on everything.",
        "Look whether the API server answers and whether Seawall may list WALHolds.",
    )
    INTENTS_LOST = (
        "IntentsLost",
        "The ConfigMap with this topic's intent and identity is gone: how far deletes may be under way is not known.",
        "Restore the ConfigMap from a backup, or set seawall.dev/readopt: <reason>@<expiry> to begin a new record.",
    )
    INTENTS_UNREADABLE = (
        "IntentsUnreadable",
        "The ConfigMap with this topic's intent and identity cannot be read.",
        "Look at the message: it may be damaged, or written by a newer version of Seawall.",
    )
    FOREIGN_DELETE = (
        "ForeignDelete",
        "The log starts after everything that Seawall ever meant to delete: somebody else deletes from this topic.",
        "Find who deletes (retention, the database's own pruner, another tool), then set seawall.dev/readopt.",
    )
    FENCE_BROKEN_ELSEWHERE = (
        "IdentityFenceBrokenElsewhere",
        "The log of another topic of the pool is not the one that the database wrote, so no topic of it is purged.",
        "Look at the topic that is named: what happened to it may have happened here; seawall.dev/readopt ends it.",
    )
    RECORDS_OF_OTHERS = (
        "RecordsOfOthers",
        "The log contradicts the database: a flushed id is another region's record, or no record is of its regions.",
        (
            "Look whether dataPlane and kafka are of one database. After TRUNCATE TABLE, or when all tables were "
            "dropped, they may be: write a row and flush it."
        ),
    )
    CONTESTED = (
        "PrefixContested",
        "Another WALCluster claims the same topics: its database may need what this one does not.",
        "Delete one of the two WALClusters, or give one another topics.prefix.",
    )
    VERSION_DIFFERS = (
        "VersionDiffers",
        "An older version of the database runs than dataPlane.greptimedb.version declares.",
        "Declare the version that every process runs, or finish the upgrade.",
    )
    VERSION_UNKNOWN = (
        "VersionUnknown",
        "Not every process of the database has said which version it runs: Seawall only reports.",
        "Look whether the frontend answers SELECT * FROM information_schema.cluster_info, and what it lists.",
    )
    DATABASE_TOO_OLD = (
        "DatabaseTooOld",
        "This version of the database does not read the pruned marker when it opens a region: Seawall only reports.",
        "Upgrade GreptimeDB to 1.1 or newer.",
    )
    STARTS_NOT_DURABLE = (
        "StartsNotDurable",
        "The database declares neither markers nor durable starts: a new region may need any record.",
        "Implement one of the two in the database, and declare it: docs/any-database.md says what each promises.",
    )
    SECOND_PRUNER = (
        "SecondPruner",
        "The database deletes records of its WAL topics by itself, through any hold: nothing is granted or deleted.",
        (
            'Set auto_prune_logical_delete = true (from 1.1 on), or auto_prune_interval = "0s", in every metasrv\'s '
            "[wal], restart them, and say so in dataPlane.greptimedb.autoPrune; a database of dataPlane.http must stop."
        ),
    )
    SETTINGS_UNKNOWN = (
        "SettingsUnknown",
        "The database does not say whether it deletes by itself: nothing is granted or deleted.",
        "Look whether dataPlane.greptimedb.metasrv answers GET /config, and what [wal] is there.",
    )
    SETTINGS_DIFFER = (
        "SettingsDiffer",
        "The metasrv prunes otherwise than dataPlane.greptimedb.autoPrune declares: Seawall only reports.",
        "Do what the condition DataPlaneConfigDiffers of the WALCluster says.",
    )
    STOPPED_BY_ANNOTATION = (
        "StoppedByAnnotation",
        "seawall.dev/stop-deletes is set on the WALCluster.",
        "Remove the annotation.",
    )
    NO_POLICY = (
        "NoPolicy",
        "No WALPurgePolicy matches this topic.",
        "Create one whose topics match.",
    )
    VERIFICATION_MISSING = (
        "VerificationMissing",
        "A policy requires a replay verification, and no good one of its level began after the last bad one was over.",
        "Run a WALVerification of the required level; if one failed, its findings say what does not replay.",
    )
    VERIFICATION_TOO_OLD = (
        "VerificationTooOld",
        "A policy requires a replay verification, and the good ones of this topic ended longer ago than it allows.",
        "Run a WALVerification, or let WALCluster.spec.verification make them on a schedule.",
    )
    WATCHED_TOO_SHORTLY = (
        "WatchedTooShortly",
        "Seawall has watched for less than openGrace: what vanished just before could still come back.",
        "Wait; it begins anew when the operator starts, and when no look has succeeded for as long.",
    )
    AWAITING_REPORTS = (
        "NotSeenTwice",
        "Not every region has reported twice since this run saw what it may delete, or openGrace is not over.",
        "Wait; a datanode that restarts begins anew.",
    )
    NOTHING_TO_PURGE = (
        "NothingToPurge",
        "Nothing lies below what is kept.",
        "None is needed; heldBy says what keeps it.",
    )


NO_TROUBLE = frozenset({Reason.NO_REGIONS, Reason.MARKER_MISSING, Reason.STOPPED_BY_ANNOTATION})
"""Why a topic is left alone where nothing is wrong: nobody has used it yet, or a person stopped deletes."""
