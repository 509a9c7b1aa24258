# stages.mk: `make ci`, which every change must pass, and `make nightly`, which looks further. A stage is a target of the
# same name, which a person can run alone. .ci/stage runs it with a time limit, several times what it takes on two cores,
# keeps what it says in build/ci and prints it; in the end a table says what each took. Two stages run at a time, in the
# order of the lists, and beside them one of those that wait; after a failure no other of the same kind begins.

STAGES_AT_ONCE ?= 2

# The first build what others need, or are cheap and fail often.
CI_FIRST = packages modules vet emu lint
# These wait, for package indexes, browsers, processes that start and clocks, longer than they compute.
CI_WAITING = e2e test-engines service-faults test-deploy
CI = race test test-cuda test-python test-modules gpu-rehearsal test-python-cuda test-kernels test-arm64 docker wheel-cuda lint-cuda deadcode \
  vet-elsewhere check-generated bench-peers-small bench-host test-scripts reports demo

NIGHTLY_FIRST = packages modules emu
NIGHTLY = test-drawn race-whole kernel-sets test-cuda-schedules selftest mutants suite-cuda goals-cuda gpu-injections fuzz crash upserts backup-drill diskfull hostile \
  fairness slow-bodies worker-stress engines-killed test-python-versions bench-uses-small

# Seconds, several times what a slow and busy machine takes; 1800 where there is no line.
LIMIT_packages = 2700
LIMIT_e2e = 5400
LIMIT_test = 5400
LIMIT_race = 7200
LIMIT_test-cuda = 5400
LIMIT_test-python = 5400
LIMIT_test-engines = 5400
LIMIT_test-kernels = 3600
LIMIT_test-arm64 = 3600
LIMIT_test-deploy = 3600
LIMIT_service-faults = 5400
LIMIT_gpu-rehearsal = 3600
LIMIT_vet-elsewhere = 3600
LIMIT_race-whole = 7200
LIMIT_test-drawn = 7200
LIMIT_kernel-sets = 7200
LIMIT_test-cuda-schedules = 7200
LIMIT_mutants = 7200
LIMIT_suite-cuda = 7200
LIMIT_goals-cuda = 10800
LIMIT_gpu-injections = 5400
LIMIT_fuzz = 14400
LIMIT_crash = 3600
LIMIT_upserts = 5400
LIMIT_backup-drill = 3600
LIMIT_worker-stress = 5400
LIMIT_engines-killed = 5400

# A stage vets all of what go test would vet a part of again. Most files of the packages that pip installs are never imported;
# those that are, Python compiles then.
.PHONY: ci waiting computing nightly packages modules test-scripts docker selftest test-kernels kernel-sets test-arm64 test-drawn service-faults demo reports
ci: ## what every change must pass, below twenty minutes on two cores; logs and times of its stages in build/ci
	@.ci/stage --begin
	@export GOFLAGS="$$GOFLAGS -vet=off" PIP_COMPILE=0; { $(MAKE) --no-print-directory -j $(STAGES_AT_ONCE) $(CI_FIRST:%=stage-%) && \
	  $(MAKE) --no-print-directory -j 2 waiting computing; }; code=$$?; .ci/stage --times; exit $$code
waiting:
	@$(MAKE) --no-print-directory -j 1 $(CI_WAITING:%=stage-%)
computing:
	@$(MAKE) --no-print-directory -j $(STAGES_AT_ONCE) $(CI:%=stage-%)

# One seed for the whole night, printed; with it `make test-drawn THRESHER_DRAWS=N` and other stages draw the same again.
NIGHT = $(or $(THRESHER_DRAWS),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))
nightly: NIGHT := $(NIGHT)
nightly: ## hours: new draws, other schedules of the emulator, deliberate faults, long fuzzing and crashes
	@.ci/stage --begin
	@echo "drawn from THRESHER_DRAWS=$(NIGHT)"
	@{ $(MAKE) --no-print-directory -j $(STAGES_AT_ONCE) $(NIGHTLY_FIRST:%=stage-%) && \
	  THRESHER_DRAWS=$(NIGHT) $(MAKE) --no-print-directory -k -j $(STAGES_AT_ONCE) $(NIGHTLY:%=stage-%); }; \
	code=$$?; .ci/stage --times; echo "drawn from THRESHER_DRAWS=$(NIGHT)"; exit $$code

stage-%:
	@.ci/stage $* $(or $(LIMIT_$*),1800) $(MAKE_COMMAND) --no-print-directory $*

packages: ## what stages need and this machine lacks, by apt-get and Python's package index
	@.ci/packages

