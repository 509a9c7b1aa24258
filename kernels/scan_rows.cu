// scan_rows.cu: the first look at all atoms by whole rows of codes, for looks wider than the slab.
//
//   entry         grid               threads  dynamic shared memory
//   scan_rows_s8  any, ceil(m/tile)  256      320 Q + 42560 bytes, Q = 32 for tile <= 32, else 128
//
// The parameters are those of scan_s8 (scan.cu), except
//   codes      const u8*  whole rows of codes, biased by 128; those from hi on are not read
//   stride     long long  bytes, a multiple of 4; a multiple of 16 is faster
//   To         int        a multiple of 4 up to 65536
//   tile       int        a multiple of 8 up to 128
#include "scan.cuh"

static const int kAtoms = 128;        // atoms a block processes at once
static const int kSlice = 64;         // codes of a row in a stage of shared memory
static const int kPitch = kSlice + 16;
static const int kStages = 3;

// fetch starts the copies of one slice and, with the first slice of a step, those of the step's terms and of the next
// step's strip. The first slices - 1 are of the rest; the last one is the head.
DEV void fetch(const Scan& a, const TileMemory& r, u8* stage, int Q, u32 step, int slice, int slices, int odd) {
  bool head = slice == slices - 1;
  int byte = threadIdx.x % 4 * 16, from = (head ? 0 : a.R + kSlice * slice) + byte;
  int n = max(0, min(16, (head ? a.R : a.R + a.To - 4 * MUTANT(4)) - from));
  u32 first = a.lo + step * kAtoms;
#pragma unroll 1
  for (int row = threadIdx.x / 4; row < kAtoms + Q; row += 64) {
    u8* to = stage + row * kPitch + byte;
    u32 atom = first + row;
    int s = row - kAtoms;
    if (s >= 0) cp_async16(to, a.codes8 + (size_t)r.number[s] * a.pitch + from, n);
    else if (a.stride % 16 == 0) cp_async16(to, a.codes + (long long)atom * a.stride + from, atom < a.hi ? n : 0);
    else copy16(to, a.codes + (long long)atom * a.stride + from, atom < a.hi ? n : 0);
  }
  if (slice == 0) {
    const Terms& t = *a.terms;
    u32 k = threadIdx.x / 32, lane = lane_id();
    const float* terms = k == 0 ? t.headScale : k == 1 ? t.scale : k == 2 ? t.radius : t.offset;
    if (k < 4 && terms) cp_async16(r.terms + (odd * 4 + k) * kAtoms + lane * 4, terms + first + lane * 4, 16);
    u32 later = a.lo + (step + gridDim.x) * kAtoms;
    if (threadIdx.x < 2 && later < a.hi) cp_async16((float4*)(r.strips + (odd ^ 1)) + threadIdx.x, (const float4*)(t.strips + later / kStrip) + threadIdx.x, 16);
  }
}

