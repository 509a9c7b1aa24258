// score.cu: exact scores of the candidates that select_candidates took from the lists, and the best of them.
//
//   entry   grid          threads
//   score   any           a multiple of 32, <= 128   search scores in float64, times 2^-exp. A warp for each share of the
//                         candidates of all queries (shares.cuh). A score depends on row and query only, and
//                         equals that of the CPU backend, bit for bit
//   merge   m             256   merges scored arms into the best, which may raise the threshold; a row already among them
//                         is not added again. Writes best, tau, rows, pulls and bytes of a Query. Skips queries with
//                         k = 0: all their scores that reach the floor are answers, which the host collects
//
//   seed_best m           256   for dense scans, which are batches of their own: copies the best of query `origin` of the run to
//                         each query, whose threshold they may raise
//
//   parameter   type           in the order of each entry's parameters
//   queries     Query*         [m]; score reads exp and square
//   m           u32            score
//   begins      const u32*     score: [m+2] shares, by share_candidates (shares.cu)
//   candidate   const u32*     score: [m][room] atoms
//   selected    const u32*     [m] number of candidates
//   scores, of  double*, u32*  [m][room] scores and row numbers; the last two parameters of score
//   room        u32
//   rows        const float*   score: [N][dim] by row number; may lie in mapped host memory
//   dim         int
//   order       const u32*     score: [N] row number of an atom
//   scaled      const double*  score: [m][dim] queries as given, times a power of two
//   rowSquare   const double*  score: [N] squared norms by row number, canonical sums, for cosine; else null
//   metric      int            score: 0 inner product, 1 cosine, 2 Euclidean
//   bestScore   double*        merge: [m][bestRoom] in order: score descending, row ascending
//   bestRow     u32*           merge: [m][bestRoom]
//   bestRoom    u32            merge: at least every k
//   seed_best(const Query* run, const double* runScore, const u32* runRow, u32 runRoom, Query* queries, double* bestScore,
//             u32* bestRow, u32 bestRoom): the run's best as merge leaves them, of any number of queries; then those to fill
//
// Estimates, not measured on a GPU. A row of 768 coordinates costs 3 KB, so 1.4e9 rows a second at 4.3 TB/s, and 768
// fused float64 operations and as many conversions to float64, of which an H200 does 3 times that. 28 warps a
// multiprocessor (72 registers) have 2 KB each in flight. merge (32 registers, 16.6 KB) sorts up to 1,024 arms at a time
// in shared memory and moves the best behind them: 12 bytes read and written for each of the best that moves.
#include "best.cuh"
#include "exact.cuh"
#include "shares.cuh"

extern "C" __global__ void __launch_bounds__(128) score(const Query* queries, u32 m, const u32* begins, const u32* candidate, const u32* selected, u32 room,
                                                        const float* rows, int dim, const u32* order, const double* scaled, const double* rowSquare, int metric,
                                                        double* scores, u32* of) {
  Share share;
  if (!take_share(begins, m, &share)) return;
  size_t first = (size_t)share.list * room;
  u32 end = min(share.to, selected[share.list]), lane = lane_id();
  Scorer scorer = scorer_of(queries, share.list, rows, dim, scaled, rowSquare, metric);
  // sass score DFMA: 32 products each
  for (u32 e = share.from; e < end; e += kRows) {
    u32 count = min(end - e, (u32)kRows), number = lane < count ? order[candidate[first + e + lane]] : 0;
    double result = score_rows(scorer, number, count);
    if (lane < count) {
      scores[first + e + lane] = result;
      of[first + e + lane] = number;
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) merge(Query* queries, const u32* selected, const double* scores, const u32* of, u32 room, int dim,
                                                        double* bestScore, u32* bestRow, u32 bestRoom) {
  __shared__ MergeBuffer w;
  Query* q = queries + blockIdx.x;
  u32 n = selected[blockIdx.x];
  if (n == 0 || q->k == 0) return;
  scores += (size_t)blockIdx.x * room;
  of += (size_t)blockIdx.x * room;
  Best best = best_of(q, blockIdx.x, bestScore, bestRow, bestRoom);
  for (u32 from = 0; from < n; from += kMergeChunk) {
    if (threadIdx.x == 0) w.count = 0;
    __syncthreads();
    for (u32 i = from + threadIdx.x; i < min(from + kMergeChunk, n); i += kThreads) buffer_scored(&w, q, best, scores[i], of[i]);
    __syncthreads();
    merge_buffered(&w, &best);
  }
  if (threadIdx.x == 0) store_best(q, best, n, dim);
}

extern "C" __global__ void __launch_bounds__(256) seed_best(const Query* run, const double* runScore, const u32* runRow, u32 runRoom,
                                                            Query* queries, double* bestScore, u32* bestRow, u32 bestRoom) {
  Query* q = queries + blockIdx.x;
  if (q->k == 0) return;
  size_t first = (size_t)(MUTANT(1) ? blockIdx.x : q->origin) * runRoom;
  Best best = best_of(q, blockIdx.x, bestScore, bestRow, bestRoom);
  best.held = min(run[q->origin].best, best.most);
  for (u32 i = threadIdx.x; i < best.held; i += kThreads) {
    best.score[i] = runScore[first + i];
    best.row[i] = runRow[first + i];
  }
  __syncthreads();
  if (threadIdx.x == 0) store_best(q, best, 0, 0);
}
