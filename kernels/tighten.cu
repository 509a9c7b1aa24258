// tighten.cu: scores the most promising arms of each list and tightens its threshold, in one launch. The result equals
// that of `rounds` times select_candidates (with most = 0), score and merge, then the same for queries with a ceiling up to
// ceilingRounds, then prune and mark_finished, bit for bit.
//
//   entry     grid   threads
//   tighten   m      256
//
//   parameter   type           in the order of the entry's parameters
//   queries     Query*         [m]
//   lists, mask, value, by     as for select_candidates (lists.cu); estimates are lost
//   without     int            after value: 1 to leave out the queries that tighten_short (tighten_short.cu) takes
//   rounds      int            each scores up to k more arms, at most 256; fewer rounds if nothing is eligible
//   ceilingRounds int          that many, while a query with a ceiling holds fewer than k
//   rows, dim, order, scaled, rowSquare, metric   as for score (score.cu)
//   bestScore, bestRow, bestRoom                  as for merge (score.cu)
//   share, beyond              as for mark_finished (lists.cu)
//
// Estimate, not measured on a GPU: a block has 64 registers a thread and 22 KB of shared memory, so a multiprocessor runs
// 4 and an H200 528 queries at once.
#include "best.cuh"
#include "exact.cuh"
#include "list.cuh"

// kMostCandidates is the most arms scored in a round.
static const u32 kMostCandidates = 256;

extern "C" __global__ void __launch_bounds__(256, 4) tighten(Query* queries, const __grid_constant__ Lists lists, u32 mask, u32 value, int without, int by, int rounds, int ceilingRounds,
                                                        const float* rows, int dim, const u32* order, const double* scaled, const double* rowSquare,
                                                        int metric, double* bestScore, u32* bestRow, u32 bestRoom, double share, float beyond) {
  __shared__ Selection selection;
  __shared__ MergeBuffer merging;
  __shared__ u32 candidate[kMostCandidates];
  Query* q = queries + blockIdx.x;
  if ((q->flags & mask) != value || (without && takes_short(q, lists.cap) && !MUTANT(2))) return;
  List l = list_of(queries, blockIdx.x, &lists, by);
  Best best = best_of(q, blockIdx.x, bestScore, bestRow, bestRoom);
  Scorer scorer = scorer_of(queries, blockIdx.x, rows, dim, scaled, rowSquare, metric);
  u32 want = min(q->k, kMostCandidates), lane = lane_id(), warps = kThreads / 32;
  for (int round = 0;; round++) {
    u32 selected;
    bool more = round < rounds || (round < ceilingRounds && short_of_ceiling(q) && !MUTANT(1));
    select_entries(&selection, l, more ? want : 0, candidate, &l.n, &selected);
    if (selected == 0) break;
    if (threadIdx.x == 0) merging.count = 0;
    __syncthreads();
    for (u32 e = threadIdx.x / 32; e < selected; e += kRows * warps) {
      u32 count = min((selected - e + warps - 1) / warps, (u32)kRows);
      u32 number = lane < count ? order[candidate[e + lane * warps]] : 0;
      double score = score_rows(scorer, number, count);
      if (lane < count) buffer_scored(&merging, q, best, score, number);
    }
    __syncthreads();
    merge_buffered(&merging, &best);
    if (threadIdx.x == 0) {
      store_best(q, best, selected, dim);
      q->kept += selected;
    }
    __syncthreads();
    l.least = (float)q->tau;
  }
  if (threadIdx.x > 0) return;
  store_list(q, selection, l.n);
  mark_if_finished(q, share, beyond);
}
