#!/bin/sh
# suite.sh OUT SEED..: runs the tests of the CUDA backend, all but deliberate faults, and of the command line on the emulator
# OUT/libcuda.so.1, with the binaries device.test, gpu.test and thresher.test of OUT/tests: once for each seed (EMU_SEED),
# JOBS processes at a time (default: one for each processor). A process's output is kept in OUT/tests, and
# printed if it fails. go test would reuse results: it does not see which variables C code reads.
set -eu
out=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
shift

if [ "${1:-}" = one ]; then # one process: a seed and a part of the tests
	seed=$2 part=$3 log="$out/tests/$2-$3.log" began=$(date +%s)
	case $part in
	suite) set -- gpu -test.run '^TestBackend$' ;;
	rest) set -- gpu -test.skip '^(TestBackend|TestMutants)$' ;;
	device) set -- gpu/device -test.run . ;;
	search) set -- cmd/thresher -test.run '^TestBackend' ;;
	absent) set -- cmd/thresher -test.run '^TestBackendUnavailable$' ;;
	esac
	binary="$out/tests/$(basename "$1").test"
	cd "$root/$1"
	shift
	THRESHER_LIBCUDA="$out/libcuda.so.1"
	test "$part" != absent || THRESHER_LIBCUDA=/nowhere/libcuda.so.1
	export THRESHER_LIBCUDA
	if EMU_SEED=$seed "$binary" -test.v -test.timeout 75m "$@" >"$log" 2>&1; then
		echo "seed $seed, $part: $(grep -c '^--- PASS' "$log") tests, $(grep -c '^--- SKIP' "$log" || true) skipped, $(($(date +%s) - began)) s"
		exit 0
	fi
	echo "FAIL seed $seed, $part: from $log"
	grep -v '^ *--- PASS\|^=== ' "$log" | tail -60
	exit 1
fi

# the longest parts first
{
	for seed in "$@"; do echo "$seed suite"; done
	for seed in "$@"; do echo "$seed rest"; done
	for seed in "$@"; do echo "$seed device"; done
	echo "0 search"
	echo "0 absent"
} | xargs -P "${JOBS:-$(nproc 2>/dev/null || echo 2)}" -L 1 sh "$0" "$out" one
