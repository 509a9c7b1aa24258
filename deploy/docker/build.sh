#!/bin/sh
# build.sh cpu|cuda: builds build/image/NAME/thresher. The cpu program is static; the
# cuda program needs the C library, and loads the driver when it runs.
set -eu
cd "$(dirname "$0")/../.."
case ${1-} in
cpu)
  export CGO_ENABLED=0
  tags='' needs=''
  ;;
cuda)
  export CGO_ENABLED=1 C_INCLUDE_PATH="$PWD/build/cuda/nvidia/cuda_runtime/include"
  tags=cuda,netgo,osusergo needs='[libc.so.6]'
  ;;
*)
  echo "usage: build.sh cpu|cuda" >&2
  exit 2
  ;;
esac
# Without a usable .git (a worktree's points elsewhere) the binary does not name its revision.
vcs=auto
git rev-parse --quiet --verify HEAD >/dev/null 2>&1 || vcs=false

mkdir -p build/image/data # the image's /data
program=build/image/$1/thresher
go build -trimpath -buildvcs=$vcs -tags "$tags" -ldflags '-s -w' -o "$program" ./cmd/thresher

# The libraries that the final image must contain.
found=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\(\[.*\]\)/\1/p')
if [ "$found" != "$needs" ]; then
  echo "build.sh: $program needs the libraries '$found', not '$needs'" >&2
  exit 1
fi
"$program" version
