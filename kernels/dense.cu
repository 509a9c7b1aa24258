// dense.cu: the dense path: tf32 products of rows as given with queries, and lists of the rows that can reach the
// threshold within their error; score.cu scores those.
//
//   entry       grid                                threads  dynamic shared memory
//   dense_load  m                                   256      0
//   dense_tf32  ceil((hi-lo)/128), ceil(m/128)      256      98304 bytes
//
//   dense_load(const double* scaled, int dim, const Query* queries, int m, float* x, int ld, float* margin,
//              const double* centre)
//   parameter   type           of dense_tf32
//   rows        const float*   f32[N][dim] by row number; rows from hi on are not read
//   dim         int
//   lo, hi      u32            rows of this chunk
//   inverse     const u32*     u32[N] internal index of a row, as used by lists and filters
//   scale, size, offset const float*  f32[N] by row number, as uploadDenseTerms of gpu/dense.go makes them
//   x           const float*   f32[m][ld], made by dense_load; ld is a multiple of 32, at least dim
//   ld          int
//   margin      const float*   f32[m], made by dense_load
//   queries     Query*         [m]
//   m           int
//   mask, value u32            only queries with (flags & mask) == value are processed
//   lists       Lists          bound and atom (internal index) are written, estimate is not
//   centre      const double*  f64[dim], float32 values, subtracted from rows; or null
//
// Of a Query, tau, exp, filter, excluded, from, k, ceiling, lead and give are read, and listed grows. A row for which there is
// no room sets kOverflow; listed then exceeds lists.cap, and the list has lists.cap entries.
//
// A query without a threshold lists at least the rows that can be among its k best of the block's rows, if it wants at most
// kRankedMost and has no ceiling, and all rows otherwise (docs/gpu.md, "The start").
#include "tile.cuh"

static const int kTile = 128;    // rows, and queries, of a block
static const int kSlice = 32;    // coordinates in a stage of shared memory
static const int kStages = 3;
static const int kStage = 2 * kTile * kSlice;  // floats: queries, then rows
static const int kPitch = kTile + 8;           // of products in shared memory; fragments are written without bank conflicts

extern "C" __global__ void __launch_bounds__(256)
dense_load(const double* scaled, int dim, const Query* queries, int m, float* x, int ld, float* margin,
           const double* centre) {
  if (blockIdx.x >= (u32)m) return;
  u32 j = blockIdx.x;
  for (int c = threadIdx.x; c < ld; c += blockDim.x) {
    double v = c < dim ? scaled[(size_t)j * dim + c] : 0;
    if (centre && c < dim) v -= centre[c];
    x[(size_t)blockIdx.x * ld + c] = __uint_as_float(to_tf32((float)(v * queries[j].unit)));
  }
  // Subtracting a centre rounds rows once more.
  if (threadIdx.x == 0) margin[blockIdx.x] = up32((0x1p-10 * (1 + 0x1p-9) + (2 * ld + (centre ? 18 : 16)) * 0x1p-23) * queries[j].norm * kUp);
}

// Dense holds parameters of dense_tf32.
struct Dense {
  const float* rows;
  int dim;
  u32 lo, hi;
  const float* x;
  int ld, m;
};

// fetch starts the copies of a slice of the tile's queries and rows. A row has 128 bytes; its 16-byte piece p is stored at
// p ^ i%8 for row i, so that the pieces p of eight rows are in different banks.
DEV void fetch(const Dense& a, float* stage, int query, u32 row, int slice) {
  int piece = threadIdx.x % 8, c = slice * kSlice + 4 * piece, n = max(0, min(16, 4 * (a.dim - c)));
#pragma unroll 4
  for (int i = threadIdx.x / 8; i < kTile; i += 32) {
    float* to = stage + i * kSlice + 4 * (piece ^ i % 8);
    int s = query + i;
    u32 r = row + i;
    cp_async16(to, a.x + (size_t)s * a.ld + c, s < a.m ? 16 : 0);
    const float* from = a.rows + (size_t)r * a.dim + c;
    if (a.dim % 4 == 0) cp_async16(to + kTile * kSlice, from, r < a.hi ? n : 0);
    else copy16(to + kTile * kSlice, from, r < a.hi ? n : 0);
  }
  cp_async_commit();
}

// kRankedMost is the greatest k for which the k best rows of a block are sought: one for each lane of a warp.
static const u32 kRankedMost = 32;

