# Everything here also runs by its command alone; targets only name them.
GO ?= go
PYTHON ?= python3

.PHONY: test race vet lint generate fuzz calibrate bench bench-peers bench-peers-small noasm clean

test: ## the whole suite, offline, under five minutes on two cores
	$(GO) test ./...

race:
	$(GO) test -race -short ./...

vet:
	$(GO) vet ./...
	test -z "$$(gofmt -l .)"

lint: ## staticcheck, of the version pinned here
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

KERNELS = scan drain rows gemm float
generate: ## the assembly of cpu/simd, from the programs in cpu/_generate
	@cd cpu/_generate && for k in $(KERNELS); do \
	  if [ -d $$k ]; then $(GO) run ./$$k -out ../simd/$${k}_amd64.s -stubs ../simd/$${k}_stubs_amd64.go -pkg simd || exit 1; fi; \
	done
	test -z "$$(gofmt -l cpu/simd cpu/_generate)"

FUZZTIME ?= 60s
fuzz: ## every fuzz target for FUZZTIME
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p || exit 1; \
	  done; done

calibrate: ## failures of each bound at 100,000 draws a cell, written into docs/guarantee.md
	$(GO) test ./cpu -run '^TestCalibration$$' -timeout 12h -calibrate 100000 -write ../docs/guarantee.md

bench: ## adaptive against the dense scan, build rate, kernels
	$(GO) test -run '^$$' -bench . ./cpu/simd ./collection ./batch

bench-peers: ## the race against FAISS and hnswlib, 40 minutes; writes docs/benchmarks
	$(PYTHON) bench/bench.py

bench-peers-small: ## a minute of it; fails on wrong answers only
	$(PYTHON) bench/bench.py --small

clean:
	rm -rf build
