// tile.cuh: what kernels share that multiply tiles of atoms by tiles of queries on tensor cores: loading fragments, and
// writing the pairs that pass to lists.
#pragma once
#include "allowed.cuh"
#include "warp.cuh"

// A sum of products of 8-bit codes that starts from kBias equals, reinterpreted as a float, kBiasFloat plus the sum, if
// its magnitude is below 2^22: floats of this size are one apart.
static const int kBias = 0x4b400000;
static const float kBiasFloat = 12582912.f;

// mma_s8_from computes d = c + a b, as mma_m16n8k32_s8 but with a separate c, which saves copies where many products
// start from the same c.
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

// The pitch of tiles in shared memory is an odd number of 16-byte pieces, so that the eight rows of an ldmatrix matrix
// are in different banks.

// left_rows returns this lane's address for an ldmatrix_x4 of an `a` of 16 rows, 32 bytes of each from `tile` on.
DEV const u8* left_rows(const u8* tile, int pitch) { return tile + (lane_id() & 15) * pitch + (lane_id() & 16); }

// right_rows returns this lane's address for an ldmatrix_x2 of a `b` of 8 rows, 32 bytes of each, or an ldmatrix_x4 of
// two, 64 bytes of each.
DEV const u8* right_rows(const u8* tile, int pitch) { return tile + (lane_id() & 7) * pitch + (lane_id() >> 3) * 16; }

// copy16 is a synchronous cp_async16 for addresses that are multiples of 4.
DEV void copy16(void* to, const void* from, int n) {
  const u32* p = (const u32*)from;
  *(uint4*)to = make_uint4(n > 0 ? p[0] : 0, n > 4 || MUTANT(67) ? p[1] : 0, n > 8 ? p[2] : 0, n > 12 ? p[3] : 0);
}

// PassBuffer collects the pairs of a warp that pass, so that 32 at a time are written to lists. A key is the pair's query
// slot in the tile times 256, plus its atom less the tile's first.
static const int kPassRoom = 160;  // up to 128 of one step and 31 left over from the step before
struct PassBuffer {
  float bound[kPassRoom];
  unsigned short key[kPassRoom];
};

// ListWriter is where buffered pairs are written.
struct ListWriter {
  Query* queries;
  const Lists* lists;
  const u32* number;  // numbers of the tile's queries, in shared memory
  u32 end;            // atoms from here on do not exist
};

// matches reports whether a query's flags equal `value` under `mask`. Other blocks may set kOverflow concurrently, so a
// block must call it once a tile; otherwise its threads may get different answers.
DEV bool matches(const Query* q, u32 mask, u32 value) { return (*(const volatile u32*)&q->flags & mask) == value; }

// write_entry writes entry `at` of query j's list, or sets kOverflow if there is no room.
DEV void write_entry(Query* queries, const Lists* lists, u32 j, u32 at, u32 atom, float bound) {
  u32 cap = lists->cap;
  if (at < cap + MUTANT(64)) {
    lists->atom[(size_t)j * cap + at] = atom;
    lists->bound[(size_t)j * cap + at] = bound;
  } else {
    atomicOr(&queries[j].flags, (u32)kOverflow);
  }
}

// list_pairs lists a pair of every lane whose j is a query, with one atomic addition a query. The whole warp must call it.
DEV void list_pairs(const ListWriter& s, u32 j, u32 atom, float bound) {
  u32 lane = lane_id(), same = __match_any_sync(kAll, j), leader = (u32)__ffs((int)same) - 1, at = 0;
  if (MUTANT(65)) at = s.queries[j == ~0u ? 0 : j].listed;
  if (MUTANT(65) && lane == leader && j != ~0u) s.queries[j].listed = at + (u32)__popc(same);
  if (!MUTANT(65) && lane == leader && j != ~0u) at = atomicAdd(&s.queries[j].listed, (u32)__popc(same));
  at = __shfl_sync(kAll, at, MUTANT(66) ? 0 : (int)leader) + (u32)__popc(same & ((1u << lane) - 1));
  if (j == ~0u) return;
  write_entry(s.queries, s.lists, j, at, atom, bound);
}

// flush_passing lists the last n <= 32 of count buffered pairs. A listed bound is the
// buffered one plus its query's slack, times its query's unit. The whole warp must call it; the buffer space is free when
// it returns.
DEV void flush_passing(const ListWriter& s, const PassBuffer* c, u32 count, u32 n, u32 first, const float* slack, const float* unit) {
  if (!MUTANT(61)) __syncwarp();
  u32 lane = lane_id(), j = ~0u, atom = 0;
  float bound = 0;
  if (lane < n) {
    u32 key = c->key[count - n + lane];
    bound = __fmul_ru(__fadd_ru(c->bound[count - n + lane], slack[key >> 8]), MUTANT(75) ? 1 : unit[key >> 8]);
    atom = first + (key & 255);
    if (atom < s.end) {
      j = s.number[key >> 8];
      if (!allows(s.queries + j, atom)) j = ~0u;
    }
  }
  if (!MUTANT(62)) __syncwarp();
  list_pairs(s, j, atom, bound);
}
