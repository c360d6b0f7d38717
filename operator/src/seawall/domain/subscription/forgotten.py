"""An application that the Spark Operator wants to begin anew, and does not: it waits for a driver to go that has ended.

So it is where the API server did not answer when that driver had begun (`spark_job.application.Works`).
"""

from __future__ import annotations

from seawall.domain.clocks import is_to_come
from seawall.domain.spark_job.actions import RemoveApplication
from seawall.domain.spark_job.application import RERUN, Ended
from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.reasons import Reason
from seawall.domain.times import SUBSCRIPTION_TRIES_AGAIN


def begin_anew(case: Case) -> SubscriptionDecision | None:
    """Replaces one that the Spark Operator would begin anew, and does not; None: it is none, or is given time."""
    application, driver = case.own_application, case.observed.driver
    if application is None or application.state != RERUN:
        return None
    if not isinstance(driver, Ended) or driver.finished_at is None:
        return None
    is_ahead = is_to_come(driver.finished_at, case.now)  # the clock of its machine is
    if not is_ahead and case.now < driver.finished_at + SUBSCRIPTION_TRIES_AGAIN:
        return None
    message = f"the Spark Operator does not begin {application.key.name} anew, whose driver has ended"
    return case.stays(case.goes_on(Reason.RESTARTING, message), RemoveApplication(application))
