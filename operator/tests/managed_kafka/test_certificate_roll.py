"""Certificates of a managed Kafka are rolled out: who reads a new one when, and when nobody goes."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest

from seawall.api.meta import ConditionType
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.managed_kafka import case, properties
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.managed_kafka.renewal import annotation_of, parse_read, reads_alike
from tests.worlds.certificate_roll_world import OTHER, OWN, CertificateRollWorld, issued
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL
from tests.worlds.secured_world import NODES, OPERATOR, YEAR, authority, secret, secret_of

BROUGHT_UP = CertificateRollWorld()
BROUGHT_UP.bring_up()
ORDER = [101, 102, *BROKERS, 100]


@pytest.fixture
def world() -> CertificateRollWorld:
    return copy.deepcopy(BROUGHT_UP)


def rolled(world: CertificateRollWorld) -> list[int]:
    """Who was restarted until all is as it should be."""
    world.evicted.clear()
    world.live(until=world.is_rolled)
    return list(world.evicted)


def told(world: CertificateRollWorld, kind: ConditionType) -> str:
    found = world.told(kind)
    return "" if found is None else f"{found[0]} {found[1]}: {found[2]}"


def test_a_renewed_certificate_is_read_by_each_node_once_in_the_order_of_a_roll(world: CertificateRollWorld) -> None:
    configurations = sum(kind is ObjectKind.CONFIG_MAP for kind, _ in world.objects.made)
    world.renew()
    assert rolled(world) == ORDER
    assert sum(kind is ObjectKind.CONFIG_MAP for kind, _ in world.objects.made) == configurations
    assert told(world, ConditionType.CERTIFICATES_VALID).startswith("True CertificatesFit")
    world.live(ticks=40)
    assert world.evicted == ORDER, "once"


def test_who_has_not_read_it_yet_is_told_meanwhile(world: CertificateRollWorld) -> None:
    world.renew()
    world.live(until=lambda: len(world.evicted) == 4)
    world.live(ticks=4)
    assert "nodes 2, 100 began" in told(world, ConditionType.CERTIFICATES_VALID)
    assert "run something else than is declared" in told(world, ConditionType.KAFKA_NODES_HEALTHY)


def test_one_that_is_dated_back_is_noticed_all_the_same(world: CertificateRollWorld) -> None:
    world.dated_back = timedelta(days=1)
    world.renew()
    assert rolled(world) == ORDER


def test_other_cas_beside_the_same_certificate_are_read_by_all(world: CertificateRollWorld) -> None:
    world.trust(OWN, OTHER)
    assert rolled(world) == ORDER


def test_the_first_template_tells_what_its_node_reads() -> None:
    world = CertificateRollWorld()
    world.bring_up()
    assert len({pod.certificate for pod in world.objects.pods[WAL].values()} - {None}) == 1


def test_another_ca_comes_by_three_rolls_in_each_of_which_all_believe_each_other(world: CertificateRollWorld) -> None:
    world.trust(OWN, OTHER)
    rolled(world)
    world.renew(OTHER, OWN, OTHER)
    assert rolled(world) == ORDER
    world.trust(OTHER)
    assert rolled(world) == ORDER


def test_a_ca_that_those_who_run_do_not_know_restarts_nobody_and_is_told(world: CertificateRollWorld) -> None:
    world.renew(OTHER)
    world.live(ticks=60)
    assert world.evicted == []
    said = told(world, ConditionType.KAFKA_NODES_HEALTHY)
    assert "nodes 0, 1, 2 and 2 more began with a ca.crt that has no CA which signed the certificate in" in said
    world.renew(OWN, OWN, OTHER)
    assert rolled(world) == ORDER, "the way out that the sentence names"


def test_a_ca_that_is_dropped_before_all_have_another_certificate_restarts_nobody(world: CertificateRollWorld) -> None:
    world.renew(OWN, OWN, OTHER)
    rolled(world)
    world.renew(OTHER)
    world.evicted.clear()
    world.live(ticks=60)
    assert world.evicted == []
    said = told(world, ConditionType.KAFKA_NODES_HEALTHY)
    assert f"no CA in ca.crt of Secret {NODES} signed the certificate with which nodes 0, 1, 2 and 2 more began" in said


def test_a_change_of_ca_in_mid_roll_waits_for_who_has_not_read_both_and_does_not_lock_itself_out(
    world: CertificateRollWorld,
) -> None:
    world.renew(OWN, OWN, OTHER)
    world.live(until=lambda: len(world.evicted) == 5 and world.entry() is None)
    world.evicted.clear()
    world.renew(OTHER, OWN, OTHER)
    assert rolled(world)[0] == 100, "all others believe it, and it none of them yet"
    assert sorted(world.evicted) == sorted((*BROKERS, *CONTROLLERS))


def test_where_all_were_made_anew_at_once_a_person_says_so(world: CertificateRollWorld) -> None:
    """The CA of before is lost, or nobody believes it any more: there is no way by which all stay."""
    world.renew(OTHER)
    for node in ORDER:
        world.kill(node)
    world.live(ticks=60)
    assert world.says("RollingNodes")
    assert world.evicted == []
    world.annotate(override_restart_gate="all pods were deleted@2026-11-21T18:00:00Z")
    assert rolled(world) == ORDER


def test_who_dies_by_itself_meanwhile_is_told_as_what_it_is(world: CertificateRollWorld) -> None:
    world.renew(OTHER)
    world.kill(1)
    world.live(ticks=40)
    assert told(world, ConditionType.KAFKA_NODES_HEALTHY).startswith("False CertificatesUnusable: ")
    assert "has no CA which signed" in told(world, ConditionType.KAFKA_NODES_HEALTHY)
    world.renew(OWN, OWN, OTHER)
    assert set(rolled(world)) == set(ORDER)


def test_a_secret_that_is_gone_keeps_all_where_they_are(world: CertificateRollWorld) -> None:
    world.renew()
    world.live(until=lambda: len(world.evicted) == 2 and world.entry() is None)
    world.lose_secret(NODES)
    world.live(ticks=40)
    assert len(world.evicted) == 2
    world.renew()
    assert set(rolled(world)) == set(ORDER), "the third one, which no node has read"


def test_pods_that_do_not_tell_what_they_read_are_judged_by_when_it_was_issued(world: CertificateRollWorld) -> None:
    """An older Seawall made them: that it is newer now restarts nobody."""
    for node in (*BROKERS, *CONTROLLERS):
        world.objects.update_pod(WAL, node, certificate=None, began=world.time.time)
    world.live(ticks=40)
    assert world.evicted == []
    world.dated_back = timedelta(days=1)
    world.renew()
    world.live(ticks=40)
    assert world.evicted == [], "nobody can know"
    world.dated_back = timedelta()
    world.time.time += timedelta(hours=1)
    world.renew()
    assert rolled(world) == ORDER


def test_what_a_newer_seawall_writes_there_in_another_way_restarts_nobody(world: CertificateRollWorld) -> None:
    for node, pod in world.objects.pods[WAL].items():
        assert pod.certificate is not None
        world.objects.update_pod(WAL, node, certificate=pod.certificate.replace("{", '{"newer":1,'))
    world.live(ticks=40)
    assert world.evicted == []


def test_who_comes_back_while_a_newer_seawall_writes_it_in_another_way_is_back(
    world: CertificateRollWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its StatefulSet is written anew meanwhile, and what is in the Secret is the same: it is made anew for nothing."""
    world.renew()
    world.live(until=lambda: len(world.evicted) == 2 and (entry := world.entry()) is not None and bool(entry.gone_time))
    monkeypatch.setattr(case, "annotation_of", lambda now: annotation_of(now).replace("{", '{"newer":1,', 1))
    world.live(until=world.is_rolled)
    assert world.evicted == ORDER, "each once"


