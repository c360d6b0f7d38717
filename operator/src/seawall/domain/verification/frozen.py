"""Whether the request that the job reads is the one that the status names: asked before the job, and of its verdict.

The digest is in the status before the ConfigMap exists, so whoever may write ConfigMaps, but not this status, can stop
a verification, and not make it prove anything. The bytes name the verification's UID and the number of the attempt.
"""

from __future__ import annotations

from seawall.api.v1alpha1.verification import Outcome
from seawall.domain.verification.case import Case, VerificationDecision, name_taken, request_changed
from seawall.domain.verification.request import FILE, digest_of


def check_request(case: Case) -> VerificationDecision | None:
    """What comes of a ConfigMap that is gone, somebody else's, or another request; None: it is the one."""
    found = case.observed.request
    if found is None:
        return case.attempt_ends(Outcome.INTERRUPTED, f"ConfigMap {case.key.name} with its request is gone")
    if found.controller_uid != case.uid:
        return name_taken(case, "ConfigMap")
    named = case.status.request_digest
    if named is None or digest_of(found.binary_data.get(FILE, b"")) != named:
        return request_changed(case, f"ConfigMap {case.key.name} is not the request that status.requestDigest names")
    return None