// scan_tiles is scan_rows_s8 for tiles of 16 NT queries. Each of four warps has 32 atoms, with half of the queries; the
// other four have the same atoms with the other half.
template <int NT>
DEV void scan_tiles(const Scan& a, unsigned char* shared) {
  const int Q = 16 * NT;
  u32 steps = (a.hi - a.lo + kAtoms - 1) / kAtoms;
  if (blockIdx.x >= steps) return;
  u32 warp = threadIdx.x / 32, g = lane_id() / 4, w = lane_id() % 4, wa = warp % 4 * 32, wq = warp / 4 * 8 * NT;
  TileMemory r = lay_out(shared, Q);
  bool live = false;
  if (threadIdx.x < Q) {
    live = prepare_slot(a, r, threadIdx.x);
    set_cut(r, threadIdx.x, a.terms->strips[(a.lo + blockIdx.x * kAtoms) / kStrip], 0);
  }
  if (!__syncthreads_or(live)) return;
  // At least two, so a slice fetched two slices ahead belongs to this step or the next.
  int slices = (a.To + kSlice - 1) / kSlice + 1;
  u32 total = ((steps - 1 - blockIdx.x) / gridDim.x + 1) * slices;
  u32 fetched = blockIdx.x, step = blockIdx.x;  // steps of the next fetch and of the next products
  int ahead = 0, oddAhead = 0, slice = 0, odd = 0;
  auto advance = [&](u32 i) {
    if (i < total) {
      fetch(a, r, r.codes + i % kStages * (kAtoms + Q) * kPitch, Q, fetched, ahead, slices, oddAhead);
      if (++ahead == slices) ahead = 0, fetched += gridDim.x, oddAhead ^= 1;
    }
    cp_async_commit();
  };
  advance(0);
  advance(1);

  bool offset = a.terms->offset;
  ListWriter writer = {a.queries, a.lists, r.number, a.hi - MUTANT(6)};
  PassBuffer* buffered = r.buffered + warp;
  int dr[2][NT][4], bias[4] = {kBias, kBias, kBias, kBias};
  // sass scan_rows_s8 IMMA: 4096 products each
  // sass scan_rows_s8 VOTE: 256 pairs each
  for (u32 i = 0; i < total; i++) {
    if (!MUTANT(1)) cp_async_wait<1>();
    if (!MUTANT(2)) __syncthreads();
    advance(i + 2);
    const u8* stage = r.codes + i % kStages * (kAtoms + Q) * kPitch;
    const u8* queries = right_rows(stage + (kAtoms + wq) * kPitch, kPitch);
    unsigned x[2][2][4], y[4];
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int k = 0; k < 2; k++) {
        ldmatrix_x4(x[h][k], left_rows(stage + (wa + 16 * h) * kPitch, kPitch) + 32 * k);
#pragma unroll
        for (int e = 0; e < 4; e++) x[h][k][e] ^= MUTANT(3) && k ? 0 : 0x80808080u;
      }
    if (slice == 0) {
      if (threadIdx.x < Q && step + gridDim.x < steps) set_cut(r, threadIdx.x, r.strips[MUTANT(7) ? odd : odd ^ 1], odd ^ 1);
#pragma unroll
      for (int e = 0; e < 8 * NT; e++) dr[e / (4 * NT)][e / 4 % NT][e % 4] = 0;
    }
    if (++slice < slices) {
#pragma unroll
      for (int n = 0; n < NT; n++) {
        ldmatrix_x4(y, queries + n * 8 * kPitch);
#pragma unroll
        for (int h = 0; h < 2; h++) {
          mma_m16n8k32_s8(dr[h][n], x[h][0], y);
          mma_m16n8k32_s8(dr[h][n], x[h][MUTANT(5) ? 0 : 1], y + 2);
        }
      }
      continue;
    }
    u32 count = 0, first = a.lo + step * kAtoms;
    const float* terms = r.terms + odd * 4 * kAtoms + wa + g;
    AtomTerms t[2];
#pragma unroll
    for (int e = 0; e < 4; e++) {
      t[e / 2].head[e % 2] = a.R ? terms[8 * e] : 0;
      t[e / 2].rest[e % 2] = terms[8 * e + kAtoms];
      t[e / 2].radius[e % 2] = terms[8 * e + 2 * kAtoms];
    }
    const QueryPair* pair = r.pairs + wq / 2 + w;
#pragma unroll
    for (int n = 0; n < NT; n++) {
      ldmatrix_x2(y, queries + n * 8 * kPitch);
      const QueryPair& q = pair[4 * n];
      int dh[2][4];
      float v[2][4];
      float2 cut = q.cut[odd];
#pragma unroll
      for (int e = 0; e < 4; e++) t[e / 2].offset[e % 2] = offset ? terms[8 * e + 3 * kAtoms] : 0;  // here, which saves registers
#pragma unroll
      for (int h = 0; h < 2; h++) {
        mma_s8_from(dh[h], bias, x[h][0], y);
        bounds<false, true>(v[h], dh[h], dr[h][n], t[h], q);
      }
      if (!any_passes(v[0], v[1], cut)) continue;
#pragma unroll
      for (int h = 0; h < 2; h++) {
        count = buffer_passing(v[h], cut, buffered, count, (wq + n * 8 + 2 * w) << 8 | (wa + 16 * h + g));
#pragma unroll 1
        for (; count >= 32; count -= 32) flush_passing(writer, buffered, count, 32, first, r.slack + odd * Q, r.unit);
      }
    }
    if (count > 0) flush_passing(writer, buffered, count, count, first, r.slack + odd * Q, r.unit);
    slice = 0, step += gridDim.x, odd ^= 1;
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
scan_rows_s8(const u8* codes, long long stride, int R, int To, u32 lo, u32 hi, const s8* codes8, int pitch, Query* queries, int m,
             int tile, u32 mask, u32 value, const __grid_constant__ Terms terms, const __grid_constant__ Lists lists) {
  SHARED_DYN(unsigned char, shared);
  Scan a = {codes, stride, R, To, lo, hi, codes8, pitch, queries, m, tile, mask, value, &terms, &lists};
  if (tile <= 32) scan_tiles<2>(a, shared);
  else scan_tiles<8>(a, shared);
}
