// scan_mixed.cu: the first look at mixed codes (looks.Mixed): a pair passes if the sum of the products of codes is not negative.
// scan.cu takes the look at panels.
//
//   entry             grid               threads  dynamic shared memory
//   scan_mixed        any, ceil(m/tile)  256      tile (W + 52) + 3136 bytes; W = 64, 96 or 128 codes of y
//   scan_mixed_wide   any, ceil(m/tile)  256      the same; W = 160
//
//   parameter    type          in the order of each entry's parameters; scan_mixed_wide has no W
//   slab         const uint4*  the atoms' mixed codes, W + 32 of each, up to kGroup atoms past the last whole strip, in the order in which
//                              the lanes of a warp multiply them: of 16 atoms, for each 32 codes, 32 pieces of 16 bytes, lane 4g + t having
//                              codes 4t..4t+3 of atoms g and g + 8, then 4t+16..4t+19 of both. Atoms that do not exist have zeros, and
//                              -kChargeUnit at the end
//   steps        const float*  an atom's step
//   W            int
//   lo, hi       u32           atoms of this chunk; lo is a multiple of kStrip
//   codes        const s8*     the queries' codes, W + 32 bytes apart
//   queries      Query*        [m]
//   m, tile      int           queries; how many a block processes, a multiple of 8 up to 256
//   mask, value  u32           only queries with (flags & mask) == value are scanned; these have mixed codes
//   lists        Lists         bound and atom are written, estimate is not
//
// Of a Query, tau, mixedStep, filter, excluded and from are read, and listed grows. An arm for which there is no room sets
// kOverflow; listed then exceeds lists.cap, and the list has lists.cap entries.
//
// A warp holds 64 atoms in registers (48 of 160 codes), 16 at a time as the left factor of a product, and multiplies them by the tile's
// queries, eight at a time: 512 pairs, 16 a lane, none of which passes if the AND of the lane's sums is negative. Warps share nothing but
// the queries, so none waits for another.
#include "tile.cuh"

static const int kWarps = 8;     // warps of a block
static const int kGroup = 64;    // most atoms of a warp

// MixedBuffer is a warp's shared memory: what it scans, and pairs that pass. A key is the pair's query slot times kGroup, plus its atom
// less the first. What is used only between iterations, or if a pair passes, is here because the products take nearly all registers.
struct MixedBuffer {
  u32 first;  // of the atoms
  u32 count;  // of the pairs
  int sum[64];  // up to 32 caught at a time, and 31 left over
  unsigned short key[64];
};

// MixedScan holds the parameters of the entry.
struct MixedScan {
  const uint4* slab;
  const float* steps;
  u32 lo, hi;
  const s8* codes;
  Query* queries;
  int m, tile;
  u32 mask, value;
  const Lists* lists;
};

// list_sums lists the last n <= 32 of the buffered pairs. An atom's bound is the threshold for which the query was coded plus the sum in
// the units of both steps. The whole warp must call it; the buffer space is free when it returns.
DEV void list_sums(const ListWriter& s, MixedBuffer* buffered, const float* steps, u32 n) {
  if (!MUTANT(61)) __syncwarp();
  u32 lane = lane_id(), j = ~0u, atom = 0, left = buffered->count - n;
  float bound = 0;
  if (lane < n) {
    u32 key = buffered->key[left + lane];
    int sum = buffered->sum[left + lane];
    atom = buffered->first + key % kGroup;
    u32 query = s.number[key / kGroup];
    if (atom < s.end && query != ~0u && allows(s.queries + query, atom)) {
      j = query;
      const Query* q = s.queries + j;
      bound = up32(q->tau + steps[atom] * q->mixedStep * (MUTANT(2) ? 0 : sum));
    }
  }
  if (!MUTANT(62)) __syncwarp();
  if (lane == 0) buffered->count = left;
  list_pairs(s, j, atom, bound);
}

// element returns d[e] of N, 12 or 16, which are in registers.
template <int N>
DEV int element(const int* d, u32 e) {
  int v[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; i++) v[i] = e & 1 ? d[2 * i + 1] : d[2 * i];
#pragma unroll
  for (int i = 0; i < N / 4; i++) v[i] = e & 2 ? v[2 * i + 1] : v[2 * i];
  int low = e & 4 ? v[1] : v[0];
  return e & 8 ? (N == 16 && e & 4 ? v[N / 4 - 1] : v[2]) : low;
}

// catch_passing buffers the pairs of a warp's products that pass, and lists them 32 at a time. Bit e of a lane's mask is its pair e: atom
// lane/4 + 8 (e/2 % 2) + 16 (e/4) of the warp's and query 2 (lane % 4) + e % 2 of the eight from slot on.
template <int TILES>
DEV void catch_passing(const ListWriter& writer, MixedBuffer* buffered, const float* steps, const int* d, u32 slot) {
  u32 mask = 0, lane = lane_id();
#pragma unroll
  for (int e = 4 * TILES - 1; e >= 0; e--) mask = mask << 1 | (u32)d[e] >> 31;
  mask ^= (1u << 4 * TILES) - 1;
#pragma unroll 1
  for (u32 any; (any = __ballot_sync(kAll, mask != 0)) != 0;) {
    u32 count = buffered->count;
    __syncwarp();
    if (mask) {
      u32 e = (u32)__ffs((int)mask) - 1;
      u32 at = count + (u32)__popc(any & ((MUTANT(8) ? 2u << lane : 1u << lane) - 1));
      u32 atom = lane / 4 + e / 4 * 16 + (MUTANT(9) ? 1 - e / 2 % 2 : e / 2 % 2) * 8, query = slot + lane % 4 * 2 + e % 2;
      buffered->sum[at] = element<4 * TILES>(d, e);
      buffered->key[at] = (unsigned short)(query * kGroup + atom);
      mask &= mask - 1;
    }
    count += (u32)__popc(any);
    if (lane == 0) buffered->count = count;
    if (count >= 32) list_sums(writer, buffered, steps, 32);
    __syncwarp();
  }
}

