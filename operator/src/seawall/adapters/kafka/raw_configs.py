"""Configs of topics and brokers by kafka-python, which can ask for the default of all brokers: confluent-kafka cannot.

Broker "" is that default, which any broker tells and changes; another broker's own configs it refuses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from seawall.adapters.kafka.errors import raise_error
from seawall.adapters.kafka.raw import RawKafka, Silence, answered
from seawall.domain.kafka import Configs

TOPIC, BROKER = 2, 4
EVERY_BROKER = ""
SET, DELETE = 0, 1
OWN = 2
"""The source of a config that was set on this one broker (DYNAMIC_BROKER_CONFIG)."""
DEFAULT = 3
"""The source of a config that is the default of all brokers (DYNAMIC_DEFAULT_BROKER_CONFIG)."""


def default_configs(kafka: RawKafka) -> Configs:
    """What is set as the default of all brokers."""
    (found,) = answered(kafka.ask_any(describe(BROKER, [EVERY_BROKER], None))).results
    raise_error("to describe the configs of all brokers", found.error_code, found.error_message)
    return {config.name: config.value or "" for config in found.configs if config.config_source == DEFAULT}


def alter_default_configs(kafka: RawKafka, changes: Mapping[str, str | None], what: str | None = None) -> None:
    """Sets defaults of all brokers; None takes one back. `what` is what a refusal calls them; None: by their names."""
    called = what or f"{', '.join(sorted(changes))} of all brokers"
    for answer in answered(kafka.ask_any(alter(BROKER, {EVERY_BROKER: changes}))).responses:
        raise_error(called, answer.error_code, answer.error_message)


def configs_of_brokers(kafka: RawKafka, keys: Collection[str], what: str) -> dict[int, Collection[Any]]:
    """These configs as each broker tells them; one that does not answer is left out. `what` is for a refusal."""
    asked = {broker: describe(BROKER, [str(broker)], list(keys)) for broker in kafka.brokers()}
    found: dict[int, Collection[Any]] = {}
    for broker, answer in kafka.ask(asked).items():
        if isinstance(answer, Silence):
            continue
        (of_broker,) = answer.results
        raise_error(what, of_broker.error_code, of_broker.error_message)
        found[broker] = of_broker.configs
    return found


def own_configs(kafka: RawKafka, keys: Collection[str]) -> dict[int, Configs]:
    """What of these was set on single brokers, of those of which something was."""
    answers = configs_of_brokers(kafka, keys, "to describe the configs of single brokers")
    own = {
        broker: {config.name: config.value or "" for config in configs if config.config_source == OWN}
        for broker, configs in answers.items()
    }
    return {broker: configs for broker, configs in own.items() if configs}


def describe(kind: int, names: Collection[str], keys: list[str] | None) -> DescribeConfigsRequest:
    """The question for these configs of topics or brokers; None: for all of them."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[resource(resource_type=kind, resource_name=name, configuration_keys=keys) for name in names],
        include_synonyms=True,
        include_documentation=False,
    )


def alter(kind: int, changes: Mapping[str, Mapping[str, str | None]]) -> IncrementalAlterConfigsRequest:
    """The change of configs of topics or brokers; None resets one."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    return IncrementalAlterConfigsRequest(
        resources=[
            resource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    resource.AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
                    for key, value in configs.items()
                ],
            )
            for name, configs in changes.items()
        ],
        validate_only=False,
    )
