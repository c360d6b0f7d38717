"""Why a verification ends without a verdict on the log. Each error is one sentence for the person who asked."""


class Refused(Exception):  # noqa: N818 - the outcome's name in the contract
    """The request cannot be worked on as it is; trying again changes nothing."""


class Denied(Refused):
    """A key or a right is missing right now: who rotates keys, or grants rights one after the other, mends it."""


class Interrupted(Exception):  # noqa: N818 - as above
    """Kafka, Spark or storage failed: nothing was proved either way."""
