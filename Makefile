# Rota's targets. CI runs `make test` through .ci/run, the same as the README says.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
BIN         := $(CURDIR)/bin
LINT        := v2.15.0
FUZZTIME    ?= 10s
# The race detector needs cgo, and so a C compiler.
RACE        := $(shell command -v gcc >/dev/null 2>&1 && echo -race)

.DEFAULT_GOAL := help
.PHONY: help build test unit laws lint fmt-check fuzz bench demo clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/rota
	CGO_ENABLED=0 go build -trimpath -o $(BIN)/rota ./cmd/rota

test: fmt-check lint build unit ## everything that a change must pass

unit: ## all tests, with the race detector where there is a C compiler
	@[ -n "$(RACE)" ] || echo "NOTE: no gcc: the tests run WITHOUT the race detector"
	go test -json -count=1 -timeout 15m $(RACE) ./... | go run ./internal/testsum

laws: ## the laws of the house alone
	go test -count=1 ./internal/laws

lint: ## vet and golangci-lint (installed into bin/ when missing)
	go vet ./...
	@[ -x $(BIN)/golangci-lint ] || { echo "installing golangci-lint $(LINT)"; GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT); }
	$(BIN)/golangci-lint run --timeout 10m ./...

fmt-check: ## files that gofmt would change
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt would change:"; echo "$$out"; exit 1; }

fuzz: ## every fuzzer for FUZZTIME
	@for pkg in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	  echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg; done; done

bench: ## benchmarks, also those beside peers
	go test -run '^$$' -bench . -benchmem ./...
	@[ ! -f bench/go.mod ] || (cd bench && go test -run '^$$' -bench . -benchmem ./...)

demo: build ## three members, a crash, a suspension, a leave
	$(BIN)/rota demo

clean: ## remove what was built
	rm -rf $(BIN)
