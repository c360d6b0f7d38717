# Every target is explained by its `##` comment: `make help` prints them.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PY := .venv/bin/python
PYTEST := .venv/bin/pytest
# One at a time: two clones that write the cache at once give each other false errors.
MYPY = mkdir -p $(CACHE)/mypy && flock $(CACHE)/mypy .venv/bin/mypy --cache-dir=$(CACHE)/mypy
PLATFORM := e2e/platform
TESTS := operator/tests spark-apps e2e
# Tests start hundreds of Python processes, each of which would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# In one process, because they write one file of counts. Who compares, or lets a process die at each call, is found.
GOLDEN_TESTS = $(shell grep -rlE 'compare_(text|calls|counts)|support[.]deaths|deaths_of' --include='test_*.py' operator/tests)
INSTANCE_ENV = eval "$$($(PLATFORM)/cluster env)"
CACHE := $(or $(SEAWALL_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/seawall)

.PHONY: help demo test test-unit golden test-integration e2e e2e-soak simulate check collect format crds proto lock images spark spark-images tools cluster cluster-down bench bench-report dist release release-prepare release-images release-test

help: ## Explain the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.venv/.stamp: requirements/dev.lock requirements/uv.lock operator/pyproject.toml spark-apps/sparkjob/pyproject.toml spark-apps/walrecord/pyproject.toml spark-apps/replay-verification/pyproject.toml spark-apps/wal-backup/pyproject.toml spark-apps/wal-subscription/pyproject.toml e2e/pyproject.toml e2e/refdb/pyproject.toml e2e/checker/pyproject.toml
	@requirements/venv.sh

demo: .venv/.stamp ## The main job from nothing: cluster, Kafka, operator, 64 topics; grow, repair, refuse, lose a broker, move replicas, recover rows, purge, verify on Spark, restart datanodes, end a crash loop, run a Kafka
	$(PY) -m seawall_e2e.demo

test: ## Everything: check, unit, integration and e2e tests; what CI runs
	@.ci/timed 'python environment' $(MAKE) --no-print-directory .venv/.stamp
	@.ci/timed 'binaries and jars' $(MAKE) --no-print-directory tools
	@.ci/timed 'check, beside it cluster, Kafka and images' $(MAKE) --no-print-directory -j4 -Oline check collect images spark-images
	@$(INSTANCE_ENV) && .ci/timed 'tests' $(PYTEST) -n 4 --dist loadgroup --no-loadscope-reorder $(TESTS)

test-unit: .venv/.stamp ## Tests of pure functions; needs no process
	$(PYTEST) operator/tests spark-apps e2e/refdb/tests e2e/checker/tests -m 'not integration'

golden: .venv/.stamp ## Write what tests compare anew, to be reviewed: transcripts of each kind, counts of crash calls, mutants and moves
	UPDATE_GOLDEN=1 $(PYTEST) $(GOLDEN_TESTS)

test-integration: .venv/.stamp tools ## Tests on real Kafka, etcd, API server and browser processes on loopback
	$(PYTEST) operator/tests spark-apps e2e/refdb/tests e2e/checker/tests -m integration

e2e: .venv/.stamp cluster images spark ## Tests on the local Kubernetes cluster
	$(INSTANCE_ENV) && $(PYTEST) e2e -m e2e

SOAK_SECONDS ?= 600
e2e-soak: .venv/.stamp cluster images spark ## Faults in a loop, SOAK_SECONDS=600 long; a purge that dies around all its changes; an adversary before all calls; 2,000 simulated days; every leaf of every spec; counts go to e2e/soak/results
	$(INSTANCE_ENV) && SOAK_SECONDS=$(SOAK_SECONDS) $(PYTEST) e2e -m soak -s
	CRASH_POINTS=all $(PYTEST) operator/tests/integration/test_purge_crash_points.py -s
	ADVERSARY=all $(PYTEST) -n 4 operator/tests/adversary/test_adversary_at_every_call.py -rA
	$(PYTEST) -m soak operator/tests/integration -s
	$(PYTEST) -m soak spark-apps/wal-subscription -s
	$(PYTEST) -m soak operator/tests/simulation/test_many_days.py -s
	$(PYTEST) -m soak operator/tests/walk operator/tests/purge -s

SEED ?= 1
simulate: .venv/.stamp ## Live the simulated day SEED=n once more, and tell its story; where something is wrong, with as little of what happened as is needed
	cd operator && ../$(PY) -m tests.simulation $(SEED)

check: .venv/.stamp ## Format, lint, types, import contracts, generated files, charts, locks
	.venv/bin/ruff format --check
	.venv/bin/ruff check
	$(MYPY)
	@# Alone: to mypy, a conftest.py of the tests has the same name.
	$(MYPY) conftest.py
	.venv/bin/lint-imports
	$(PY) -m seawall.crdgen --check
	$(PY) -m seawall.cli.docs --check
	spark-apps/walrecord/proto/generate.sh --check
	.venv/bin/yamllint --strict crds .pre-commit-config.yaml charts/*/Chart.yaml charts/*/values.yaml
	requirements/lock.sh --check
	@actionlint="$$($(PLATFORM)/release-tools.sh actionlint)/actionlint"; "$$actionlint"
	@helm="$$($(PLATFORM)/binaries.sh)/helm"; "$$helm" lint --strict charts/seawall charts/seawall-crds

collect: .venv/.stamp ## Import all tests: what cannot be is told early, and workers find them compiled
	@found=$$($(PYTEST) --collect-only -qq $(TESTS)) || { echo "$$found"; exit 1; }

format: .venv/.stamp ## Format the code and mend what the linter can
	.venv/bin/ruff format
	.venv/bin/ruff check --fix

crds: .venv/.stamp ## Write crds/, the chart's copies, docs/reference.md, docs/cli.md and the tables of docs/conditions.md from the code
	$(PY) -m seawall.crdgen
	$(PY) -m seawall.cli.docs

proto: .venv/.stamp ## Write the protobuf code of the WAL entries from its .proto
	spark-apps/walrecord/proto/generate.sh

lock: ## Pin the dependencies anew
	requirements/lock.sh

images: cluster ## Build the images of the operator, the reference database and the checker, and load them into the cluster
	@$(PLATFORM)/operator-image.sh
	@e2e/refdb/images.sh
	@e2e/checker/image.sh
	@$(PLATFORM)/s3/image.sh

dist: .venv/.stamp ## Build what people install into DIST=dist: the command as wheel, zipapps and archives, and the manifest for krew
	operator/dist.sh $(or $(DIST),dist)

release-prepare: ## Write VERSION wherever the version stands, and what is unreleased in the changelog into a section of it; to be committed and tagged
	@[ "$(VERSION)" ] || { echo "name it: make $@ VERSION=1.2.3" >&2; exit 2; }
	python3 release/versions.py $(VERSION)

release-images: ## Build the images of release VERSION for this machine's architecture, and push them to REGISTRY
	@[ "$(VERSION)" ] && [ "$(REGISTRY)" ] || { echo "name both: make $@ VERSION=1.2.3 REGISTRY=registry.example/seawall" >&2; exit 2; }
	release/images.sh $(VERSION) $(REGISTRY)

release: .venv/.stamp ## Build release VERSION into DIST=dist/VERSION: command, charts, CRDs, SBOMs, checksums; with REGISTRY images and charts are pushed there, with KEY all is signed
	@[ "$(VERSION)" ] || { echo "name it: make $@ VERSION=1.2.3" >&2; exit 2; }
	release/build.sh $(VERSION) $(or $(DIST),dist/$(VERSION)) $(REGISTRY)

release-test: .venv/.stamp cluster ## Build a release, push it to a registry, install it from there, upgrade from the one before and go back
	$(INSTANCE_ENV) && $(PYTEST) -m soak e2e/soak/test_release.py -s

spark: cluster ## Install the Spark Operator into the cluster, and load the images of the Spark applications
	@$(PLATFORM)/spark/deploy.sh
	@spark-apps/image.sh replay-verification
	@spark-apps/image.sh wal-backup
	@spark-apps/image.sh wal-subscription

spark-images: ## Build the images of `make spark`; the first test that needs them loads them, while others go on
	@$(PLATFORM)/spark/deploy.sh --build
	@spark-apps/image.sh replay-verification --build
	@spark-apps/image.sh wal-backup --build
	@spark-apps/image.sh wal-subscription --build

tools: ## Build or find the binaries of the cluster, of the Spark Operator and of greptimedb-operator, a browser, and the jars of Kafka and of MirrorMaker 2
	@$(PLATFORM)/binaries.sh >/dev/null
	@$(PLATFORM)/kafka/jars.sh >/dev/null
	@$(PLATFORM)/mirror-maker/jars.sh >/dev/null
	@$(PLATFORM)/spark/operator.sh >/dev/null
	@$(PLATFORM)/greptimedb/operator.sh >/dev/null
	@$(PLATFORM)/store.sh >/dev/null
	@$(PLATFORM)/promtool.sh >/dev/null
	@$(PLATFORM)/browser.sh >/dev/null
	@$(PLATFORM)/krew.sh >/dev/null
	@$(PLATFORM)/release-tools.sh actionlint >/dev/null
	@$(PLATFORM)/dashboard.sh >/dev/null
	@$(PLATFORM)/postgresql.sh >/dev/null
	@$(PLATFORM)/mysql.sh >/dev/null
	@$(PLATFORM)/strimzi/crds.sh >/dev/null

cluster: ## Start the local Kubernetes (kind when Docker answers) with Kafka on it
	$(PLATFORM)/cluster up

cluster-down: ## Stop it
	$(PLATFORM)/cluster down

bench: .venv/.stamp ## Run all benchmarks, or one: make bench BENCH=topics; SIZE=small takes seconds, to try it
	$(PY) bench/run.py $(if $(SIZE),--size $(SIZE)) $(BENCH)

bench-report: .venv/.stamp ## Draw how cost grows with size, from bench/results
	$(PY) bench/growth.py
