# Targets are names for commands that can also be run directly.
GO ?= go
PYTHON ?= python3

.PHONY: test race vet lint deadcode generate proto kernels check-kernels emu test-cuda suite-cuda goals-cuda mutants bench-host lint-cuda fuzz calibrate bench bench-pairs bench-peers bench-peers-small bench-race bench-race-quick bench-uses bench-uses-small noasm gpu-binaries gpu gpu-report gpu-rehearsal gpu-rehearsed e2e load fairness slow-bodies crash diskfull hostile clean wheels test-python test-python-versions test-python-adapters worker-overhead worker-stress wheel-cuda

test: ## the whole suite, offline, one to two minutes on two cores once compiled
	$(GO) test ./...

race:
	$(GO) test -race -short ./...

vet:
	$(GO) vet ./...
	test -z "$$(gofmt -l .)"

lint: ## staticcheck, of the version pinned here
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

KERNELS = scan drain rows signs gemm float ranks convert sort
generate: ## the assembly in simd, from simd/_generate, the kernels' constants, from backend/looks, and their launchers, from kernels/manifest.json
	@cd simd/_generate && for k in $(KERNELS); do \
	  if [ -d $$k ]; then $(GO) run ./$$k -out ../$${k}_amd64.s -stubs ../$${k}_stubs_amd64.go -pkg simd || exit 1; fi; \
	  if [ -d neon/$$k ]; then $(GO) run ./neon/$$k -out ../$${k}_arm64.s -stubs ../$${k}_stubs_arm64.go || exit 1; fi; \
	done
	test -z "$$(gofmt -l simd simd/_generate)"
	$(GO) test ./backend/looks -run "^TestHeader$$" -write
	$(GO) test ./kernels -run "^TestLaunchers$$" -write

PROTOC = build/proto/bin
proto: ## service/oip/inferencepb from its .proto file; needs Python's package index once
	@test -x $(PROTOC)/python || { $(PYTHON) -m venv build/proto && $(PROTOC)/pip install --quiet --disable-pip-version-check --only-binary=:all: grpcio-tools==1.85.1; }
	@GOBIN=$(CURDIR)/$(PROTOC) $(GO) install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
	@GOBIN=$(CURDIR)/$(PROTOC) $(GO) install connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1
	PATH=$(CURDIR)/$(PROTOC):$$PATH $(PROTOC)/python -m grpc_tools.protoc -I service/oip/inferencepb --go_out=. --go_opt=module=thresher \
	  --connect-go_out=. --connect-go_opt=module=thresher,package_suffix,simple inference.proto

TOOLCHAIN = PYTHON=$(PYTHON) sh kernels/toolchain/install.sh
kernels: ## PTX and assembled code from kernels/*.cu, their manifest and tables; needs Python's package index once
	@$(TOOLCHAIN)
	$(PYTHON) kernels/toolchain/kernels.py build

check-kernels: ## fails if PTX, assembled code or tables differ from what the sources give, or registers are spilled
	@$(TOOLCHAIN)
	$(PYTHON) -m unittest discover -q -s kernels/toolchain
	$(PYTHON) kernels/toolchain/kernels.py check

