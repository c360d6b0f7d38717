#!/bin/sh
# How a node of a Kafka that Seawall runs begins. Only a POSIX shell, Java and Kafka's jars are needed.
#
#   entrypoint.sh format   an init container: formats an empty volume, and only by a token
#   entrypoint.sh run      the node itself; it looks once more, because a disk may be emptied under a pod that stays
#
# An emptied disk that is formatted without asking may lead with an empty log, and all other replicas truncate to it
# (docs/adr/0056-format-tokens.md). So what is empty is told, by the container's termination message, and waits.
#
#   NODE_ID, CLUSTER_ID            which node this is
#   HEAP_OPTIONS, JAVA_OPTIONS     options of Java
#   $config/server.properties      of this node
#   $tokens/node-<id>              initial <voters> [<question>] | join [<question>], while this node may format
set -eu
libs=${KAFKA_LIBS:-/opt/kafka/libs}
config=${SEAWALL_CONFIG:-/etc/seawall/config}
tokens=${SEAWALL_TOKENS:-/etc/seawall/format}
volume=${SEAWALL_VOLUME:-/var/lib/kafka}
said=${SEAWALL_TERMINATION_LOG:-/dev/termination-log}
tmp=${TMPDIR:-/tmp}
data=$volume/data
half=$volume/.formatting
# These are of the pod, and go with it. A token stays for a while, and a pod goes on to see it a minute longer.
formatted=$tmp/formatted
asked=$tmp/asked
CLASSPATH=$(printf '%s:' "$libs"/*.jar)
export CLASSPATH

refuse() {
  echo "$1: $2" | tee "$said" >&2
  exit 3
}

value_of() { # a key of meta.properties
  sed -n "s/^$1=//p" "$data/meta.properties"
}

require_own() {
  if [ "$(value_of cluster.id)" != "$CLUSTER_ID" ] || [ "$(value_of node.id)" != "$NODE_ID" ]; then
    refuse ForeignVolume "it is of node $(value_of node.id) of Kafka $(value_of cluster.id)"
  fi
}

require_empty() {
  for found in "$volume"/* "$volume"/.[!.]*; do
    case $found in
    "$volume/lost+found" | "$half") ;;
    *) [ ! -e "$found" ] || refuse NotEmpty "it has ${found##*/}, and no data of Kafka" ;;
    esac
  done
}

format() { # into a folder beside, which gets its name when it is whole
  rm -rf "$half"
  sed "s|^log.dirs=.*|log.dirs=$half|" "$config/server.properties" >"$tmp/format.properties"
  java @"$config/jvm.options" kafka.tools.StorageTool format -t "$CLUSTER_ID" -c "$tmp/format.properties" "$@"
  sync
  touch "$formatted"
  rm -f "$asked"
  finish
}

finish() {
  mv "$half" "$data"
  sync
}

ask() { # what is empty is a question, with a name of its own until it was answered
  [ -s "$asked" ] || cat /proc/sys/kernel/random/uuid >"$asked"
  refuse "VolumeEmpty $(cat "$asked")" "$1"
}

require_answered() { # a token that answers no question is for a pod that has never formatted
  if [ -n "$1" ]; then
    [ "$1" = "$(cat "$asked" 2>/dev/null)" ] || ask "nothing is on it, and its token answers another question"
  elif [ -e "$formatted" ]; then
    ask "nothing is on it, and this pod has formatted it before"
  fi
}

format_by_token() {
  kind='' first='' second=''
  if [ -e "$tokens/node-$NODE_ID" ]; then
    read -r kind first second <"$tokens/node-$NODE_ID" || true   # it may lack an end of line
  fi
  case $kind in
  initial)
    require_answered "$second"
    format --initial-controllers "$first" --feature eligible.leader.replicas.version=1
    ;;
  join)
    require_answered "$first"
    format --no-initial-controllers
    ;;
  *) ask "nothing is on it, and nobody has said that it may be formatted" ;;
  esac
}

prepare() {
  if [ -e "$data/meta.properties" ]; then
    require_own
  else
    require_empty
    if [ -e "$formatted" ] && [ -e "$half/meta.properties" ]; then
      finish   # it was killed right before
    else
      format_by_token
    fi
  fi
}

case $1 in
format) prepare ;;
run)
  prepare
  # exec: SIGTERM must reach Java, or the broker never hands over its partitions.
  # shellcheck disable=SC2086  # several options
  exec java @"$config/jvm.options" $HEAP_OPTIONS $JAVA_OPTIONS kafka.Kafka "$config/server.properties"
  ;;
*)
  echo "format or run?" >&2
  exit 2
  ;;
esac
