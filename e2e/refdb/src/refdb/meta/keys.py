"""Keys in etcd, as GreptimeDB names them (facts §3); `__refdb_…` are refdb's own."""

TABLE_ROUTES = "__table_route/"
TABLE_NAMES = "__table_name/greptime/public/"
MAINTENANCE = "__switches/maintenance"
NEXT_TABLE_ID = "__refdb_sequence/table_id"
TOPIC_REGIONS = "__topic_region/"


def topic_name(topic: str) -> str:
    """The pruned marker of a topic."""
    return f"__topic_name/kafka/{topic}"


def topic_region(topic: str, region_id: int) -> str:
    """That a region writes to a topic, and its checkpoint."""
    return f"{topic_regions(topic)}{region_id}"


def topic_regions(topic: str) -> str:
    """The prefix of all regions of a topic."""
    return f"{TOPIC_REGIONS}{topic}/"


def table_route(table_id: int) -> str:
    """Which datanode leads which region of a table."""
    return f"{TABLE_ROUTES}{table_id}"


def table_name(name: str) -> str:
    """The id of a table."""
    return TABLE_NAMES + name


def table_info(table_id: int) -> str:
    """Columns and partitions of a table."""
    return f"__table_info/{table_id}"


def datanode_tables(datanode: int) -> str:
    """The prefix of what a datanode opens when it starts."""
    return f"__dn_table/{datanode}/"


def datanode_table(datanode: int, table_id: int) -> str:
    """The regions of a table on a datanode."""
    return f"{datanode_tables(datanode)}{table_id}"


NODE_ADDRESSES = "__node_address/0/"
"""The prefix of where datanodes listen; 0 is their role."""


def node_address(datanode: int) -> str:
    """Where a datanode listens."""
    return f"{NODE_ADDRESSES}{datanode}"


def datanode_claim(datanode: int) -> str:
    """Whose id it is: the home folder that first took it, and how often it has started."""
    return f"__refdb_datanode/{datanode}"