// ranks reports whether rows of a query without a threshold are compared with each other. Rows above a ceiling may not be
// returned, and so rule out no others.
DEV bool ranks(const Query* q, float least) {
  const float infinite = __int_as_float(0x7f800000);
  return least == -infinite && q->k - 1 < kRankedMost && (q->ceiling == infinite || MUTANT(12));
}

// lower_bound returns a lower bound of a row's score, or -inf if its upper bound `bound` says nothing, in the form of
// thresholds: LowerThreshold of looks.Conversion. width is the query's margin and size the row's. The margin holds in both
// directions, so the score is at least `bound` less twice all that was added; a sixteenth of a margin more covers the
// roundings here, and those of scores. An offset may be below the one that `bound` has, which is rounded upward, but not below
// -size^2/2; only queries with `give` have offsets.
DEV float lower_bound(const Query* q, float bound, float width, float size, float offset, float factor, float vanished) {
  float gap = fmaf((MUTANT(11) ? 0 : 2.0625f) * width, size, 4 * vanished);
  if (q->give > 0) gap = fmaf(fmaf(size * size, .5f * (1 + 0x1p-17f), offset), factor, gap);
  float low = __fsub_rd(bound, gap);
  low = __fsub_rd(low, up32(q->give * (2 * q->lead + fabs((double)low))));
  return low > -__int_as_float(0x7f800000) && bound < __int_as_float(0x7f800000) ? low : -__int_as_float(0x7f800000);  // NaN is not greater
}

// kth_of_lanes returns the k-th greatest of the values of a warp's lanes, none of which is NaN.
DEV float kth_of_lanes(float v, u32 k) {
  u32 before = 0;
#pragma unroll 8
  for (u32 l = 0; l < 32; l++) {
    float other = __shfl_sync(kAll, v, (int)l);
    before += other > v || (other == v && l < lane_id());
  }
  return __shfl_sync(kAll, v, __ffs((int)__ballot_sync(kAll, before == k - 1 - (MUTANT(10) && k > 1))) - 1);
}

