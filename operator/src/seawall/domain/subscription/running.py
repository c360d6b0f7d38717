"""What copies: a request that is frozen, an application that works on it, and its last word.

Another image, size, topic or address is another run: its digest differs. The application of the run before goes first;
what is left of it does no harm, because a target takes records only at its end. Topics begin together (beginning.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.subscription_status import StopReason, SubscriptionRun
from seawall.domain.cluster.identity import pinned_id
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.spark_job.actions import FreezeRequest, RemoveApplication, Submit
from seawall.domain.spark_job.allowed import as_user, effective_spark, own_secrets
from seawall.domain.spark_job.application import (
    REQUEST_FOLDER,
    SUMMARY_FILE,
    Body,
    Ended,
    Program,
    SparkApplication,
    build_application,
    kafka_secrets,
    works,
)
from seawall.domain.spark_job.following import find_request_problem, frozen_request, progress, why_over
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.spark_job.request import FILE, Subject, database_version, digest_of, kafka_of, paths_in, store
from seawall.domain.subscription.beginning import wait_for_others
from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.contract import (
    SOURCE_FOLDER,
    End,
    Summary,
    read_end,
    request_body,
    request_head,
    with_stops,
)
from seawall.domain.subscription.forgotten import begin_anew
from seawall.domain.subscription.place import Place, place_of, volume_of
from seawall.domain.subscription.reasons import Reason
from seawall.domain.subscription.records import request as of_rows
from seawall.domain.subscription.records.names import are_due, frozen_tables
from seawall.domain.subscription.targets import topics_of
from seawall.domain.times import JOB_POLL_SECONDS, JOB_RETRY_SECONDS, SUBSCRIPTION_TRIES_AGAIN

MAIN_FILE = "local:///opt/seawall/subscribe.py"
RESTARTS: Body = {
    "type": "OnFailure",
    "onFailureRetries": 2**31 - 1,
    "onFailureRetryInterval": 5,
    "onSubmissionFailureRetries": 2**31 - 1,
    "onSubmissionFailureRetryInterval": 20,
}
"""Whatever ends it but its own word, it begins again: how far it is it reads in the target."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is meant to run.

    Attributes:
        digest: SHA-256 over all of it, its number apart.
        request: as the ConfigMap keeps it.
        spec: of the SparkApplication.
        secrets: those that the driver cannot start without.
    """

    digest: str
    request: bytes
    spec: Body
    service_account: str
    secrets: tuple[str, ...]


def run(case: Case) -> SubscriptionDecision | None:
    """Makes what is meant to run, as a new run if it is another than before; None: it is there, or not known yet."""
    meant, number = case.status.run, 1 if case.status.run is None else case.status.run.number
    wanted = build_run(case, number)
    if wanted is None:
        return None
    if meant is None or meant.digest != wanted.digest:
        return wait_for_others(case) or _begin(case, number if meant is None else number + 1, wanted)
    taken = _taken(case, number)
    if taken is not None:
        return taken
    problem = find_request_problem(case.observed.request, case.uid, digest_of(wanted.request))
    if problem is None:
        return _submit(case, number, wanted) if case.observed.application is None else None
    if case.observed.request is None:
        return _freeze(case, number, wanted)
    return _begin(case, number + 1, wanted)


def build_run(case: Case, number: int) -> Run | None:
    """What is meant to run, as the run of this number; None: what it needs is not there yet.

    It keeps the names of tables that it was told while they are true, and where those of now fit no request.
    """
    names, meant = case.observed.tables, case.status.run
    if not isinstance(names, Mapping):
        return _build(case, number, None)
    before = frozen_tables(case, names)
    kept = None if before is None or meant is None else _build(case, number, before)
    is_meant = kept is not None and meant is not None and kept.digest == meant.digest
    if is_meant and not are_due(case):
        return kept
    tables = of_rows.tables_of(case.spec.selection, names)
    anew = kept if kept is not None and tables == before else _build(case, number, tables)
    cannot_begin = anew is not None and isinstance(_frozen(case, number, anew), Verdict)
    return kept if is_meant and cannot_begin and case.own_application is None else anew


def _build(case: Case, number: int, tables: dict[str, object] | None) -> Run | None:
    source = as_user(case.kafka.kafka.access(case.cluster.metadata.key), case.declared)
    place = place_of(case)
    body = _request(case, source, place, number, tables)
    if body is None:
        return None
    request = store(body)
    spark = effective_spark(case.spec.spark, case.declared.spark)
    secrets = (*kafka_secrets(source, "source", SOURCE_FOLDER), *place.private)

    def application(digest: str) -> Body:
        arguments = ("--request", f"{REQUEST_FOLDER}/{FILE}", "--summary", SUMMARY_FILE, "--digest", digest)
        program = Program(MAIN_FILE, arguments, (*place.shared, *volume_of(case)))
        return build_application(case.run_key(number), program, spark, *secrets, restart_policy=RESTARTS)

    alike = json.dumps(
        [{**body, "run": 0}, {**application(""), "driver": None}, _driver(application(""))], sort_keys=True
    )
    return Run(
        sha256(alike.encode()).hexdigest(),
        request,
        application(digest_of(request) or ""),
        spark.service_account_name,
        tuple(dict.fromkeys((*own_secrets(case.declared), *place.secrets))),
    )


def _request(
    case: Case, source: ExternalKafka, place: Place, number: int, tables: dict[str, object] | None
) -> dict[str, object] | None:
    subject = Subject(case.obj.metadata.namespace, case.obj.metadata.name, case.uid, number)
    from_kafka = kafka_of(source, pinned_id(case.cluster) or "", paths_in(SOURCE_FOLDER))
    head = request_head(subject, from_kafka, None if case.spec.sink.table is not None else place.body)
    if case.spec.sink.mirror is not None:
        producer = case.status.producer
        return None if producer is None else request_body(head, producer, topics_of(case))
    sink = _sink(case, place)
    if sink is None or tables is None:
        return None
    version, snapshot = database_version(case.cluster, case.kafka), case.spec.snapshot
    begins = {} if snapshot is None else {"snapshot": {"uri": snapshot.uri}}
    return of_rows.request_body({**head, **sink, **begins}, version, tables, topics_of(case))


def _sink(case: Case, place: Place) -> dict[str, object] | None:
    """Where rows go; None: that is not made yet."""
    records, table = case.spec.sink.records, case.spec.sink.table
    if table is not None:
        return of_rows.table_of(case.writer, table, place.body)
    if records is None or case.status.records is None:
        return None
    return of_rows.records_of(case.writer, records, case.status.records)


def _driver(spec: Body) -> Body:
    """The driver without the name of its request, which has the run's number."""
    driver: Body = json.loads(json.dumps(spec["driver"]))
    volumes = driver["template"]["spec"]["volumes"]
    driver["template"]["spec"]["volumes"] = [each for each in volumes if each["name"] != "request"]
    return driver