def test_who_does_not_tell_what_it_read_was_made_alike_as_far_as_anybody_knows() -> None:
    first, other = '{"digest":"a","expires":null}', '{"digest":"b"}'
    assert reads_alike(first, '{"digest":"a"}')
    assert not reads_alike(first, other)
    assert reads_alike(None, first)
    assert reads_alike(first, None)


def test_a_time_without_a_zone_is_none_that_seawall_wrote() -> None:
    """It could be compared with none, and no look would come to its end."""
    assert parse_read('{"digest":"a","expires":"2027-01-01"}') is None
    assert parse_read('{"digest":"a","expires":"2027-01-01T00:00:00Z"}') is not None


def test_a_certificate_that_ended_under_nodes_restarts_none_of_them_and_is_told_with_its_date(
    world: CertificateRollWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer Seawall waited for approval for longer than the old certificate lasted."""
    until = "2027-11-21T11:59:00Z"
    monkeypatch.setattr(properties, "JVM_OPTIONS", f"{properties.JVM_OPTIONS}-Dnew=1\n")
    world.time.time += YEAR - timedelta(days=20)
    world.renew()
    world.live(ticks=40)
    assert f"and what they use ends at {until}" in told(world, ConditionType.CERTIFICATES_VALID)
    world.time.time += timedelta(days=30)
    managed = world.found().status.managed_kafka
    assert managed is not None
    assert managed.awaiting_approval is not None
    world.annotate(approve_rollout=managed.awaiting_approval)
    world.live(ticks=60)
    assert world.evicted == []
    said = f"nodes 0, 1, 2 and 2 more run with a certificate that ended at {until}, which nobody believes"
    assert said in told(world, ConditionType.KAFKA_NODES_HEALTHY)
    for node in ORDER:
        world.kill(node)
    assert rolled(world) == ORDER, "the way out that the sentence names"


def test_one_that_began_since_the_new_certificate_is_valid_has_read_it(world: CertificateRollWorld) -> None:
    """Whatever its template says: it died by itself while the others waited."""
    world.time.time += YEAR - timedelta(days=20)
    world.renew()
    world.rolls = False
    for node in (each for each in ORDER if each != 2):
        world.kill(node)
        world.live(ticks=10)
        assert node in world.running
    world.time.time += timedelta(days=30)
    world.rolls = True
    assert rolled(world)[0] == 2, "it is the only one that nobody believes, and no other may go before"


def put_operator(world: CertificateRollWorld, signer: str, *trusts: str) -> None:
    """Somebody puts another certificate into Seawall's own Secret; nodes that do not believe it do not answer."""
    pair = issued("operator", signer, 1, world.held_now.begins, ())
    world.kube.secrets[secret(OPERATOR)] = secret_of(pair, *map(authority, trusts))
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "the handshake failed")


