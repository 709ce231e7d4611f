# Rota's targets. `make test` is what each change must pass; `make proof` adds what needs servers, processes or minutes.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
BIN         := $(CURDIR)/bin
FUZZTIME    ?= 10s
BENCHTIME   ?= 1s
CHECKS      ?= 10000
SEEDS       ?= 200
SEED        ?= 1
EVENTS      ?= 200
PKG         ?= ./...
STAGES      ?=
DRY         := ./laws ./history ./mutation/... ./rotasim/... ./sim/...

.DEFAULT_GOAL := help
.PHONY: help build release test unit proof race laws vet lint fmt-check tidy-check fuzz properties bench sim check mutants demo chaos powercut nightly ci clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/rota, static, reproducible
	deploy/build $(BIN)/rota

release: ## all platforms, manual, completions and notes into dist/: VERSION=0.2.0
	deploy/release

test: fmt-check vet tidy-check unit properties ## all that a change must pass, in minutes, without servers

unit: ## the tests alone (go vet is a target of its own), laws and examples among them: PKG=./cluster/... for some
	go test -vet=off -count=1 -timeout 10m $(PKG)
	$(if $(filter ./...,$(PKG)),cd proof && go test -vet=off -count=1 -timeout 10m $(DRY))

proof: ## real servers, processes, simulator, checker, mutants, chaos: STAGES=sim,mutants for some, BUDGET=10m for more
	@.ci/postgres; .ci/chromium; zookeeper=$$(.ci/zookeeper); kafka=$$(.ci/kafka); elastic=$$(.ci/elastic); node=$$(.ci/node); \
	  export ROTA_TEST_NODE=$$node ROTA_TEST_ZOOKEEPER_JARS=$$zookeeper ROTA_TEST_KAFKA_JARS=$$kafka ROTA_TEST_ELASTIC_HOME=$$elastic; cd proof; go run ./prove $(if $(STAGES),-stages $(STAGES))

race: ## the tests with the race detector (needs a C compiler): PKG=./work/... for some
	go test -race -count=1 -timeout 15m $(PKG)

laws: ## the laws of the house alone
	@cd proof && go test -count=1 ./laws

vet: ## go vet
	go vet ./...

lint: ## golangci-lint, installed into bin/ when missing
	@.ci/lint

fmt-check: ## files that gofmt would change
	@out=$$(find . -name '*.go' -not -path './bin/*' -not -path '*/testdata/*' -print0 | xargs -0 gofmt -s -l); \
	  [ -z "$$out" ] || { echo "gofmt -s would change:"; echo "$$out"; exit 1; }

tidy-check: ## go.mod is as go mod tidy wants it; the sums of what only tests of others need depend on what a proxy has
	@out=$$(go mod tidy -e -diff || true); case "$$out" in *"diff current/go.mod"*) echo "$$out"; exit 1;; esac

fuzz: ## every fuzzer for FUZZTIME
	@.ci/fuzz $(FUZZTIME)

properties: ## every property of placement, slots and the value with CHECKS cases each
	go test -count=1 ./internal/schedule ./cluster -rapid.checks $(CHECKS)

bench: ## benchmarks: PKG=./cluster/... for some
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) $(PKG)

sim: ## simulated clusters: SEEDS of them, an hour each, under every fault in every phase
	@go run -C proof ./rotasim --protocol replica --seeds $(SEEDS) --hours 1 --all-pairs $(if $(BUDGET),--budget $(BUDGET)) --json

check: ## every order of the events of a few members, for a list of bounds
	@go run -C proof ./rotasim check --suite push --json

mutants: ## known flaws, one at a time: the checker, the simulator or a story must notice each
	@go run -C proof ./rotasim mutants --json

demo: build ## three members, a crash, a suspension, a leave
	$(BIN)/rota demo

chaos: build ## EVENTS faults on real processes: SEED=7 for another deck
	cd proof && go run ./chaos --binary $(BIN)/rota --events $(EVENTS) --seed $(SEED) --json

powercut: ## 50 power cuts of real file systems under writers; needs root and loop devices
	cd proof && go run ./chaos powercut --cuts 50 --seed $(SEED) --json

nightly: ## the long versions
	@go run -C proof ./rotasim check --suite nightly --json
	@$(MAKE) --no-print-directory properties CHECKS=100000
	@$(MAKE) --no-print-directory sim SEEDS=50000
	@$(MAKE) --no-print-directory fuzz FUZZTIME=5m
	@$(MAKE) --no-print-directory chaos EVENTS=1000
	@$(MAKE) --no-print-directory powercut
	cd proof && go run ./chaos mutants --seed $(SEED) --json
	cd proof && go run ./flows --runs 100 --seed $(SEED) --json
	cd proof && go test -count=1 -tags nightly -timeout 1h -run TestPrimaryKilled ./stores/elastic
	cd proof && go run ./platforms linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
	cd proof && go run ./prove -stages contrib,charts,servers-race
	cd deploy && ROTA_TEST_COLD=yes go test -count=1 -timeout 1h -run TestReproducible .
	.ci/mutation
	go test -count=1 -tags proof -timeout 2h -run 'TestProofLarge|TestSeedsMany|TestFlawsAreFound' ./lock ./call ./internal/flow

ci: ## what CI runs
	@.ci/run

clean: ## remove what was built
	rm -rf $(BIN) dist *.test *.prof
