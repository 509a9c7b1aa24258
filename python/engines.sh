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
# Workers inherit where thresher is, and costs that are the same in each of them, so that all choose the same plans. Ray
# reports nothing to anybody, and waits for its processes as long as a busy machine takes, where it gives up after 10 to 60
# seconds, and ends idle ones after one, only to start others. Its workers are as urgent as what else runs here: by their own
# niceness, 15, they wait for every other process of a busy machine.
export RAY_worker_niceness=0
export PYTHONPATH="$root/python/src" THRESHER_BINARY="$root/build/thresher" THRESHER_COSTS=builtin RAY_USAGE_STATS_ENABLED=0
export RAY_agent_register_timeout_ms=1200000 RAY_raylet_start_wait_time_s=600 RAY_worker_register_timeout_seconds=1200 \
  RAY_gcs_server_port_wait_time_s=1200 RAY_idle_worker_killing_time_threshold_ms=600000
exec $engines/bin/python -m pytest -rs --durations=5 -o faulthandler_timeout=2400 tests/engines "$@"
