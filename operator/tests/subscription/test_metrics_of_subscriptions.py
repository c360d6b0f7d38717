"""What Prometheus reads of subscriptions: of all that is known the numbers of the status, of all else nothing."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.handlers.metrics.subscription import SubscriptionTelemetry
from tests.worlds.records_world import RecordsWorld
from tests.worlds.subscription_world import DR, SubscriptionWorld

BUDGET = 2**20


def series(registry: CollectorRegistry) -> dict[str, float]:
    """All that there are, without what they begin with and whose they are; states that are not so left out."""
    lines = [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]
    assert all('name="dr",namespace="db"' in line for line in lines)
    found = dict(line.replace('name="dr",namespace="db"', "").rsplit(" ", 1) for line in lines)
    named = {name.removeprefix("seawall_subscription_"): float(value) for name, value in found.items()}
    return {name.replace("{}", ""): value for name, value in named.items() if value or "state" not in name}


def measured(world: SubscriptionWorld) -> dict[str, float]:
    """What the controller measured last."""
    registry = CollectorRegistry()
    SubscriptionTelemetry(registry).measure_subscription(DR, *world.meters.subscriptions[DR])
    return series(registry)


def test_a_mirror_that_lags_and_then_has_a_topic_that_stops() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.live(ticks=30)  # numbers are written every half minute
    even = {"stopped_topics": 0.0, "lag_entries": 0.0, "lag_seconds": 0.0, "held_bytes": 0.0, "budget_bytes": BUDGET}
    assert measured(world) == {'state{,state="Streaming"}': 1.0, **even}

    world.stride = 0
    world.write("wal_2", 3)
    found = world.live_until(SubscriptionState.LAGGING)
    lag = found.status.lag
    assert lag is not None
    assert lag.bytes is not None
    assert measured(world) == {
        'state{,state="Lagging"}': 1.0,
        **even,
        "lag_entries": 3.0,
        "lag_seconds": float(lag.seconds),
        "held_bytes": float(lag.bytes),
    }
    assert lag.seconds >= 60
    assert lag.bytes > 0

    world.stride = 25
    world.diverged = {"wal_0"}
    world.live_until(SubscriptionState.STOPPED)
    world.live(ticks=60)
    assert measured(world)["stopped_topics"] == 1.0
    assert measured(world)['state{,state="Stopped"}'] == 1.0


def test_rows_and_a_budget_of_time_alone() -> None:
    world = RecordsWorld()
    world.subscribe(lagBudget={"maxAge": "24h", "maxBytes": None})
    world.live(world.is_even)
    world.live(lambda: measured(world).get("rows") == 120.0)
    found = measured(world)
    assert found["dead_letters"] == 0.0
    assert "budget_bytes" not in found


def test_one_that_is_gone_has_no_series_and_neither_has_who_does_not_lead() -> None:
    world = SubscriptionWorld()
    world.streaming()
    for forget in ("forget_subscription", "clear"):
        registry = CollectorRegistry()
        telemetry = SubscriptionTelemetry(registry)
        telemetry.measure_subscription(DR, *world.meters.subscriptions[DR])
        assert series(registry) != {}
        getattr(telemetry, forget)(*((DR,) if forget == "forget_subscription" else ()))
        assert series(registry) == {}
