// loop.cu: the loop of a first look by sign bits, to count its instructions. It is no kernel: it writes no lists, and
// nothing launches it. bench/README.md says how to count.
//
// A warp holds 64 atoms in registers: 32 PARTS codes each. An iteration multiplies them by eight queries, 512 pairs. A pair
// passes if its sum is not negative, and none of a lane's 16 does if the AND of the sums is negative. The sums start from minus the
// threshold of a tile, the 64 atoms, and query. kernels/scan_mixed.cu is the same by mixed codes, whose sums start from zero.
#include "tile.cuh"

static const int kTileAtoms = 64, kBlockAtoms = 8 * kTileAtoms, kBlockQueries = 256;

// collect appends the pairs of a warp that pass to a buffer and returns how many it holds. Bit e of a lane's mask is
// pair e of its 16.
DEV u32 collect(const int* sums, u32 key, unsigned short* passing, u32 count) {
  u32 mask = 0, below = (1u << lane_id()) - 1;
#pragma unroll
  for (int e = 15; e >= 0; e--) mask = mask << 1 | (u32)sums[e] >> 31;
  mask ^= 0xffffu;
#pragma unroll 1
  for (u32 any; (any = __ballot_sync(kAll, mask != 0)) != 0;) {
    if (mask) {
      passing[count + (u32)__popc(any & below)] = (unsigned short)(key + (((u32)__ffs((int)mask) - 1) << 11));
      mask &= mask - 1;
    }
    count += (u32)__popc(any);
  }
  return count;
}

// steps multiplies the block's tiles by its queries. negated holds, for each tile and pair of
// queries, {-T, -T', -T, -T'}: what the four sums of a lane start from.
template <int PARTS>
DEV void steps(const u8* slab, const u8* codes8, const int4* negated, int slots, u32* counts) {
  SHARED_DYN(unsigned char, shared);
  const int pitch = 32 * PARTS + 16, pieces = 2 * PARTS;
  u8 *atoms = shared, *codes = atoms + kBlockAtoms * pitch;
  int4* starts = (int4*)(codes + kBlockQueries * pitch);
  u32 warp = threadIdx.x / 32;
  unsigned short* passing = (unsigned short*)(starts + kBlockAtoms / kTileAtoms * kBlockQueries / 2) + warp * 1024;
  for (int i = threadIdx.x; i < kBlockAtoms * pieces; i += blockDim.x)
    cp_async16(atoms + i / pieces * pitch + i % pieces * 16, slab + ((size_t)blockIdx.x * kBlockAtoms + i / pieces) * 32 * PARTS + i % pieces * 16, 16);
  for (int i = threadIdx.x; i < kBlockQueries * pieces; i += blockDim.x)
    cp_async16(codes + i / pieces * pitch + i % pieces * 16, codes8 + (size_t)i / pieces * 32 * PARTS + i % pieces * 16, 16);
  for (int i = threadIdx.x; i < kBlockAtoms / kTileAtoms * kBlockQueries / 2; i += blockDim.x)
    starts[i] = negated[(size_t)blockIdx.x * (kBlockAtoms / kTileAtoms) * (kBlockQueries / 2) + i];
  cp_async_commit();
  cp_async_wait<0>();
  __syncthreads();

  unsigned x[4][PARTS][4];
#pragma unroll
  for (int h = 0; h < 4; h++)
#pragma unroll
    for (int k = 0; k < PARTS; k++) ldmatrix_x4(x[h][k], left_rows(atoms + (warp * kTileAtoms + h * 16) * pitch, pitch) + 32 * k);
  u32 count = 0, key = threadIdx.x;
  const u8* row = right_rows(codes, pitch);
  const int4* mine = starts + warp * (kBlockQueries / 2) + lane_id() % 4;
  // sass signbits3 IMMA: 512 pairs
  // sass signbits4 IMMA: 512 pairs
  // sass signbits5 IMMA: 512 pairs
#pragma unroll 1
  for (int n = slots; n > 0; n -= 8, row += 8 * pitch, key += 8, mine += 4) {
    int d[4][4];
    unsigned y[PARTS][2];
#pragma unroll
    for (int k = 0; k + 1 < PARTS; k += 2) ldmatrix_x4(y[k], row + 32 * k);
    if (PARTS % 2) ldmatrix_x2(y[PARTS - 1], row + 32 * (PARTS - 1));
    int4 c = *mine;
    int start[4] = {c.x, c.y, c.z, c.w};
#pragma unroll
    for (int k = 0; k < PARTS; k++)
#pragma unroll
      for (int h = 0; h < 4; h++) mma_s8_from(d[h], k ? d[h] : start, x[h][k], y[k]);
    int all = -1;
#pragma unroll
    for (int e = 0; e < 16; e++) all &= d[e / 4][e % 4];
    if (!__any_sync(kAll, all >= 0)) continue;
    count = collect(d[0], key, passing, count);
  }
  __syncwarp();
  if (lane_id() == 0) counts[blockIdx.x * 8 + warp] = count + passing[0];
}

extern "C" __global__ void __launch_bounds__(256, 2)
signbits3(const u8* slab, const u8* codes8, const int4* negated, int slots, u32* counts) { steps<3>(slab, codes8, negated, slots, counts); }
extern "C" __global__ void __launch_bounds__(256, 2)
signbits4(const u8* slab, const u8* codes8, const int4* negated, int slots, u32* counts) { steps<4>(slab, codes8, negated, slots, counts); }
extern "C" __global__ void __launch_bounds__(256, 2)
signbits5(const u8* slab, const u8* codes8, const int4* negated, int slots, u32* counts) { steps<5>(slab, codes8, negated, slots, counts); }
