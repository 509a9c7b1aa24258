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

// kRows rows are under way in a warp.
static const int kRows = 4;

// load4 reads coordinates c to c+3 of a row or of a query; zeros lie beyond dim.
DEV void load4(double* v, const float* row, int c, int dim, bool aligned) {
  if (aligned) {
    float4 x = __ldcg(reinterpret_cast<const float4*>(row + c));
    v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = c + k < dim ? __ldg(row + c + k) : 0;
}
DEV void load4(double* v, const double* row, int c, int dim, bool aligned) {
  if (aligned) {
    double2 a = __ldg(reinterpret_cast<const double2*>(row + c)), b = __ldg(reinterpret_cast<const double2*>(row + c + 2));
    v[0] = a.x, v[1] = a.y, v[2] = b.x, v[3] = b.y;
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = c + k < dim ? __ldg(row + c + k) : 0;
}

// dots multiplies kRows rows by w: lane l sums coordinates 4l to 4l+3 and every 128th beyond, in this order,
// and fold4 the lanes. Lane l gets the product of row l % kRows and, with Norms, its sum of squares.
template <bool Norms>
DEV double dots(const float* const* row, const double* w, int dim, bool aligned, double* squares) {
  double dot[kRows] = {}, square[kRows] = {};
#pragma unroll 2
  for (int c = 4 * lane_id(); c < dim; c += 128) {
    double q[4];
    load4(q, w, c, dim, aligned);
#pragma unroll
    for (int r = 0; r < kRows; r++) {
      double x[4];
      load4(x, row[r], c, dim, aligned);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        dot[r] = fma(x[k], q[k], dot[r]);
        if (Norms) square[r] = fma(x[k], x[k], square[r]);
      }
    }
  }
  if (Norms) *squares = fold4<32>(square);
  return fold4<32>(dot);
}

extern "C" __global__ void __launch_bounds__(128) score(const Query* queries, const u32* lead, const u32* led, u32 room, const float* rows, int dim,
                                                        const u32* order, const double* scaled, const double* rowNorm, int metric,
                                                        double* scores, u32* of) {
  u32 n = led[blockIdx.x], warps = blockDim.x / 32 * gridDim.y, lane = lane_id();
  size_t first = (size_t)blockIdx.x * room;
  const double* w = scaled + (size_t)blockIdx.x * dim;
  bool aligned = dim % 4 == 0 && ((size_t)rows | (size_t)w) % 16 == 0;
  // a warp's rows lie `warps` apart, so that a short list is shared out evenly
  for (u32 e = blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32; e < n; e += kRows * warps) {
    u32 mine = e + lane % kRows * warps, number = order[lead[first + (mine < n ? mine : e)]];
    const float* row[kRows];
#pragma unroll
    for (int r = 0; r < kRows; r++) row[r] = rows + (size_t)__shfl_sync(kAll, number, r) * dim;
    double dot, squares = 0;
    if (metric == kEuclidean)
      dot = dots<true>(row, w, dim, aligned, &squares);
    else
      dot = dots<false>(row, w, dim, aligned, &squares);
    if (lane >= (u32)kRows || mine >= n) continue;
    if (metric == kCosine) dot = rowNorm[number] > 0 ? dot / rowNorm[number] : 0;
    if (metric == kEuclidean) dot -= ldexp(squares / 2, -queries[blockIdx.x].exp);
    scores[first + mine] = dot;
    of[first + mine] = number;
  }
}

static const u32 kThreads = 256;

// kPiece scored arms are merged at a time.
static const u32 kPiece = 1024;

struct Work {
  double score[kPiece];
  u32 row[kPiece];
  u32 at[kPiece];  // how many of the best come before
  u32 totals[2][32];
  u32 count;
};

// before orders answers: score descending, row ascending.
DEV bool before(double a, u32 i, double b, u32 j) { return a > b || (a == b && i < j); }

// sort puts the first count arms in order; count is at most kPiece. What lies behind them up to a power of two
// is overwritten.
DEV void sort(Work* w, u32 count) {
  u32 n = 1;
  while (n < count) n *= 2;
  for (u32 i = count + threadIdx.x; i < n; i += kThreads) {
    w->score[i] = __longlong_as_double(0xfff0000000000000ll);  // -inf
    w->row[i] = kAll;
  }
  __syncthreads();
  for (u32 run = 2; run <= n; run *= 2)
    for (u32 half = run / 2; half > 0; half /= 2) {
      for (u32 i = threadIdx.x; i < n / 2; i += kThreads) {
        u32 a = 2 * i - (i & (half - 1)), b = a + half;  // a has no bit `half`
        if (before(w->score[b], w->row[b], w->score[a], w->row[a]) == ((a & run) == 0)) {
          double s = w->score[a];
          w->score[a] = w->score[b];
          w->score[b] = s;
          u32 r = w->row[a];
          w->row[a] = w->row[b];
          w->row[b] = r;
        }
      }
      __syncthreads();
    }
}

// Best is the best of a query so far, in order.
struct Best {
  double* score;
  u32* row;
  u32 held, most;
};

// fresh leaves of the first count arms, which are in order, those not among the best and each once; it
// returns how many and puts into `at` where among the best they belong.
DEV u32 fresh(Work* w, const Best& best, u32 count) {
  u32 kept = 0;
  for (u32 from = 0, round = 0; from < count; from += kThreads, round++) {
    u32 i = from + threadIdx.x, at = 0, row = 0;
    double score = 0;
    bool keep = false;
    if (i < count) {
      score = w->score[i];
      row = w->row[i];
      for (u32 end = best.held; at < end;) {
        u32 middle = (at + end) / 2;
        if (before(best.score[middle], best.row[middle], score, row))
          at = middle + 1;
        else
          end = middle;
      }
      keep = !(at < best.held && best.score[at] == score && best.row[at] == row) && !(i > 0 && w->score[i - 1] == score && w->row[i - 1] == row);
    }
    u32 all, to = kept + scan_block(keep, w->totals[round & 1], &all);
    if (keep) {
      w->at[to] = at;
      if (to != i) {  // or the first thread of the next round might be reading it
        w->score[to] = score;
        w->row[to] = row;
      }
    }
    kept += all;
  }
  __syncthreads();
  return kept;
}

// insert puts the first count arms, count > 0, between the best, from the last of these on: none is
// overwritten before it was read. What falls off the end is lost.
DEV void insert(Work* w, const Best& best, u32 count) {
  u32 least = w->at[0];
  for (u32 end = best.held; end > least;) {
    u32 from = end > least + kThreads ? end - kThreads : least, i = from + threadIdx.x, row = 0, shift = 0;
    double score = 0;
    if (i < end) {
      score = best.score[i];
      row = best.row[i];
      for (u32 stop = count; shift < stop;) {  // how many belong before it
        u32 middle = (shift + stop) / 2;
        if (w->at[middle] <= i)
          shift = middle + 1;
        else
          stop = middle;
      }
    }
    __syncthreads();
    if (i < end && i + shift < best.most) {
      best.score[i + shift] = score;
      best.row[i + shift] = row;
    }
    end = from;
  }
  for (u32 i = threadIdx.x; i < count; i += kThreads) {
    u32 to = w->at[i] + i;
    if (to >= best.most) break;
    best.score[to] = w->score[i];
    best.row[to] = w->row[i];
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(256) merge(Query* queries, const u32* led, const double* scores, const u32* of, u32 room, int dim,
                                                        double* bestScore, u32* bestRow, u32 bestRoom) {
  __shared__ Work w;
  Query* q = queries + blockIdx.x;
  u32 n = led[blockIdx.x];
  if (n == 0) return;
  scores += (size_t)blockIdx.x * room;
  of += (size_t)blockIdx.x * room;
  Best best = {bestScore + (size_t)blockIdx.x * bestRoom, bestRow + (size_t)blockIdx.x * bestRoom, q->best, q->k > 0 ? min(q->k, bestRoom) : bestRoom};
  bool lost = false;
  for (u32 from = 0; from < n; from += kPiece) {
    if (threadIdx.x == 0) w.count = 0;
    __syncthreads();
    for (u32 i = from + threadIdx.x; i < min(from + kPiece, n); i += kThreads) {
      double score = scores[i];
      u32 row = of[i];
      if (!(score >= q->floor)) continue;
      u32 last = best.most - 1;
      if (best.held == best.most && !before(score, row, best.score[last], best.row[last])) {
        lost = lost || score != best.score[last] || row != best.row[last];
        continue;
      }
      u32 to = atomicAdd(&w.count, 1u);  // in any order: they are sorted
      w.score[to] = score;
      w.row[to] = row;
    }
    __syncthreads();
    u32 count = w.count;
    sort(&w, count);
    count = fresh(&w, best, count);
    if (count == 0) continue;
    insert(&w, best, count);
    lost = lost || best.held + count > best.most;
    best.held = min(best.held + count, best.most);
  }
  lost = __syncthreads_or(lost);
  if (threadIdx.x) return;
  if (q->k == 0 && lost) q->flags |= kOverflow;
  if (q->k > 0 && best.held == q->k) q->tau = fmax(q->tau, best.score[best.held - 1] + q->epsilon);
  q->best = best.held;
  q->rows += n;
  q->pulls += (u64)n * dim;
  q->bytes += 4 * (u64)n * dim;
}
