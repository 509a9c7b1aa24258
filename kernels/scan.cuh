// scan.cuh: what the two kernels of the first look share: a tile's queries in shared memory, the cuts, and the
// test of a fragment of sums.
#pragma once
#include "tile.cuh"

static const int kWarps = 8;    // of a block
static const int kFactors = 7;  // of a query, for its cuts
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

// Pair is what bounds of two queries next to each other are made of, those of a lane's two columns of a product.
// Of either: the value of a step of its head, and -kBiasFloat times it; the same of its rest; for even and odd
// steps the factor of radius and minus the cut; the factor of offset; and twice kBias. Four lanes read four pairs at
// once, 80 bytes apart: from different banks.
struct alignas(16) Pair {
  float4 head, rest, test[2];
  float2 offset;
  int2 bias;
};

// Room is what a block has in shared memory for a tile of queries. A block takes its atoms in steps; what is
// said to be of even and odd steps is there twice, [2][tile].
struct Room {
  int tile;
  Pair* pairs;    // [tile/2]
  float* slack;   // of even and odd steps: what rounding may add to a bound
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
  r.pairs = (Pair*)p, p += tile * 40;
  r.slack = (float*)p, p += tile * 8;
  r.factor = (float*)p, p += tile * 4 * kFactors;
  r.number = (u32*)p, p += tile * 4;
  r.terms = (float*)p, p += kSpan * 16;
  r.strips = (Strip*)p, p += 2 * sizeof(Strip);
  r.caught = (Catch*)p, p += kWarps * sizeof(Catch);
  r.codes = p;
  return r;
}

// term is that of slot s among its pair's.
DEV float2& term(float4& of, int s) { return ((float2*)&of)[s % 2]; }

// ready puts slot s of the tile into shared memory but for its codes; whether it is to be scanned.
DEV bool ready(const Scan& a, const Room& r, int s) {
  int at = (int)blockIdx.y * a.tile + s;
  bool live = s < a.tile && at < a.m;
  u32 j = live ? a.which ? a.which[at] : (u32)at : 0;
  const Query* q = a.queries + j;
  live = live && meant(q, a.mask, a.value);
  float h = live ? (float)q->headStep8 : 0, o = live ? (float)q->restStep8 : 0;
  Pair& p = r.pairs[s / 2];
  term(p.head, s) = {h, __fmul_ru(-kBiasFloat, h)};
  term(p.rest, s) = {o, __fmul_ru(-kBiasFloat, o)};
  term(p.test[0], s).x = term(p.test[1], s).x = live ? up32(q->radiusFactor) : 0;
  // a factor of no offset may be beyond float32
  double offset = live && a.terms->offset ? q->offsetFactor : 0;
  (s % 2 ? p.offset.y : p.offset.x) = (float)offset;
  if (s % 2 == 0) p.bias = {kBias, kBias};
  r.number[s] = j;
  double f[kFactors - 1] = {q->hn, q->he, q->xn, q->nn, offset, q->we};
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
  float2& test = term(r.pairs[s / 2].test[odd], s);
  e = __fmaf_ru(slop, __fmaf_ru(test.x, t.radius, __fmul_ru(f[4 * n], t.offset)), e);
  e = __fmaf_ru(f[5 * n], t.wholeErr, e);
  test.y = __fsub_ru(MUTANT(72) ? -e : e, f[6 * n]);
  r.slack[odd * n + s] = MUTANT(71) ? -e : e;
}

// worth is a sum of products in steps. A BIASED one began from kBias.
template <bool BIASED>
DEV float worth(int sum, float2 step) {
  return BIASED ? fmaf(__int_as_float(sum), step.x, step.y) : __int2float_rn(sum) * step.x;
}

// AtomTerms are those of two atoms, eight apart.
struct AtomTerms { float head[2], rest[2], radius[2], offset[2]; };

// bound is what a fragment of sums says of pair e: dh and dr, laid out as `c` of a product, of two atoms x with a
// pair of queries. base is what the sum begins with.
template <bool BIASED, bool OFFSET>
DEV float bound(const int* dh, const int* dr, const AtomTerms& x, const Pair& q, float base, int e) {
  int i = e / 2;
  bool b = e % 2;
  float v = base;
  if (OFFSET) v = fmaf(x.offset[i], b ? q.offset.y : q.offset.x, v);
  v = fmaf(x.head[i], worth<true>(dh[e], b ? make_float2(q.head.z, q.head.w) : make_float2(q.head.x, q.head.y)), v);
  return fmaf(x.rest[i], worth<BIASED>(dr[e], b ? make_float2(q.rest.z, q.rest.w) : make_float2(q.rest.x, q.rest.y)), v);
}

// tests are the bounds of a fragment's four pairs less their cuts: those that are not negative pass.
template <bool BIASED, bool OFFSET>
DEV void tests(float* v, const int* dh, const int* dr, const AtomTerms& x, const Pair& q, float4 test) {
#pragma unroll
  for (int e = 0; e < 4; e++) {
    float base = fmaf(x.radius[e / 2], e % 2 ? test.z : test.x, e % 2 ? test.w : test.y);
    v[e] = bound<BIASED, OFFSET>(dh, dr, x, q, base, e);
  }
}

// below is negative where no pair of four passes.
DEV int below(const float* v) { return __float_as_int(v[0]) & __float_as_int(v[1]) & __float_as_int(v[2]) & __float_as_int(v[3]); }

// catch_passing catches the pairs of a fragment that pass, and returns how many are caught then. key is that of the
// first.
template <bool BIASED, bool OFFSET>
DEV u32 catch_passing(const float* v, const int* dh, const int* dr, const AtomTerms& x, const Pair& q, float4 test, Catch* caught, u32 count, u32 key) {
  u32 bit = 1u << lane_id();
#pragma unroll
  for (int e = 0; e < 4; e++) {
    int i = e / 2;
    bool b = e % 2;
    u32 passing = __ballot_sync(kAll, __float_as_int(v[e]) >= 0);
    if (passing == 0) continue;
    if (passing & bit) {
      // once more, for a threshold of -inf is a cut that leaves nothing of the sum
      float u = bound<BIASED, OFFSET>(dh, dr, x, q, MUTANT(75) ? 0 : x.radius[i] * (b ? test.z : test.x), e);
      u32 at = count + (u32)__popc(passing & ((MUTANT(73) ? 2 * bit : bit) - 1));
      caught->bound[at] = u;
      caught->key[at] = (unsigned short)(key + 8 * (MUTANT(74) ? 1 - i : i) + 256 * b);
    }
    count += (u32)__popc(passing);
  }
  return count;
}
