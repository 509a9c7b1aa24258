// raise.cu: thresholds lifted between looks by one launch: what leaders (of k), score and merge do, some
// rounds of it, and then prune and survey, bit for bit.
//
//   entry   grid   threads
//   raise   m      256
//
//   parameter   type           in the order of the entry's list
//   queries     Query*         [m]
//   lists, mask, value, by     as of leaders (lists.cu); estimates are lost
//   rounds      int            each scores up to k arms more, 256 at most; they end when none leads
//   rows, dim, order, scaled, rowSquare, metric   as of score (score.cu)
//   bestScore, bestRow, bestRoom                as of merge (score.cu)
//   share, beyond              as of survey (lists.cu)
//
// An estimate, not run on a GPU: a block of 64 registers and 22 KB stands 4 times on a multiprocessor, so 528 queries
// go at once. Two rounds for k = 10 take some 20 us, of which launches one by one would take as much again.
#include "best.cuh"
#include "exact.cuh"
#include "list.cuh"

// kRaised is how many are scored in a round.
static const u32 kRaised = 256;

extern "C" __global__ void __launch_bounds__(256, 4) raise(Query* queries, const Lists* lists, u32 mask, u32 value, int by, int rounds,
                                                        const float* rows, int dim, const u32* order, const double* scaled, const double* rowSquare,
                                                        int metric, double* bestScore, u32* bestRow, u32 bestRoom, double share, float beyond) {
  __shared__ Picking picking;
  __shared__ Merging merging;
  __shared__ u32 lead[kRaised];
  Query* q = queries + blockIdx.x;
  if ((q->flags & mask) != value) return;
  List l = list_of(queries, lists, by, by);
  Best best = best_of(q, bestScore, bestRow, bestRoom);
  Scorer scorer = scorer_of(queries, rows, dim, scaled, rowSquare, metric);
  u32 want = min(q->k, kRaised), lane = lane_id(), warps = kThreads / 32;
  for (int round = 0;; round++) {
    u32 led;
    pick(&picking, l, round < rounds ? want : 0, lead, &l.n, &led);
    if (led == 0) break;
    if (threadIdx.x == 0) merging.count = 0;
    __syncthreads();
    for (u32 e = threadIdx.x / 32; e < led; e += kRows * warps) {
      u32 count = min((led - e + warps - 1) / warps, (u32)kRows);
      u32 number = lane < count ? order[lead[e + lane * warps]] : 0;
      double score = score_rows(scorer, number, count);
      if (lane < count) take(&merging, q, best, score, number);
    }
    __syncthreads();
    merge_taken(&merging, &best);
    if (threadIdx.x == 0) {
      settle_best(q, best, led, dim);
      q->kept += led;
    }
    __syncthreads();
    l.least = (float)q->tau;
  }
  if (threadIdx.x > 0) return;
  settle_list(q, picking, l.n);
  survey_query(q, share, beyond);
}
