#!/bin/sh
# kernels.sh: the CUDA tool chain, and proof that the committed PTX is what it makes of the sources.
set -eu
cd "$(dirname "$0")/.."
kernels/toolchain/install.sh
python3 kernels/toolchain/kernels.py check
