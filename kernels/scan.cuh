// scan.cuh: what the two kernels of the first look share: the queries of a tile in shared memory, the cuts, and the test
// of a fragment of sums.
#pragma once
#include "tile.cuh"

static const int kWarps = 8;    // warps of a block
static const int kFactors = 8;  // factors of a query's cut
static const int kSpan = 256;   // atoms whose terms are in shared memory

// Scan holds the parameters of an entry.
struct Scan {
  const u8* codes;
  long long stride;
  int R, To;
  u32 lo, hi;
  const s8* codes8;
  int pitch;
  Query* queries;
  int m, tile;
  u32 mask, value;
  const Terms* terms;
  const Lists* lists;
};

// Bounds are computed in units of their query: one step of its rest's codes. Sums of the rest then need no factor of the
// query.

// QueryPair holds what the bounds of two adjacent queries are computed from, those of a lane's two columns of a product.
// For each: the value of a step of its head, and -kBiasFloat times it; the factors of radius and offset; and its cut,
// for even and for odd steps. Four lanes read four pairs at once, 48 bytes apart and so from different banks.
struct alignas(16) QueryPair {
  float4 head;
  float2 radius, offset;
  float2 cut[2];
};

// TileMemory is a block's shared memory for a tile of queries. A block processes its atoms in steps; what differs between
// steps exists twice, for even and odd ones: [2][tile].
struct TileMemory {
  int tile;
  QueryPair* pairs;    // [tile/2]
  int4* bias;     // four times kBias
  float* unit;    // [tile] unit of each query
  float* slack;   // [2][tile] what rounding may add to a bound
  float* factor;  // [kFactors][tile] factors of the cuts
  u32* number;    // [tile] number of each query
  float* terms;   // 4 kSpan terms of atoms: headScale, scale, radius, offset
  Strip* strips;  // [2] strips of even and odd steps
  PassBuffer* buffered;  // [kWarps]
  u8* codes;      // all memory from here on
};

// lay_out divides shared memory. It takes 72 bytes a query and 11856 more; launches ask for 80 and 11840.
DEV TileMemory lay_out(unsigned char* p, int tile) {
  TileMemory r = {tile};
  r.pairs = (QueryPair*)p, p += tile * 24;
  r.bias = (int4*)p, p += sizeof(int4);
  r.unit = (float*)p, p += tile * 4;
  r.slack = (float*)p, p += tile * 8;
  r.factor = (float*)p, p += tile * 4 * kFactors;
  r.number = (u32*)p, p += tile * 4;
  r.terms = (float*)p, p += kSpan * 16;
  r.strips = (Strip*)p, p += 2 * sizeof(Strip);
  r.buffered = (PassBuffer*)p, p += kWarps * sizeof(PassBuffer);
  r.codes = p;
  return r;
}

DEV float& term(float2& of, int s) { return s % 2 ? of.y : of.x; }

// prepare_slot writes slot s of the tile to shared memory, all but its codes, and reports whether the query is to be
// scanned: not if the chunk ends before the query's first atom.
//
// Where the step of the rest is negligible compared with the head's step or the radius, the unit is 2^-40 of these
// instead, which keeps quotients finite. A sum of the rest, at most 127 sqrt(To) xnorm steps, is then overestimated; the
// cut allows for that.
DEV bool prepare_slot(const Scan& a, const TileMemory& r, int s) {
  int at = (int)blockIdx.y * a.tile + s;
  bool live = s < a.tile && at < a.m;
  u32 j = live ? (u32)at : 0;
  const Query* q = a.queries + j;
  live = live && matches(q, a.mask, a.value) && q->from < a.hi;
  double h = live ? q->headStep8 : 0, o = live ? q->restStep8 : 0, radius = live ? q->radiusFactor : 0;
  float unit = (float)fmax(o, 0x1p-40 * fmax(h, radius));  // steps are float32
  if (unit == 0) unit = 1;
  double scale = kUp / unit, most = 3.4e38;
  QueryPair& p = r.pairs[s / 2];
  float step = (float)(h / unit);
  ((float2*)&p.head)[s % 2] = {step, __fmul_ru(-kBiasFloat, step)};
  term(p.radius, s) = up32(radius * scale);
  // The factor of an offset may exceed float32; a smaller factor lowers bounds by less, so bounds stay valid.
  double offset = live && a.terms->offset ? q->offsetFactor / unit : 0;
  term(p.offset, s) = (float)fmin(offset, most);
  if (s == 0) *r.bias = make_int4(kBias, kBias, kBias, kBias);
  r.unit[s] = unit;
  r.number[s] = j;
  double xn = q->xn + (unit > o ? 127.0 * a.To * unit : 0);
  double f[kFactors - 1] = {q->hn, q->he, xn, q->nn, radius, offset * unit, q->we};
#pragma unroll
  for (int k = 0; k < kFactors - 1; k++) r.factor[k * r.tile + s] = live ? up32(fmin(f[k] * scale, most)) : 0;
  r.factor[(kFactors - 1) * r.tile + s] = live ? __double2float_rd(q->tau / unit) : __int_as_float(0x7f800000);
  return live;
}

