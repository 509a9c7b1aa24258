#!/bin/bash
# An array job: each task answers one of equal parts of the queries, into a file of its own.
#
#     thresher build --vectors items.parquet --metric cosine --out items.thresher   # once
#     export VECTORS=items.thresher QUERIES=users.parquet PARTS=parts
#     sbatch --array=0-15 deploy/slurm/search.sh -k 10
#     thresher check "$PARTS"                            # names the parts that are missing: sbatch --array=3,7-9 ..
#     thresher check "$PARTS" --out answers.parquet      # one file, as one search writes it
#
# The array is numbered from 0. Arguments are flags of thresher search. All tasks see the same files. A task that is
# repeated continues where it stopped, and does nothing if it was done.
#SBATCH --job-name=thresher
#SBATCH --cpus-per-task=8
#SBATCH --requeue
set -euo pipefail
: "${VECTORS:?the vectors}" "${QUERIES:?the queries}" "${PARTS:?the folder of the answers}"
# The number of parts: PARTS_OF where some tasks of an array are repeated alone, else the size of the array.
of=${PARTS_OF:-$((SLURM_ARRAY_TASK_MAX + 1))}
mkdir -p "$PARTS"
export THRESHER_THREADS=${SLURM_CPUS_PER_TASK:-1}
exec thresher search --vectors "$VECTORS" --queries "$QUERIES" --part "$SLURM_ARRAY_TASK_ID/$of" \
	--out "$PARTS/$SLURM_ARRAY_TASK_ID.parquet" --resume "$@"
