// scan.cuh: what the two kernels of the first look share: a tile's queries in shared memory, the cuts, and the
// test of a fragment of sums.
#pragma once
#include "tile.cuh"

static const int kWarps = 8;    // of a block
static const int kFactors = 8;  // of a query, for its cuts
static const int kSpan = 256;   // atoms whose terms are in shared memory

// Scan is the parameters of an entry.
struct Scan {
  const u8* codes;
  long long stride;
  int R, To;
  u32 lo, hi;
  const s8* codes8;
  int pitch;
  Query* queries;
  const u32* which;
  int m, tile;
  u32 mask, value;
  const Terms* terms;
  const Lists* lists;
};

// Room is what a block has in shared memory for a tile of queries. A block takes its atoms in steps; what is
// said to be of even and odd steps is there twice, [2][tile].
struct Room {
  int tile;
  float2* head;   // [tile] value of a step of a query's head, and -kBiasFloat times it
  float2* rest;   // [tile] the same of its rest
  float2* test;   // of even and odd steps: factor of radius, and minus the cut
  float* slack;   // of even and odd steps: what rounding may add to a bound
  float* offset;  // [tile] factor of offset
  float* factor;  // [kFactors][tile] of the cuts
  u32* number;    // [tile] of the query
  float* terms;   // 4 kSpan of atoms: headScale, scale, radius, offset
  Strip* strips;  // [2] of even and odd steps
  Catch* caught;  // [kWarps]
  u8* codes;      // from here on
};

// Room takes 80 bytes a query and 11840 besides.
DEV Room layout(unsigned char* p, int tile) {
  Room r = {tile};
  r.head = (float2*)p, p += tile * 8;
  r.rest = (float2*)p, p += tile * 8;
  r.test = (float2*)p, p += tile * 16;
  r.slack = (float*)p, p += tile * 8;
  r.offset = (float*)p, p += tile * 4;
  r.factor = (float*)p, p += tile * 4 * kFactors;
  r.number = (u32*)p, p += tile * 4;
  r.terms = (float*)p, p += kSpan * 16;
  r.strips = (Strip*)p, p += 2 * sizeof(Strip);
  r.caught = (Catch*)p, p += kWarps * sizeof(Catch);
  r.codes = p;
  return r;
}

// ready puts slot s of the tile into shared memory but for its codes; whether it is to be scanned.
DEV bool ready(const Scan& a, const Room& r, int s) {
  int at = (int)blockIdx.y * a.tile + s;
  bool live = s < a.tile && at < a.m;
  u32 j = live ? a.which ? a.which[at] : (u32)at : 0;
  const Query* q = a.queries + j;
  live = live && meant(q, a.mask, a.value);
  float h = live ? (float)q->headStep8 : 0, o = live ? (float)q->restStep8 : 0;
  r.head[s] = {h, __fmul_ru(-kBiasFloat, h)};
  r.rest[s] = {o, __fmul_ru(-kBiasFloat, o)};
  // a factor of no offset may be beyond float32
  double offset = live && a.terms->offset ? q->offsetFactor : 0;
  r.offset[s] = (float)offset;
  r.number[s] = j;
  double f[kFactors - 1] = {q->hn, q->he, q->xn, q->nn, q->radiusFactor, offset, q->we};
#pragma unroll
  for (int k = 0; k < kFactors - 1; k++) r.factor[k * r.tile + s] = live ? up32(f[k]) : 0;
  r.factor[(kFactors - 1) * r.tile + s] = live ? __double2float_rd(q->tau) : __int_as_float(0x7f800000);
  return live;
}

// cut makes the test of slot s for a strip.
DEV void cut(const Room& r, int s, const Strip& t, int odd) {
  const float slop = up32(kSlop);
  const float* f = r.factor + s;
  int n = r.tile;
  float e = __fmaf_ru(f[0], t.headNorm, (float)kLeast);
  e = __fmaf_ru(f[n], t.headErr, e);
  e = __fmaf_ru(f[2 * n], t.xnorm, e);
  e = __fmaf_ru(f[3 * n], t.norm, e);
  e = __fmaf_ru(slop, __fmaf_ru(f[4 * n], t.radius, __fmul_ru(f[5 * n], t.offset)), e);
  e = __fmaf_ru(f[6 * n], t.wholeErr, e);
  r.test[odd * n + s] = {f[4 * n], __fsub_ru(MUTANT(72) ? -e : e, f[7 * n])};
  r.slack[odd * n + s] = MUTANT(71) ? -e : e;
}

