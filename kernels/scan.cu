// scan.cu: the first look at all atoms: 8-bit products of all queries with all atoms, the test of their bounds, and lists
// of the pairs that pass. scan_rows.cu does the same for looks wider than the slab.
//
//   entry         grid               threads  dynamic shared memory
//   scan_s8       any, ceil(m/tile)  256      tile (S + 80) + 256 S + 12288 bytes, S = 32 (ceil(R/32) + ceil(To/32)) + 16
//   scan_seen     ceil(m/8)          256      0
//
//   parameter  type          of scan_s8
//   slab       const s8*     each atom's head codes and first rest codes, unbiased, up to a whole strip past the last
//                            atom: of each strip the first 32 codes of all atoms, then the next 32 of all, and so on
//   stride     long long     bytes of an atom, a multiple of 32
//   R, To      int           head codes, a multiple of 16 up to 32; rest codes of the look, up to 192
//   lo, hi     u32           atoms of this chunk; lo is a multiple of kStrip
//   codes8     const s8*     the queries' codes: head, rest, zeros; pitch bytes apart
//   pitch      int           a multiple of 16
//   queries    Query*        [m]
//   m, tile    int           queries; how many a block processes, a multiple of 8 up to 256
//   mask, value u32          only queries with (flags & mask) == value are scanned
//   terms      Terms         of the look
//   lists      Lists         bound and atom are written, estimate is not
//   scan_seen  (Query* queries, int m, u32 mask, u32 value, u32 lo, u32 hi, int more): how many bytes more than at panels are read
//              of an atom for a query that has mixed codes
//
// Of a Query, tau, filter, excluded, from, the 8-bit steps and the factors of the bound are read, and listed grows. An arm for
// which there is no room sets kOverflow; listed then exceeds lists.cap, and the list has lists.cap entries.
#include "scan.cuh"

static const int kStep = 32 * kWarps;  // atoms a block processes at once, 32 a warp

// load_queries copies the tile's codes to shared memory: parts of 32 codes of the head, then of the rest, then padding.
// If the rest has an odd number of parts, loading a pair of them reads 16 bytes of the next row.
DEV void load_queries(const Scan& a, const TileMemory& r, u8* codes, int pitch, int slots, int head) {
  int pieces = pitch / 16;
  for (int i = threadIdx.x; i <= slots * pieces; i += blockDim.x) {
    int s = i / pieces, p = i % pieces;
    int from = p < 2 * head ? 16 * p : a.R + 16 * (p - 2 * head), end = p < 2 * head ? a.R : a.pitch;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (s < slots && (int)blockIdx.y * a.tile + s < a.m && from < (MUTANT(9) ? end - 16 : end)) v = *(const uint4*)(a.codes8 + (size_t)r.number[s] * a.pitch + from);
    *(uint4*)(codes + s * pitch + 16 * p) = v;
  }
}

// fetch starts the copies of this warp's part of a step's atoms, and of the strip of the step after it. Parts of 32 codes that
// a look multiplies beyond its own are zeros. Eight lanes copy four atoms of equal parity: whole sectors of the slab, and
// 128 bytes of different banks, as pitch is an odd multiple of 16.
DEV void fetch(const Scan& a, const TileMemory& r, u8* atoms, int pitch, u32 parts, u32 step, int odd) {
  const Terms& t = *a.terms;
  u32 lane = lane_id(), warp = threadIdx.x / 32, first = a.lo + step * kStep + warp * 32;
  u32 own = (a.R + a.To + 31) / 32;
  const u8* from = a.codes + (long long)(first / kStrip) * kStrip * a.stride + first % kStrip * 32;
#pragma unroll 1
  for (u32 i = lane; i < 64 * parts; i += 32) {
    u32 part = i / 64, row = (i & 6) | (i >> 3 & 1) | (i >> 1 & 24), byte = (MUTANT(10) ? ~i & 1 : i & 1) * 16;
    bool there = first + row < a.hi && part < (MUTANT(11) ? own - 1 : own);
    cp_async16(atoms + row * pitch + 32 * part + (i & 1) * 16, from + part * (kStrip * 32) + row * 32 + byte, there ? 16 : 0);
  }
  const float* terms = lane < 8 ? t.headScale : lane < 16 ? t.scale : lane < 24 ? t.radius : t.offset;
  if (terms) cp_async16(r.terms + warp * 128 + lane * 4, terms + first + lane % 8 * 4, 16);
  u32 later = a.lo + (step + gridDim.x) * kStep;
  if (threadIdx.x < 2 && later < a.hi) cp_async16((float4*)(r.strips + odd) + threadIdx.x, (const float4*)(t.strips + later / kStrip) + threadIdx.x, 16);
  cp_async_commit();
}