def _begin(case: Case, number: int, wanted: Run) -> SubscriptionDecision:
    """The run before goes first, and only then there is another; but not for one that could not be told anything."""
    application, kept = case.own_application, _frozen(case, number, wanted)
    if isinstance(kept, Verdict):
        goes_on = "; what was begun before goes on" if works(application, case.observed.driver) else ""
        return case.stays(replace(kept, message=f"{kept.message}{goes_on}"))
    if application is not None:
        verdict = case.goes_on(JobReason.SUBMITTING, f"what is copied, or how, is another: {application.key.name} goes")
        return case.stays(verdict, RemoveApplication(application))
    meant = SubscriptionRun(number=number, digest=wanted.digest)
    return case.becomes(case.goes_on(JobReason.SUBMITTING, f"run {number} begins"), run=meant)


def _taken(case: Case, number: int) -> SubscriptionDecision | None:
    """A ConfigMap or an application of the run's name that somebody else made is left alone."""
    request, application = case.observed.request, case.observed.application
    kind = "ConfigMap" if request is not None and request.controller_uid != case.uid else None
    kind = "SparkApplication" if application is not None and application.controller_uid != case.uid else kind
    if kind is None:
        return None
    message = f"{kind} {case.run_key(number).name} exists and was not made by this subscription: delete it"
    return case.stays(Verdict(Outlook.STALLED, Reason.NAME_TAKEN, message))


