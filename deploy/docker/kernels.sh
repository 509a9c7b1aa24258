#!/bin/sh
# kernels.sh: installs the CUDA toolchain and checks that it compiles the sources to the committed PTX.
set -eu
cd "$(dirname "$0")/../.."
kernels/toolchain/install.sh
python3 kernels/toolchain/kernels.py check
