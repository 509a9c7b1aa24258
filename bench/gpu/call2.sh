#!/bin/sh
# call2.sh: the second call, 210 seconds, sent without reading what the first found: counters of the kernels of two batches, two
# tools that find faults, and other shapes of the first look.
cd "$(dirname "$0")/../.." || exit 2
export GPU_SECONDS="${GPU_SECONDS:-195}"
export PARTS=profile,memcheck,racecheck,sweep
exec python3 bench/gpu/gpu.py
