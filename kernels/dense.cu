// dense.cu: the dense path: products of rows as given with queries in tf32, and lists of what their error lets
// reach the threshold; the scores of those are for score.cu.
//
//   entry       grid                                threads  dynamic shared memory
//   dense_load  m                                   256      0
//   dense_tf32  ceil((hi-lo)/128), ceil(m/128)      256      98304 bytes
//
//   dense_load(const double* scaled, int dim, const Query* queries, const u32* which, int m, float* x, int ld,
//              float* margin)
//   parameter   type           of dense_tf32
//   rows        const float*   f32[N][dim] by row number; rows from hi on are not read
//   dim         int
//   lo, hi      u32            rows of this chunk
//   inverse     const u32*     u32[N] internal index of a row, which lists and filters go by
//   scale, size, offset const float*  f32[N] by row number, as cpu/dense.go denseTerms makes them
//   x           const float*   f32[m][ld], made by dense_load; ld is a multiple of 32, at least dim
//   ld          int
//   margin      const float*   f32[m], made by dense_load
//   queries     Query*         of all queries of the batch
//   which       const u32*     numbers of the m queries meant, or null: 0..m-1
//   m           int
//   mask, value u32            only queries with (flags & mask) == value are taken
//   lists       const Lists*   bound and atom (internal index) are written, estimate is not
//
// Of a Query tau, exp, filter and skip are read, and listed is added to. A row that finds no room raises
// kOverflow and listed exceeds lists->cap, which is then the number of entries.
#include "warp.cuh"

DEV float tf32(double v) { return __uint_as_float(to_tf32((float)v)); }

extern "C" __global__ void __launch_bounds__(256)
dense_load(const double* scaled, int dim, const Query* queries, const u32* which, int m, float* x, int ld, float* margin) {
  u32 j = which ? which[blockIdx.x] : blockIdx.x;
  for (int c = threadIdx.x; c < ld; c += blockDim.x) x[(size_t)blockIdx.x * ld + c] = c < dim ? tf32(scaled[(size_t)j * dim + c]) : 0.f;
  if (threadIdx.x == 0) margin[blockIdx.x] = __double2float_ru((0x1p-9 + 2 * dim * 0x1p-23) * queries[j].norm);
}

extern "C" __global__ void __launch_bounds__(256)
dense_tf32(const float* rows, int dim, u32 lo, u32 hi, const u32* inverse, const float* scale, const float* size, const float* offset,
           const float* x, int ld, const float* margin, Query* queries, const u32* which, int m, u32 mask, u32 value, const Lists* lists) {
  for (int s = blockIdx.y * 128; s < min(m, (int)(blockIdx.y + 1) * 128); s++) {
    u32 j = which ? which[s] : (u32)s;
    Query* q = queries + j;
    if ((q->flags & mask) != value) continue;
    u32 row = lo + blockIdx.x * 128 + threadIdx.x;
    if (threadIdx.x >= 128 || row >= hi) continue;
    float dot = 0;
    for (int c = 0; c < dim; c++) dot = fmaf(rows[(size_t)row * dim + c], x[(size_t)s * ld + c], dot);
    float v = dot * scale[row] + margin[s] * size[row] + offset[row] * ldexpf(1, -q->exp);
    if (v < (float)q->tau) continue;
    u32 i = inverse[row];
    if (i == q->skip || (q->filter && !(q->filter[i / 64] >> (i % 64) & 1))) continue;
    u32 at = atomicAdd(&q->listed, 1u);
    if (at < lists->cap) {
      lists->atom[(size_t)j * lists->cap + at] = i;
      lists->bound[(size_t)j * lists->cap + at] = v == v ? v : __int_as_float(0x7f800000);
    } else {
      atomicOr(&q->flags, (u32)kOverflow);
    }
  }
}
