"""Test beds of real processes on loopback: no root, no containers, nothing left behind.

`KafkaProcesses` is a KRaft cluster, `ApiServer` an etcd with a kube-apiserver, `OperatorProcess` the operator. All are
context managers; ports and folders are their own, so several can run at once. Every wait is bounded and ends in the
tail of the process's log.
"""

from seawall_e2e.loopback.api_server import ApiServer
from seawall_e2e.loopback.kafka import KafkaProcesses
from seawall_e2e.loopback.operator_process import OperatorProcess

__all__ = ["ApiServer", "KafkaProcesses", "OperatorProcess"]
