#!/bin/sh
# engines.sh [PYTEST'S ARGUMENTS]: tests thresher.ray and thresher.spark on one machine, with the engines themselves, which
# test.sh does not install: gigabytes. A test whose engine cannot run here, such as Spark without Java, says so and is skipped.
#
# PYTHON is 3.10 or newer. The environment is kept in build/python-engines.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
engines=../build/python-engines
if ! cmp -s requirements-engines.txt $engines/installed.txt; then
  "$python" -m venv --clear $engines
  $engines/bin/pip install --quiet --disable-pip-version-check -r requirements-engines.txt
  cp requirements-engines.txt $engines/installed.txt
fi
(cd .. && ${GO:-go} build -o build/thresher ./cmd/thresher)
root=$(cd .. && pwd)
# Workers inherit where thresher is; Ray reports nothing to anybody.
export PYTHONPATH="$root/python/src" THRESHER_BINARY="$root/build/thresher" RAY_USAGE_STATS_ENABLED=0
exec $engines/bin/python -m pytest -rs --durations=5 -o faulthandler_timeout=500 tests/engines "$@"
