"""Requests of runs that are long over: each run leaves one, and etcd has a quota.

They go while the run that is meant works and nothing else is to be done. Whoever may not delete them is told so unless
there is something else to say, such as that a topic is stopped, and copies all the same. That of the run before stays.
"""

from __future__ import annotations

from dataclasses import replace

from seawall.domain.conditions import Outlook
from seawall.domain.spark_job.application import works
from seawall.domain.subscription.actions import RemoveRequest
from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.standing import standing


def rests(case: Case) -> SubscriptionDecision:
    """How it stands, while old requests go."""
    verdict, old = standing(case), not_needed(case)
    return replace(case.stays(verdict, *old), outranks_failures=bool(old) and verdict.outlook is not Outlook.READY)


def not_needed(case: Case) -> tuple[RemoveRequest, ...]:
    """What is deleted of them now: one that this subscription made."""
    old = case.observed.old_request
    if old is None or old.controller_uid != case.uid or not works(case.own_application, case.observed.driver):
        return ()
    return (RemoveRequest(old),)
