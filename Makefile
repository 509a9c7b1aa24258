# Everything here also runs by its command alone; targets only name them.
GO ?= go
PYTHON ?= python3

.PHONY: test race vet lint generate proto kernels check-kernels emu test-cuda mutants lint-cuda fuzz calibrate bench bench-peers bench-peers-small noasm gpu-binaries gpu gpu-report gpu-rehearsal gpu-rehearsed e2e load fairness slow-bodies crash diskfull hostile clean

test: ## the whole suite, offline, one to two minutes on two cores once compiled
	$(GO) test ./...

race:
	$(GO) test -race -short ./...

vet:
	$(GO) vet ./...
	test -z "$$(gofmt -l .)"

lint: ## staticcheck, of the version pinned here
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

KERNELS = scan drain rows signs gemm float
generate: ## the assembly of simd, from the programs in simd/_generate, and the kernels' constants, from backend/looks
	@cd simd/_generate && for k in $(KERNELS); do \
	  if [ -d $$k ]; then $(GO) run ./$$k -out ../$${k}_amd64.s -stubs ../$${k}_stubs_amd64.go -pkg simd || exit 1; fi; \
	  if [ -d neon/$$k ]; then $(GO) run ./neon/$$k -out ../$${k}_arm64.s -stubs ../$${k}_stubs_arm64.go || exit 1; fi; \
	done
	test -z "$$(gofmt -l simd simd/_generate)"
	$(GO) test ./backend/looks -run "^TestHeader$$" -write

PROTOC = build/proto/bin
proto: ## the messages of service/oip/inferencepb, from its .proto; needs Python's package index once
	@test -x $(PROTOC)/python || { $(PYTHON) -m venv build/proto && $(PROTOC)/pip install --quiet --disable-pip-version-check --only-binary=:all: grpcio-tools==1.85.1; }
	@GOBIN=$(CURDIR)/$(PROTOC) $(GO) install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
	@GOBIN=$(CURDIR)/$(PROTOC) $(GO) install connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1
	PATH=$(CURDIR)/$(PROTOC):$$PATH $(PROTOC)/python -m grpc_tools.protoc -I service/oip/inferencepb --go_out=. --go_opt=module=thresher \
	  --connect-go_out=. --connect-go_opt=module=thresher,package_suffix,simple inference.proto

TOOLCHAIN = PYTHON=$(PYTHON) sh kernels/toolchain/install.sh
kernels: ## PTX of kernels/*.cu, its manifest and table of registers; needs Python's package index once
	@$(TOOLCHAIN)
	$(PYTHON) kernels/toolchain/kernels.py build

check-kernels: ## fails where these are not what the sources give, or a register is spilled
	@$(TOOLCHAIN)
	$(PYTHON) -m unittest discover -q -s kernels/toolchain
	$(PYTHON) kernels/toolchain/kernels.py check

