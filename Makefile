# Each target sets up what it needs (Macaulay2, .venv) by setup.sh, which is quick when all is there.

# Standard output belongs to the commands: 'make study >page.txt' must hold the study page and no more
# (from another folder: 'make -s -C DIR study', for make itself names the folder before it reads this).
.SILENT:
# The targets share .venv, so that 'make -j study test' must not make it twice.
.NOTPARALLEL:
.PHONY: help study test check benchmark venv clean

help: ## list the targets
	awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

study: ## the study page of a small lightning self-attention network; ARGS="..." adds options
	sh setup.sh study $(ARGS)

test: ## linters, types and all tests; ARGS="..." goes to pytest
	sh setup.sh test $(ARGS)

check: ## linters and types only
	sh setup.sh check

benchmark: ## times of the engines; ARGS="..." goes to the benchmark
	sh setup.sh benchmark $(ARGS)

venv: ## only the virtual environment .venv with m2bridge in it (needs no Macaulay2)
	sh setup.sh venv

clean: ## remove .venv and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
