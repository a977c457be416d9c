# Every target prepares what it needs by itself: .venv, pinned requirements, a Java runtime.
# The preparation is done once and again only when its inputs change.

.DEFAULT_GOAL := help
.PHONY: help run test test-long grammar lint format bench bench-quick bench-hard bench-sharing \
  bench-state bench-state-spark bench-suppress bench-tables bench-knowledge bench-provenance \
  bench-etalis bench-spark bench-spark-quick bench-figures \
  bench-figures-quick profile setup clean
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
export PYTHON

READY := $(VENV)/.ready-dev
READY_RUN := $(VENV)/.ready-run
INPUTS := requirements.txt pyproject.toml tools/setup tools/setup-java

ORDERS := build/orders
PYTEST := $(BIN)/python tests/in_halves.py
CHECKED := src tests benchmarks examples

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
	  | while IFS='|' read -r name text; do printf '  make %-19s %s\n' "$$name" "$$text"; done

run: $(READY_RUN) ## find overdue orders among 300,000 events on local Spark, and show what was found
	@$(BIN)/python examples/orders/run.py $(ORDERS)

test: lint ## lint, types and tests: what a change has to pass
	$(PYTEST)

test-long: lint ## the same with many thousands of generated programs and streams
	THENCE_PROFILE=long $(PYTEST) --timeout=7200

grammar: $(READY) ## the tables of the parser, after a change of lang/grammar.lark
	$(BIN)/python tools/grammar

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy

format: $(READY) ## let ruff lay out the code
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

bench: $(READY) ## the benchmark table, with its bars
	$(BIN)/python -m benchmarks.run

bench-quick: $(READY) ## the same in a few seconds, roughly
	$(BIN)/python -m benchmarks.run --quick

bench-hard: $(READY) ## programs that once were slow or ended in no memory, with their bars
	$(BIN)/python -m benchmarks.hard.run

bench-sharing: $(READY) ## many rules that share work against one of them, with their bars
	$(BIN)/python -m benchmarks.sharing.run

bench-state: $(READY) ## what a push costs, by how much a session retains, with its bars
	$(BIN)/python -m benchmarks.state.run

bench-suppress: $(READY) ## a sub-expression that is seldom asked for, against the same everywhere
	$(BIN)/python -m benchmarks.suppress.run

bench-tables: $(READY) ## look-ups in static tables: by key, by range and by place
	$(BIN)/python -m benchmarks.tables.run

bench-etalis: $(READY) ## the rules of paper 4 over streams of growing size, drawn in build/figures, with bars
	$(BIN)/python -m benchmarks.etalis.run

bench-knowledge: $(READY) ## reachability by rules against SciPy and rustworkx, with its bars
	$(BIN)/python -m benchmarks.knowledge.run

bench-provenance: $(READY) ## what lineage costs, with its bar
	$(BIN)/python -m benchmarks.state.provenance

bench-state-spark: $(READY) ## a stream on Spark that remembers 10, 100 and 500 MB a shard, with its bar
	$(BIN)/python -m benchmarks.state.spark

bench-spark: $(READY) ## Thence on Spark against Spark SQL, with its bars
	$(BIN)/python -m benchmarks.spark.run

bench-spark-quick: $(READY) ## the same with small tables, without bars
	$(BIN)/python -m benchmarks.spark.run --quick

bench-figures: $(READY) ## sequences against joins, in DuckDB and Spark SQL, drawn in build/figures
	$(BIN)/python -m benchmarks.figures.run

bench-figures-quick: $(READY) ## the same with few events, without bars
	$(BIN)/python -m benchmarks.figures.run --quick

profile: $(READY) ## where a query spends its time: make profile QUERY=q1
	$(BIN)/python -m benchmarks.profile $(or $(QUERY),q1)

setup: $(READY) ## only the preparation

clean: ## remove what the other targets made, .venv included
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY_RUN): $(INPUTS)
	@tools/setup run

$(READY): requirements-dev.txt $(INPUTS)
	@tools/setup dev