// scan_steps is scan_s8 for looks at up to 32 PARTS rest codes.
template <int PARTS, bool OFFSET>
DEV void scan_steps(const Scan& a, unsigned char* shared) {
  u32 steps = (a.hi - a.lo + kStep - 1) / kStep;
  if (blockIdx.x >= steps) return;
  u32 warp = threadIdx.x / 32, g = lane_id() / 4, w = lane_id() % 4;
  int headParts = (a.R + 31) / 32, restParts = (a.To + 31) / 32, pitch = 32 * (headParts + restParts) + 16;
  TileMemory r = lay_out(shared, a.tile);
  u8 *atoms = r.codes + warp * 32 * pitch, *codes = r.codes + kStep * pitch;
  int slots = min(a.tile, (a.m - (int)blockIdx.y * a.tile + 7) & ~7);
  bool live = false;
  if ((int)threadIdx.x < slots) {
    live = prepare_slot(a, r, threadIdx.x);
    set_cut(r, threadIdx.x, a.terms->strips[(a.lo + blockIdx.x * kStep) / kStrip], 0);
  }
  if (!__syncthreads_or(live)) return;
  u32 parts = headParts + restParts;
  load_queries(a, r, codes, pitch, slots, headParts);
  fetch(a, r, atoms, pitch, parts, blockIdx.x, 1);

  ListWriter writer = {a.queries, a.lists, r.number, MUTANT(6) ? a.hi + 1 : a.hi};
  PassBuffer* buffered = r.buffered + warp;
  // Loaded from memory: constants would be moved to these registers again in every iteration.
  int4 biases = *r.bias;
  int bias[4] = {biases.x, biases.y, biases.z, biases.w};
  int odd = 0;
  for (u32 step = blockIdx.x; step < steps; step += gridDim.x, odd ^= 1) {
    if (!MUTANT(1)) cp_async_wait<0>();
    if (!MUTANT(2)) __syncthreads();
    u32 next = step + gridDim.x;
    if ((int)threadIdx.x < slots && next < steps) set_cut(r, threadIdx.x, r.strips[MUTANT(5) ? odd : odd ^ 1], odd ^ 1);
    // This warp's 32 atoms, twice 16 rows: the head's part and those of the rest, zeros for parts that the look lacks;
    // and their terms.
    unsigned x[2][1 + PARTS][4];
    AtomTerms t[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const u8* row = left_rows(atoms + (MUTANT(3) ? 1 - h : h) * 16 * pitch, pitch);
#pragma unroll
      for (int k = 0; k <= PARTS; k++) {
        bool there = k == 0 ? headParts > 0 : k <= restParts;
        if (there) ldmatrix_x4(x[h][k], k ? row + a.R + 32 * (k - 1) : row);
        else x[h][k][0] = x[h][k][1] = x[h][k][2] = x[h][k][3] = 0;
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const float* p = r.terms + warp * 128 + h * 16 + i * 8 + g;
        t[h].head[i] = headParts ? p[0] : 0;
        t[h].rest[i] = p[32];
        t[h].start[i] = __fmul_ru(-kBiasFloat, p[32]);
        t[h].radius[i] = p[64];
        t[h].offset[i] = OFFSET ? p[96] : 0;
      }
    }
    if (!MUTANT(4)) __syncwarp();
    if (next < steps) fetch(a, r, atoms, pitch, parts, next, odd);

    u32 count = 0, first = a.lo + step * kStep, key = (2 * w) << 8 | (warp * 32 + g);
    const u8* row = right_rows(codes, pitch);
    const QueryPair* pair = r.pairs + w;
    const float2* cuts = pair->cut + odd;
    // sass scan_s8 IMMA: 256 pairs
#pragma unroll 1
    for (int n = 0; n < (MUTANT(7) ? slots - 8 : slots); n += 8, row += 8 * pitch, pair += 4, cuts += 4 * sizeof(QueryPair) / sizeof(float2), key += 8 << 8) {
      int dh[2][4], dr[2][4];
      unsigned y[4];
      ldmatrix_x2(y, row);
      mma_s8_from(dh[0], bias, x[0][0], y);
      mma_s8_from(dh[1], bias, x[1][0], y);
#pragma unroll
      for (int k = 0; k < PARTS; k += 2) {
        ldmatrix_x4(y, row + 32 * (headParts + k));
        mma_s8_from(dr[0], k ? dr[0] : bias, x[0][1 + k], y);
        mma_s8_from(dr[1], k ? dr[1] : bias, x[1][1 + k], y);
        mma_m16n8k32_s8(dr[0], x[0][2 + k], y + 2);
        mma_m16n8k32_s8(dr[1], x[1][2 + k], y + 2);
      }
      float v[2][4];
      float2 cut = *cuts;
#pragma unroll
      for (int h = 0; h < 2; h++) bounds<true, OFFSET>(v[h], dh[h], dr[h], t[h], *pair);
      if (!any_passes(v[0], v[1], cut)) continue;
#pragma unroll
      for (int h = 0; h < 2; h++) {
        count = buffer_passing(v[h], cut, buffered, count, key + 16 * h);
#pragma unroll 1
        for (; count >= 32; count -= 32) flush_passing(writer, buffered, count, 32, first, r.slack + odd * a.tile, r.unit);
      }
    }
    if (count > 0) flush_passing(writer, buffered, count, count, first, r.slack + odd * a.tile, r.unit);
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
scan_s8(const s8* slab, long long stride, int R, int To, u32 lo, u32 hi, const s8* codes8, int pitch, Query* queries, int m,
        int tile, u32 mask, u32 value, const __grid_constant__ Terms terms, const __grid_constant__ Lists lists) {
  SHARED_DYN(unsigned char, shared);
  Scan a = {(const u8*)slab, stride, R, To, lo, hi, codes8, pitch, queries, m, tile, mask, value, &terms, &lists};
  bool offset = terms.offset;
  if (To <= 64) offset ? scan_steps<2, true>(a, shared) : scan_steps<2, false>(a, shared);
  else if (To <= 128) offset ? scan_steps<4, true>(a, shared) : scan_steps<4, false>(a, shared);
  else offset ? scan_steps<6, true>(a, shared) : scan_steps<6, false>(a, shared);
}

// scan_seen adds to each query's seen the number of atoms in lo..hi-1 that the look takes for it; one warp a query. It must run
// before the scan of the chunk, which may set flags.
extern "C" __global__ void __launch_bounds__(256)
scan_seen(Query* queries, int m, u32 mask, u32 value, u32 lo, u32 hi, int more) {
  int s = blockIdx.x * 8 + threadIdx.x / 32;
  if (s >= m) return;
  Query* q = queries + s;
  if (!matches(q, mask, value)) return;
  u32 n = __reduce_add_sync(kAll, count_allowed(q, lo, hi));
  if (lane_id() > 0) return;
  q->seen += n;
  if (matches(q, kMixed, kMixed)) q->bytes += (u64)n * (u64)(long long)more;
}
