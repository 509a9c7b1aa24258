// score.cu: exact scores of the arms that leaders took from the lists, and the best of them.
//
//   entry   grid          threads
//   score   (m, pieces)   a multiple of 32, <= 128   search scores in float64, times 2^-exp; a query's
//                         leaders are shared out over its pieces. A score depends on the row and the query alone,
//                         bit for bit, and is that of the CPU backend
//   merge   m             256   takes scored arms into the best, by which the threshold may rise; a row that is there
//                         already is not taken again. Of a Query best, tau, rows, pulls and bytes are written. A query
//                         of k = 0 is left alone: all its scores that reach floor are answers
//
//   parameter   type           in the order of each entry's list
//   queries     Query*         [m]; score reads exp and square
//   lead        const u32*     score: [m][room] atoms
//   led         const u32*     [m] how many of them
//   scores, of  double*, u32*  [m][room] scores and row numbers; for score the last two parameters
//   room        u32
//   rows        const float*   score: [N][dim] by row number; may lie in mapped host memory
//   dim         int
//   order       const u32*     score: [N] row number of an atom
//   scaled      const double*  score: [m][dim] queries as given, times a power of two
//   rowSquare   const double*  score: [N] squared norms by row number, canonical sums, for cosine; else null
//   metric      int            score: 0 inner product, 1 cosine, 2 Euclidean
//   bestScore   double*        merge: [m][bestRoom] best first: score descending, row ascending
//   bestRow     u32*           merge: [m][bestRoom]
//   bestRoom    u32            merge: at least every k
//
// Estimates; neither has run on a GPU. A row of 768 coordinates costs 3 KB: 1.4e9 rows a second at 4.3 TB/s; 768 fused
// float64 operations and as many conversions to float64, of which an H200 does 3 times that. 36 warps a
// multiprocessor (56 registers) have 2 KB each under way. merge (32 registers, 16.6 KB) sorts up to 1,024 arms at
// a time in shared memory and moves what stands behind them: microseconds for small k, 12 bytes twice for each of
// the best beyond.
#include "best.cuh"
#include "exact.cuh"

extern "C" __global__ void __launch_bounds__(128) score(const Query* queries, const u32* lead, const u32* led, u32 room, const float* rows, int dim,
                                                        const u32* order, const double* scaled, const double* rowSquare, int metric,
                                                        double* scores, u32* of) {
  u32 n = led[blockIdx.x], warps = blockDim.x / 32 * gridDim.y, lane = lane_id();
  size_t first = (size_t)blockIdx.x * room;
  Scorer scorer = scorer_of(queries, rows, dim, scaled, rowSquare, metric);
  // sass score DFMA: 32 products each
  // a warp's rows lie `warps` apart, so that a short list is shared out evenly
  for (u32 e = blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32; e < n; e += kRows * warps) {
    u32 count = min((n - e + warps - 1) / warps, (u32)kRows), at = e + lane * warps;
    u32 number = lane < count ? order[lead[first + at]] : 0;
    double result = score_rows(scorer, number, count);
    if (lane < count) {
      scores[first + at] = result;
      of[first + at] = number;
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) merge(Query* queries, const u32* led, const double* scores, const u32* of, u32 room, int dim,
                                                        double* bestScore, u32* bestRow, u32 bestRoom) {
  __shared__ Merging w;
  Query* q = queries + blockIdx.x;
  u32 n = led[blockIdx.x];
  if (n == 0 || q->k == 0) return;
  scores += (size_t)blockIdx.x * room;
  of += (size_t)blockIdx.x * room;
  Best best = best_of(q, bestScore, bestRow, bestRoom);
  for (u32 from = 0; from < n; from += kPiece) {
    if (threadIdx.x == 0) w.count = 0;
    __syncthreads();
    for (u32 i = from + threadIdx.x; i < min(from + kPiece, n); i += kThreads) take(&w, q, best, scores[i], of[i]);
    __syncthreads();
    merge_taken(&w, &best);
  }
  if (threadIdx.x == 0) settle_best(q, best, n, dim);
}
