# `make` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help demo build test check docs unit e2e versions campaign rate cost bench deny controlplane prometheus image image-test record clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Run the demo: a built-in cluster, no Kubernetes needed
	cargo run --release --quiet -- demo

build: ## Build the release binary
	cargo build --release

test: check controlplane prometheus ## Everything: formatting, lints, unit, property and end-to-end tests
	cargo test -- --show-output

check: ## Formatting and lints
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings

docs: ## Write the generated pages anew: settings, metrics, reason codes, the JSON Schema
	BERTH_WRITE_DOCS=1 cargo test --test reasons --test references

unit: ## All tests that need no control plane
	cargo test --lib --bins $(patsubst tests/%.rs,--test %,$(wildcard tests/*.rs)) --test preemption --test group_rules --test examples --test replica_groups

e2e: controlplane prometheus ## End-to-end tests against a real control plane
	cargo test --test e2e

versions: ## The end-to-end smoke with every kube-scheduler in docs/compatibility.md, 1.34 to 1.37
	tests/controlplane/build 1.34 1.35
	cargo test --test e2e -- --include-ignored --show-output versions::

rate: build controlplane ## Pods per second of groups on 5,000 nodes: Berth against kube-scheduler alone
	BERTH_BINARY=$(CURDIR)/target/release/berth cargo test --test e2e -- --ignored --nocapture rate::

cost: build ## Time and memory that the dearest groups cost, through HTTP
	BERTH_BINARY=$(CURDIR)/target/release/berth cargo test --test decision_cost -- --ignored --nocapture --test-threads=1

# How many, and from which seed on; BERTH_..._CASE runs one of them alone, as a failure says.
HISTORIES ?= 100000
CONTESTS ?= 20000
SEED ?= $(shell date +%s)
campaign: ## Many random histories of replica groups, with a fresh seed (HISTORIES, CONTESTS, SEED)
	BERTH_GROUPS_SEED=$(SEED) BERTH_GROUPS_CASES=$(HISTORIES) BERTH_CONTEST_SEED=$(SEED) BERTH_CONTEST_CASES=$(CONTESTS) \
		cargo test --test replica_groups -- --nocapture --test-threads 1 promises_hold groups_that_compete

bench: ## Benchmarks; every figure is a ratio with its spread
	cargo bench

deny: target/tools/bin/cargo-deny ## Licences, banned crates and sources of the dependencies
	$< --locked check licenses bans sources

# Built once, which takes some minutes. `make clean` removes it.
target/tools/bin/cargo-deny:
	cargo install --locked --root target/tools cargo-deny

controlplane: ## Build etcd, kube-apiserver, kube-scheduler, ... once, into the user's cache
	tests/controlplane/build

# Base images other than the Dockerfile's are named by BUILD_IMAGE and RUNTIME_IMAGE.
IMAGE ?= berth:latest
BUILDER ?= docker build
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
image: ## Build the container image (IMAGE, BUILDER, BUILDER_FLAGS, BUILD_IMAGE, RUNTIME_IMAGE, COMMIT)
	$(BUILDER) $(BUILDER_FLAGS) --file Dockerfile --tag $(IMAGE) --build-arg BERTH_COMMIT=$(COMMIT) \
		$(if $(BUILD_IMAGE),--build-arg BUILD_IMAGE=$(BUILD_IMAGE)) \
		$(if $(RUNTIME_IMAGE),--build-arg RUNTIME_IMAGE=$(RUNTIME_IMAGE)) .

image-test: ## Build the image from Debian packages with buildah, and run what is in it (as root)
	tests/image/run

prometheus: ## Provide promtool and Prometheus once, in the user's cache
	tests/tools/prometheus

record: controlplane ## Record kube-scheduler's requests anew into tests/data/recorded
	cargo test --test e2e -- --ignored record

clean: ## Remove what was built here (the control plane's cache stays)
	cargo clean
