# Two commands do all: `make course` and `make test`. Each sets up what it needs, once.

# Without `make`: README's block "Without make"; `attention-course` has the same commands (`experiments` is `grid run`;
# `bench` and `clean` exist only here).

# Many containers forbid Python to keep what it compiles. Then every process would compile its packages anew: up to ten
# seconds for each notebook, test worker and command.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
COMMAND := $(BIN)/attention-course
# uv takes a quarter of pip's time. It doesn't read pip's settings, so the indexes and folders set there are handed on.
PIP_SAYS = $$($(BIN)/python -m pip config list | sed -n "s/.*[.]$(1)='\(.*\)'/\1/p" | sort -u | paste -sd '$(2)' -)
INSTALL = @echo "installing $(1) into $(ENVIRONMENT)"; UV_INDEX_STRATEGY=unsafe-best-match \
	UV_INDEX_URL="$(call PIP_SAYS,index-url, )" UV_EXTRA_INDEX_URL="$(call PIP_SAYS,extra-index-url, )" \
	UV_FIND_LINKS="$(call PIP_SAYS,find-links,$(COMMA))" \
	$(BIN)/uv pip install --python $(BIN)/python --constraint constraints.txt --editable '$(1)'
COMMA := ,
EMPTY := $(ENVIRONMENT)/.empty
READY := $(ENVIRONMENT)/.ready
SITE := $(ENVIRONMENT)/.site
TOOLS := $(ENVIRONMENT)/.tools
GROUP ?= core

.DEFAULT_GOAL := help
.PHONY: help look course lab progress test test-all data experiments report room notebooks students bench clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 20

# Made once, and again whenever the pins change. pip stays in it, since lessons fetch data through it. Compiling all
# packages beforehand would take a minute, so only those are that a lesson imports, by importing them; on another core
# those that PyTorch imports with the first optimiser, which two lessons would otherwise compile at the same time.
$(EMPTY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), f"Python 3.11 or newer is needed, {sys.executable} is {sys.version}"'
	@echo "setting up $(ENVIRONMENT), once: the Python packages take about a minute …"
	$(PYTHON) -m venv --clear $(ENVIRONMENT)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt uv
	touch $(EMPTY)

# What learners need; then what builds the site; then tests, a browser, grids of runs.
$(READY): $(EMPTY)
	$(call INSTALL,.[course])
	$(BIN)/python -c 'import torch._dynamo, papermill' & \
	$(BIN)/python -c 'import ipykernel.kernelapp, seaborn, sklearn.linear_model, nltk, course_lib.explore.views' && wait
	touch $(READY)

$(SITE): $(READY)
	$(call INSTALL,.[site])
	touch $(SITE)

$(TOOLS): $(SITE)
	$(call INSTALL,.[dev])
	touch $(TOOLS)

look:  ## the reading room, in your browser within ten seconds: needs Python 3.11, and nothing else
	@$(PYTHON) -m course_kit.reading_room.look $(ARGS)

course: $(SITE)  ## every lesson on real text, and site/ with the results; sets up what is missing
	$(COMMAND) course

lab: $(READY)  ## your own copies of the lessons in JupyterLab (FROM=notebooks opens the originals, for authors)
	$(COMMAND) lab $(if $(FROM),--from $(FROM)) $(ARGS)

progress: $(READY)  ## which exercises you have solved
	$(COMMAND) progress

test: $(TOOLS)  ## lint, tests, and the lessons checked cell by cell
	$(COMMAND) author test

test-all: $(TOOLS)  ## all of that, and browsers, clusters, kills, long trainings and every record
	$(COMMAND) author test --all

data: $(READY)  ## download all text and vectors, and prepare what lessons read (MIRROR=folder takes archives from there)
	$(COMMAND) data $(if $(MIRROR),--mirror $(MIRROR))

experiments: $(TOOLS)  ## what is missing of a group of notebooks/experiments/grid.yaml (GROUP=core)
	$(COMMAND) grid run $(GROUP) $(if $(ON),--on $(ON)) $(ARGS)

report: $(READY)  ## the README's tables and both reports, from the records in results/
	$(COMMAND) author report

room: $(READY)  ## the reading room, site/reading_room.html (RUNS=folders adds runs; PRETRAINED=1: MiniLM's)
	$(COMMAND) room $(if $(PRETRAINED),--pretrained) $(RUNS)

notebooks: $(READY)  ## execute lessons and side notes, and store their outputs in the form we commit
	$(COMMAND) author notebooks

students: $(READY)  ## copies of the lessons without solutions, to hand out (TO=folder; else students/)
	$(COMMAND) author students $(if $(TO),--to $(TO))

bench: $(TOOLS)  ## measure speed and memory against named alternatives (quiet machine, minutes)
	for name in han_epoch sanet_step iram_step agt_step audit throughput reading_room_page; do $(BIN)/python benchmarks/$$name.py || exit 1; done

clean:  ## remove the environment, runs and site; downloads and the learner's copies stay
	rm -rf $(ENVIRONMENT) runs site data/prepared
