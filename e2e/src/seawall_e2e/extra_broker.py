"""A broker besides the platform's: it joins their Kafka, and leaves it for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from seawall_e2e.commands import Object, kubectl
from seawall_e2e.objects import apply, get
from seawall_e2e.reassignments import kafka_tool
from seawall_e2e.waiting import wait_until

NODE_ID = 10
POD = f"kafka-extra-{NODE_ID}"
"""The image takes the node id from its end. It is not kafka-10: the platform's StatefulSet would adopt that."""
BROKER_ONLY = "process.roles=broker\nlisteners=PLAINTEXT://:9092,SASL_SSL://:9093\n"
"""The platform's brokers are controllers as well."""
START_SECONDS = 120
STOP_SECONDS = 150
"""More than the pod's grace."""


@contextmanager
def extra_broker() -> Iterator[int]:
    """A broker without a vote in a pod of its own, as the platform's are otherwise; its node id, once clients reach it.

    At the end it is stopped and unregistered, and its disk is gone: whoever needs what is on it drains it before.
    """
    apply(*broker_objects(POD, BROKER_ONLY))
    try:
        ready = ("wait", f"pod/{POD}", "--for=condition=Ready", f"--timeout={START_SECONDS}s")
        kubectl("-n", "kafka", *ready, timeout=START_SECONDS + 10)
        yield NODE_ID
    finally:
        both = (f"pod/{POD}", f"configmap/{POD}")
        kubectl("-n", "kafka", "delete", *both, "--ignore-not-found", timeout=STOP_SECONDS)
        _unregister()


def registered_brokers() -> dict[int, str]:
    """The brokers that Kafka's own tool lists, by id: `fenced` or `unfenced`."""
    listed = kafka_tool("kafka-cluster", "list-endpoints", "--include-fenced-brokers")
    rows = [line.split() for line in listed.splitlines()]
    return {int(row[0]): row[-2] for row in rows if row and row[0].isdigit()}


def _unregister() -> None:
    """Kafka knows a broker that is down until it is told to forget it."""
    if NODE_ID in registered_brokers():
        wait_until(lambda: registered_brokers()[NODE_ID] == "fenced", f"broker {NODE_ID} is fenced")
        kafka_tool("kafka-cluster", "unregister", "--id", str(NODE_ID))


def broker_objects(pod: str, lines: str, environment: Mapping[str, str] | None = None) -> tuple[Object, Object]:
    """The configuration and the pod of a broker, made from what the platform's brokers have.

    Args:
        pod: its name, whose end is the node id; both objects are called so.
        lines: of its configuration. Of two lines with one key the last one counts.
        environment: what differs of the container's.
    """
    metadata = {"name": pod, "namespace": "kafka"}
    properties = get("kafka", "configmaps", "kafka")["data"]["server.properties"]
    config = {"server.properties": f"{properties}\n{lines}"}
    template = get("kafka", "statefulsets", "kafka")["spec"]["template"]
    (container,) = template["spec"]["containers"]
    own_values = environment or {}
    variables = [{**each, "value": own_values.get(each["name"], each["value"])} for each in container["env"]]
    kept = [each for each in template["spec"]["volumes"] if each["name"] != "config"]
    own = [{"name": "config", "configMap": {"name": pod}}, {"name": "data", "emptyDir": {}}]
    # With its hostname and the Service's name it has an address, as the pods of a StatefulSet have.
    spec = {
        **template["spec"],
        "hostname": pod,
        "subdomain": "kafka",
        "containers": [{**container, "env": variables}],
        "volumes": [*kept, *own],
    }
    return (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": config},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "labels": template["metadata"]["labels"]},
            "spec": spec,
        },
    )
