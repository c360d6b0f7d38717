#!/bin/bash
# What Spark on Kubernetes starts in its pods: `driver …`, `executor`; anything else is run as it is.
# pip's pyspark has no entrypoint; this does what the one of Spark's own images does, without passing on
# what we never set. The variables are set by Spark's submission client and its driver.
set -euo pipefail
case ${1:-} in
driver)
  shift
  set -- "$SPARK_HOME/bin/spark-submit" --deploy-mode client \
    --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
    --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" "$@"
  ;;
executor)
  # SPARK_JAVA_OPT_0=…, SPARK_JAVA_OPT_1=…, in the order of their numbers
  readarray -t options < <(env | grep '^SPARK_JAVA_OPT_' | sort -t_ -k4 -n | sed 's/[^=]*=//')
  class_path="${SPARK_CONF_DIR:-$SPARK_HOME/conf}:$SPARK_HOME/jars/*"
  set -- java "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" -cp "$class_path" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend --driver-url "$SPARK_DRIVER_URL" \
    --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" --app-id "$SPARK_APPLICATION_ID" \
    --hostname "$SPARK_EXECUTOR_POD_IP" --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
  ;;
esac
exec tini -s -- "$@"
