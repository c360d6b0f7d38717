"""The controller of whatever runs as a Spark application; WALVerifications and WALBackups each name their kind."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, assert_never

from seawall.api.meta import InvalidSpec, Key
from seawall.api.resource import Resource
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.controllers.controller import Controller
from seawall.controllers.job_secrets import require_secrets
from seawall.domain.errors import Refused
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.spark_job.actions import (
    FreezeRequest,
    JobAction,
    PlaceHold,
    ReleaseHold,
    RemoveApplication,
    RemoveItself,
    Submit,
    attempt_key,
)
from seawall.domain.spark_job.case import JobDecision, JobKind, Observed, StatusT, needs_observation
from seawall.domain.spark_job.decide import decide
from seawall.domain.step import Event
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import named_cluster
from seawall.ports import Clock, Kube, SparkApplications

ObjectT = TypeVar("ObjectT", bound=Resource[Any, Any])


@dataclass(frozen=True, slots=True)
class SparkJobController(Controller[ObjectT, Observed, StatusT, JobAction], Generic[ObjectT, StatusT]):
    """Observes and acts for one kind."""

    job: ClassVar[JobKind[Any, Any]]
    """What is the kind's own."""

    kube: Kube
    applications: SparkApplications
    observer: LedgerObserver
    clock: Clock
    announced: dict[Key, tuple[str, Observation]] = field(default_factory=dict, kw_only=True)
    """By object the digest that the status names, and the look of which that request was made: the same look gives the
    same request again. A process that has none looks anew, and the status names another digest."""

    @abstractmethod
    def measure(self, obj: ObjectT) -> None:
        """An operator that starts anew learns from objects that are over what it would have counted."""

    @abstractmethod
    def count(self, obj: ObjectT, status: StatusT) -> None:
        """Counts one that ends by this status."""

    def parent(self, obj: ObjectT) -> Resource[Any, Any] | None:  # noqa: ARG002 - who overrides it needs it
        """What it continues; None: nothing, or it is gone."""
        return None

    def sibling(self, obj: ObjectT) -> str | None:  # noqa: ARG002 - who overrides it needs it
        """Which other one continues the same parent, and comes first; None: none."""
        return None

    def hold_stays(self, obj: ObjectT) -> str | None:  # noqa: ARG002 - who overrides it needs it
        """Why its hold must stay when it has passed; None: it may go."""
        return None

    def outlives_ttl(self, obj: ObjectT) -> str | None:  # noqa: ARG002 - who overrides it needs it
        """Why it must stay when it is over, whatever its ttl is; None: it may go."""
        return None

    def details(self, obj: ObjectT) -> object | None:  # noqa: ARG002 - who overrides it needs it
        """What its kind alone decides a request by."""
        return None

    def now(self) -> datetime:
        """The API server's clock: its status is compared with times of that, and leaders have clocks of their own."""
        return self.clock.trusted().shared

    def forget(self, key: Key) -> None:
        """Drops the look that was kept."""
        self.announced.pop(key, None)

    def observe(self, obj: ObjectT) -> Observed:
        """Reads the parts of the attempt, and looks at the ledger when the next step depends on it."""
        if obj.metadata.deletion_timestamp is not None:
            return Observed(self.now())
        self.measure(obj)
        try:
            return self._read_parts(obj)
        except Refused as error:
            return Observed(self.now(), obstacle=str(error))

    def _read_parts(self, obj: ObjectT) -> Observed:
        key = attempt_key(obj.metadata.key, obj.status.attempt)
        hold, application = self.kube.get(WALHold, key), self.applications.get(key)
        if obj.status.is_over:
            stays = self.outlives_ttl(obj)
            return Observed(self.now(), hold=hold, application=application, outlives_ttl=stays)
        cluster = named_cluster(self.kube, obj)
        is_holding = obj.status.stage is JobStage.HOLDING
        if hold is None:  # what is held next is of another look
            self.announced.pop(obj.metadata.key, None)
        is_before_the_verdict = is_holding or obj.status.stage is JobStage.RUNNING
        request = self.kube.get_config_map(key) if is_before_the_verdict else None
        observes = cluster is not None and is_holding and needs_observation(obj.status, hold, request)
        # What waits for something else is decided by none of the other objects, and ended by what is seen at most.
        plans = observes and (hold is None or self.job.needs_observation(obj))
        goes_by_details = (plans and hold is not None) or self.job.goes_by_details(obj.status)
        return Observed(
            now=self.now(),
            cluster=cluster,
            # After the hold was read, and so after its grant: the request is of a time at which the log was held.
            observation=self._observe(obj, cluster) if observes and cluster is not None else None,
            hold=hold,
            request=request,
            application=application,
            driver=None if application is None else self.applications.describe_driver(application),
            # What it continues decides what is held and read, and so nothing once the ledger does not either.
            parent=self.parent(obj) if plans else None,
            sibling=self.sibling(obj) if plans else None,
            details=self.details(obj) if goes_by_details else None,
            hold_stays=self.hold_stays(obj),
        )

    def _observe(self, obj: ObjectT, cluster: WALCluster) -> Observation | Unavailable:
        digest, observation = self.announced.get(obj.metadata.key, (None, None))
        return (
            observation
            if observation is not None and digest == obj.status.request_digest
            else self.observer.observe(cluster)
        )

    def decide(self, obj: ObjectT, observed: Observed) -> JobDecision[StatusT]:
        """Decides; of a request that is to be named in the status the look is kept."""
        decision: JobDecision[StatusT] = decide(self.job, obj, observed)
        digest, observation = decision.status.request_digest, observed.observation
        if decision.status.stage is not JobStage.HOLDING:
            self.announced.pop(obj.metadata.key, None)
        elif digest is not None and digest != obj.status.request_digest and isinstance(observation, Observation):
            self.announced[obj.metadata.key] = (digest, observation)
        return decision

    def record(self, obj: ObjectT, status: StatusT) -> None:
        """Replaces the status; one that ends by it is counted."""
        self.kube.replace_status(obj, status)
        if status.is_over and not obj.status.is_over and not isinstance(obj.spec, InvalidSpec):
            self.count(obj, status)

    def perform(self, obj: ObjectT, action: JobAction) -> Event:
        """Does one action."""
        match action:
            case PlaceHold():
                self.kube.create(WALHold, action.key, action.spec, owner=obj)
            case FreezeRequest():
                self._ask_again(obj, action, partial(decide, self.job))
                self.kube.write_config_map(obj, action.config_map)
            case Submit():
                require_secrets(self.kube, obj.metadata.namespace, action.secrets, self.job.noun)
                self._ask_again(obj, action, partial(decide, self.job))
                self.applications.create(obj, action.key, action.spec, action.service_account)
            case ReleaseHold():
                self.kube.delete(action.hold)
            case RemoveApplication():
                self.applications.delete(action.application)
            case RemoveItself():
                self.kube.delete(obj)
            case _:
                assert_never(action)
        return action.event()
