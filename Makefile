# Targets are names for commands that can also be run directly; `make help` lists them.
GO ?= go
PYTHON ?= python3

help: ## this list
	@sed -n 's/^\([a-z][a-z0-9-]*\):[^#=]*## /\1: /p' $(MAKEFILE_LIST) | sort | while IFS= read -r line; do printf '%-22s %s\n' "$${line%%:*}" "$${line#*: }"; done

# What several stages run.
PROGRAM = build/thresher
EMULATOR = build/emu/libcuda.so.1
include .ci/stages.mk

.PHONY: help test test-modules test-deploy race vet lint deadcode generate proto kernels check-kernels emu test-cuda suite-cuda goals-cuda mutants bench-host lint-cuda fuzz calibrate bench bench-pairs bench-peers bench-peers-small bench-race bench-race-quick bench-uses bench-uses-small noasm gpu-binaries gpu gpu-report gpu-rehearsal gpu-rehearsed gpu-injections gpu-injected e2e load fairness slow-bodies crash upserts backup-drill diskfull hostile clean module wheels test-python test-python-versions test-python-adapters test-python-cuda test-engines engines-killed worker-overhead worker-stress wheel-cuda

# The folders with a go.mod whose packages are vetted and tested: the product, and what only measures, tests or installs it.
MODULES = . bench e2e
# each COMMAND: runs it in each of MODULES
each = for module in $(MODULES); do (cd $$module && $(1)) || exit 1; done

test: ## the whole suite, offline, three to four minutes on two cores once compiled
	$(GO) test ./...

test-modules: ## the Go tests of the other modules: benchmarks, end-to-end tests
	$(call each,test $$module = . || $(GO) test ./...)

# go build leaves it as it is if nothing has changed.
.PHONY: $(PROGRAM)
$(PROGRAM):
	$(GO) build -o $@ ./cmd/thresher

# Its module has Kubernetes' types.
test-deploy: $(PROGRAM) ## the files of deploy: manifests, units and rules are decoded and verified, and what they start is started
	$(GO) vet -C deploy .
	cd deploy && $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 .
	THRESHER_BINARY=$(CURDIR)/$(PROGRAM) $(GO) test -C deploy -count=1 -timeout 45m .

# Without tests that have nothing for the race detector and take seconds under it; each says why (internal/race). `make test` runs
# them, with more data, and `make race-whole` runs all.
race: ## the suite under the race detector: packages in which it can find something, without tests of one goroutine; pointers of the others that use unsafe
	$(call each,packages=$$($(CURDIR)/.ci/concurrent); test -z "$$packages" || $(GO) test -race -short -vet=off -timeout 100m $$packages)
	$(call each,packages=$$($(CURDIR)/.ci/concurrent pointers); test -z "$$packages" || $(GO) test -short -vet=off -timeout 100m -gcflags=-d=checkptr $$packages)

race-whole: ## the whole suite under the race detector, half an hour
	$(call each,$(GO) test -race -vet=off -timeout 90m ./...)

vet: ## go vet and gofmt
	$(call each,$(GO) vet ./...)
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }

vet-elsewhere: ## go vet for another system and another processor, without cgo
	$(call each,export GOOS=windows GOARCH=arm64; packages=$$($(GO) list ./...); test -z "$$packages" || $(GO) vet $$packages)

lint: ## staticcheck, of the version pinned here
	$(call each,$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...)

KERNELS = scan drain rows signs signpanels gemm float ranks convert sort
# assembly FOLDER: FOLDER/*.s, by the generators in FOLDER/_generate
assembly = @cd $(1)/_generate && for k in $(KERNELS); do \
	  if [ -d $$k ]; then $(GO) run ./$$k -out ../$${k}_amd64.s -stubs ../$${k}_stubs_amd64.go -pkg simd || exit 1; fi; \
	  if [ -d neon/$$k ]; then $(GO) run ./neon/$$k -out ../$${k}_arm64.s -stubs ../$${k}_stubs_arm64.go || exit 1; fi; \
	done
generate: ## the assembly in simd, from simd/_generate, the kernels' constants, from backend/looks, and their launchers, from kernels/ptx/manifest.json
	$(call assembly,simd)
	test -z "$$(gofmt -l simd simd/_generate)"
	$(GO) test ./backend/looks -run "^TestHeader$$" -write
	$(GO) test ./kernels -run "^TestLaunchers$$" -write

