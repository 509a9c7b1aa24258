#!/bin/sh
# lint.sh: runs hadolint, at the version pinned in requirements.txt, on the Dockerfiles.
set -eu
cd "$(dirname "$0")/../.."
into=build/hadolint
if ! cmp -s deploy/docker/requirements.txt $into/.installed; then
  rm -rf $into
  "${PYTHON:-python3}" -m pip install --quiet --root-user-action=ignore --disable-pip-version-check \
    --require-hashes --no-deps --only-binary=:all: --target $into -r deploy/docker/requirements.txt
  cp deploy/docker/requirements.txt $into/.installed
fi
$into/bin/hadolint deploy/Dockerfile Dockerfile.cuda
