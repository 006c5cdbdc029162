# make demo, make test: each sets up everything it needs. setup.md has the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Python for the environment; 3.11 first, because that is where this project is tested.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Options of the benchmarks' scripts, such as BENCH="--models minilm --threads 1".
BENCH ?=
# Options of test/suite/run.py, such as SUITE="-k conv2d" or SUITE=xnnpack for the official delegate's tests.
SUITE ?=
# Where pip finds torch, when it should not be the default index. setup.md says when.
TORCH_INDEX ?=
# The XNNPACK to build: 4ea82e5, 92a7ad5, or auto for the newest that can be had; executorch for that in ExecuTorch's
# package, which builds none. setup.md has more.
XNNPACK ?= auto

venv := .venv
bin := $(CURDIR)/$(venv)/bin
pip := $(bin)/python -m pip --disable-pip-version-check
stamps := $(venv)/.stamps
build := build/release$(if $(filter-out auto,$(XNNPACK)),-$(XNNPACK))
flatc := $(CURDIR)/$(build)/third-party/flatc/flatc
export PATH := $(bin):$(PATH)
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

# Folders too: their time changes when a file comes or goes.
sources := CMakeLists.txt pyproject.toml requirements.txt $(wildcard *.py) \
	$(shell find aot serialization runtime test/runtime test/fuzz/blob test/fuzz/targets test/xnnpack test/package cmake third-party \
	  -name '__pycache__' -prune -o -name '*.md' -o -print 2>/dev/null)

say = @printf '\n\033[1m== %s\033[0m  %(%T)T\n' "$(1)" -1

.PHONY: help demo test bench bench-published bench-limits bench-scaling bench-operators bench-load bench-lowering bench-quantized bench-small-calls bench-tracer bench-cache bench-llm suite build unit unit-large microkernels python-test python-test-large planted-errors fuzz fuzz-programs fuzz-native fuzz-check soak zoo zoo-check test-llm python-test-unpatched \
  sanitizers asan tsan scalar clang clang-check tidy xnnpack-check bench-xnnpack aarch64 aarch64-library arm-check test-arm bench-instructions wheel reference lint clean distclean

