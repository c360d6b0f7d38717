"""What a subscription needs and does not have is named in one sentence, and that it comes is enough."""

from __future__ import annotations

from typing import Any

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from tests.subscription.test_subscription import condition
from tests.worlds.purge_world import NAMESPACE
from tests.worlds.subscription_world import DECLARED, DR, TARGET, SubscriptionWorld
from tests.worlds.verification_world import why

USER, WRITER = Key(NAMESPACE, "user"), Key(NAMESPACE, "writer")
PASSWORD = {"username": b"seawall", "password": b"secret"}


def with_users(**target: Any) -> SubscriptionWorld:
    """A target that asks who somebody is."""
    kafka = {**TARGET["kafka"], "sasl": {"credentialsSecretRef": {"name": USER.name}}}  # type: ignore[dict-item]
    return SubscriptionWorld(declared={**DECLARED, "targets": [{**TARGET, "kafka": kafka, **target}]})


def stalled(world: SubscriptionWorld) -> tuple[str, str]:
    """Reason and sentence after a while in which nothing came."""
    found = world.live(ticks=60)
    assert condition(found, ConditionType.STALLED)[0] == "True"
    assert condition(found, ConditionType.READY)[0] == "False"
    assert world.spark.specs == {}
    return why(found)


def test_a_secret_of_the_target_that_is_missing_is_named_and_so_is_a_key() -> None:
    world = with_users()
    world.subscribe()
    assert stalled(world) == ("TargetAccess", "Secret user does not exist")
    world.kube.secrets[USER] = {"username": b"seawall"}
    assert stalled(world) == ("TargetAccess", "Secret user has no key password")
    assert (world.target.topics, world.spark.specs) == ({}, {})
    world.kube.secrets[USER] = PASSWORD
    world.live(world.is_even)


def test_a_secret_of_the_job_that_is_missing_is_named() -> None:
    """Its driver would wait for that without a word."""
    world = with_users(kafkaCredentialsSecretRef={"name": WRITER.name})
    world.kube.secrets[USER] = PASSWORD
    world.subscribe()
    reason, sentence = stalled(world)
    assert (reason, sentence) == (
        "ChangeRefused",
        "there is no Secret writer, which spec.subscription of the WALCluster names for the job",
    )
    world.kube.secrets[WRITER] = PASSWORD
    world.live(world.is_even)


def test_a_missing_spark_operator_stalls_it_until_somebody_installs_one() -> None:
    world = SubscriptionWorld()
    world.spark.installed = False
    world.subscribe()
    assert "install the Spark Operator" in stalled(world)[1]
    assert world.holds() == [DR.name], "the source keeps what is to be copied"
    world.spark.installed = True
    world.live(world.is_even)


def test_an_edit_to_an_image_that_is_not_declared_is_refused_as_at_the_beginning_and_what_copies_goes_on() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.subscribe(spark={"image": "mine:1"})
    found = world.live(ticks=60)
    reason, sentence = why(found)
    assert (reason, condition(found, ConditionType.STALLED)[0]) == ("SparkNotAllowed", "True")
    assert sentence.startswith("spark.image is not what WALCluster ")
    assert sentence.endswith("what was begun before goes on, and nothing is begun anew")
    assert world.runs(1)
    assert found.status.state is SubscriptionState.STREAMING
    world.subscribe(spark={})
    found = world.live(ticks=60)
    assert (why(found)[0], world.runs(1)) == ("Streaming", True), "taken back, all is as before"
