// looks.cu: later looks at survivors, by rows of codes or signs. Every entry of a query's list gets the lesser of its
// bound and the row's, rounded upward, and the row's estimate; none is removed here (lists.cu does that).
//
//   entry       grid           threads                    parameters
//   look_rows   any            a multiple of 32, <= 128   below
//   look_signs  any            a multiple of 32, <= 128   below
//   sides       ceil(n/256)    256                        Terms of arrays, Side* [n] out, u32 n atoms
//
//   parameter   type           of look_rows and look_signs
//   queries     Query*         [m]. Read: listed, headStep, restStep, highSum (signs), factors of the look's bound; seen
//                              grows by the list's length
//   m           u32
//   begins      const u32*     [m+2] shares of the lists, by look_begin (lists.cu), which leaves out those of queries that are
//                              kDone or kDense; a warp for each of them (shares.cuh)
//   lists       Lists          of the m queries; bound and estimate are written
//   terms       Terms          of the look: side, or the arrays
//   codes       const u8*      [n][stride] biased codes, head first; or signs: head codes, then bits
//   stride      long long      bytes. Rows that begin at multiples of 16 are read 16 bytes at a time, others 4 (never
//                              signs). Rows may lie in mapped host memory
//   head        int            R, a multiple of 16
//   width       int            coordinates of the rest: D; or, for rows of codes, a prefix that ends, with the head, at a
//                              multiple of 16. head + width is at most 2^20
//   hi, lo      const s8*      [m][pitch] halves of the 16-bit codes of the queries, head first, zeros beyond
//   pitch       int            a multiple of 64, at least head + D
//
// Sums of products are exact integers, and bounds are float64 operations in the CPU backend's order (looks.Bound), so the
// lists are the same, bit for bit, however they are divided.
//
// Estimates, not measured on a GPU. A survivor costs stride bytes (whole rows), 32 of its Side and 20 of its list. At
// R = 32, D = 768 a row takes 852 bytes and 600 byte-wise multiplications or masks of 4, signs 180 and 420; so 5e9 rows or
// 24e9 signs a second at 4.3 TB/s, and the arithmetic of an H200 allows about 4 times and twice that. A warp has 2 KB of
// rows in flight, twice that where a row takes two iterations: 24 warps a multiprocessor (80 registers) or 16 (128) have
// 48 KB or 32. No shared memory.
#include "shares.cuh"

// kRows rows at a time are read by a group of lanes, each lane a piece of each row; of codes, by kRowLanes lanes.
static const int kRows = 4, kRowLanes = 8;