EMULATOR = build/emu/libcuda.so.1
emu: $(EMULATOR) ## the driver library that runs kernels/*.cu on the CPU; needs g++
$(EMULATOR): $(wildcard kernels/*.cu kernels/*.cuh kernels/emu/*)
	sh kernels/emu/build.sh build/emu

# The C compiler's own variable: CGO_CFLAGS would have net, and all that imports it, compiled anew.
CUDA_H = C_INCLUDE_PATH=$(CURDIR)/build/cuda/nvidia/cuda_runtime/include
CUDA = $(CUDA_H) $(GO)
# Three orders in which the emulator runs threads, each with its third of what
# does not depend on them.
SEEDS ?= 0 1 2
test-cuda: $(EMULATOR) ## the CUDA backend and the command line on the emulator, a process a processor
	@$(TOOLCHAIN)
	$(CUDA) test -tags cuda -c -o build/emu/tests/ ./gpu ./cmd/thresher
	$(CUDA_H) sh kernels/emu/suite.sh build/emu $(SEEDS)

mutants: $(EMULATOR) ## deliberate faults in kernels/*.cu, each of which a test must see
	@$(TOOLCHAIN)
	THRESHER_LIBCUDA=$(CURDIR)/$(EMULATOR) $(CUDA) test -tags cuda -count=1 -run '^TestMutants$$' -v ./gpu

lint-cuda: ## go vet and staticcheck of what the tag cuda adds
	@$(TOOLCHAIN)
	$(CUDA) vet -tags cuda ./gpu/... ./cmd/thresher
	$(CUDA) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags cuda ./gpu/... ./cmd/thresher

FUZZTIME ?= 60s
fuzz: ## every fuzz target for FUZZTIME, as many at a time as there are processors
	@GO=$(GO) .ci/fuzz $(FUZZTIME)

calibrate: ## failures of each bound at 100,000 draws a cell, and of the law itself, written into docs/guarantee.md
	$(GO) test ./collection -run '^TestLaw$$' -timeout 12h -law 100000 -write ../docs/guarantee.md
	$(GO) test ./cpu -run '^TestCalibration$$' -timeout 12h -calibrate 100000 -write ../docs/guarantee.md

bench: ## adaptive against the dense scan, build rate, kernels
	$(GO) test -run '^$$' -bench . ./simd ./collection ./batch

bench-peers: ## the race against FAISS, hnswlib and ScaNN, 40 minutes; writes docs/benchmarks
	$(PYTHON) bench/bench.py

bench-peers-small: ## a minute of it; fails on wrong answers only
	$(PYTHON) bench/bench.py --small

GPU = PYTHONPATH=$(CURDIR)/bench$${PYTHONPATH:+:$$PYTHONPATH} $(PYTHON)
gpu-binaries: ## build/device: all that `make gpu` takes to a machine with a GPU and without Go
	PYTHON=$(PYTHON) GO=$(GO) sh bench/gpu/binaries.sh

gpu: ## there: proves and measures everything in one call, below nine minutes, results in $$OUT or build/gpu-out
	$(GPU) bench/gpu/gpu.py

gpu-report: ## docs/benchmarks/gpu.md from the newest folder of docs/benchmarks/gpu/raw
	$(GPU) bench/gpu/page.py

# With numpy the benchmarks are rehearsed too.
gpu-rehearsal: $(EMULATOR) gpu-binaries ## the same steps as gpu on tiny sizes, on the emulator
	@python=$(PYTHON); test ! -x bench/.venv/bin/python || python=$(CURDIR)/bench/.venv/bin/python; \
	$(MAKE) --no-print-directory PYTHON=$$python gpu-rehearsed

gpu-rehearsed:
	$(GPU) -m unittest discover -q -s bench/gpu
	GPU_SMALL=1 OUT=$(CURDIR)/build/gpu-rehearsal THRESHER_LIBCUDA=$(CURDIR)/$(EMULATOR) OMP_NUM_THREADS=1 $(GPU) bench/gpu/gpu.py

E2E ?=
e2e: ## real clients and a real browser against thresher serve; needs the package indexes of Python and Node, and Chromium; E2E_BROWSER=0 and E2E_NODE=0 do without
	$(PYTHON) e2e/run.py $(E2E)

LOADING = build/load/load
CRASHES ?= 50
.PHONY: $(LOADING)
$(LOADING):
	$(GO) build -o build/load/ ./cmd/thresher ./e2e/load

load: $(LOADING) ## a thousand clients of a server, with dynamic batching and without; five minutes
	$(LOADING) load $(LOAD)

fairness: $(LOADING) ## one client's queries beside large searches and beside many others'; FAIR="-before PATH" measures another program in turns
	$(LOADING) fair $(FAIR)

slow-bodies: $(LOADING) ## a search beside bodies that do not come
	$(LOADING) slowbody $(SLOWBODY)

crash: $(LOADING) ## kill -9 while collections, files, batches and tournaments are written; then folders that lost their database
	$(LOADING) crash -crashes $(CRASHES) $(CRASH)

diskfull: $(LOADING) ## uploads, builds, batches and the database without room on the disk
	$(LOADING) diskfull $(DISKFULL)

hostile: $(LOADING) ## bodies and clients that mean it ill, and the server's memory
	$(LOADING) hostile $(HOSTILE)

clean:
	rm -rf build
