// looks.cu: later looks at survivors, by the rows of their codes or signs. Every entry of a query's list
// gets the least of its bound and what the row says, and the estimate in the middle of that; none is
// dropped (prune does that). Queries that are kDone or kDense are left alone.
//
// look_rows, look_signs: blocks (m, pieces) of any number of warps; a list's entries are shared out over
// the pieces. Written: bound, estimate, and seen of the queries.
//   queries  Query*        [m]     read: flags, listed, steps and factors of this look, highSum (signs)
//   lists    const Lists*          of m queries
//   terms    const Terms*          of this look; side or arrays
//   codes    const u8*     [n][stride] biased codes, head first; or signs: head codes, then bits. May lie
//                                  in mapped host memory
//   stride   long long     bytes   rows that begin at multiples of 16 are read 16 bytes at a time
//   head     int           codes   R, a multiple of 16
//   width    int           coordinates   of the rest: D, or for rows a prefix whose end with the head is a
//                                  multiple of 16; head + width at most 2^20
//   hi, lo   const s8*     [m][pitch] halves of the queries' 16-bit codes, head first, zeros beyond
//   pitch    int           bytes   a multiple of 64, at least head + D
// sides: a thread an atom; makes the Side of atoms 0..n-1 from the arrays of terms.
//   terms    const Terms*
//   side     Side*         [n]
//   n        u32
#include "warp.cuh"


DEV Side side_of(const Terms* t, u32 i) {
  if (t->side) {
    const float4* p = reinterpret_cast<const float4*>(t->side + i);
    float4 a = __ldg(p), b = __ldg(p + 1);
    return {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  }
  Side s = {t->headScale[i], t->scale[i], t->radius[i], t->headErr[i], 0, 0, 0, 0};
  if (t->offset) s.offset = t->offset[i];
  if (t->wholeErr) s.wholeErr = t->wholeErr[i];
  s.size = fmaxf(fmaxf(t->headNorm[i], t->xnorm[i]), t->norm[i]);
  return s;
}

// upper_of bounds an atom from its integer products, as `beside` of the CPU backend does, operation by
// operation.
DEV double upper_of(const Query* q, const Side& s, double dh, double dr, double restStep, double* estimate) {
  double e = (double)s.headScale * q->headStep * dh + (double)s.scale * restStep * dr + (double)s.offset * q->offsetFactor;
  *estimate = e;
  return e + (double)s.radius * ((1 + kSlop) * q->radiusFactor) + (double)s.headErr * q->he +
         (double)s.size * (q->hn + q->xn + q->nn) + (double)s.wholeErr * q->we - kSlop * q->offsetFactor * (double)s.offset + kLeast;
}

extern "C" __global__ void __launch_bounds__(128) look_rows(Query* queries, const Lists* lists, const Terms* terms, const u8* codes,
                                                            long long stride, int head, int width, const s8* hi, const s8* lo, int pitch) {
  Query* q = queries + blockIdx.x;
  if (q->flags & (kDone | kDense)) return;
  u32 n = min(q->listed, lists->cap), lane = lane_id();
  size_t first = (size_t)blockIdx.x * lists->cap;
  hi += (size_t)blockIdx.x * pitch;
  lo += (size_t)blockIdx.x * pitch;
  if (blockIdx.y == 0 && threadIdx.x == 0) q->seen += n;
  for (u32 e = blockIdx.y * blockDim.x + threadIdx.x; e / 32 * 32 < n; e += gridDim.y * blockDim.x) {
    if (e >= n) break;
    u32 atom = lists->atom[first + e];
    const u8* row = codes + atom * stride;
    long long dh = 0, dr = 0;
    for (int c = 0; c < head; c++) dh += ((int)row[c] - 128) * (256 * hi[c] + lo[c]);
    for (int c = head; c < head + width; c++) dr += ((int)row[c] - 128) * (256 * hi[c] + lo[c]);
    double estimate, upper = upper_of(q, side_of(terms, atom), (double)dh, (double)dr, q->restStep, &estimate);
    lists->bound[first + e] = fminf(lists->bound[first + e], up32(upper));
    lists->estimate[first + e] = (float)estimate;
  }
  (void)lane;
}

extern "C" __global__ void __launch_bounds__(128) look_signs(Query* queries, const Lists* lists, const Terms* terms, const u8* signs,
                                                             long long stride, int head, int width, const s8* hi, const s8* lo, int pitch) {
  Query* q = queries + blockIdx.x;
  if (q->flags & (kDone | kDense)) return;
  u32 n = min(q->listed, lists->cap);
  size_t first = (size_t)blockIdx.x * lists->cap;
  hi += (size_t)blockIdx.x * pitch;
  lo += (size_t)blockIdx.x * pitch;
  if (blockIdx.y == 0 && threadIdx.x == 0) q->seen += n;
  for (u32 e = blockIdx.y * blockDim.x + threadIdx.x; e < n; e += gridDim.y * blockDim.x) {
    u32 atom = lists->atom[first + e];
    const u8* row = signs + atom * stride;
    long long dh = 0, set = 0;
    for (int c = 0; c < head; c++) dh += ((int)row[c] - 128) * (256 * hi[c] + lo[c]);
    for (int c = 0; c < width; c++)
      if (row[head + c / 8] >> (c % 8) & 1) set += hi[head + c];
    double estimate, upper = upper_of(q, side_of(terms, atom), (double)dh, 2 * (double)set - q->highSum, 256 * q->restStep, &estimate);
    lists->bound[first + e] = fminf(lists->bound[first + e], up32(upper));
    lists->estimate[first + e] = (float)estimate;
  }
}

// Atoms 0..n-1; a thread an atom.
extern "C" __global__ void __launch_bounds__(256) sides(const Terms* terms, Side* side, u32 n) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Terms t = *terms;
  t.side = 0;
  side[i] = side_of(&t, i);
}