modules: ## downloads modules, verifies their hashes, and checks that every go.mod lists what its packages import
	$(call each,$(GO) mod download)
	$(GO) mod verify
	for mod in $$(git ls-files go.mod '*/go.mod'); do (cd $$(dirname $$mod) && $(GO) mod tidy -diff) || exit 1; done

test-scripts: ## the scripts that compile kernels
	@$(TOOLCHAIN)
	$(PYTHON) -m unittest discover -q -s kernels/toolchain

docker: ## lints the Dockerfiles and runs their steps without Docker; those of Dockerfile.cuda compile the kernels and compare
	deploy/docker/lint.sh
	deploy/docker/rehearse.py deploy/Dockerfile
	deploy/docker/rehearse.py Dockerfile.cuda

selftest: $(EMULATOR) ## the emulator's own tests
	sh kernels/emu/selftest/run.sh build/emu

# `make test` covers conformance on each set of kernels, of rows with known traits too, and the failure rates of the bounds, which
# are the same on each: all compute the same integers and sums. `make kernel-sets` runs all of it, and the planner's choices for each set.
NO_AVX512 = cpu.avx512f=off
NO_AVX2 = cpu.avx512f=off,cpu.avx2=off
test-kernels: ## the CPU backend without assembly, without AVX-512, and without AVX2; the pointers of all kernels
	$(GO) test -short -vet=off -timeout 30m -gcflags=-d=checkptr ./simd
	$(GO) test -short -vet=off -timeout 30m -skip '^TestCalibration$$' -tags noasm,purego ./simd ./cpu/... ./collection ./batch
	for off in $(NO_AVX512) $(NO_AVX2); do \
	  GODEBUG=$$off $(GO) test -short -vet=off -count=1 -timeout 30m -skip '^(TestConformance|TestKnownTraits|TestCalibration)$$' ./cpu/... || exit 1; \
	done

kernel-sets: ## the same with all their data, and searches by each set of kernels, minutes
	THRESHER_FULL=1 $(GO) test -vet=off -count=1 -timeout 60m -tags noasm,purego ./simd ./cpu/... ./collection ./batch
	for off in $(NO_AVX512) $(NO_AVX2); do \
	  GODEBUG=$$off THRESHER_FULL=1 $(GO) test -vet=off -count=1 -timeout 60m ./simd ./cpu/... ./collection ./batch || exit 1; \
	done

# TestBestLowered runs its own binary, which fails under emulation. TestLists: portable Go and NEON return the lists of every
# other processor.
ARM = GOARCH=arm64 $(GO) test -short -vet=off -count=1 -timeout 45m -exec qemu-aarch64
test-arm64: ## NEON kernels, the CPU backend and the bounds on an emulated processor
	@if ! command -v qemu-aarch64 >/dev/null; then echo "skipped: qemu-aarch64 is missing"; exit 0; fi; set -x; \
	$(ARM) -skip '^TestBestLowered$$' ./simd && \
	$(ARM) -run '^TestConformance$$/^neon$$|^TestLists$$|^Test.*(Moments|Drop|Equal|Reach|Quantile|Rounding)' \
	  -skip '//^(student|batch|partial|resumed|leaving|survivor_limit|types)$$|//^answers$$/^(gaussian|tf-idf|tiny|one-hot)$$' ./cpu ./bandit

# `make nightly` runs each of these longer, from new draws.
service-faults: ## the service killed, backed up, on a full disk, under malicious requests, crowds and slow clients; short
	@$(MAKE) --no-print-directory crash CRASHES=4 KILLS=10 backup-drill BACKUPS=4 diskfull hostile \
	  fairness FAIR="-rows 10000 -dim 64 -time 2s -rounds 1 -crowd 64 -timeout 10m -most 10m" \
	  slow-bodies SLOWBODY="-rows 2000 -dim 64 -queries 1200 -asks 2 -most 10m"

# With THRESHER_FULL tests try all their data, of which `make test` takes a part.
test-drawn: ## the whole suite with all its data, from a new seed, which is printed
	@draws=$(NIGHT); echo "drawn from THRESHER_DRAWS=$$draws"; \
	export THRESHER_DRAWS=$$draws THRESHER_FULL=1; $(call each,$(GO) test -count=1 -timeout 60m ./...)

demo: $(PROGRAM) ## the README's demo, without a terminal
	$(PROGRAM) demo >/dev/null

reports: ## the benchmarks' reports are what their results and limits.md give
	$(PYTHON) bench/bench.py --report
	$(PYTHON) bench/python_calls.py --report
	$(PYTHON) bench/few_queries.py --report
	$(PYTHON) bench/uses/uses.py --report
	git diff --exit-code docs/benchmarks
