# greptimedb-operator alone. Build: e2e/platform/greptimedb/deploy.sh
FROM scratch
COPY --from=operator operator /usr/local/bin/greptimedb-operator
USER 65532:65532
ENV PATH=/usr/local/bin
ENTRYPOINT ["/usr/local/bin/greptimedb-operator"]
