"""The reasons that all Spark jobs have: WALVerifications, WALBackups."""

from __future__ import annotations

from enum import StrEnum


class JobReason(StrEnum):
    """Why a job on Spark is as it is; each member says its state, and what ends it."""

    PAUSED = "Paused"
    """Not ready. seawall.dev/paused is set on the object or on its WALCluster: remove it. A job that runs goes on."""
    CLUSTER_STALLED = "ClusterStalled"
    """Reconciling. The WALCluster is Stalled, and nothing is begun: its conditions say what a person has to do; then it
    goes on."""
    CANNOT_OBSERVE = "CannotLook"
    """Reconciling. The ledger cannot be read; the message says why, and it goes on when that is over."""
    OBSERVING = "WaitingForReports"
    """Reconciling. It waits a few minutes for regions that have not reported, or that are being opened."""
    HOLDING = "WaitingForHold"
    """Reconciling. Its WALHold is not granted yet; the message says why."""
    SUBMITTING = "Submitting"
    """Reconciling. Its request is frozen, and its SparkApplication is made."""
    RUNNING = "Running"
    """Reconciling. Its SparkApplication runs."""
    NOT_SERVED = "SparkOperatorSilent"
    """Stalled. For more than a minute the Spark Operator has not taken up the SparkApplication. Start it, and let it
    serve this namespace (`spark.jobNamespaces`)."""
    DRIVER_PENDING = "DriverPending"
    """Reconciling. The driver cannot be placed yet; the message is the scheduler's. Check nodes, quotas and claims."""
    DRIVER_STUCK = "DriverCannotStart"
    """Stalled. The driver cannot start (image, Secret, configuration or claim); the message is Kubernetes' own. Mend
    what it names, or make another object."""
    RELEASING = "Releasing"
    """Reconciling. The attempt is over, and its hold is let go."""
    BACKING_OFF = "WaitingForNextAttempt"
    """Reconciling. The attempt proved nothing either way (driver, Kafka or storage failed); it is tried again in a
    moment, three times in all at most."""
    REQUEST_REFUSED = "RequestRefused"
    """Stalled. The end: the application cannot work on this; the message says why. Make another object."""
    INTERRUPTED = "Interrupted"
    """Stalled. The end: three attempts proved nothing either way; the message says what happened to the last one, and
    the driver's log more."""
    NO_TOPICS = "NoTopics"
    """Stalled. The end: spec.topics selects no topic of the pool. Make another object."""
    TOO_MANY_TOPICS = "TooManyTopics"
    """Stalled. The end: more than 1,000 topics, too many for one job. Make several, and narrow spec.topics."""
    INVALID_SPEC = "InvalidSpec"
    """Stalled. The spec does not fit this operator's models, the stage does not, or the spec of its hold. One that has
    begun, or has only fields that this version does not know, does nothing and waits; what runs on Spark goes on,
    unless it is to delete chains of backups. Upgrade CRDs and operator together. For another one it is the end."""
    NAME_UNUSABLE = "NameUnusable"
    """Stalled. The end: Spark cannot name its Services after it. Make another object."""
    SPARK_NOT_ALLOWED = "SparkNotAllowed"
    """Stalled. The end: image, account or registry are not what the WALCluster declares, or it declares none. Leave
    them out, or declare them in the WALCluster (the message names the field); make another object."""
    REQUEST_CHANGED = "RequestChanged"
    """Stalled. The end: the ConfigMap with the request, or what the driver read of it, is not what
    `status.requestDigest` names: nothing is proved. Find out who may write ConfigMaps in the namespace, and make
    another object."""
    NAME_TAKEN = "NameTaken"
    """Stalled. The end: a hold, a ConfigMap or a SparkApplication of its attempt's name is somebody else's. Make
    another object."""
    CLUSTER_MISSING = "ClusterMissing"
    """Stalled. The end: there is no such WALCluster in the namespace. Create it, and make another object."""
    NO_DATA_PLANE = "NoDataPlane"
    """Stalled. The end: the WALCluster names no database. Set dataPlane.greptimedb, and make another object."""


WAITING = frozenset(
    {
        JobReason.PAUSED,
        JobReason.CLUSTER_STALLED,
        JobReason.CANNOT_OBSERVE,
        JobReason.OBSERVING,
        JobReason.HOLDING,
        JobReason.BACKING_OFF,
    }
)
"""What the condition Waiting is about: something else has to happen first."""
