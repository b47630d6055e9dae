# Everything a developer or CI calls. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BUILD  := build
VENV   := $(BUILD)/venv
PYTHON := $(VENV)/bin/python
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 10s

# Packages without cgo: they build and test in seconds. load/duckdb and
# cmd/gander link DuckDB, which takes a minute.
PURE := ./cmd/gander-synth/... ./configs/... ./extract/... ./load/parquet/... ./load/pipeline/... ./load/render/... ./load/verify/... ./load/warehouse/... ./schemas/... ./transform/...

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

.PHONY: build
build: ## build bin/gander
	go build -o bin/gander ./cmd/gander

.PHONY: run
run: build ## read the homes of testdata/ into build/warehouse and query them
	go run ./testdata/fixture/cmd testdata/homes $(BUILD)/homes
	bin/gander run $(BUILD)/homes -o $(BUILD)/warehouse
	bin/gander sql -w $(BUILD)/warehouse "SELECT host, user, session_id, name, tool_calls, failed_calls, total_tokens FROM session_overview ORDER BY ALL"

.PHONY: test
test: $(VENV)/ready ## run every test, against SQLite, DuckDB, Polars, PyArrow and, with Java, Spark
	go test ./... gander/testdata/fixture
	$(MAKE) --no-print-directory readers

.PHONY: quick
quick: ## run the tests that need no cgo and no Python
	CGO_ENABLED=0 go test $(PURE)

.PHONY: readers
readers: $(VENV)/ready build ## check that every reader sees the same warehouse
	go run ./testdata/fixture/cmd testdata/homes $(BUILD)/homes
	rm -rf $(BUILD)/readers
	bin/gander run $(BUILD)/homes -o $(BUILD)/readers > /dev/null
	$(PYTHON) testdata/readers/check.py $(BUILD)/readers $$(cat $(VENV)/spark)

.PHONY: check
check: lint race test fuzz ## everything that must hold before a change lands

.PHONY: race
race: ## run the tests under the race detector
	go test -race $(PURE)

.PHONY: golden
golden: ## rewrite the expected output of testdata/cases (review with git diff)
	go test ./cmd/gander -run TestCases -update

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each
	@for target in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$target/*_test.go | sed 's/func //'); do \
	    echo "== $$target $$name"; go test $$target -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME); \
	  done; \
	done

.PHONY: bench
bench: ## run the Go benchmarks, then gander against its controls (BENCH="--mb 200 --rounds 3")
	go test -run '^$$' -bench . -benchmem ./extract/... ./transform ./schemas/... ./load/parquet ./load/pipeline ./load/duckdb
	testdata/bench/run.sh $(BENCH)

.PHONY: lint
lint: ## vet and lint
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt-ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./... gander/testdata/fixture gander/testdata/fixture/cmd
	$(GOLANGCI) run ./...

.PHONY: fmt
fmt: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

.PHONY: clean
clean: ## remove what was built
	rm -rf bin $(BUILD)

# The Python readers; Spark is added where there is a Java to run it.
$(VENV)/ready: testdata/readers/requirements.txt testdata/readers/requirements-spark.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r testdata/readers/requirements.txt
	if command -v java > /dev/null; then \
	  $(VENV)/bin/pip install --quiet --disable-pip-version-check -r testdata/readers/requirements-spark.txt; echo --spark > $(VENV)/spark; \
	else echo "no Java: Spark is not checked" >&2; : > $(VENV)/spark; fi
	touch $@
