#!/bin/sh
# call1.sh: the first call on a machine with a GPU, 570 of its 600 seconds: what the machine is, the gate, the benchmarks of
# the two sets that decide and, if time is left, of real text and of 2^23 atoms, the conformance suite, and what the driver compiles. It needs
# build/device, and neither make nor Go.
cd "$(dirname "$0")/../.." || exit 2
export GPU_SECONDS="${GPU_SECONDS:-545}"
export PARTS=facts,opening,primitives,selftest,gate,benchmarks,conformance,ptx SETS=power768,iid768,records768,power8m
exec python3 bench/gpu/gpu.py
