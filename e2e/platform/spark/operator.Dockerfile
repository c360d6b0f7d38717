# The Spark Operator. It starts applications by spark-submit, so its base is an image with Spark: deploy.sh names it.
ARG BASE_IMAGE=spark:4.0.0
FROM ${BASE_IMAGE}
COPY --from=operator spark-operator /usr/bin/
ENTRYPOINT ["tini", "-s", "--", "/usr/bin/spark-operator"]