// set_cut computes the cut of slot s for a strip: the least sum of a bound's terms other than slack that passes.
DEV void set_cut(const TileMemory& r, int s, const Strip& t, int odd) {
  const float slop = up32(kSlop);
  const float* f = r.factor + s;
  int n = r.tile;
  float e = __fmaf_ru(f[0], t.headNorm, (float)kLeast);
  e = __fmaf_ru(f[n], t.headErr, e);
  e = __fmaf_ru(f[2 * n], t.xnorm, e);
  e = __fmaf_ru(f[3 * n], t.norm, e);
  e = __fmaf_ru(slop, __fmaf_ru(f[4 * n], t.radius, __fmul_ru(f[5 * n], t.offset)), e);
  e = __fmaf_ru(f[6 * n], t.wholeErr, e);
  term(r.pairs[s / 2].cut[odd], s) = __fsub_rd(f[7 * n], MUTANT(72) ? -e : e);
  r.slack[odd * n + s] = MUTANT(71) ? -e : e;
}

// AtomTerms are the terms of two atoms, eight apart. start is -kBiasFloat times rest, rounded upward.
struct AtomTerms { float head[2], rest[2], start[2], radius[2], offset[2]; };

// bounds computes the bounds, without slack, of a fragment's four pairs: two atoms x with two queries. dh and dr are sums
// in the layout of a product's `c`; dh started from kBias, and dr too if BIASED. kSlop allows for twelve roundings; there
// are at most seven: of a head's step, of its product with the sum, of four sums, of the product with the unit.
template <bool BIASED, bool OFFSET>
DEV void bounds(float* v, const int* dh, const int* dr, const AtomTerms& x, const QueryPair& q) {
#pragma unroll
  for (int e = 0; e < 4; e++) {
    int i = e / 2;
    bool b = e % 2;
    v[e] = BIASED ? fmaf(x.rest[i], __int_as_float(dr[e]), x.start[i]) : __int2float_rn(dr[e]) * x.rest[i];
    v[e] = fmaf(x.radius[i], b ? q.radius.y : q.radius.x, v[e]);
    if (OFFSET) v[e] = fmaf(x.offset[i], b ? q.offset.y : q.offset.x, v[e]);
    v[e] = fmaf(x.head[i], fmaf(__int_as_float(dh[e]), b ? q.head.z : q.head.x, b ? q.head.w : q.head.y), v[e]);
  }
}

// any_passes reports whether any pair of two fragments of the same queries reaches its cut, for the whole warp. No v is
// NaN: all terms are finite except that of the offset, which may be -inf.
DEV bool any_passes(const float* v, const float* w, float2 cut) {
  float a = fmaxf(fmaxf(v[0], v[2]), fmaxf(w[0], MUTANT(76) ? w[0] : w[2])), b = fmaxf(fmaxf(v[1], v[3]), fmaxf(w[1], w[3]));
  return __any_sync(kAll, a >= cut.x || b >= cut.y);
}

// buffer_passing appends the pairs of a fragment that pass to the buffer, and returns the new number of buffered pairs.
// key is that of the fragment's first pair.
DEV u32 buffer_passing(const float* v, float2 cut, PassBuffer* buffered, u32 count, u32 key) {
  u32 bit = 1u << lane_id();
#pragma unroll
  for (int e = 0; e < 4; e++) {
    u32 passing = __ballot_sync(kAll, v[e] >= (e % 2 ? cut.y : cut.x));
    if (passing == 0) continue;
    if (passing & bit) {
      u32 at = count + (u32)__popc(passing & ((MUTANT(73) ? 2 * bit : bit) - 1));
      buffered->bound[at] = v[e];
      buffered->key[at] = (unsigned short)(key + 8 * (MUTANT(74) ? 1 - e / 2 : e / 2) + 256 * (e % 2));
    }
    count += (u32)__popc(passing);
  }
  return count;
}
