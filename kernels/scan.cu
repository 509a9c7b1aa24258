// scan.cu: the first look at everybody: 8-bit products of all queries with all atoms, the test of their
// bounds, and lists of what passes.
//
//   entry         grid               threads  dynamic shared memory
//   scan_s8       any, ceil(m/tile)  256      tile*(S + 80) + 256*S + 12288 bytes, S = 32 (ceil(R/32) + ceil(To/32)) + 16
//   scan_rows_s8  any, ceil(m/tile)  256      the same
//   scan_seen     ceil(m/8)          256      0
//
//   parameter  type                  of scan_s8 and, with other codes, scan_rows_s8
//   slab       const s8*             an atom's head codes and first rest codes, unbiased; row i at i*stride
//     codes    const u8*             scan_rows_s8: whole rows of codes, biased by 128; rows from hi on are not read
//   stride     long long             bytes; of the slab a multiple of 32, of codes of 4
//   R, To      int                   head codes, a multiple of 16 (at most 32; scan_rows_s8: 64); rest codes of the
//                                    look, a multiple of 4 (at most 192; scan_rows_s8: 65536)
//   lo, hi     u32                   atoms of this chunk; lo is a multiple of kStrip, hi one or the number of atoms
//   codes8     const s8*             the queries' codes, head and then rest, pitch bytes apart
//   pitch      int                   a multiple of 16
//   queries    Query*                of all queries of the batch
//   which      const u32*            numbers of the m queries meant, or null: 0..m-1
//   m, tile    int                   queries; how many a block takes, a multiple of 8 up to 256
//   mask, value u32                  only queries with (flags & mask) == value are scanned
//   terms      const Terms*          of the look
//   lists      const Lists*          bound and atom are written, estimate is not
//   scan_seen  (Query* queries, const u32* which, int m, u32 mask, u32 value, u32 lo, u32 hi)
//
// Of a Query scan_s8 reads tau, the 8-bit steps and the factors of the bound, and adds to listed. An arm that
// finds no room raises kOverflow and listed exceeds lists->cap, which is then the number of entries.
#include "warp.cuh"

// Simple bodies: every pair by itself, until the fast ones are in place.
DEV bool allowed(const Query* q, u32 i) { return i != q->skip && (!q->filter || (q->filter[i / 64] >> (i % 64) & 1)); }

DEV void append(Query* q, const Lists* l, u32 j, u32 atom, float bound) {
  u32 at = atomicAdd(&q->listed, 1u);
  if (at < l->cap) {
    l->atom[(size_t)j * l->cap + at] = atom;
    l->bound[(size_t)j * l->cap + at] = bound;
  } else {
    atomicOr(&q->flags, (u32)kOverflow);
  }
}

DEV void scan(const u8* codes, long long stride, int bias, int R, int To, u32 lo, u32 hi, const s8* codes8, int pitch, Query* queries,
              const u32* which, int m, int tile, u32 mask, u32 value, const Terms* terms, const Lists* lists) {
  for (int s = blockIdx.y * tile; s < min(m, (int)(blockIdx.y + 1) * tile); s++) {
    u32 j = which ? which[s] : (u32)s;
    Query* q = queries + j;
    if ((q->flags & mask) != value) continue;
    const s8* w = codes8 + (size_t)j * pitch;
    for (u32 i = lo + blockIdx.x * blockDim.x + threadIdx.x; i < hi; i += gridDim.x * blockDim.x) {
      int dh = 0, dr = 0;
      const u8* row = codes + (long long)i * stride;
      for (int c = 0; c < R; c++) dh += (int)(s8)(row[c] ^ bias) * w[c];
      for (int c = R; c < R + To; c++) dr += (int)(s8)(row[c] ^ bias) * w[c];
      const Strip& t = terms->strips[i / kStrip];
      double e = kLeast + q->hn * t.headNorm + q->he * t.headErr + q->xn * t.xnorm + q->nn * t.norm +
                 kSlop * (q->radiusFactor * t.radius + q->offsetFactor * t.offset) + q->we * t.wholeErr;
      double v = terms->headScale[i] * q->headStep8 * dh + terms->scale[i] * q->restStep8 * dr + terms->radius[i] * q->radiusFactor;
      if (terms->offset) v += terms->offset[i] * q->offsetFactor;
      if (v + e >= q->tau && allowed(q, i)) append(q, lists, j, i, __double2float_ru(v + e));
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
scan_s8(const s8* slab, long long stride, int R, int To, u32 lo, u32 hi, const s8* codes8, int pitch, Query* queries, const u32* which, int m,
        int tile, u32 mask, u32 value, const Terms* terms, const Lists* lists) {
  scan((const u8*)slab, stride, 0, R, To, lo, hi, codes8, pitch, queries, which, m, tile, mask, value, terms, lists);
}

extern "C" __global__ void __launch_bounds__(256)
scan_rows_s8(const u8* codes, long long stride, int R, int To, u32 lo, u32 hi, const s8* codes8, int pitch, Query* queries, const u32* which,
             int m, int tile, u32 mask, u32 value, const Terms* terms, const Lists* lists) {
  scan(codes, stride, 128, R, To, lo, hi, codes8, pitch, queries, which, m, tile, mask, value, terms, lists);
}

// Adds to each query's seen the atoms of lo..hi-1 that it may return. A warp a query; to be enqueued before the
// scan of the chunk, which may raise a flag.
extern "C" __global__ void __launch_bounds__(256)
scan_seen(Query* queries, const u32* which, int m, u32 mask, u32 value, u32 lo, u32 hi) {
  int s = blockIdx.x * 8 + threadIdx.x / 32;
  if (s >= m) return;
  Query* q = queries + (which ? which[s] : (u32)s);
  if ((q->flags & mask) != value) return;
  u32 n = 0;
  for (u32 w = lo / 64 + lane_id(); w < (hi + 63) / 64; w += 32) {
    u64 bits = q->filter ? q->filter[w] : ~0ull;
    if (w == lo / 64) bits &= ~0ull << (lo % 64);
    if (w == hi / 64) bits &= ~(~0ull << (hi % 64));
    if (q->skip / 64 == w) bits &= ~(1ull << (q->skip % 64));
    n += (u32)__popcll((long long)bits);
  }
  n = __reduce_add_sync(kAll, n);
  if (lane_id() == 0) q->seen += n;
}