// Pair is the terms of two queries next to each other: of either, head and rest as in Room, and the test.
struct Pair {
  float4 head, rest, test;
  float2 offset;
};

// pair_of reads those of slots s and s + 1; s is even.
template <bool OFFSET>
DEV Pair pair_of(const Room& r, int s, int odd) {
  const float2* p = r.head + s;
  return {*(const float4*)p, *(const float4*)(p + r.tile), *(const float4*)(p + (2 + odd) * r.tile),
          OFFSET ? *(const float2*)(r.offset + s) : make_float2(0, 0)};
}

// worth is a sum of products in steps. A BIASED one began from kBias.
template <bool BIASED>
DEV float worth(int sum, float2 step) {
  return BIASED ? fmaf(__int_as_float(sum), step.x, step.y) : __int2float_rn(sum) * step.x;
}

// AtomTerms are those of two atoms, eight apart.
struct AtomTerms { float head[2], rest[2], radius[2], offset[2]; };

// offer tests the pairs of a fragment of sums: dh and dr, laid out as `c` of a product, of two atoms x with a
// pair of queries. Those that pass are caught; it returns how many are then. key is that of the first.
template <bool BIASED, bool OFFSET>
DEV u32 offer(const int* dh, const int* dr, const AtomTerms& x, const Pair& q, Catch* caught, u32 count, u32 key) {
  float v[4];
#pragma unroll
  for (int e = 0; e < 4; e++) {
    int i = e / 2;
    bool b = e % 2;
    v[e] = fmaf(x.radius[i], b ? q.test.z : q.test.x, b ? q.test.w : q.test.y);
    if (OFFSET) v[e] = fmaf(x.offset[i], b ? q.offset.y : q.offset.x, v[e]);
    v[e] = fmaf(x.head[i], worth<BIASED>(dh[e], b ? make_float2(q.head.z, q.head.w) : make_float2(q.head.x, q.head.y)), v[e]);
    v[e] = fmaf(x.rest[i], worth<BIASED>(dr[e], b ? make_float2(q.rest.z, q.rest.w) : make_float2(q.rest.x, q.rest.y)), v[e]);
  }
  int below = __float_as_int(v[0]) & __float_as_int(v[1]) & __float_as_int(v[2]) & __float_as_int(v[3]);
  if (!__any_sync(kAll, below >= 0)) return count;
#pragma unroll
  for (int e = 0; e < 4; e++) {
    int i = e / 2;
    bool b = e % 2, pass = __float_as_int(v[e]) >= 0;
    u32 passing = __ballot_sync(kAll, pass);
    if (pass) {
      // once more, for a threshold of -inf is a cut that leaves nothing of the sum
      float u = MUTANT(75) ? 0 : x.radius[i] * (b ? q.test.z : q.test.x);
      if (OFFSET) u = fmaf(x.offset[i], b ? q.offset.y : q.offset.x, u);
      u = fmaf(x.head[i], worth<BIASED>(dh[e], b ? make_float2(q.head.z, q.head.w) : make_float2(q.head.x, q.head.y)), u);
      u = fmaf(x.rest[i], worth<BIASED>(dr[e], b ? make_float2(q.rest.z, q.rest.w) : make_float2(q.rest.x, q.rest.y)), u);
      u32 at = count + (u32)__popc(passing & ((MUTANT(73) ? 2u : 1u) << lane_id()) - 1);
      caught->bound[at] = u;
      caught->key[at] = (unsigned short)(key + 8 * (MUTANT(74) ? 1 - i : i) + 256 * b);
    }
    count += (u32)__popc(passing);
  }
  return count;
}
