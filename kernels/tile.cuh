// tile.cuh: what the kernels share that multiply tiles of atoms by tiles of queries on the tensor cores:
// loading fragments, and listing the pairs that pass.
#pragma once
#include "warp.cuh"

// A product of 8-bit codes that starts from kBias is, taken as a float, kBiasFloat plus the sum, as long
// as that is below 2^22: floats of this size are one apart.
static const int kBias = 0x4b400000;
static const float kBiasFloat = 12582912.f;

// d = c + a b, as mma_m16n8k32_s8 but with c apart, which needs no copies where c is the same for many.
DEV void mma_s8_from(int* d, const int* c, const unsigned* a, const unsigned* b) {
#if DEV_CUDA
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
#else
  for (int i = 0; i < 4; i++) d[i] = c[i];
  mma_m16n8k32_s8(d, a, b);
#endif
}

// Rows of tiles in shared memory are an odd number of 16-byte pieces apart, so that the eight rows of a
// matrix of ldmatrix lie in different banks.

// Address of this lane's row for ldmatrix_x4 of an `a` of 16 rows, 32 bytes of each from tile on.
DEV const u8* left_rows(const u8* tile, int pitch) { return tile + (lane_id() & 15) * pitch + (lane_id() & 16); }

// The same for a `b` of 8 rows by ldmatrix_x2, 32 bytes of each, or two of them by x4, 64 bytes.
DEV const u8* right_rows(const u8* tile, int pitch) { return tile + (lane_id() & 7) * pitch + (lane_id() >> 3) * 16; }

// Catch is where a warp keeps the pairs that pass until there are 32 of them to be listed at once. A key is
// the pair's query in the tile times 256, plus its atom less the tile's first.
static const int kCatch = 160;  // 128 of one step, and 31 left of the one before
struct Catch {
  float bound[kCatch];
  unsigned short key[kCatch];
};

// Sink is where caught pairs go.
struct Sink {
  Query* queries;
  const Lists* lists;
  const u32* number;   // of the tile's queries, shared
  const u32* inverse;  // internal index of a row, or null where atoms are such
  u32 end;             // atoms from here on are none
};

DEV bool allows(const Query* q, u32 atom) { return atom != q->skip && (!q->filter || (q->filter[atom / 64] >> (atom % 64) & 1)); }

// spill lists the last n <= 32 of count caught pairs, with one addition a query, their bounds greater by
// their query's slack. The warp calls it together, and may catch again in the places of these.
DEV void spill(const Sink& s, const Catch* c, u32 count, u32 n, u32 first, const float* slack) {
  __syncwarp();
  u32 lane = lane_id(), j = ~0u, atom = 0;
  float bound = 0;
  if (lane < n) {
    u32 key = c->key[count - n + lane];
    bound = __fadd_ru(c->bound[count - n + lane], slack[key >> 8]);
    atom = first + (key & 255);
    if (atom < s.end) {
      j = s.number[key >> 8];
      if (s.inverse) atom = s.inverse[atom];
      if (!allows(s.queries + j, atom)) j = ~0u;
    }
  }
  __syncwarp();
  u32 same = __match_any_sync(kAll, j), leader = (u32)__ffs((int)same) - 1, at = 0;
  if (lane == leader && j != ~0u) at = atomicAdd(&s.queries[j].listed, (u32)__popc(same));
  at = __shfl_sync(kAll, at, (int)leader) + (u32)__popc(same & ((1u << lane) - 1));
  if (j == ~0u) return;
  u32 cap = s.lists->cap;
  if (at < cap) {
    s.lists->atom[(size_t)j * cap + at] = atom;
    s.lists->bound[(size_t)j * cap + at] = bound;
  } else {
    atomicOr(&s.queries[j].flags, (u32)kOverflow);
  }
}
