// score.cu: exact scores of the candidates that select_candidates took from the lists, and the best of them.
//
//   entry   grid          threads
//   score   (m, pieces)   a multiple of 32, <= 128   search scores in float64, times 2^-exp. A query's candidates
//                         are divided among its pieces. A score depends on row and query only, and equals that of the
//                         CPU backend, bit for bit
//   merge   m             256   merges scored arms into the best, which may raise the threshold; a row already among them
//                         is not added again. Writes best, tau, rows, pulls and bytes of a Query. Skips queries with
//                         k = 0: all their scores that reach the floor are answers, which the host collects
//
//   seed_best m           256   for dense scans, which are batches of their own: copies the best of query `origin` of the run to
//                         each query, whose threshold they may raise
//
//   parameter   type           in the order of each entry's parameters
//   queries     Query*         [m]; score reads exp and square
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
// fused float64 operations and as many conversions to float64, of which an H200 does 3 times that. 36 warps a
// multiprocessor (56 registers) have 2 KB each in flight. merge (32 registers, 16.6 KB) sorts up to 1,024 arms at a time
// in shared memory and moves the best behind them: 12 bytes read and written for each of the best that moves.
#include "best.cuh"
#include "exact.cuh"

extern "C" __global__ void __launch_bounds__(128) score(const Query* queries, const u32* candidate, const u32* selected, u32 room, const float* rows, int dim,
                                                        const u32* order, const double* scaled, const double* rowSquare, int metric,
                                                        double* scores, u32* of) {
  u32 n = selected[blockIdx.x], warps = blockDim.x / 32 * gridDim.y, lane = lane_id();
  size_t first = (size_t)blockIdx.x * room;
  Scorer scorer = scorer_of(queries, rows, dim, scaled, rowSquare, metric);
  // sass score DFMA: 32 products each
  // A warp takes every warps-th candidate, which divides a short list evenly.
  for (u32 e = blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32; e < n; e += kRows * warps) {
    u32 count = min((n - e + warps - 1) / warps, (u32)kRows), at = e + lane * warps;
    u32 number = lane < count ? order[candidate[first + at]] : 0;
    double result = score_rows(scorer, number, count);
    if (lane < count) {
      scores[first + at] = result;
      of[first + at] = number;
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
  Best best = best_of(q, bestScore, bestRow, bestRoom);
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
  Best best = best_of(q, bestScore, bestRow, bestRoom);
  best.held = min(run[q->origin].best, best.most);
  for (u32 i = threadIdx.x; i < best.held; i += kThreads) {
    best.score[i] = runScore[first + i];
    best.row[i] = runRow[first + i];
  }
  __syncthreads();
  if (threadIdx.x == 0) store_best(q, best, 0, 0);
}
