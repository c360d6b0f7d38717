"""What a node of a managed Kafka reads of its Secret when it begins, and whether nodes that run believe it.

Kafka reads its certificate, and whom it believes, when it begins. The template that a pod is made of says what was in
the Secret by then; so it is known which nodes run with what was there before, whatever dates a CA writes, and nobody is
restarted with a certificate that the others do not believe (docs/adr/0075-certificates-by-roll.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from pydantic import AwareDatetime, ValidationError

from seawall.api.meta import StatusModel
from seawall.domain.managed_kafka.certificates import Certificate
from seawall.domain.text import few, written


class ReadCertificate(StatusModel):
    """What a node that begins reads.

    Attributes:
        digest: of the certificate, those that signed it, and the CAs.
        signed_by: the CAs above it.
        trusts: the CAs that it believes.
        expires: when the first of what it shows ends; None: an older Seawall did not write that.
    """

    digest: str
    signed_by: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ()
    expires: AwareDatetime | None = None


def annotation_of(now: Certificate) -> str:
    """What a template says of the Secret of the nodes as it is now."""
    read = ReadCertificate(
        digest=now.digest,
        signed_by=tuple(sorted(now.signed_by)),
        trusts=tuple(sorted(now.trusted)),
        expires=now.shown_until,
    )
    return read.model_dump_json(by_alias=True)


def parse_read(text: str | None) -> ReadCertificate | None:
    """What a template says; None: nothing, or somebody else wrote there."""
    try:
        return None if text is None else ReadCertificate.model_validate_json(text)
    except ValidationError:
        return None


def reads_alike(one: str | None, other: str | None) -> bool:
    """Whether who is made of either template reads the same, as far as both tell; how they tell it does not matter."""
    first, second = parse_read(one), parse_read(other)
    return first is None or second is None or first.digest == second.digest


def why_strangers(now: Certificate, read: Mapping[int, ReadCertificate], ended: Mapping[int, datetime]) -> str | None:
    """Why a node that begins now, or the operator, is a stranger to nodes that run, in one sentence; None: it is not.

    Args:
        now: what it would read, or what the operator has.
        read: by node what those that run have read; whose pod does not say so is not asked.
        ended: by node of these when the certificate ended with which it runs.
    """
    return next(_strangeness(now, read, ended), None)


def _strangeness(now: Certificate, read: Mapping[int, ReadCertificate], ended: Mapping[int, datetime]) -> Iterator[str]:
    if gone := [node for node in read if node in ended]:
        runs = f"{_nodes(gone)} {'run' if len(gone) > 1 else 'runs'} with a certificate that ended at"
        pods = "their pods, all at once, so that they read" if len(gone) > 1 else "its pod, so that it reads"
        yield f"{runs} {written(min(ended[node] for node in gone))}, which nobody believes: delete {pods} the new one"
    if doubts := [node for node, found in read.items() if now.signed_by.isdisjoint(found.trusts)]:
        yield (
            f"{_nodes(doubts)} began with a ca.crt that has no CA which signed the certificate in Secret {now.secret}: "
            f"sign it by a CA of before until all nodes have read a ca.crt with both"
        )
    if unknown := [node for node, found in read.items() if now.trusted.isdisjoint(found.signed_by)]:
        yield (
            f"no CA in ca.crt of Secret {now.secret} signed the certificate with which {_nodes(unknown)} began: put "
            f"the CA of before into it, too"
        )


def _nodes(nodes: list[int]) -> str:
    return f"node{'s' if len(nodes) > 1 else ''} {few(sorted(nodes))}"
