# Its init container, which gives a datanode its id and address. Build: e2e/platform/greptimedb/deploy.sh
FROM scratch
COPY --from=operator initializer /usr/local/bin/greptimedb-initializer
USER 65532:65532
ENV PATH=/usr/local/bin
ENTRYPOINT ["/usr/local/bin/greptimedb-initializer"]
