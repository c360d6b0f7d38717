"""Mistakes that a server of the contract of databases can make; each must fail the conformance."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from seawall.domain.dataplane.connection import identity_by_contract
from tests.support.contract_facade import Ask, Facade, Served, served

Mistake = Callable[[Facade], Ask]
"""Makes the server with the mistake."""
Change = Callable[[Any], object]
CONFLICT = 409
_CHANGES = {"/claims", "/markers"}


def changing(facade: Facade, path: str, change: Change) -> Ask:
    """Changes each answer at this path that is none of an error."""
    ask = served(facade)

    def other(method: str, at: str, body: bytes) -> Served:
        status, kind, found = ask(method, at, body)
        if at == path and status == 200:
            found = json.loads(json.dumps(found))
            change(found)
        return status, kind, found

    return other


def requests_changed(facade: Facade, path: str, change: Change) -> Ask:
    """Believes something else than was asked."""
    ask = served(facade)

    def other(method: str, at: str, body: bytes) -> Served:
        if at != path or method == "GET":
            return ask(method, at, body)
        try:
            asked = json.loads(body)
            change(asked)
        except (ValueError, LookupError, AttributeError):
            return ask(method, at, body)
        return ask(method, at, json.dumps(asked).encode())

    return other


def nodes(found: Any) -> Any:
    return found["nodes"]


def regions(found: Any) -> Any:
    return [region for node in found["nodes"] for region in node["regions"]]


def serves_another_version(facade: Facade) -> Ask:
    return changing(facade, "", lambda found: found.update(contract="2.0"))


def has_a_new_identity_each_time(facade: Facade) -> Ask:
    count = itertools.count()
    return changing(facade, "/head", lambda found: found.update(database=f"queue-{next(count)}"))


def writes_ids_as_text(facade: Facade) -> Ask:
    def change(found: Any) -> None:
        for region in regions(found):
            region["flushedEntryId"] = str(region["flushedEntryId"])

    return changing(facade, "/reports", change)


def says_minus_1_where_it_knows_none(facade: Facade) -> Ask:
    return changing(facade, "/reports", lambda found: regions(found)[0].update(flushedEntryId=-1))


def leaves_out_what_it_does_not_know(facade: Facade) -> Ask:
    return changing(facade, "/reports", lambda found: regions(found)[0].pop("idleEntryId"))


def has_local_times(facade: Facade) -> Ask:
    def change(found: Any) -> None:
        for node in nodes(found):
            node["reportedAt"] = node["reportedAt"][:19]

    return changing(facade, "/reports", change)


def repeats_an_old_report(facade: Facade) -> Ask:
    return changing(facade, "/reports", lambda found: nodes(found)[0].update(reportedAt="2026-01-01T00:00:00Z"))


def counts_requests_as_epochs(facade: Facade) -> Ask:
    count = itertools.count(1)
    return changing(facade, "/reports", lambda found: nodes(found)[0].update(epoch=next(count)))


def forgets_a_region_in_the_metadata(facade: Facade) -> Ask:
    return changing(facade, "/metadata", lambda found: found["regions"].pop())


def does_not_report_a_region(facade: Facade) -> Ask:
    return changing(facade, "/reports", lambda found: nodes(found)[0]["regions"].pop())


def mixes_two_databases(facade: Facade) -> Ask:
    return changing(facade, "/metadata", lambda found: nodes(found)[0].update(address="elsewhere:1"))


def has_metadata_older_than_what_is_in_them(facade: Facade) -> Ask:
    return changing(facade, "/metadata", lambda found: found.update(revision=0))


def has_no_marker_before_it_is_pruned(facade: Facade) -> Ask:
    return changing(facade, "/metadata", lambda found: [topic.update(marker=None) for topic in found["topics"]])


def leaves_out_topics_that_were_never_pruned(facade: Facade) -> Ask:
    return changing(facade, "/metadata", lambda found: found["topics"].pop())


def has_a_head_that_lags(facade: Facade) -> Ask:
    return changing(facade, "/head", lambda found: found.update(revision=1))


def has_metadata_that_lag(facade: Facade) -> Ask:
    return changing(facade, "/metadata", lambda found: found.update(revision=found["revision"] - 1))


def names_topics_of_another_pool(facade: Facade) -> Ask:
    return changing(facade, "", lambda found: found["wal"].update(topicPrefix="queue"))


def has_errors_without_problems(facade: Facade) -> Ask:
    ask = served(facade)

    def other(method: str, at: str, body: bytes) -> Served:
        status, kind, found = ask(method, at, body)
        return (status, kind, found) if status == 200 else (status, "text/html", b"<h1>Error</h1>")

    return other


def accepts_what_makes_no_sense(facade: Facade) -> Ask:
    return requests_changed(facade, "/maintenance", lambda asked: asked.update(enabled=bool(asked["enabled"])))


def writes_claims_over_others(facade: Facade) -> Ask:
    def change(asked: Any) -> None:
        claims = facade.store.head().claims
        asked["before"] = claims.get(asked["prefix"])

    return requests_changed(facade, "/claims", change)


def moves_markers_whatever_was_recorded(facade: Facade) -> Ask:
    def change(asked: Any) -> None:
        for move in asked["moves"]:
            stored = facade.store.snapshot().topics[move["topic"]]
            move["recorded"] |= {"marker": stored.pruned_entry_id, "revision": stored.mod_revision}

    return requests_changed(facade, "/markers", change)


def moves_markers_over_new_regions(facade: Facade) -> Ask:
    def change(asked: Any) -> None:
        for move in asked["moves"]:
            move["revision"] = facade.store.head().revision

    return requests_changed(facade, "/markers", change)


def moves_markers_for_anybody(facade: Facade) -> Ask:
    def change(asked: Any) -> None:
        asked["owner"] = facade.store.head().claims.get(asked["prefix"], asked["owner"])

    return requests_changed(facade, "/markers", change)


def says_that_markers_moved_and_moves_none(facade: Facade) -> Ask:
    ask = served(facade)

    def other(method: str, at: str, body: bytes) -> Served:
        if (method, at) == ("POST", "/markers"):
            return 200, "application/json", {"refused": []}
        return ask(method, at, body)

    return other


def forgets_a_failed_flush(facade: Facade) -> Ask:
    return changing(facade, "/flush", lambda found: found.update(failures=[]))


def declares_a_flush_that_it_has_not(facade: Facade) -> Ask:
    ask = served(facade)

    def other(method: str, at: str, body: bytes) -> Served:
        return ask(method, "/none" if at == "/flush" else at, body)

    return other


def has_a_switch_that_does_not_stay(facade: Facade) -> Ask:
    ask = served(facade)

    def other(method: str, at: str, body: bytes) -> Served:
        status, kind, found = ask(method, at, body)
        if at == "/maintenance" and method == "GET":
            found = {**found, "enabled": False}
        return status, kind, found

    return other


def whoever_is_meant(facade: Facade, path: str) -> Ask:
    """Changes something whatever identity is asked for."""
    return requests_changed(facade, path, lambda asked: asked.update(database=identity(facade)))


def identity(facade: Facade) -> str:
    return identity_by_contract(facade.identity) or ""


def flushes_for_another_database(facade: Facade) -> Ask:
    return whoever_is_meant(facade, "/flush")


def claims_for_another_database(facade: Facade) -> Ask:
    return whoever_is_meant(facade, "/claims")


def moves_markers_for_another_database(facade: Facade) -> Ask:
    return whoever_is_meant(facade, "/markers")


def turns_the_switch_for_another_database(facade: Facade) -> Ask:
    return whoever_is_meant(facade, "/maintenance")


def flushes_without_an_identity(facade: Facade) -> Ask:
    return requests_changed(facade, "/flush", lambda asked: asked.setdefault("database", identity(facade)))


def moves_markers_without_an_identity(facade: Facade) -> Ask:
    return requests_changed(facade, "/markers", lambda asked: asked.setdefault("database", identity(facade)))


def compares_after_the_change(facade: Facade, path: str) -> Ask:
    """Says that another database is meant, when it has changed something."""
    honest, believing = served(facade), whoever_is_meant(facade, path)

    def other(method: str, at: str, body: bytes) -> Served:
        answer = honest(method, at, body)
        if answer[0] == CONFLICT:
            believing(method, at, body)
        return answer

    return other


def claims_before_it_compares(facade: Facade) -> Ask:
    return compares_after_the_change(facade, "/claims")


def moves_markers_before_it_compares(facade: Facade) -> Ask:
    return compares_after_the_change(facade, "/markers")


def turns_the_switch_before_it_compares(facade: Facade) -> Ask:
    return compares_after_the_change(facade, "/maintenance")


def refuses_another_database_as_any_error(facade: Facade) -> Ask:
    """Nobody learns that one URL leads to two."""
    ask = served(facade)

    def other(method: str, at: str, body: bytes) -> Served:
        status, kind, found = ask(method, at, body)
        return (503, kind, {**found, "status": 503}) if status == CONFLICT else (status, kind, found)

    return other


def moves_a_region_and_keeps_its_revision(facade: Facade) -> Ask:
    count = itertools.count()
    return changing(facade, "/metadata", lambda found: found["regions"][0].update(leader=next(count) % 2))


def moves_a_region_without_a_revision_of_routes(facade: Facade) -> Ask:
    count = itertools.count()

    def change(found: Any) -> None:
        region = found["regions"][0]
        del region["routeRevision"]
        region.update(leader=next(count) % 2)

    return changing(facade, "/metadata", change)


def has_half_of_its_catalogue_now_and_then(facade: Facade) -> Ask:
    """A control plane that has just started; asked again it has all, so whatever is asked twice agrees."""
    count = itertools.count()
    return changing(facade, "/metadata", lambda found: found["regions"].pop() if next(count) % 2 else None)


def prunes_without_a_revision(facade: Facade) -> Ask:
    count = itertools.count(1)
    return changing(facade, "/metadata", lambda found: found["topics"][0].update(marker=next(count)))


def lets_a_claim_go_without_a_revision(facade: Facade) -> Ask:
    count = itertools.count(1)
    return changing(
        facade, "/metadata", lambda found: found["claims"].append({"prefix": f"other-{next(count)}", "owner": "nobody"})
    )


def followed(found: Any) -> Any:
    return next(region for region in found["regions"] if region["followers"])


def followers(found: Any) -> Any:
    return next(region for region in regions(found) if region["state"] == "Follower")


def lets_a_leader_follow_itself(facade: Facade) -> Ask:
    return changing(facade, "/metadata", lambda found: followed(found)["followers"].append(followed(found)["leader"]))


def names_a_follower_that_nobody_knows(facade: Facade) -> Ask:
    return changing(facade, "/metadata", lambda found: followed(found)["followers"].append(77))


def has_followers_that_say_nothing(facade: Facade) -> Ask:
    def change(found: Any) -> None:
        for node in nodes(found):
            node["regions"] = [region for region in node["regions"] if region["state"] != "Follower"]

    return changing(facade, "/reports", change)


def calls_a_follower_a_leader(facade: Facade) -> Ask:
    return changing(facade, "/reports", lambda found: followers(found).update(state="Serving"))


def has_a_follower_that_goes_back(facade: Facade) -> Ask:
    count = itertools.count(1_000, -1)
    return changing(facade, "/reports", lambda found: followers(found).update(flushedEntryId=next(count)))


OF_FOLLOWERS: tuple[Mistake, ...] = (
    lets_a_leader_follow_itself,
    names_a_follower_that_nobody_knows,
    has_followers_that_say_nothing,
    calls_a_follower_a_leader,
    has_a_follower_that_goes_back,
)
OF_OTHER_DATABASES: tuple[tuple[Mistake, str], ...] = (
    (flushes_for_another_database, "flush flushes"),
    (claims_for_another_database, "claims compare"),
    (claims_before_it_compares, "claims compare"),
    (moves_markers_for_another_database, "markers compare"),
    (moves_markers_before_it_compares, "markers compare"),
    (turns_the_switch_for_another_database, "maintenance stays"),
    (turns_the_switch_before_it_compares, "maintenance stays"),
    (refuses_another_database_as_any_error, "flush flushes"),
    (flushes_without_an_identity, "errors are problems"),
    (moves_markers_without_an_identity, "errors are problems"),
)
"""With the check that finds each."""
OF_ROUTES: tuple[Mistake, ...] = (
    moves_a_region_and_keeps_its_revision,
    moves_a_region_without_a_revision_of_routes,
)
OF_REVISIONS: tuple[Mistake, ...] = (
    has_half_of_its_catalogue_now_and_then,
    prunes_without_a_revision,
    lets_a_claim_go_without_a_revision,
    *OF_ROUTES,
)
OF_MARKERS: tuple[Mistake, ...] = (has_no_marker_before_it_is_pruned, leaves_out_topics_that_were_never_pruned)
MISTAKES: tuple[Mistake, ...] = (
    serves_another_version,
    has_a_new_identity_each_time,
    writes_ids_as_text,
    says_minus_1_where_it_knows_none,
    leaves_out_what_it_does_not_know,
    has_local_times,
    repeats_an_old_report,
    counts_requests_as_epochs,
    forgets_a_region_in_the_metadata,
    does_not_report_a_region,
    mixes_two_databases,
    has_metadata_older_than_what_is_in_them,
    *OF_MARKERS,
    has_a_head_that_lags,
    has_metadata_that_lag,
    names_topics_of_another_pool,
    has_errors_without_problems,
    accepts_what_makes_no_sense,
    writes_claims_over_others,
    moves_markers_whatever_was_recorded,
    moves_markers_over_new_regions,
    moves_markers_for_anybody,
    says_that_markers_moved_and_moves_none,
    forgets_a_failed_flush,
    declares_a_flush_that_it_has_not,
    has_a_switch_that_does_not_stay,
    *OF_FOLLOWERS,
    *OF_REVISIONS,
    *(mistake for mistake, _ in OF_OTHER_DATABASES),
)