extern "C" __global__ void __launch_bounds__(256, 2)
dense_tf32(const float* rows, int dim, u32 lo, u32 hi, const u32* inverse, const float* scale, const float* size, const float* offset,
           const float* x, int ld, const float* margin, Query* queries, int m, u32 mask, u32 value, const __grid_constant__ Lists lists,
           const double* centre) {
  SHARED_DYN(float, shared);
  __shared__ u32 number[kTile];  // of the tile's queries, ~0 for those not processed
  Dense a = {rows, dim, lo, hi, x, ld, m};
  // Blocks of the same rows run at about the same time, so that rows are read from memory once for all queries.
  u32 block = blockIdx.y * gridDim.x + blockIdx.x, firstRow = lo + block / gridDim.y * kTile;
  int firstQuery = (int)(block % gridDim.y) * kTile;
  u32 lane = lane_id(), warp = threadIdx.x / 32;
  bool live = false;
  if (threadIdx.x < kTile) {
    u32 at = firstQuery + threadIdx.x, j = at < (u32)m ? at : ~0u;
    live = j != ~0u && matches(queries + j, mask, value);
    number[threadIdx.x] = live ? j : ~0u;
  }
  if (firstRow >= hi || !__syncthreads_or(live)) return;
  int slices = (dim + kSlice - 1) / kSlice;
  fetch(a, shared, firstQuery, firstRow, 0);
  if (slices > 1) fetch(a, shared + kStage, firstQuery, firstRow, 1);
  else cp_async_commit();

  // Two warps have 64 queries each, with the same 32 rows; there are four such pairs.
  u32 wq = warp % 2 * 64, wr = warp / 2 * 32;
  u32 spot = (lane & 7) * 16;  // the swizzle of a piece's position, in bytes
  float c[4][4][4];
#pragma unroll
  for (int e = 0; e < 64; e++) c[e / 16][e / 4 % 4][e % 4] = 0;
  // sass dense_tf32 HMMA: 1024 products each
  for (int s = 0; s < slices; s++) {
    if (MUTANT(1)) cp_async_wait<2>();
    else cp_async_wait<1>();
    if (!MUTANT(2)) __syncthreads();
    if (s + 2 < slices) fetch(a, shared + (s + 2) % kStages * kStage, firstQuery, firstRow, s + 2);
    else cp_async_commit();
    const u8* stage = (const u8*)(shared + s % kStages * kStage);
    const u8* left = stage + (wq + (lane & 15)) * 128;
    const u8* right = stage + kTile * 128 + (wr + (lane & 7) + (lane & 16) / 2) * 128;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
      unsigned q[4][4], r[2][4];
      float middle[2] = {0, 0};  // centre of the two columns of a row that this lane holds: lane % 4 and lane % 4 + 4
      if (centre) {
        int column = s * kSlice + 8 * k + lane % 4;
        if (column < dim) middle[0] = (float)__ldg(centre + column);
        if (column + 4 < dim) middle[1] = (float)__ldg(centre + column + (MUTANT(9) ? 0 : 4));
      }
      u32 l = spot ^ (k * 32 + (lane & 16)), h = spot ^ (k * 32 + (lane & 8) * 2);
#pragma unroll
      for (int i = 0; i < 4; i++) ldmatrix_x4(q[i], left + i * 16 * 128 + l);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        ldmatrix_x4(r[i], right + i * 16 * 128 + h);
#pragma unroll
        for (int e = 0; e < 4; e++) {
          float v = __uint_as_float(r[i][e]);
          r[i][e] = to_tf32(centre ? v - middle[e % 2] : v);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int n = 0; n < 4; n++) mma_m16n8k8_tf32(c[i][n], q[i], r[n / 2] + (MUTANT(3) ? 1 - n % 2 : n % 2) * 2);
    }
  }
  if (!MUTANT(4)) __syncthreads();
  u32 g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int n = 0; n < 4; n++) {
      float* p = shared + (wq + i * 16 + g) * kPitch + wr + n * 8 + 2 * t;
      *(float2*)p = make_float2(c[i][n][0], c[i][n][1]);
      *(float2*)(p + 8 * kPitch) = make_float2(c[i][n][2], c[i][n][3]);
    }
  if (!MUTANT(5)) __syncthreads();

  // A warp tests sixteen queries, with four rows a lane.
  float rowScale[4], rowSize[4], rowOffset[4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    u32 row = firstRow + 32 * k + lane;
    bool in = row < hi;
    rowScale[k] = in ? scale[row] : 0, rowSize[k] = in ? size[row] : 0, rowOffset[k] = in ? offset[row] : 0;
  }
  for (int s = warp * 16; s < (int)warp * 16 + 16; s++) {
    u32 j = number[s];
    if (j == ~0u) continue;
    Query* query = queries + j;
    float width = margin[firstQuery + s], factor = ldexpf(1, min(-query->exp, 127));  // -exp exceeds 127 only where there are no offsets
    float least = __double2float_rd(query->tau), vanished = ld * 0x1p-124f;
    u32 passing[4], all = 0;
    float bound[4];
    bool pass[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      u32 row = firstRow + 32 * k + lane;
      float v = fmaf(shared[s * kPitch + 32 * k + lane], rowScale[k], fmaf(MUTANT(6) ? -width : width, rowSize[k], fmaf(rowOffset[k], factor, vanished)));
      pass[k] = row < hi - MUTANT(7) && !(v < least) && allows(query, inverse[row]);
      bound[k] = v == v ? v : __int_as_float(0x7f800000);
    }
    if (ranks(query, least)) {  // k of the rows, in different lanes, score at least `reached`: those below are not among the best
      float low = __int_as_float(0xff800000);
#pragma unroll
      for (int k = 0; k < 4; k++)
        if (pass[k] || MUTANT(13)) low = fmaxf(low, lower_bound(query, bound[k], width, rowSize[k], rowOffset[k], factor, vanished));
      float reached = kth_of_lanes(low, query->k);
#pragma unroll
      for (int k = 0; k < 4; k++) pass[k] = pass[k] && bound[k] >= reached;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      passing[k] = __ballot_sync(kAll, pass[k]);
      all += (u32)__popc(passing[k]);
    }
    if (all == 0) continue;
    u32 at = lane == 0 ? atomicAdd(&query->listed, all) : 0;
    if (!MUTANT(8)) at = __shfl_sync(kAll, at, 0);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (pass[k]) write_entry(queries, &lists, j, at + (u32)__popc(passing[k] & ((1u << lane) - 1)), inverse[firstRow + 32 * k + lane], bound[k]);
      at += (u32)__popc(passing[k]);
    }
  }
}