help:
	@echo "make demo        set up, build, and run the examples on real models"
	@echo "make test        set up, build, and run the tests"
	@echo "make bench-operators  set up, and measure single operators beside eager PyTorch and others (ten minutes)"
	@echo "make bench-load  set up, and measure load time and memory beside the official delegate"
	@echo "make bench-lowering   set up, and measure time and memory of lowering beside the official delegate (half an hour)"
	@echo "make bench-small-calls  set up, and measure calls of small models beside the official delegate and ONNX Runtime"
	@echo "make bench-tracer     set up, and measure what profiling costs while nobody profiles"
	@echo "make bench-cache set up, and measure attention with a long cache beside ExecuTorch's operators (ten minutes)"
	@echo "make bench-quantized  set up, and measure number formats: size, latency, accuracy, beside other engines (half an hour)"
	@echo "make bench-llm   set up, and measure language models beside the official delegate, llama.cpp and ONNX Runtime GenAI (hours, 50 GB; BENCH=\"--models smollm2_135m --formats fp32 8da4w --contexts 128 --threads 1\" for a part)"
	@echo "make bench       set up, and measure whole models beside other engines and the limits of the machine (about an hour at first)"
	@echo "make bench-published  set up, with the packages of the zoo, and measure more published models beside other engines (two hours)"
	@echo "make bench-limits     set up, and measure what the machine can do: multiply-adds and memory (a minute)"
	@echo "make bench-scaling    set up, and measure how MobileNetV2, or BENCH=model.pte, divides its work between threads (minutes)"
	@echo "make suite       ExecuTorch's own operator tests through et_xnnpack, with a table (a quarter of an hour)"
	@echo "make build       set up and build only; the package is installed into $(venv)"
	@echo "make unit        C++ tests          make python-test  Python tests"
	@echo "make unit-large  C++ tests that take minutes"
	@echo "make python-test-large  Python tests of whole models and of all cases, of which make test takes some (a quarter of an hour)"
	@echo "make planted-errors  kernels with an error in each: is the right operator named? (minutes)"
	@echo "make fuzz        random programs beside eager PyTorch, and random inputs of the runtime under sanitizers, for MINUTES=10"
	@echo "make fuzz-programs, fuzz-native   one of the two; fuzz-native FUZZ=\"--targets blob\" takes damaged and random blobs alone"
	@echo "make fuzz-check  the same inputs of the runtime each time, for two minutes"
	@echo "make soak        threads and processes that load, call and destroy at once, for MINUTES=10, half of it under the thread sanitizer"
	@echo "make zoo         published architectures, lowered and compared with eager PyTorch (hours; ZOO=\"--tenth 1\" for a part)"
	@echo "make zoo-check   some of those that have results, chosen by the commit; fails if one is worse (minutes)"
	@echo "make python-test-unpatched  some of the Python tests, with PyTorch as it is (minutes)"
	@echo "make test-llm    language models from all tools that export them, with all their options (half an hour)"
	@echo "make microkernels  products of XNNPACK in all sizes, for each set of instructions (minutes)"
	@echo "make asan, tsan  C++ tests under the sanitizers; make test runs both"
	@echo "make clang       compile with Clang, and run the C++ tests"
	@echo "make clang-check what Clang objects to; make test runs it"
	@echo "make scalar      C++ tests with plain loops in the place of vectors"
	@echo "make tidy        clang-tidy on the runtime (minutes); TIDY=runtime/plan for a part"
	@echo "make xnnpack-check  compile what depends on the version of XNNPACK, for XNNPACK=92a7ad5, 4ea82e5 or executorch (minutes)"
	@echo "make bench-xnnpack  set up, build both versions of XNNPACK, and measure three models with each, or BENCH=\"--models layers\" (half an hour)"
	@echo "make aarch64     cross-compile for aarch64 Linux, and run the C++ tests under qemu (half an hour)"
	@echo "make arm-check   the library for aarch64 without an XNNPACK of ours, and programs of test/golden under qemu (minutes)"
	@echo "make test-arm    the same as make aarch64, and whole models on more emulated CPUs, compared with eager PyTorch"
	@echo "make bench-instructions  instructions and microkernels of whole models on emulated aarch64, beside the official delegate"
	@echo "make wheel       the wheel for other machines with Linux, in dist/"
	@echo "make reference   the classes, functions and commands as pages, in build/reference"
	@echo "make lint        ruff and clang-format (checks only)"
	@echo "make clean       remove the build   make distclean    and the environment"

demo: build $(stamps)/examples
	$(call say,MiniLM)
	@$(bin)/python examples/minilm.py
	$(call say,MobileNetV2)
	@$(bin)/python examples/mobilenet_v2.py

bench: build $(stamps)/examples $(stamps)/benchmarks
	$(call say,Latency of whole models)
	@$(bin)/python benchmarks/bench.py $(BENCH)

bench-published: build $(stamps)/examples $(stamps)/benchmarks $(stamps)/zoo
	$(call say,Latency of published models)
	@$(bin)/python benchmarks/bench.py --models published --output build/bench-published $(BENCH)

# ONNXRUNTIME_INCLUDE=<folder of onnxruntime_c_api.h>, from a release of ONNX Runtime: calls from C++ of it, too.
ONNXRUNTIME_INCLUDE ?=
configure_limits = cmake --preset release -B build/limits -DET_XNNPACK_BUILD_BENCHMARKS=ON -DET_XNNPACK_BUILD_TESTS=OFF \
	  $(addprefix -DET_XNNPACK_ONNXRUNTIME_INCLUDE=,$(ONNXRUNTIME_INCLUDE)) \
	  -DPython_EXECUTABLE=$(bin)/python -DET_XNNPACK_FLATC=$(flatc) > build/limits.log || { cat build/limits.log; exit 1; }

bench-limits: build
	$(call say,Limits of this machine)
	@$(configure_limits)
	@cmake --build build/limits --target limits > build/limits.log || { cat build/limits.log; exit 1; }
	@build/limits/benchmarks/limits

