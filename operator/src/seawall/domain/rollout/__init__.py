"""A roll: members that are restarted one by one. What is restarted is asked of a gate: the datanodes have one."""