# The files that `go test` compares are not made again here: the kernels' constants and launchers.
FRESH = build/_generated
check-generated: ## the assembly and the gRPC messages are what their sources give
	@rm -rf $(FRESH) && mkdir -p $(FRESH)/simd && cp -r simd/_generate $(FRESH)/simd/
	cd $(FRESH)/simd/_generate && $(GO) vet ./...
	$(call assembly,$(FRESH)/simd)
	@$(MAKE) --no-print-directory proto PROTO_OUT=$(FRESH)
	@cd $(FRESH) && for file in simd/*.* service/oip/inferencepb/*; do \
	  cmp -s $$file $(CURDIR)/$$file || { echo "$$file differs from what its source gives: make generate proto"; exit 1; }; \
	done

PROTOC = build/proto/bin
PROTO_OUT = .
# The path by which Go programs import this module; what is generated has it from here, as `make module` may change it.
MODULE = $(shell sed -n 's/^module //p' go.mod)
INFERENCE = Minference.proto=$(MODULE)/service/oip/inferencepb
proto: ## service/oip/inferencepb from its .proto file; needs Python's package index once
	@test -x $(PROTOC)/python || { $(PYTHON) -m venv build/proto && $(PROTOC)/pip install --quiet --disable-pip-version-check --only-binary=:all: grpcio-tools==1.85.1; }
	@GOBIN=$(CURDIR)/$(PROTOC) $(GO) install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
	@GOBIN=$(CURDIR)/$(PROTOC) $(GO) install connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1
	PATH=$(CURDIR)/$(PROTOC):$$PATH $(PROTOC)/python -m grpc_tools.protoc -I service/oip/inferencepb --go_out=$(PROTO_OUT) --go_opt=module=$(MODULE),$(INFERENCE) \
	  --connect-go_out=$(PROTO_OUT) --connect-go_opt=module=$(MODULE),$(INFERENCE),package_suffix,simple inference.proto

TOOLCHAIN = PYTHON=$(PYTHON) sh kernels/toolchain/install.sh
kernels: ## PTX and assembled code from kernels/*.cu, their manifest and tables; needs Python's package index once
	@$(TOOLCHAIN)
	$(PYTHON) kernels/toolchain/kernels.py build

check-kernels: ## fails if PTX, assembled code or tables differ from what the sources give, or registers are spilled
	@$(TOOLCHAIN)
	$(PYTHON) -m unittest discover -q -s kernels/toolchain
	$(PYTHON) kernels/toolchain/kernels.py check

emu: $(EMULATOR) ## the driver library that runs kernels/*.cu on the CPU; needs g++
$(EMULATOR): $(wildcard kernels/*.cu kernels/*.cuh kernels/emu/*)
	sh kernels/emu/build.sh build/emu

# The C compiler's own variable: CGO_CFLAGS would recompile net and all that imports it.
CUDA_H = C_INCLUDE_PATH=$(CURDIR)/build/cuda/nvidia/cuda_runtime/include
CUDA = $(CUDA_H) $(GO)
# Schedules of the emulator's threads: 2 draws the order of blocks, warps and lanes anew at every barrier. Each schedule
# covers a third of the test data that does not depend on it.
SEEDS ?= 2
test-cuda: $(EMULATOR) ## the CUDA backend and the command line on the emulator, under one schedule of threads
	@$(TOOLCHAIN)
	$(CUDA) test -tags cuda -ldflags=-w -c -o build/emu/tests/ ./gpu/device ./gpu ./cmd/thresher
	$(CUDA_H) sh kernels/emu/suite.sh build/emu $(SEEDS)

# The opposite orders 0 and 1, the one of test-cuda, and three that are drawn: overtaking warps are among them.
test-cuda-schedules: ## the same under six schedules, three of them drawn, which cover all test data twice; an hour
	@drawn=$$((3 * (1 + $$(od -An -N2 -tu2 /dev/urandom)))); seeds="0 1 2 $$drawn $$((drawn + 1)) $$((drawn + 2))"; \
	echo "schedules $$seeds"; $(MAKE) --no-print-directory test-cuda SEEDS="$$seeds"

suite-cuda: $(EMULATOR) ## the conformance suite with every set in every metric on the emulator, with starts and without, minutes; test-cuda runs a part
	@$(TOOLCHAIN)
	THRESHER_LIBCUDA=$(CURDIR)/$(EMULATOR) $(CUDA) test -tags cuda -count=1 -timeout 60m -run '^TestBackend(Starts)?$$' -v ./gpu

goals-cuda: $(EMULATOR) ## every field of a goal on the emulator, minutes; test-cuda runs a part
	@$(TOOLCHAIN)
	THRESHER_LIBCUDA=$(CURDIR)/$(EMULATOR) $(CUDA) test -tags cuda -count=1 -timeout 60m -run '^TestGoals' -v ./gpu

mutants: $(EMULATOR) ## deliberate faults in kernels/*.cu, each of which a test must detect
	@$(TOOLCHAIN)
	THRESHER_LIBCUDA=$(CURDIR)/$(EMULATOR) $(CUDA) test -tags cuda -count=1 -run '^TestMutants$$' -v ./gpu

BATCHES ?= 300x
SEARCHES ?= 20000x
bench-host: ## the host's work for a CUDA batch by phase, on a driver whose device takes no time and computes nothing
	@$(TOOLCHAIN)
	@mkdir -p build/idle
	$${CC:-cc} -O2 -Wall -shared -fPIC -o build/idle/libcuda.so.1 gpu/testdata/idle.c
	THRESHER_LIBCUDA=$(CURDIR)/build/idle/libcuda.so.1 $(CUDA) test -tags cuda -run '^$$' -bench '^BenchmarkHost$$' -benchtime $(BATCHES) ./gpu
	THRESHER_LIBCUDA=$(CURDIR)/build/idle/libcuda.so.1 $(CUDA) test -tags cuda -run '^$$' -bench '^BenchmarkHostOfOne$$' -benchtime $(SEARCHES) ./gpu

lint-cuda: ## go vet and staticcheck with the build tag cuda
	@$(TOOLCHAIN)
	$(CUDA) vet -tags cuda ./gpu/... ./cmd/thresher
	$(CUDA) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags cuda ./gpu/... ./cmd/thresher

deadcode: ## functions that only tests reach; there must be none
	@$(TOOLCHAIN)
	@$(CUDA_H) GO=$(GO) .ci/deadcode cuda

FUZZTIME ?= 60s
fuzz: ## every fuzz target for FUZZTIME, in parallel
	@GO=$(GO) .ci/fuzz $(FUZZTIME)

calibrate: ## failure rates of each bound and of the law, 100,000 draws a cell; writes docs/guarantee.md
	$(GO) test ./collection -run '^TestLaw$$' -timeout 12h -law 100000 -write ../docs/guarantee.md
	$(GO) test ./cpu -run '^TestCalibration$$' -timeout 12h -calibrate 100000 -write ../docs/guarantee.md

CONTESTS ?= 10000
duels: ## failures and judgments of anytime-valid duels and rankings, 10,000 tournaments a cell; minutes, prints choice/docs/duels.md's figures
	$(GO) test ./duel -count=1 -timeout 1h -v -run '^Test(RankingFailures|RankingJudgments|CopelandFailures|AnytimeFailures|AnytimeGuaranteeOfTheMoment|AnytimeJudgments|LeaningJudges)$$' -contests $(CONTESTS)

bench: ## Go benchmarks: adaptive against the dense scan, building, kernels
	$(GO) test -run '^$$' -bench . ./simd ./collection ./batch

PAIRS = -n 1000000 -pairs 1000000
bench-pairs: $(PROGRAM) ## time and memory of pairs on a million embeddings, made here; some rows are compared with all others
	$(GO) run -C bench ./pairs -thresher ../build/thresher $(PAIRS)

bench-peers: ## comparison with FAISS, hnswlib and ScaNN, 40 minutes; writes docs/benchmarks
	$(PYTHON) bench/bench.py

bench-peers-small: ## one minute of it; fails on wrong answers only
	$(PYTHON) bench/bench.py --small

bench-race: ## race with all exact peers, two cores against one, the planner's regret and whole processes, two hours; resumable; writes docs/benchmarks/race.md
	$(PYTHON) bench/bench.py --only race
	$(PYTHON) bench/bench.py --only cores
	$(PYTHON) bench/bench.py --only regret
	$(PYTHON) bench/bench.py --only process

bench-race-quick: ## about 130 cells of it, 11 minutes
	$(PYTHON) bench/bench.py --only race --quick

bench-uses: ## the uses (certify, graph, pairs, truth, ..) next to what others do, 20 minutes; writes docs/benchmarks
	$(PYTHON) bench/uses/uses.py

bench-uses-small: ## a minute of it; fails on wrong answers only
	$(PYTHON) bench/uses/uses.py --small

GPU = PYTHONPATH=$(CURDIR)/bench$${PYTHONPATH:+:$$PYTHONPATH} $(PYTHON)
gpu-binaries: ## build/device: the binaries that `make gpu` needs on a machine without Go
	PYTHON=$(PYTHON) GO=$(GO) sh bench/gpu/binaries.sh

gpu: ## on a machine with a GPU: tests and measures everything in nine minutes; results in $$OUT or build/gpu-out; bench/gpu/call1.sh and call2.sh need no make
	$(GPU) bench/gpu/gpu.py

gpu-report: ## docs/benchmarks/gpu.md from the newest folder of docs/benchmarks/gpu/raw
	$(GPU) bench/gpu/page.py

# Benchmarks need numpy, from Python's package index.
WITH_NUMPY = @{ test -x bench/.venv/bin/python || { $(PYTHON) -m venv bench/.venv && bench/.venv/bin/pip install --quiet --disable-pip-version-check -r bench/requirements.txt; }; } && \
	python=$(CURDIR)/bench/.venv/bin/python || { echo "there is no numpy: benchmarks are left out"; python=$(PYTHON); }; $(MAKE) --no-print-directory PYTHON=$$python
gpu-rehearsal: $(EMULATOR) gpu-binaries ## the steps of `make gpu` on the emulator, with tiny sizes, and four faults that it must survive
	$(WITH_NUMPY) gpu-rehearsed

gpu-injections: $(EMULATOR) gpu-binaries ## every fault that `make gpu` must survive
	$(WITH_NUMPY) gpu-injected

gpu-rehearsed:
	$(GPU) -m unittest discover -q -s bench/gpu
	GPU_SMALL=1 OUT=$(CURDIR)/build/gpu-rehearsal THRESHER_LIBCUDA=$(CURDIR)/$(EMULATOR) OMP_NUM_THREADS=1 $(GPU) bench/gpu/gpu.py
	$(GPU) bench/gpu/rehearse.py

gpu-injected:
	$(GPU) bench/gpu/rehearse.py all

E2E ?=
e2e: ## real clients and a browser against thresher serve; needs the package indexes of Python and Node, and Chromium (E2E_NODE=0 and E2E_BROWSER=0 skip them)
	$(PYTHON) e2e/run.py $(E2E)

test-python: ## the Python package: types, style, wheel, its tests without Go on PATH, the notebook; needs Python's package index
	@PYTHON=$(PYTHON) GO=$(GO) python/test.sh

worker-overhead: $(PROGRAM) build/worker-stress/bin/python ## what a call from Python takes beside its search
	THRESHER_BINARY=build/thresher PYTHONPATH=python/src build/worker-stress/bin/python bench/worker_overhead.py

build/worker-stress/bin/python:
	@mkdir -p build
	@$(PYTHON) -m venv build/worker-stress && build/worker-stress/bin/pip install --quiet --disable-pip-version-check numpy pytest

worker-stress: $(PROGRAM) build/worker-stress/bin/python ## 1,000 forks, spawned children, threads and interrupts of a Python program, and 100,000 calls; two to three minutes
	cd python && THRESHER_BINARY=$(CURDIR)/build/thresher PYTHONPATH=src THRESHER_STRESS=1000 THRESHER_CALLS=100000 ../build/worker-stress/bin/python -m pytest -v --durations=5 -o faulthandler_timeout=3000 tests/test_worker.py tests/test_worker_life.py

test-python-cuda: $(EMULATOR) build/worker-stress/bin/python ## what the Python package says of GPUs, on the emulator
	@$(TOOLCHAIN)
	$(CUDA) build -tags cuda -o build/thresher-cuda ./cmd/thresher
	cd python && THRESHER_COSTS=builtin THRESHER_BINARY=$(CURDIR)/build/thresher-cuda THRESHER_LIBCUDA=$(CURDIR)/$(EMULATOR) PYTHONPATH=src ../build/worker-stress/bin/python -m pytest -v tests/test_devices.py

test-python-versions: ## the wheel of test-python on each Python from 3.10 on that is found, 3.10 with the oldest numpy; needs Python's package index
	@python/versions.sh

test-python-adapters: ## the same with PyTorch, sentence-transformers, umap and implicit, gigabytes
	@PYTHON=$(PYTHON) GO=$(GO) python/test.sh all

test-engines: ## thresher.ray and thresher.spark on this machine, with workers that are killed; needs Python's package index, and Java for Spark
	@PYTHON=$(PYTHON) GO="$(GO)" python/engines.sh

KILLS ?= 50
engines-killed: ## the same with KILLS kills of actors, workers, children and whole machines of a cluster on this one
	@PYTHON=$(PYTHON) GO="$(GO)" THRESHER_KILLS=$(KILLS) python/engines.sh -o faulthandler_timeout=1500 -s -k killed

wheels: ## build/wheels: wheels for Linux, macOS and Windows, and the sdist, checked
	@PYTHON=$(PYTHON) GO=$(GO) python/wheels.sh

wheel-cuda: ## build/wheel-cuda: the program with the CUDA backend, for thresher[cuda], checked and installed; needs Python's package index
	@$(TOOLCHAIN)
	@PYTHON=$(PYTHON) GO=$(GO) python/cuda/test.sh

LOADING = build/load/load
CRASHES ?= 50
# What these programs draw, as what tests draw: the same every time, unless this is another number.
DRAWN = -seed $(or $(THRESHER_DRAWS),1)
.PHONY: $(LOADING)
$(LOADING): $(PROGRAM)
	$(GO) build -C e2e -o ../build/load/ ./load

load: $(LOADING) ## a server under a thousand clients, with and without dynamic batching; five minutes
	$(LOADING) load $(DRAWN) $(LOAD)

fairness: $(LOADING) ## latency of one client next to large searches and many clients; FAIR="-before PATH" alternates with another binary
	$(LOADING) fair $(DRAWN) $(FAIR)

slow-bodies: $(LOADING) ## latency of a search while other clients send slowly
	$(LOADING) slowbody $(SLOWBODY)

# kills of a process that writes a folder of vectors
KILLS ?= 1000
crash: $(LOADING) ## kill -9 while collections, files, jobs and tournaments are written; then recovery of damaged data folders
	$(LOADING) crash $(DRAWN) -crashes $(CRASHES) $(CRASH)
	$(GO) test ./segments/folder -run 'TestKill$$' -timeout 4h -kills $(KILLS)

upserts: $(LOADING) ## a million rows written to a server beside searches: its memory stays flat, and each id has its last row
	$(LOADING) upserts $(DRAWN) $(UPSERTS)

BACKUPS ?= 100
backup-drill: $(LOADING) ## backups while three tournaments are judged, each restored: no acknowledged result is missing; BACKUP=-plain copies files and must lose some
	$(LOADING) backup $(DRAWN) -backups $(BACKUPS) $(BACKUP)

diskfull: $(LOADING) ## uploads, builds, jobs and the database on a full disk
	$(LOADING) diskfull $(DISKFULL)

hostile: $(LOADING) ## malformed and malicious requests, and the server's memory
	$(LOADING) hostile $(DRAWN) $(HOSTILE)

# PATH is what its user calls it, and in recipes the variable by which programs are found.
module: ## gives the Go module the path by which others import it: make module PATH=example.org/you/thresher
	@[ "$(origin PATH)" = "command line" ] || { echo "usage: make module PATH=example.org/you/thresher"; exit 2; }; \
	PATH=$$(command -p getconf PATH) sh .ci/module "$(PATH)"

clean: ## removes build
	rm -rf build