bench-scaling: build $(stamps)/examples $(stamps)/benchmarks
	$(call say,Work of several threads)
	@$(configure_limits)
	@cmake --build build/limits --target loop_trace > build/limits.log || { cat build/limits.log; exit 1; }
	@$(bin)/python -W ignore benchmarks/scaling.py --trace build/limits/benchmarks/libloop_trace.so $(BENCH)

bench-operators: build $(stamps)/examples $(stamps)/benchmarks
	$(call say,Latency of single operators)
	@$(bin)/python benchmarks/operators.py $(BENCH)

bench-load: build $(stamps)/examples $(stamps)/benchmarks
	$(call say,Load time and memory of whole models)
	@$(bin)/python benchmarks/load.py $(BENCH)

bench-lowering: build $(stamps)/examples $(stamps)/benchmarks
	$(call say,Time and memory of lowering)
	@$(bin)/python benchmarks/lowering.py $(BENCH)

bench-small-calls: build $(stamps)/examples $(stamps)/benchmarks
	$(call say,Calls of small models)
	@$(configure_limits)
	@cmake --build build/limits --target calls > build/limits.log || { cat build/limits.log; exit 1; }
	@$(bin)/python benchmarks/small_calls.py --programs build/limits/benchmarks $(BENCH)

bench-tracer: build $(stamps)/examples $(stamps)/benchmarks
	$(call say,What profiling costs)
	@$(bin)/python benchmarks/tracer.py $(BENCH)

# The published ones want the packages of the zoo.
bench-quantized: build $(stamps)/examples $(stamps)/benchmarks $(if $(findstring published,$(BENCH)),$(stamps)/zoo)
	$(call say,Number formats of whole models)
	@$(bin)/python benchmarks/quantized.py $(BENCH)

bench-cache: build $(stamps)/examples $(stamps)/benchmarks
	$(call say,Attention with a long cache)
	@$(bin)/python -W ignore benchmarks/long_cache.py $(BENCH)

bench-llm: build $(stamps)/examples $(stamps)/benchmarks $(stamps)/llama-cpp
	$(call say,Language models)
	@$(bin)/python benchmarks/llm.py $(BENCH)