// load_queries copies the tile's codes to shared memory, and the numbers of its queries, ~0 for slots that are not scanned: their
// codes make every sum with an atom negative. It reports whether any slot of the block is scanned.
DEV bool load_queries(const MixedScan& a, u8* codes, u32* number, int pitch, int slots) {
  int at = (int)blockIdx.y * a.tile + (int)threadIdx.x;
  bool live = false;
  if ((int)threadIdx.x < slots) {
    live = at < a.m && matches(a.queries + at, a.mask, a.value) && a.queries[at].from < a.hi;
    number[threadIdx.x] = live ? (u32)at : ~0u;
  }
  if (!__syncthreads_or(live)) return false;
  int pieces = pitch / 16 - 1;
  for (int i = threadIdx.x; i < slots * pieces; i += blockDim.x) {
    int s = i / pieces, p = i % pieces;
    uint4 v = make_uint4(0, 0, 0, p == pieces - 1 ? 0xff000000u : 0);
    if (number[s] != ~0u) v = *(const uint4*)(a.codes + (size_t)number[s] * (pitch - 16) + 16 * p);
    *(uint4*)(codes + s * pitch + 16 * p) = v;
  }
  __syncthreads();
  return true;
}

// scan_groups is scan_mixed for 32 PARTS codes, those of terms included, with 16 TILES atoms a warp.
template <int PARTS, int TILES>
DEV void scan_groups(const MixedScan& a, unsigned char* shared) {
  const int pitch = 32 * PARTS + 16;
  u8* codes = shared;
  u32* number = (u32*)(codes + a.tile * pitch);
  u32 warp = threadIdx.x / 32, lane = lane_id(), groups = (a.hi - a.lo + 16 * TILES - 1) / (16 * TILES);
  MixedBuffer* buffered = (MixedBuffer*)(number + a.tile) + warp;
  int slots = min(a.tile, (a.m - (int)blockIdx.y * a.tile + 7) & ~7);
  if (!load_queries(a, codes, number, pitch, slots)) return;
  ListWriter writer = {a.queries, a.lists, number, MUTANT(4) ? a.hi + 1 : a.hi};
  if (lane == 0) buffered->count = 0;
#pragma unroll 1
  for (u32 group = blockIdx.x * kWarps + warp; group < groups; group += gridDim.x * kWarps) {
    u32 first = a.lo + group * 16 * TILES;
    if (lane == 0) buffered->first = first;
    const uint4* from = a.slab + (size_t)(first / 16) * PARTS * 32 + lane;
    unsigned x[TILES][PARTS][4];
#pragma unroll
    for (int h = 0; h < TILES; h++)
#pragma unroll
      for (int k = 0; k < PARTS; k++) {
        uint4 v = __ldcg(from + ((MUTANT(5) ? h ^ 1 : h) * PARTS + k) * 32);
        x[h][k][0] = v.x, x[h][k][1] = v.y, x[h][k][2] = v.z, x[h][k][3] = v.w;
      }
    __syncwarp();
    int slot = slots - (MUTANT(6) ? 16 : 8);
    const u8* row = right_rows(codes, pitch) + slot * pitch;
#pragma unroll 1
    for (; slot >= 0; slot -= 8, row -= 8 * pitch) {
      int d[4 * TILES];
      unsigned y[PARTS][2];
#pragma unroll
      for (int k = 0; k + 1 < PARTS; k += 2) ldmatrix_x4(y[k], row + 32 * k);
      if (PARTS % 2) ldmatrix_x2(y[PARTS - 1], row + 32 * (PARTS - 1));
      int zeros[4] = {0, 0, 0, 0};
#pragma unroll
      for (int k = 0; k < PARTS; k++)
#pragma unroll
        for (int h = 0; h < TILES; h++) mma_s8_from(d + 4 * h, k ? d + 4 * h : zeros, x[h][k], y[k]);
      int all = -1;
#pragma unroll
      for (int e = 0; e < 4 * TILES; e++) all &= d[e];
      if (__any_sync(kAll, all >= (MUTANT(7) ? 1 : 0))) catch_passing<TILES>(writer, buffered, a.steps, d, (u32)slot);
    }
    if (u32 n = buffered->count) list_sums(writer, buffered, a.steps, n);
    __syncwarp();
  }
}

// sass scan_mixed IMMA: 512 pairs
extern "C" __global__ void __launch_bounds__(256, 2)
scan_mixed(const uint4* slab, const float* steps, int W, u32 lo, u32 hi, const s8* codes, Query* queries, int m, int tile, u32 mask, u32 value,
           const __grid_constant__ Lists lists) {
  SHARED_DYN(unsigned char, shared);
  MixedScan a = {slab, steps, lo, hi, codes, queries, m, tile, mask, value, &lists};
  if (W == 64) scan_groups<3, 4>(a, shared);
  else if (W == 96) scan_groups<4, 4>(a, shared);
  else scan_groups<5, 4>(a, shared);
}

// sass scan_mixed_wide IMMA: 384 pairs
extern "C" __global__ void __launch_bounds__(256, 2)
scan_mixed_wide(const uint4* slab, const float* steps, u32 lo, u32 hi, const s8* codes, Query* queries, int m, int tile, u32 mask, u32 value,
                const __grid_constant__ Lists lists) {
  SHARED_DYN(unsigned char, shared);
  MixedScan a = {slab, steps, lo, hi, codes, queries, m, tile, mask, value, &lists};
  scan_groups<6, 3>(a, shared);
}
