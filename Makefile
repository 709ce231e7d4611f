# Rota's targets. CI runs `make test` through .ci/run, the same as the README says.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
BIN         := $(CURDIR)/bin
FUZZTIME    ?= 10s
BENCHTIME   ?= 1s
CHECKS      ?= 10000
SEEDS       ?= 2000
PKG         ?= ./...
# The race detector needs cgo, and so a C compiler.
CC_FOUND    := $(shell command -v gcc >/dev/null 2>&1 && echo yes)
RACE        := $(if $(CC_FOUND),-race,)

.DEFAULT_GOAL := help
.PHONY: sim check mutants nightly help build test unit race race-detector laws vet lint modules fmt-check tidy-check fuzz fuzz-smoke properties bench examples demo chaos chaos-smoke powercut chaos-mutants ci clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/rota, static
	CGO_ENABLED=0 go build -trimpath -o $(BIN)/rota ./cmd/rota

# Four packages at a time: those of the stores on servers wait for most of their time.
test: ## all that a change must pass; ends with "N passed, N failed, N skipped"
	@go run ./internal/testsum -make "$(MAKE)" -steps "fmt-check vet laws build examples modules lint fuzz-smoke race-detector properties" \
	  -proof "check chaos-smoke mutants*2 sim" -within 24m \
	  go test -json -count=1 -timeout 15m -p 4 $(RACE) $(PKG)

unit: ## tests alone, without the race detector: PKG=./cluster/... for some
	@go run ./internal/testsum go test -json -timeout 10m $(PKG)

race: ## tests with the race detector: PKG=./work/... for some
	@go run ./internal/testsum -steps race-detector go test -json -count=1 -timeout 15m $(RACE) $(PKG)

race-detector: ## says whether the race detector can be used here
	@[ -n "$(RACE)" ] || echo "SKIP: no gcc: the tests run WITHOUT the race detector"

laws: ## the laws of the house alone
	@go test -count=1 ./internal/laws

modules: ## the modules with a go.mod of their own: contrib/*, bench
	@.ci/modules

vet: ## go vet
	@go vet ./...

lint: ## golangci-lint, installed into bin/ when missing
	@.ci/lint

fmt-check: ## files that gofmt would change
	@out=$$(find . -name '*.go' -not -path './bin/*' -not -path '*/testdata/*' -print0 | xargs -0 gofmt -s -l); \
	  [ -z "$$out" ] || { echo "gofmt -s would change:"; echo "$$out"; exit 1; }

tidy-check: ## go.mod and go.sum are as go mod tidy wants them
	@go mod tidy -diff

fuzz: ## every fuzzer for FUZZTIME
	@.ci/fuzz $(FUZZTIME)

fuzz-smoke: ## every fuzzer for ten seconds
	@$(MAKE) --no-print-directory fuzz FUZZTIME=10s

properties: ## every property of placement, slots and the value with CHECKS cases each
	@go test -count=1 ./schedule ./cluster -rapid.checks $(CHECKS)

sim: ## simulated clusters: SEEDS of them, an hour each, under every fault in every phase
	@go run ./cmd/rotasim --protocol replica --seeds $(SEEDS) --hours 1 --all-pairs $(if $(BUDGET),--budget $(BUDGET)) --json

check: ## every order of the events of a few members, for a list of bounds
	@go run ./cmd/rotasim check --suite push --json

mutants: ## known flaws, one at a time: the checker or the simulator must notice each
	@go run ./cmd/rotasim mutants $(if $(BUDGET),--budget $(BUDGET)) --json

nightly: ## the long versions of check, sim, fuzz and properties
	@go run ./cmd/rotasim check --suite nightly --json
	@$(MAKE) --no-print-directory properties CHECKS=100000
	@$(MAKE) --no-print-directory sim SEEDS=50000
	@$(MAKE) --no-print-directory fuzz FUZZTIME=5m
	@$(MAKE) --no-print-directory chaos EVENTS=1000
	@$(MAKE) --no-print-directory chaos-mutants powercut
	@go test -count=1 -run TestFlawsAreFound ./store/doclog
	@ROTA_LOCK_PROOF=1 go test -count=1 -timeout 2h -run TestProofLarge ./lock
	@ROTA_CALL_PROOF=1 go test -count=1 -timeout 2h -run 'TestProofLarge|TestFlawsAreFound' ./call

bench: ## benchmarks: PKG=./cluster/... for some
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) $(PKG)
	@[ ! -f bench/go.mod ] || (cd bench && go test -run '^$$' -bench . -benchmem ./...)

examples: ## build the examples and check their task files
	@go vet ./examples/... && go test -count=1 ./examples/...

demo: build ## three members, a crash, a suspension, a leave
	$(BIN)/rota demo

SEED        ?= 1
EVENTS      ?= 200
chaos: build ## 200 faults on real processes, in less than three minutes: SEED=7 for another deck, EVENTS=600 for a longer one
	@go run ./cmd/rotachaos --binary $(BIN)/rota --events $(EVENTS) --seed $(SEED) --json

chaos-smoke: build ## 120 faults, in less than a minute, for CI
	@go run ./cmd/rotachaos --binary $(BIN)/rota --events 120 --seed $(SEED) --json

powercut: ## 50 power cuts of real file systems under writers; needs root and loop devices, and says so
	@mkdir -p $(BIN) && go build -o $(BIN)/rotachaos ./cmd/rotachaos && $(BIN)/rotachaos powercut --cuts 50 --seed $(SEED) --json

chaos-mutants: ## flawed binaries under chaos: every flaw must be found out
	@go run ./cmd/rotachaos mutants --seed $(SEED) --json

ci: test tidy-check ## what CI runs, and that go.mod is tidy

clean: ## remove what was built
	rm -rf $(BIN) dist *.test *.prof