suite: build $(stamps)/test
	$(call say,ExecuTorch's operator tests)
	@$(bin)/python test/suite/run.py $(SUITE)

# What `make test` does after its own tests. CI leaves some of it to other commits.
ALSO ?= sanitizers clang-check
test: unit python-test python-test-unpatched reference $(ALSO)
	$(call say,All tests passed)

installed := $(stamps)/installed$(if $(filter-out auto,$(XNNPACK)),-$(XNNPACK))
build: $(installed)

# More options of the C++ tests, such as UNIT="-R Conv".
UNIT ?=
unit: build
	$(call say,C++ tests)
	@ctest --test-dir $(build) --output-on-failure --no-tests=error --progress -j 2 -LE large $(UNIT)

unit-large: build
	$(call say,C++ tests that take minutes)
	@ctest --test-dir $(build) --output-on-failure --no-tests=error --progress -L large

microkernels: build
	$(call say,Products of XNNPACK)
	@ET_XNNPACK_TEST_ALL_SIZES=1 ctest --test-dir $(build) --output-on-failure --no-tests=error --progress -R '^Microkernels'

# More options of the Python tests, such as PYTEST="-k conv".
PYTEST ?=
python-test: build $(stamps)/test
	$(call say,Python tests)
	@tools/system-packages --browser > /dev/null
	@$(bin)/python -m pytest --quick $(PYTEST) -n auto --maxprocesses 4 --dist worksteal

python-test-large: build $(stamps)/test $(stamps)/zoo
	$(call say,Python tests of whole models and of all cases)
	@ET_XNNPACK_BUILD=$(CURDIR)/$(build) $(bin)/python -m pytest -m 'large or sampled' -n auto --maxprocesses 4 --dist worksteal

planted-errors: build $(stamps)/test
	$(call say,Kernels with an error)
	@ET_XNNPACK_BUILD=$(CURDIR)/$(build) $(bin)/python -m pytest -m large -v --disable-warnings test/test_planted_errors.py

# Until the time is over, or something is found. MINUTES=10, for all kinds together: inputs of the runtime, then programs.
# FUZZ="--seed 5" or, of the runtime, FUZZ="--targets blob".
MINUTES ?= 10
FUZZ ?=
fuzz:
	@$(MAKE) --no-print-directory fuzz-native MINUTES=$$(awk 'BEGIN { print $(MINUTES) * 2 / 3 }')
	@$(MAKE) --no-print-directory fuzz-programs MINUTES=$$(awk 'BEGIN { print $(MINUTES) / 3 }')

fuzz-programs: build $(stamps)/test
	$(call say,Random programs)
	@$(bin)/python test/fuzz/run.py --minutes $(MINUTES) $(FUZZ)

fuzz-native: fuzz_native = --minutes $(MINUTES) $(FUZZ)
fuzz-check: fuzz_native = --minutes 2 --check
fuzz-native fuzz-check: override SANITIZED_BY := clang
fuzz-native fuzz-check: sanitizer := asan
fuzz-native fuzz-check: build $(stamps)/test
	$(call say,Random inputs of the runtime)
	$(configure_sanitizer)
	@cmake --build $(folder) --target et_xnnpack_fuzzer | tools/progress
	@$(bin)/python test/fuzz/native.py $(fuzz_native)

# What apps do all day, at once: in half of the time without, then with the thread sanitizer.
soak: build tsan
	$(call say,Threads and processes)
	@for folder in $(build) build/tsan$(addprefix -,$(SANITIZED_BY)); do \
	  ET_XNNPACK_SOAK_SECONDS=$$(( $(MINUTES) * 30 )) $$folder/test/runtime/et_xnnpack_tests --gtest_filter='SoakTest.*' > build/soak.log 2>&1 || \
	    { cat build/soak.log; exit 1; }; \
	  grep '^[0-9]* processes' build/soak.log; \
	done

# Options of test/zoo/run.py, such as ZOO="--only timm/*" or ZOO="--tenth 1".
ZOO ?=
zoo: build $(stamps)/zoo
	$(call say,Published architectures)
	@status=0; $(bin)/python test/zoo/run.py $(ZOO) || status=$$?; $(bin)/python test/zoo/run.py --page; exit $$status

# A few minutes of what has results, chosen by the commit; fails if something is worse than it was.
ZOO_SEED ?= $(shell git rev-parse --short HEAD 2>/dev/null || date +%F)
zoo-check: build $(stamps)/test
	$(call say,Some of the published architectures)
	@$(bin)/python test/zoo/run.py --check $(ZOO_SEED)

# torchvision and torchaudio name a PyTorch, which is here already.
$(stamps)/zoo: test/zoo/requirements.txt | $(stamps)/test
	$(call say,Python packages of the zoo)
	@$(bin)/python -c 'import sys; sys.exit("The zoo wants Python 3.11 or newer, as transformers does: PYTHON=<python>, after make distclean." if sys.version_info < (3, 11) else 0)'
	@$(pip) install --progress-bar off --no-deps -r $<
	@touch $@

# Tests lower thousands of programs with a faster PyTorch (test/faster_export.py); these do it with that of users.
unpatched_tests := aot/lowering aot/private aot/test_odd_programs.py aot/test_partitioner.py aot/test_report.py aot/test_recipes.py ops/test_item.py
python-test-unpatched: build $(stamps)/test
	$(call say,Python tests with PyTorch as it is)
	@$(bin)/python -m pytest --unpatched -n auto --maxprocesses 4 --dist worksteal $(addprefix test/,$(unpatched_tests))

# Optimum-ExecuTorch pins a transformers that the other tests cannot have, and so has an environment of its own, on top
# of this one.
optimum := build/optimum
llm_tests := $(addprefix test/,models/test_export_llm.py models/test_transformers_llm.py models/test_llm_runners.py ops/test_cache_operators.py ops/test_decoder.py)
test-llm: build $(stamps)/test $(optimum)/.stamp
	$(call say,Language models)
	@$(bin)/python -m pytest -m "" -n auto --maxprocesses 4 --dist worksteal $(llm_tests)
	$(call say,Language models from Optimum-ExecuTorch)
	@$(optimum)/bin/python -m pytest -m "" -n auto --maxprocesses 4 --dist worksteal test/models/test_optimum.py

$(optimum)/.stamp: test/optimum-requirements.txt | $(stamps)/test
	$(call say,Python packages of Optimum-ExecuTorch)
	@rm -rf $(optimum)
	@$(bin)/python -m venv $(optimum)
	@$(bin)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  "$$($(optimum)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beneath.pth"
	@$(optimum)/bin/python -m pip --disable-pip-version-check install --progress-bar off -r $<
	@touch $@

sanitizers: asan tsan

# XNNPACK stays as it is: compiling it takes longer than all else, and under the thread sanitizer its threads
# are those of the pool, which is not watched. The presets by themselves compile it, too.
from_release := -DPython_EXECUTABLE=$(bin)/python -DET_XNNPACK_FLATC=$(flatc) -DET_XNNPACK_XNNPACK_VERSION=$(XNNPACK) \
  -DET_XNNPACK_PREBUILT_XNNPACK=$(CURDIR)/$(build)/third-party/xnnpack
# SANITIZED_ISAS=avx512: our kernels for these instructions only (ET_XNNPACK_ISAS), which takes less time.
# SANITIZED_BY=clang takes half of it.
SANITIZED_ISAS ?=
SANITIZED_BY ?=
# Under the thread sanitizer tests take six times as long. Their names, as ctest knows them: four parts, et_xnnpack_tests.0 to .3.
TSAN_TESTS ?= .
ifneq ($(filter-out clang,$(SANITIZED_BY)),)
$(error SANITIZED_BY=$(SANITIZED_BY): there is clang, or nothing for the compiler of everything else)
endif
folder = build/$(sanitizer)$(addprefix -,$(SANITIZED_BY))
# Clang compiles the fuzzer with the tests; it wants to know what of the runtime it reaches.
configure_sanitizer = @$(if $(SANITIZED_BY),clang="$$(tools/system-packages --clang-sanitizers)"; )\
  cmake --preset $(sanitizer) -B $(folder) $(from_release) -DET_XNNPACK_ISAS=$(SANITIZED_ISAS) \
  $(if $(SANITIZED_BY),$(by_clang) -DET_XNNPACK_BUILD_FUZZERS=$(if $(filter asan,$(sanitizer)),ON,OFF)) \
  > build/$(sanitizer).log || { cat build/$(sanitizer).log; exit 1; }
asan tsan: sanitizer = $@
tsan: chosen = -R '$(TSAN_TESTS)'
asan tsan: build
	$(call say,C++ tests with $@)
	$(configure_sanitizer)
	@cmake --build $(folder) | tools/progress
	@ctest --test-dir $(folder) --output-on-failure --no-tests=error --progress -j 2 -LE large $(chosen)

# The reference for all vectors: loops over one number at a time.
scalar: build
	$(call say,C++ tests without vectors)
	@cmake --preset release -B build/scalar $(from_release) -DET_XNNPACK_ISAS=scalar -DET_XNNPACK_BUILD_PYTHON=OFF > build/scalar.log || \
	  { cat build/scalar.log; exit 1; }
	@cmake --build build/scalar --target et_xnnpack_tests | tools/progress
	@ET_XNNPACK_ISA=scalar ctest --test-dir build/scalar --output-on-failure --no-tests=error --progress -j 2 -E '^(package|Microkernels)'

# Everything of ours: the libraries, the Python module and the tests.
clang: build
	$(call say,C++ tests with Clang)
	@$(configure_clang)
	@cmake --build --preset clang | tools/progress
	@ctest --preset clang --progress

# The same up to the point where code would be generated, which takes a tenth of the time. CLANG_CHECK is how the paths begin, as TIDY below.
CLANG_CHECK ?=
clang-check: build
	$(call say,What Clang objects to)
	@if tools/system-packages --clang > /dev/null; then $(configure_clang); \
	  cmake --build --preset clang --target et_xnnpack_schema_files et_xnnpack_packing_hash | tools/progress; \
	  tools/clang-check build/clang '$(CLANG_CHECK)'; \
	  tools/clang-check build/clang --android; \
	elif [ -n "$(REQUIRE_CLANG)" ]; then exit 1; \
	else echo "NOT CHECKED: there is no Clang here (the lines above say how to get it)"; fi

# What the runtime does that a compiler takes without a word (.clang-tidy). TIDY is how the paths begin.
TIDY ?= runtime/
tidy: build
	$(call say,What clang-tidy objects to)
	@if tools/system-packages --clang > /dev/null && tools/system-packages --clang-tidy > /dev/null; then $(configure_clang); \
	  cmake --build --preset clang --target et_xnnpack_schema_files et_xnnpack_packing_hash | tools/progress; \
	  "$$(tools/system-packages --clang-tidy)" -quiet -p build/clang '^$(CURDIR)/$(TIDY).*\.cpp$$' > build/tidy.log 2>&1 || { grep -vE '^\[|warnings generated' build/tidy.log; exit 1; }; \
	  echo "nothing in $$(grep -c '^\[' build/tidy.log) sources"; \
	elif [ -n "$(REQUIRE_CLANG)" ]; then exit 1; \
	else echo "NOT CHECKED: there is no clang-tidy here (the lines above say how to get it)"; fi

by_clang = -DCMAKE_C_COMPILER="$${clang/++/}" -DCMAKE_CXX_COMPILER="$$clang"
configure_clang = clang="$$(tools/system-packages --clang)"; cmake --preset clang $(by_clang) $(from_release) \
	  > build/clang.log || { cat build/clang.log; exit 1; }

# What depends on the version of XNNPACK compiles with it: our sources, and those of XNNPACK that read a header of ours.
# No code is generated; `make unit XNNPACK=<version>` builds and tests all of it.
xnnpack-check: $(stamps)/requirements
	$(call say,What XNNPACK $(XNNPACK) changes)
	@mkdir -p build
	@cmake --preset release -B build/check-$(XNNPACK) -DET_XNNPACK_XNNPACK_VERSION=$(XNNPACK) -DPython_EXECUTABLE=$(bin)/python \
	  $(addprefix -DET_XNNPACK_FLATC=,$(firstword $(wildcard $(CURDIR)/build/release*/third-party/flatc/flatc))) \
	  > build/check-$(XNNPACK).log 2>&1 || { cat build/check-$(XNNPACK).log; exit 1; }
	@grep 'XNNPACK' build/check-$(XNNPACK).log
	@cmake --build build/check-$(XNNPACK) --target et_xnnpack_schema_files et_xnnpack_packing_hash | tools/progress
	@tools/clang-check build/check-$(XNNPACK) --without-kernels

bench-xnnpack: build $(stamps)/examples $(stamps)/benchmarks
	$(call say,Latency with two versions of XNNPACK)
	@for version in 4ea82e5 92a7ad5; do \
	  cmake --preset release -B build/release-$$version -DET_XNNPACK_XNNPACK_VERSION=$$version \
	    -DPython_EXECUTABLE=$(bin)/python > build/release-$$version.log || { cat build/release-$$version.log; exit 1; }; \
	  cmake --build build/release-$$version --target et_xnnpack | tools/progress; \
	done
	@$(bin)/python benchmarks/xnnpack_versions.py $(BENCH)

# The library and its C++ tests for aarch64 Linux, XNNPACK included, run under qemu as these CPUs. AARCH64=aarch64-clang
# compiles with Clang.
AARCH64 ?= aarch64
AARCH64_CPUS ?= max cortex-a53
AARCH64_TESTS ?= *
aarch64_build := build/$(AARCH64)$(if $(filter-out auto,$(XNNPACK)),-$(XNNPACK))
aarch64_package := build/aarch64-package
aarch64_targets := et_xnnpack et_xnnpack_bare_runner
aarch64-library: $(stamps)/requirements $(aarch64_package)/executorch
	$(call say,Building for aarch64)
	@tools/system-packages --aarch64
	@cmake --preset $(AARCH64) -B $(aarch64_build) -DET_XNNPACK_XNNPACK_VERSION=$(XNNPACK) -DPython_EXECUTABLE=$(bin)/python \
	  > $(aarch64_build).log || { cat $(aarch64_build).log; exit 1; }
	@cmake --build $(aarch64_build) --target $(aarch64_targets) | tools/progress

aarch64: aarch64_targets := all
aarch64: aarch64-library
	$(call say,C++ tests for aarch64)
	@failed=; \
	for cpu in $(AARCH64_CPUS); do \
	  echo "$$cpu:"; runs=(); \
	  for shard in 0 1; do \
	    QEMU_CPU=$$cpu GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=$$shard GTEST_FILTER='$(AARCH64_TESTS)' \
	      tools/run-aarch64 $(aarch64_build)/test/runtime/et_xnnpack_tests > $(aarch64_build)-$$cpu-$$shard.log 2>&1 & runs+=($$!); \
	  done; \
	  for run in "$${runs[@]}"; do wait "$$run" || failed=1; done; \
	  grep -hE '^\[  (PASSED|FAILED)' $(aarch64_build)-$$cpu-?.log || true; \
	done; \
	[ -z "$$failed" ] || { echo "the output is in $(aarch64_build)-*.log"; exit 1; }

# What of it takes minutes: the blobs of test/golden, with the XNNPACK of ExecuTorch's package, so that none is built.
arm-check: aarch64_build := build/arm-check
arm-check: override XNNPACK := executorch
arm-check: aarch64_targets := et_xnnpack_golden_tests
arm-check: aarch64-library
	$(call say,Golden programs for aarch64)
	@for cpu in $(AARCH64_CPUS); do \
	  echo "$$cpu:"; \
	  QEMU_CPU=$$cpu tools/run-aarch64 $(aarch64_build)/test/runtime/et_xnnpack_golden_tests > $(aarch64_build)-$$cpu.log 2>&1 || \
	    { cat $(aarch64_build)-$$cpu.log; exit 1; }; \
	  grep '^\[  PASSED' $(aarch64_build)-$$cpu.log; \
	done

# And whole models as more CPUs: those that benchmarks/emulated.py lists, or ARM="--cpus max --programs 'minilm fp32'".
ARM ?=
test-arm: aarch64 build $(stamps)/examples $(stamps)/benchmarks
	$(call say,Models on emulated CPUs)
	@$(bin)/python test/arm/run.py $(aarch64_build) $(ARM)

bench-instructions: build $(stamps)/examples $(stamps)/benchmarks
	@$(MAKE) --no-print-directory aarch64-library XNNPACK=4ea82e5
	@$(MAKE) --no-print-directory aarch64-library XNNPACK=92a7ad5
	$(call say,Instructions and microkernels on emulated CPUs)
	@$(bin)/python benchmarks/instructions.py --builds $(AARCH64)-4ea82e5 $(AARCH64)-92a7ad5 $(BENCH)

# ExecuTorch for aarch64, of which only the libraries are used.
$(aarch64_package)/executorch: requirements.txt | $(stamps)/requirements
	@rm -rf $(@D)
	@mkdir -p $(@D)
	@$(pip) download --quiet --no-deps --only-binary=:all: --platform manylinux_2_28_aarch64 --python-version 3.11 \
	  --dest $(@D) "$$(sed -nE 's/^(executorch==[^ ]+).*/\1/p' requirements.txt)"
	@$(bin)/python -m zipfile -e $(@D)/*.whl $(@D)
	@rm $(@D)/*.whl
	@touch $@

# Of what `build` compiled. ExecuTorch's libraries are those of its own package.
wheel: build $(stamps)/wheel
	$(call say,Wheel)
	@rm -rf build/wheel-dist dist
	@$(pip) wheel . --verbose --no-build-isolation --no-deps --wheel-dir build/wheel-dist $(built_settings) \
	  --config-settings cmake.define.ET_XNNPACK_BUILD_STATIC=OFF > build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@cmake -DET_XNNPACK_BUILD_STATIC=ON $(build) > /dev/null
	@$(bin)/auditwheel repair --exclude 'libexecutorch*.so' --wheel-dir dist build/wheel-dist/*.whl > build/wheel.log 2>&1 || \
	  { cat build/wheel.log; exit 1; }
	@ls -l dist

# Of docstrings and the public header; warnings are errors.
reference: build $(stamps)/docs
	$(call say,Reference)
	@$(bin)/python -m sphinx -q -W --keep-going -b html docs/reference build/reference 2> build/reference.log || \
	  { cat build/reference.log; exit 1; }
	@echo build/reference/index.html

lint: $(stamps)/lint
	$(call say,Formatting and lints)
	@$(bin)/ruff check .
	@$(bin)/ruff format --check .
	@git ls-files -z '*.cpp' '*.h' '*.c' | xargs -0 -r $(bin)/clang-format --dry-run --Werror

clean:
	rm -rf build dist $(stamps)/installed*

distclean: clean
	rm -rf $(venv)

# The environment. Each step is done again only when what it depends on changed.

$(venv)/bin/python:
	@tools/system-packages "$(PYTHON)"
	$(call say,Python environment in $(venv))
	@"$$(tools/system-packages --python "$(PYTHON)")" -m venv $(venv)

$(stamps)/requirements: requirements.txt cmake/requirements.txt | $(venv)/bin/python
	@mkdir -p $(@D)
	$(call say,Python packages: PyTorch)
	@# Alone and first: a later step could only choose another build of it.
	@$(pip) install --progress-bar off $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) \
	  "$$(sed -nE 's/^(torch==[^ ]+).*/\1/p' requirements.txt)"
	$(call say,Python packages: ExecuTorch and build tools)
	@$(pip) install --progress-bar off -r requirements.txt -r cmake/requirements.txt
	@touch $@

$(stamps)/test $(stamps)/docs $(stamps)/examples $(stamps)/benchmarks: $(stamps)/%: %/requirements.txt $(stamps)/requirements
	$(call say,Python packages of $*)
	@$(pip) install --progress-bar off -r $<
	@touch $@

# Compiled for this CPU, without its programs. Where that fails, tables say that llama.cpp is not there.
$(stamps)/llama-cpp: benchmarks/llama-cpp-requirements.txt | $(stamps)/benchmarks
	$(call say,llama.cpp)
	@CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF \
	  -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_CURL=OFF -DLLAVA_BUILD=OFF" $(pip) install --progress-bar off -r $< || \
	  echo "llama.cpp could not be built: it will be left out"
	@touch $@

$(stamps)/lint: tools/requirements.txt | $(venv)/bin/python
	@mkdir -p $(@D)
	$(call say,Python packages of lint)
	@$(pip) install --progress-bar off -r $<
	@touch $@

$(stamps)/wheel: tools/wheel-requirements.txt | $(venv)/bin/python
	@mkdir -p $(@D)
	$(call say,Python packages of the wheel)
	@$(pip) install --progress-bar off -r $<
	@touch $@

built_settings := --config-settings build-dir=$(build) --config-settings cmake.define.ET_XNNPACK_BUILD_TESTS=ON \
  --config-settings cmake.define.ET_XNNPACK_XNNPACK_VERSION=$(XNNPACK) --config-settings cmake.define.ET_XNNPACK_WERROR=ON
$(installed): $(stamps)/requirements $(sources)
	$(call say,Building and installing et_xnnpack)
	@mkdir -p build
	@rm -f $(stamps)/installed*
	@$(pip) install . --verbose --no-build-isolation --no-deps --force-reinstall $(built_settings) \
	  --config-settings cmake.define.ET_XNNPACK_BUILD_STATIC=ON 2>&1 | tee build/install.log | tools/progress
	@touch $@
