# The commands of the house. `make demo` alone takes a fresh Debian 12 machine to a running model.
PRESET ?= release
VENV := .venv
PY := $(VENV)/bin/python
CMAKE := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/cmake
SOURCES = $(shell git ls-files '*.cpp' '*.h')
.DEFAULT_GOAL := build
.PHONY: setup build demo test bench bench-eager bench-programs bench-random bench-networks format lint asan tsan test-slow test-mutants clean

setup:
	@scripts/setup.sh $(if $(PEERS),$(if $(filter demo,$(MAKECMDGOALS)),--peers))

# The libraries, the command and the extension, installed into .venv.
build: setup
	@$(CMAKE) --preset $(PRESET) -DPython_EXECUTABLE=$(CURDIR)/$(PY) > build/logs/configure.log \
	  || { cat build/logs/configure.log; exit 1; }
	@$(CMAKE) --build --preset $(PRESET)
	@$(PY) scripts/install_venv.py build/$(PRESET)

demo: build
	@$(PY) examples/minilm/demo.py

# ONLY=cpp, python or golden runs one kind; ARGS goes to its runner.
test: build
	@$(PY) scripts/run_tests.py --build build/$(PRESET) $(if $(ONLY),--only $(ONLY)) $(ARGS)

# PEERS=1 installs torch, JAX, ONNX Runtime, OpenVINO and TensorFlow, each on its own under build/peers, and compares.
bench: build
	@$(PY) bench/run.py $(if $(PEERS),--peers) $(ARGS)

# Single calls, op by op, beside NumPy's.
bench-eager: build
	@$(PY) bench/eager.py $(ARGS)

# Many usual programs, compiled, beside jax.jit.
bench-programs: build
	@$(PY) bench/programs.py $(ARGS)

# Programs that nobody thought of, beside jax.jit.
bench-random: build
	@$(PY) bench/random_programs.py $(ARGS)

# Blocks of models that everyone knows, forwards and with gradients, beside torch.
bench-networks: build
	@$(PY) bench/networks.py $(ARGS)

format:
	@scripts/setup.sh --lint
	@clang-format-19 -i $(SOURCES)
	@$(PY) -m ruff check --fix-only -q . && $(PY) -m ruff format -q .

lint: build
	@scripts/setup.sh --lint
	clang-format-19 --dry-run -Werror $(SOURCES)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	run-clang-tidy-19 -quiet -p build/$(PRESET) '$(CURDIR)/src/.*'

# The C++ tests under the sanitizers.
asan tsan: setup
	@$(CMAKE) --preset $@ > build/logs/configure-$@.log || { cat build/logs/configure-$@.log; exit 1; }
	@$(CMAKE) --build --preset $@
	ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=die_after_fork=0 \
	  build/$@/bin/intaglio_tests --gtest_brief=1

# What takes minutes: the training examples to their end.
test-slow: build
	@$(PY) -m pytest -q tests/slow

# Plants faults in rules and passes, one at a time; every one must turn a test red.
test-mutants: build
	@$(CMAKE) --preset mutants -DPython_EXECUTABLE=$(CURDIR)/$(PY) > build/logs/configure-mutants.log \
	  || { cat build/logs/configure-mutants.log; exit 1; }
	@$(CMAKE) --build --preset mutants
	@$(CMAKE) --install build/mutants --prefix build/mutants/python > build/logs/install-mutants.log
	@$(PY) tests/mutants/run.py $(ARGS)

clean:
	rm -rf build