DEV Side side_of(const Terms* t, u32 i) {
  if (t->side) {
    const float4* p = reinterpret_cast<const float4*>(t->side + i);
    float4 a = __ldg(p), b = __ldg(p + 1);
    return {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  }
  Side s = {t->headScale[i], t->scale[i], t->radius[i], t->headErr[i], 0, 0, 0, 0};
  if (t->offset) s.offset = t->offset[i];
  if (t->wholeErr) s.wholeErr = t->wholeErr[i];
  s.size = fmaxf(fmaxf(t->headNorm[i], t->xnorm[i]), t->norm[i]);
  return s;
}

// upper_of bounds an atom from its integer products with the same operations as looks.Bound.OfSide, in the same order.
DEV double upper_of(const Query* q, const Side& s, double dh, double dr, double restStep, double* estimate) {
  double e = (double)s.headScale * q->headStep * dh + (double)s.scale * restStep * dr + (double)s.offset * q->offsetFactor;
  *estimate = e;
  return e + (double)s.radius * ((1 + kSlop) * q->radiusFactor) + (MUTANT(1) ? -(double)s.headErr : (double)s.headErr) * q->he +
         (double)s.size * (q->hn + q->xn + q->nn) + (double)s.wholeErr * q->we - kSlop * q->offsetFactor * (double)s.offset + kLeast;
}

// Section is a share of a query's list, which one warp processes.
struct Section {
  Query* q;
  const Lists* lists;
  size_t first;    // index of the list's first entry
  u32 n;           // entries of the list
  u32 begin, end;  // entries of the section; begin is below n
};

// section_of returns the section of a share. The first share of a list counts its entries as seen.
DEV Section section_of(Query* queries, const Lists* lists, const Share& share) {
  Query* q = queries + share.list;
  u32 n = min(q->listed, lists->cap);
  if (share.from == 0 && lane_id() == 0) q->seen += n;
  return {q, lists, (size_t)share.list * lists->cap, n, share.from, min(share.to, n)};
}

// Entry is what a lane holds of entry lane % kRows of the kRows that its group of lanes processes.
struct Entry {
  u32 at;       // index in the list
  u32 atom;     // past the list's end, the atom of its last entry
  bool mine;    // the entry exists, and this lane writes it
  float bound;  // the present bound, if mine
  Side side;
};

template <int G>
DEV Entry entry_of(const Section& section, const Terms* terms, u32 base) {
  Entry e;
  e.at = base + lane_id() / G * kRows + lane_id() % kRows;
  e.atom = section.lists->atom[section.first + min(e.at, section.n - 1)];
  e.mine = lane_id() % G < kRows && e.at < section.n + MUTANT(3);
  e.bound = e.mine ? section.lists->bound[section.first + e.at] : 0;
  e.side = side_of(terms, e.atom);
  return e;
}

// write_entries writes bound and estimate of the entries of a batch.
template <int G>
DEV void write_entries(const Section& section, const Entry& e, double dh, double dr, double restStep) {
  if (!e.mine) return;
  double estimate, upper = upper_of(section.q, e.side, dh, dr, restStep, &estimate);
  section.lists->bound[section.first + e.at] = MUTANT(2) ? up32(upper) : fminf(e.bound, up32(upper));
  section.lists->estimate[section.first + e.at] = (float)estimate;
}

// load_row reads 16 bytes of a row, bypassing the L1 since no byte is read twice, or 4.
DEV uint4 load_row(const uint4* p) { return __ldcg(p); }
DEV u32 load_row(const u32* p) { return __ldg(p); }

// add_products adds the products of a piece of biased codes with both halves of the query's codes.
DEV void add_products(u32 x, u32 h, u32 l, int& hi, int& lo) {
  hi = dp4a_s8((int)(x ^ 0x80808080u), (int)h, hi);
  lo = dp4a_s8((int)(x ^ 0x80808080u), (int)l, lo);
}
DEV void add_products(uint4 x, uint4 h, uint4 l, int& hi, int& lo) {
  add_products(x.x, h.x, l.x, hi, lo);
  add_products(x.y, h.y, l.y, hi, lo);
  add_products(x.z, h.z, l.z, hi, lo);
  add_products(x.w, h.w, l.w, hi, lo);
}

// look_pieces is look_rows for rows read in pieces of type Piece.
template <class Piece>
DEV void look_pieces(const Section& section, const Terms* terms, const u8* codes, long long stride, int head, int width, const s8* hi, const s8* lo) {
  const int G = kRowLanes;
  const Piece *his = reinterpret_cast<const Piece*>(hi), *los = reinterpret_cast<const Piece*>(lo);
  int sub = lane_id() % G, heads = head / (int)sizeof(Piece), pieces = (head + width + (int)sizeof(Piece) - 1) / (int)sizeof(Piece);
  for (u32 base = section.begin; base < section.end; base += 32 / G * kRows) {
    Entry entry = entry_of<G>(section, terms, base);
    const Piece* row[kRows];
    int h[kRows], l[kRows], dh[kRows];
#pragma unroll
    for (int r = 0; r < kRows; r++) {
      row[r] = reinterpret_cast<const Piece*>(codes + __shfl_sync(kAll, entry.atom, r, MUTANT(7) ? 32 : G) * stride);
      h[r] = l[r] = 0;
    }
    int p = sub;
    // sass look_rows IDP: 64 codes each
    for (; p < heads; p += G) {
      Piece qh = __ldg(his + p), ql = __ldg(los + p);
#pragma unroll
      for (int r = 0; r < kRows; r++) add_products(load_row(row[r] + p), qh, ql, h[r], l[r]);
    }
#pragma unroll
    for (int r = 0; r < kRows; r++) {
      dh[r] = 256 * h[r] + (MUTANT(5) ? 0 : l[r]);
      h[r] = l[r] = 0;
    }
#pragma unroll 2
    for (; p < pieces; p += G) {
      Piece qh = __ldg(his + p), ql = __ldg(los + p);
#pragma unroll
      for (int r = 0; r < kRows; r++) add_products(load_row(row[r] + p), qh, ql, h[r], l[r]);
    }
    long long dr[kRows];
#pragma unroll
    for (int r = 0; r < kRows; r++) dr[r] = 256 * (long long)h[r] + l[r];
    write_entries<G>(section, entry, fold4<G>(dh), (double)fold4<G>(dr), section.q->restStep);
  }
}

extern "C" __global__ void __launch_bounds__(128) look_rows(Query* queries, u32 m, const u32* begins, const __grid_constant__ Lists lists, const __grid_constant__ Terms terms,
                                                            const u8* codes, long long stride, int head, int width, const s8* hi, const s8* lo, int pitch) {
  Share share;
  if (!take_share(begins, m, &share)) return;
  Section section = section_of(queries, &lists, share);
  hi += (size_t)share.list * pitch;
  lo += (size_t)share.list * pitch;
  if (((size_t)codes | stride) % 16 == 0)
    look_pieces<uint4>(section, &terms, codes, stride, head, width, hi, lo);
  else
    look_pieces<u32>(section, &terms, codes, stride, head, width, hi, lo);
}

// spread_bytes permutes the 32 bytes c so that byte b of w[i] is byte 8b+i of c: the codes that bits i, 8+i, 16+i and 24+i
// of a word of signs select.
DEV void spread_bytes(const u32* c, u32* w) {
#pragma unroll
  for (int k = 0; k < 2; k++) {
    u32 a = __byte_perm(c[k], c[k + 2], 0x5140), b = __byte_perm(c[k + 4], c[k + 6], 0x5140);
    w[4 * k] = __byte_perm(a, b, 0x5410);
    w[4 * k + 1] = __byte_perm(a, b, MUTANT(6) ? 0x6732 : 0x7632);
    a = __byte_perm(c[k], c[k + 2], 0x7362), b = __byte_perm(c[k + 4], c[k + 6], 0x7362);
    w[4 * k + 2] = __byte_perm(a, b, 0x5410);
    w[4 * k + 3] = __byte_perm(a, b, 0x7632);
  }
}

// QueryWords holds what a 16-byte piece of a row of signs is multiplied by: four words of each half for codes of the head,
// or the high halves, permuted, for 128 signs.
struct QueryWords { u32 w[32]; };

DEV void load4(u32* w, const s8* p) {
  uint4 v = __ldg(reinterpret_cast<const uint4*>(p));
  w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
}

DEV void load_query_words(QueryWords* a, int piece, int head, int end, const s8* hi, const s8* lo) {
  if (16 * piece < head) {
    load4(a->w, hi + 16 * piece);
    load4(a->w + 4, lo + 16 * piece);
    return;
  }
  int from = head + 8 * (16 * piece - head);  // first code of the piece
#pragma unroll
  for (int k = 0; k < 4; k++) {
    u32 c[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    if (from + 32 * k < end) {
      load4(c, hi + from + 32 * k);
      load4(c + 4, hi + from + 32 * k + 16);
    }
    spread_bytes(c, a->w + 8 * k);
  }
}

// sum_set sums the bytes that the bits of a word of signs select. Bit i of a byte, used as a factor, weighs 2^i; four sums,
// one for each weight, keep them apart.
DEV void sum_set(u32 bits, const u32* w, int* sums) {
  u32 high = bits >> 4;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    sums[i] = dp4a_u8s8(bits & 0x01010101u << i, (int)w[i], sums[i]);
    sums[i] = dp4a_u8s8(high & 0x01010101u << i, (int)w[4 + i], sums[i]);
  }
}

// look_sign_rows is look_signs with G lanes a row.
template <int G>
DEV void look_sign_rows(const Section& section, const Terms* terms, const u8* signs, long long stride, int head, int width, const s8* hi, const s8* lo) {
  int sub = lane_id() % G, pieces = (head + width / 8 + 15) / 16, end = head + width;
  QueryWords words;
  load_query_words(&words, sub, head, end, hi, lo);
  for (u32 base = section.begin; base < section.end; base += 32 / G * kRows) {
    Entry entry = entry_of<G>(section, terms, base);
    const uint4* row[kRows];
    int dh[kRows], set[kRows];
#pragma unroll
    for (int r = 0; r < kRows; r++) {
      row[r] = reinterpret_cast<const uint4*>(signs + __shfl_sync(kAll, entry.atom, r, G) * stride);
      dh[r] = set[r] = 0;
    }
    // sass look_signs IDP: 128 signs each
    for (int p = sub; p < pieces; p += G) {
      if (pieces > G && (p >= G || base != section.begin)) load_query_words(&words, p, head, end, hi, lo);
      uint4 x[kRows];
#pragma unroll
      for (int r = 0; r < kRows; r++) x[r] = load_row(row[r] + p);
      const u32* w = words.w;
      if (16 * p < head) {
#pragma unroll
        for (int r = 0; r < kRows; r++) {
          int h = 0, l = 0;
          add_products(x[r], make_uint4(w[0], w[1], w[2], w[3]), make_uint4(w[4], w[5], w[6], w[7]), h, l);
          dh[r] += 256 * h + l;
        }
        continue;
      }
#pragma unroll
      for (int r = 0; r < kRows; r++) {
        int sums[4] = {0, 0, 0, 0};
        sum_set(x[r].x, w, sums);
        sum_set(x[r].y, w + 8, sums);
        sum_set(x[r].z, w + 16, sums);
        sum_set(x[r].w, w + 24, sums);
        set[r] += sums[0] + (sums[1] >> 1) + (sums[2] >> 2) + (sums[3] >> 3);
      }
    }
    double all = fold4<G>(set);
    write_entries<G>(section, entry, fold4<G>(dh), 2 * all - (MUTANT(4) ? 0 : section.q->highSum), 256 * section.q->restStep);
  }
}

extern "C" __global__ void __launch_bounds__(128) look_signs(Query* queries, u32 m, const u32* begins, const __grid_constant__ Lists lists, const __grid_constant__ Terms terms,
                                                             const u8* signs, long long stride, int head, int width, const s8* hi, const s8* lo, int pitch) {
  Share share;
  if (!take_share(begins, m, &share)) return;
  Section section = section_of(queries, &lists, share);
  hi += (size_t)share.list * pitch;
  lo += (size_t)share.list * pitch;
  int pieces = (head + width / 8 + 15) / 16;
  if (pieces <= 8)
    look_sign_rows<8>(section, &terms, signs, stride, head, width, hi, lo);
  else if (pieces <= 16)
    look_sign_rows<16>(section, &terms, signs, stride, head, width, hi, lo);
  else
    look_sign_rows<32>(section, &terms, signs, stride, head, width, hi, lo);
}

extern "C" __global__ void __launch_bounds__(256) sides(const __grid_constant__ Terms terms, Side* side, u32 n) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Terms t = terms;
  t.side = 0;
  side[i] = side_of(&t, i);
}