EMULATOR = build/emu/libcuda.so.1
emu: $(EMULATOR) ## the driver library that runs kernels/*.cu on the CPU; needs g++
$(EMULATOR): $(wildcard kernels/*.cu kernels/*.cuh kernels/emu/*)
	sh kernels/emu/build.sh build/emu

# The C compiler's own variable: CGO_CFLAGS would recompile net and all that imports it.
CUDA_H = C_INCLUDE_PATH=$(CURDIR)/build/cuda/nvidia/cuda_runtime/include
CUDA = $(CUDA_H) $(GO)
# Three thread schedules of the emulator. Each covers a third of the test data that
# does not depend on the schedule.
SEEDS ?= 0 1 2
test-cuda: $(EMULATOR) ## the CUDA backend and the command line on the emulator, one process for each processor
	@$(TOOLCHAIN)
	$(CUDA) test -tags cuda -c -o build/emu/tests/ ./device ./gpu ./cmd/thresher
	$(CUDA_H) sh kernels/emu/suite.sh build/emu $(SEEDS)

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
	$(CUDA) vet -tags cuda ./device/... ./gpu/... ./cmd/thresher
	$(CUDA) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags cuda ./device/... ./gpu/... ./cmd/thresher

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
duels: ## failures and judgments of anytime-valid duels and rankings, 10,000 tournaments a cell; minutes, prints docs/duels.md's figures
	$(GO) test ./duel -count=1 -timeout 1h -v -run '^Test(RankingFailures|RankingJudgments|CopelandFailures|AnytimeFailures|AnytimeGuaranteeOfTheMoment|AnytimeJudgments|LeaningJudges)$$' -contests $(CONTESTS)

bench: ## Go benchmarks: adaptive against the dense scan, building, kernels
	$(GO) test -run '^$$' -bench . ./simd ./collection ./batch

PAIRS = -n 1000000 -pairs 1000000
bench-pairs: ## time and memory of pairs on a million embeddings, made here; some rows are compared with all others
	$(GO) build -o build/thresher ./cmd/thresher
	$(GO) run ./bench/pairs -thresher build/thresher $(PAIRS)

bench-peers: ## comparison with FAISS, hnswlib and ScaNN, 40 minutes; writes docs/benchmarks
	$(PYTHON) bench/bench.py

bench-peers-small: ## one minute of it; fails on wrong answers only
	$(PYTHON) bench/bench.py --small

bench-race: ## race with all exact peers, two cores against one, and the planner's regret, an hour; resumable; writes docs/benchmarks/race.md
	$(PYTHON) bench/bench.py --only race
	$(PYTHON) bench/bench.py --only cores
	$(PYTHON) bench/bench.py --only regret

bench-race-quick: ## about seventy cells of it, 7 minutes
	$(PYTHON) bench/bench.py --only race --quick

bench-uses: ## the uses (certify, graph, pairs, truth, ..) next to what others do, 20 minutes; writes docs/benchmarks
	$(PYTHON) bench/uses/uses.py

bench-uses-small: ## a minute of it; fails on wrong answers only
	$(PYTHON) bench/uses/uses.py --small

GPU = PYTHONPATH=$(CURDIR)/bench$${PYTHONPATH:+:$$PYTHONPATH} $(PYTHON)
gpu-binaries: ## build/device: the binaries that `make gpu` needs on a machine without Go
	PYTHON=$(PYTHON) GO=$(GO) sh bench/gpu/binaries.sh

gpu: ## on a machine with a GPU: tests and measures everything in nine minutes; results in $$OUT or build/gpu-out
	$(GPU) bench/gpu/gpu.py

gpu-report: ## docs/benchmarks/gpu.md from the newest folder of docs/benchmarks/gpu/raw
	$(GPU) bench/gpu/page.py

# With numpy it includes the benchmarks.
gpu-rehearsal: $(EMULATOR) gpu-binaries ## the steps of `make gpu` on the emulator, with tiny sizes
	@python=$(PYTHON); test ! -x bench/.venv/bin/python || python=$(CURDIR)/bench/.venv/bin/python; \
	$(MAKE) --no-print-directory PYTHON=$$python gpu-rehearsed

gpu-rehearsed:
	$(GPU) -m unittest discover -q -s bench/gpu
	GPU_SMALL=1 OUT=$(CURDIR)/build/gpu-rehearsal THRESHER_LIBCUDA=$(CURDIR)/$(EMULATOR) OMP_NUM_THREADS=1 $(GPU) bench/gpu/gpu.py

E2E ?=
e2e: ## real clients and a browser against thresher serve; needs the package indexes of Python and Node, and Chromium (E2E_NODE=0 and E2E_BROWSER=0 skip them)
	$(PYTHON) e2e/run.py $(E2E)

test-python: ## the Python package: types, style, wheel, its tests without Go on PATH, the notebook; needs Python's package index
	@PYTHON=$(PYTHON) GO=$(GO) python/test.sh

worker-overhead: build/worker-stress/bin/python ## what a call from Python takes beside its search
	$(GO) build -o build/thresher ./cmd/thresher
	THRESHER_BINARY=build/thresher PYTHONPATH=python/src build/worker-stress/bin/python bench/worker_overhead.py

build/worker-stress/bin/python:
	@mkdir -p build
	@$(PYTHON) -m venv build/worker-stress && build/worker-stress/bin/pip install --quiet --disable-pip-version-check numpy pytest

worker-stress: build/worker-stress/bin/python ## 1,000 forks, spawned children, threads and interrupts of a Python program, and 100,000 calls; two to three minutes
	$(GO) build -o build/thresher ./cmd/thresher
	cd python && THRESHER_BINARY=$(CURDIR)/build/thresher PYTHONPATH=src THRESHER_STRESS=1000 THRESHER_CALLS=100000 ../build/worker-stress/bin/python -m pytest -v --durations=5 tests/test_worker.py tests/test_worker_life.py

test-python-versions: ## the wheel of test-python on each Python from 3.10 on that is found, 3.10 with the oldest numpy; needs Python's package index
	@python/versions.sh

test-python-adapters: ## the same with PyTorch, sentence-transformers, umap and implicit, gigabytes
	@PYTHON=$(PYTHON) GO=$(GO) python/test.sh all

wheels: ## build/wheels: wheels for Linux, macOS and Windows, and the sdist, checked
	@PYTHON=$(PYTHON) GO=$(GO) python/wheels.sh

wheel-cuda: ## build/wheel-cuda: the program with the CUDA backend, for thresher[cuda], checked and installed; needs Python's package index
	@$(TOOLCHAIN)
	@PYTHON=$(PYTHON) GO=$(GO) python/cuda/test.sh

LOADING = build/load/load
CRASHES ?= 50
.PHONY: $(LOADING)
$(LOADING):
	$(GO) build -o build/load/ ./cmd/thresher ./e2e/load

load: $(LOADING) ## a server under a thousand clients, with and without dynamic batching; five minutes
	$(LOADING) load $(LOAD)

fairness: $(LOADING) ## latency of one client next to large searches and many clients; FAIR="-before PATH" alternates with another binary
	$(LOADING) fair $(FAIR)

slow-bodies: $(LOADING) ## latency of a search while other clients send slowly
	$(LOADING) slowbody $(SLOWBODY)

crash: $(LOADING) ## kill -9 while collections, files, jobs and tournaments are written; then recovery of damaged data folders
	$(LOADING) crash -crashes $(CRASHES) $(CRASH)

diskfull: $(LOADING) ## uploads, builds, jobs and the database on a full disk
	$(LOADING) diskfull $(DISKFULL)

hostile: $(LOADING) ## malformed and malicious requests, and the server's memory
	$(LOADING) hostile $(HOSTILE)

clean:
	rm -rf build