def test_a_certificate_of_seawalls_that_is_faster_than_the_nodes_is_named(world: CertificateRollWorld) -> None:
    world.trust(OWN, OTHER)
    put_operator(world, OTHER, OWN, OTHER)
    world.live(ticks=40)
    said = "nodes 0, 1, 2 and 3 more began with a ca.crt that has no CA which signed the certificate in Secret"
    said = f"{said} {OPERATOR}"
    assert said in told(world, ConditionType.KAFKA_NODES_HEALTHY)
    assert told(world, ConditionType.KAFKA_NODES_HEALTHY).count(OPERATOR) == 1
    assert f"Kafka does not answer: {said}" in world.roll().message
    assert "KafkaNodesHealthy says what" in told(world, ConditionType.CERTIFICATES_VALID)
    assert world.evicted == []
    put_operator(world, OWN, OWN, OTHER)
    world.kafka.unreachable = None
    assert rolled(world) == ORDER, "the way out that the sentence names"


def test_whom_seawall_does_not_believe_any_more_is_named(world: CertificateRollWorld) -> None:
    world.trust(OWN, OTHER)
    rolled(world)
    world.evicted.clear()
    world.renew(OTHER, OWN, OTHER)
    put_operator(world, OTHER, OTHER)
    world.live(ticks=40)
    said = f"no CA in ca.crt of Secret {OPERATOR} signed the certificate with which nodes 0, 1, 2 and 3 more began"
    assert said in told(world, ConditionType.KAFKA_NODES_HEALTHY)
    assert world.evicted == []


