// score.cu: exact scores of the arms that leaders took from the lists, and the best of them.
//
// score: blocks (m, pieces) of any number of warps. Search scores in float64, scaled as the queries are; a
// row's score does not depend on what it is scored with.
//   queries  const Query*  [m]     read: exp
//   lead     const u32*    [m][room] atoms, internal order
//   led      const u32*    [m]     how many
//   room     u32
//   rows     const float*  [N][dim] by row number. May lie in mapped host memory
//   dim      int
//   order    const u32*    [N]     row number of an atom
//   scaled   const double* [m][dim] queries
//   rowNorm  const double* [N]     by row number; of metric 1, else null
//   metric   int                   0 inner product, 1 cosine, 2 Euclidean
//   scores   double*       [m][room]
//   of       u32*          [m][room] row numbers
// merge: a block of 256 threads a query. Takes scored arms into the best, whose threshold may rise; a row
// that is there already is not taken again. Written: best, tau, rows, pulls, bytes, kOverflow.
//   queries, led, scores, of, room, dim as above
//   bestScore double*      [m][bestRoom] best first: score descending, row ascending
//   bestRow   u32*         [m][bestRoom]
//   bestRoom  u32                  at least every k. A query of k = 0 keeps all that reach floor, and is
//                                  kOverflow where there is no room
#include "warp.cuh"

enum : int { kDot = 0, kCosine = 1, kEuclidean = 2 };

extern "C" __global__ void __launch_bounds__(128) score(const Query* queries, const u32* lead, const u32* led, u32 room, const float* rows, int dim,
                                                        const u32* order, const double* scaled, const double* rowNorm, int metric,
                                                        double* scores, u32* of) {
  const Query* q = queries + blockIdx.x;
  u32 n = led[blockIdx.x], lane = lane_id();
  size_t first = (size_t)blockIdx.x * room;
  const double* w = scaled + (size_t)blockIdx.x * dim;
  for (u32 e = blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32; e < n; e += gridDim.y * (blockDim.x / 32)) {
    u32 at = order[lead[first + e]];
    const float* x = rows + (size_t)at * dim;
    double dot = 0, squares = 0;
    for (int c = 4 * lane; c < dim; c += 128)
      for (int k = c; k < c + 4 && k < dim; k++) {
        dot = fma((double)x[k], w[k], dot);
        squares = fma((double)x[k], (double)x[k], squares);
      }
    for (int d = 1; d < 32; d *= 2) {
      dot += __shfl_xor_sync(kAll, dot, d);
      squares += __shfl_xor_sync(kAll, squares, d);
    }
    if (lane) continue;
    if (metric == kCosine) dot = rowNorm[at] > 0 ? dot / rowNorm[at] : 0;
    if (metric == kEuclidean) dot -= ldexp(squares / 2, -q->exp);
    scores[first + e] = dot;
    of[first + e] = at;
  }
}

// before orders answers: score descending, row ascending.
DEV bool before(double a, u32 i, double b, u32 j) { return a > b || (a == b && i < j); }

extern "C" __global__ void __launch_bounds__(256) merge(Query* queries, const u32* led, const double* scores, const u32* of, u32 room, int dim,
                                                        double* bestScore, u32* bestRow, u32 bestRoom) {
  Query* q = queries + blockIdx.x;
  u32 n = led[blockIdx.x];
  if (n == 0 || threadIdx.x) return;
  scores += (size_t)blockIdx.x * room;
  of += (size_t)blockIdx.x * room;
  bestScore += (size_t)blockIdx.x * bestRoom;
  bestRow += (size_t)blockIdx.x * bestRoom;
  u32 held = q->best, most = q->k ? min(q->k, bestRoom) : bestRoom;
  for (u32 e = 0; e < n; e++) {
    double s = scores[e];
    u32 i = of[e], at = held;
    if (!(s >= q->floor)) continue;
    while (at > 0 && before(s, i, bestScore[at - 1], bestRow[at - 1])) at--;
    if (at > 0 && bestScore[at - 1] == s && bestRow[at - 1] == i) continue;
    if (at == most) {
      if (q->k == 0) q->flags |= kOverflow;
      continue;
    }
    if (held == most && q->k == 0) q->flags |= kOverflow;
    if (held < most) held++;
    for (u32 k = held - 1; k > at; k--) bestScore[k] = bestScore[k - 1], bestRow[k] = bestRow[k - 1];
    bestScore[at] = s;
    bestRow[at] = i;
  }
  q->best = held;
  if (q->k > 0 && held == q->k) q->tau = fmax(q->tau, bestScore[held - 1] + q->epsilon);
  q->rows += n;
  q->pulls += (u64)n * dim;
  q->bytes += 4 * (u64)n * dim;
}