def _frozen(case: Case, number: int, wanted: Run) -> ConfigMap | Verdict:
    """The request of a run; or why no ConfigMap takes it. Of rows, nearly all of it are names of tables."""
    is_mirror = case.spec.sink.mirror is not None
    field, reason = ("spec.topics", Reason.TOO_MANY) if is_mirror else ("spec.tables", Reason.TOO_MANY_TABLES)
    kept = frozen_request(case.run_key(number), wanted.request, field=field)
    return Verdict(Outlook.STALLED, reason, kept, JOB_RETRY_SECONDS) if isinstance(kept, str) else kept


def _freeze(case: Case, number: int, wanted: Run) -> SubscriptionDecision:
    kept = _frozen(case, number, wanted)
    if isinstance(kept, Verdict):
        return case.stays(kept)
    topics = len(topics_of(case))
    verdict = case.goes_on(JobReason.SUBMITTING, f"it writes down what is to be copied of {topics} topics")
    return case.stays(verdict, FreezeRequest(kept, topics))


def _submit(case: Case, number: int, wanted: Run) -> SubscriptionDecision:
    """While all that it reads is held, as all topics of a run are where no application is."""
    key = case.run_key(number)
    verdict = case.goes_on(JobReason.SUBMITTING, f"it makes SparkApplication {key.name}")
    return case.stays(verdict, Submit(key, wanted.spec, wanted.service_account, wanted.secrets))


def hear(case: Case) -> SubscriptionDecision | None:
    """Which topics stop, by the last word of an application; None: it says of none.

    Whose request is not known any more counts for nothing: what stops a topic is found again by the next one.
    """
    application, found = _own_over(case), _last_word(case)
    if application is None or not isinstance(found, Summary) or found.outcome is not End.STOPPED:
        return None
    rows = with_stops(case.status.topics, found.stopped)
    if rows != case.status.topics:
        needs_person = any(isinstance(stop.reason, StopReason) for stop in found.stopped)
        again = case.goes_on(JobReason.SUBMITTING, f"names of tables are read again: {found.message}")
        return case.becomes(
            Verdict(Outlook.STALLED, Reason.TOPICS_STOPPED, found.message) if needs_person else again, topics=rows
        )
    verdict = case.goes_on(JobReason.SUBMITTING, f"{application.key.name} has ended, and is made anew")
    return case.stays(verdict, RemoveApplication(application))


def again(case: Case) -> SubscriptionDecision | None:
    """An application that is over and could do nothing begins anew, after a while; None: it is not over."""
    application, found = _own_over(case), _last_word(case)
    if application is None:
        return begin_anew(case)
    if isinstance(found, Summary):
        message = found.message or "the driver refused the request"
        verdict = Verdict(Outlook.STALLED, Reason.REFUSED, message, JOB_POLL_SECONDS)
    else:
        message = f"{application.key.name} is over: {found or why_over(application)}"
        verdict = case.goes_on(Reason.RESTARTING, message)
    is_due = case.now >= application.created_at + SUBSCRIPTION_TRIES_AGAIN
    return case.stays(verdict, RemoveApplication(application)) if is_due else case.stays(verdict)


def _own_over(case: Case) -> SparkApplication | None:
    application = case.own_application
    return application if application is not None and application.is_over else None


def _last_word(case: Case) -> Summary | str | None:
    """The summary of its driver, or why none counts; None: there is no driver that ended."""
    driver, request = case.observed.driver, case.observed.request
    digest = None if request is None else digest_of(request.binary_data.get(FILE, b""))
    if not isinstance(driver, Ended):
        return None
    return "its request is gone" if digest is None else read_end(driver.message, digest)


def follow(case: Case) -> Verdict | None:
    """Why what is meant does not run; None: it does."""
    application = case.observed.application
    if application is None:
        return case.goes_on(JobReason.SUBMITTING, "nothing copies yet")
    found = progress(application, case.observed.driver, case.now)
    is_well = found.reason == JobReason.RUNNING and works(application, case.observed.driver)
    return None if is_well else found