def test_a_certificate_of_seawalls_is_named_also_where_no_roll_waits_for_it(world: CertificateRollWorld) -> None:
    world.lose_secret(NODES)
    put_operator(world, OTHER, OTHER)
    world.live(ticks=40)
    assert world.roll().stage is None
    said = told(world, ConditionType.KAFKA_NODES_HEALTHY)
    assert f"has no CA which signed the certificate in Secret {OPERATOR}" in said


def test_a_kafka_that_is_silent_for_another_reason_is_told_so(world: CertificateRollWorld) -> None:
    put_operator(world, OWN, OWN)
    world.live(ticks=40)
    assert OPERATOR not in told(world, ConditionType.KAFKA_NODES_HEALTHY)


def names(*nodes: int) -> tuple[str, ...]:
    """In the certificate of these nodes."""
    return tuple(f"wal-{node}.db.svc" for node in nodes)


def test_nobody_gets_a_certificate_without_the_name_of_one_that_is_not_out_yet(world: CertificateRollWorld) -> None:
    """It drains for days: with such a one no follower, no client and no Seawall would believe it."""
    world.hosts = names(3, *BROKERS, *CONTROLLERS)
    world.renew()
    rolled(world)
    world.rolls = False
    world.scale(4)
    world.live(until=lambda: world.says("AllOnline") and 3 in world.kafka.brokers and not world.tokens())
    world.rolls = True
    world.scale(3)
    world.live(until=lambda: world.says("RemovingNode"))
    world.evicted.clear()
    world.hosts = names(*BROKERS, *CONTROLLERS)
    world.renew()
    world.live(ticks=60)
    lacks = f"CertificatesUnusable: the certificate in Secret {NODES} lacks the names wal-3.db.svc; no node is started"
    assert told(world, ConditionType.CERTIFICATES_VALID) == f"False {lacks}"
    assert world.evicted == []
    world.hosts = names(3, *BROKERS, *CONTROLLERS)
    world.renew()
    world.live(until=lambda: set(world.read.values()) == {world.held_now} and world.entry() is None)
    assert set(world.evicted) == {3, *ORDER}


def test_what_a_person_has_to_approve_is_not_rolled_out_with_it(
    world: CertificateRollWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(properties, "JVM_OPTIONS", f"{properties.JVM_OPTIONS}-Dnew=1\n")
    world.renew()
    world.live(ticks=60)
    assert world.evicted == []
    assert "seawall.dev/approve-rollout" in told(world, ConditionType.KAFKA_NODES_HEALTHY)
    assert "OldCertificateInUse" in told(world, ConditionType.CERTIFICATES_VALID)


def test_a_newer_seawall_asks_first_also_after_a_user_more(
    world: CertificateRollWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No template depends on users, so no pod was made anew, and each keeps what it remembers of the spec."""
    managed = copy.deepcopy(world.spec["kafka"]["managed"])
    managed["security"]["users"].append({"name": "another", "access": "ReadOnly", "secretName": "user-verifier"})
    managed["security"]["operatorTls"] = {"secretName": "seawall-of-its-own"}
    world.kube.secrets[secret("seawall-of-its-own")] = world.kube.secrets[secret(OPERATOR)]
    world.declare(kafka={"managed": managed})
    world.live(ticks=40)
    assert world.evicted == []
    monkeypatch.setattr(properties, "JVM_OPTIONS", f"{properties.JVM_OPTIONS}-Dnew=1\n")
    world.live(ticks=60)
    assert world.evicted == []
    found = world.found().status.managed_kafka
    assert found is not None
    assert found.awaiting_approval is not None
    world.annotate(approve_rollout=found.awaiting_approval)
    assert rolled(world) == ORDER
