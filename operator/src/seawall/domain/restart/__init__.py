"""The restart of a WALCluster's datanodes: the roll (`domain/rollout`) as a part of its status."""
