// list.cuh: picking entries out of one query's list by a block of kThreads threads.
#pragma once
#include "warp.cuh"

// A round of the selection tells kBins intervals apart, kBits of a place.
static const int kBits = 10;
static const u32 kBins = 1 << kBits;

// Picking is the shared memory of a block that works on one list.
struct Picking {
  u32 bins[kBins];
  u32 totals[2][32];
  u32 count, low, high;  // of the candidates, and their least and greatest key
  u32 bin, above;        // where the selection goes on, and the candidates beyond
  u32 top;               // greatest bound kept, by order32
};

// List is one query's list and what of it is asked for.
struct List {
  u32* atom;
  float *bound, *estimate;
  u32 n;
  float least;      // the threshold
  bool byEstimate;  // candidates are ranked by it, and must reach the threshold with it
  bool carry;       // estimates move with their entries
};

DEV List list_of(const Query* queries, const Lists* lists, int by, int carry) {
  size_t first = (size_t)blockIdx.x * lists->cap;
  const Query* q = queries + blockIdx.x;
  return {lists->atom + first, lists->bound + first, lists->estimate + first, min(q->listed, lists->cap), (float)q->tau, by != 0, carry != 0};
}

// Four are four entries side by side from entry e on.
struct Four {
  u32 e;
  u32 atom[4];
  float bound[4], estimate[4];
};

DEV void load_four(u32* v, const u32* from) {
  uint4 x = *reinterpret_cast<const uint4*>(from);
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}
DEV void load_four(float* v, const float* from) {
  float4 x = *reinterpret_cast<const float4*>(from);
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}

// key_of ranks candidates: 0 for an entry that is none, at least 1 otherwise.
DEV u32 key_of(const List& l, const Four& f, int k) {
  float key = l.byEstimate ? f.estimate[k] : f.bound[k];
  return f.e + k < l.n + MUTANT(39) && f.bound[k] >= l.least && key >= l.least ? order32(key) : 0;
}

// A candidate's place among all: its key, then the lower atom first.
DEV u64 place_of(u32 key, u32 atom) { return (u64)key << 32 | (MUTANT(32) ? atom : ~atom); }

// load reads four entries, of which atoms and estimates only if they matter. Those past the end are what
// the memory holds.
DEV void load(const List& l, Four* f, u32 e, bool atoms, bool estimates) {
  f->e = e;
  if (e >= l.n) return;
  load_four(f->bound, l.bound + e);
  if (atoms) load_four(f->atom, l.atom + e);
  if (estimates) load_four(f->estimate, l.estimate + e);
}

// candidates counts the candidates and finds their least and greatest key.
DEV void candidates(Picking* w, const List& l) {
  u32 count = 0, low = kAll, high = 0;
  for (u32 e = 4 * threadIdx.x; e < l.n; e += 4 * kThreads) {
    Four f;
    load(l, &f, e, false, l.byEstimate);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      u32 key = key_of(l, f, k);
      if (key == 0) continue;
      count++;
      low = min(low, key);
      high = max(high, key);
    }
  }
  count = __reduce_add_sync(kAll, count);
  low = __reduce_min_sync(kAll, low);
  high = __reduce_max_sync(kAll, high);
  if (lane_id() == 0 && count > 0) {
    atomicAdd(&w->count, count);
    atomicMin(&w->low, low);
    atomicMax(&w->high, high);
  }
}

// choose returns the place that exactly `need` candidates reach; there are more. Where an atom is listed twice
// more than that may reach it. Each round counts what lies in each of 1024 intervals of the places still in
// question and goes on with the one the place is in, or ends where the bounds of an interval serve.
DEV u64 choose(Picking* w, const List& l, u32 need) {
  u64 low = (u64)w->low << 32, high = (u64)w->high << 32 | 0xffffffffu;
  for (u32 round = 0;; round++) {
    int shift = max(0, 64 - __clzll((long long)(high - low)) - kBits);
    bool atoms = shift < 32;  // else every atom of a key falls into the same interval
    for (u32 b = threadIdx.x; b < kBins; b += kThreads) w->bins[b] = 0;
    if (!MUTANT(31)) __syncthreads();
    for (u32 e = 4 * threadIdx.x; e < l.n; e += 4 * kThreads) {
      Four f;
      load(l, &f, e, atoms, l.byEstimate);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        u32 key = key_of(l, f, k);
        if (key == 0) continue;
        u64 place = place_of(key, atoms ? f.atom[k] : kAll);
        if (place >= low && place <= high) MUTANT(33) ? ++w->bins[(u32)((place - low) >> shift)] : atomicAdd(&w->bins[(u32)((place - low) >> shift)], 1u);
      }
    }
    __syncthreads();
    // the last interval first, four a thread
    u32 b = kBins - 1 - 4 * threadIdx.x, in[4], sum = 0, all;
#pragma unroll
    for (int k = 0; k < 4; k++) sum += in[k] = w->bins[b - k];
    u32 above = scan_block(sum, w->totals[round & 1], &all);
    if (above < need && need <= above + sum) {
#pragma unroll
      for (int k = 0; k < 4; k++) {
        if (above < need && need <= above + in[k]) {
          w->bin = b - k;
          w->above = above;
        }
        above += in[k];
      }
    }
    __syncthreads();
    low += (u64)w->bin << shift;
    need -= w->above;
    if (w->bins[w->bin] == need || shift == 0) return low;
    high = min(high, low + ((u64)1 << shift) - 1);
    __syncthreads();
  }
}

// sift keeps the entries that reach the threshold, in their order, but moves up to most candidates
// that reach `cut` to lead. *kept and *led become their numbers, w->top the greatest bound kept.
DEV void sift(Picking* w, const List& l, u64 cut, u32 most, u32* lead, u32* kept, u32* led) {
  u32 keep = 0, gone = 0, top = kLowest;
  for (u32 from = 0, round = 0; from < l.n; from += 4 * kThreads, round++) {
    Four f;
    load(l, &f, from + 4 * threadIdx.x, true, l.carry || l.byEstimate);
    u32 stays = 0, leads = 0, count = 0;  // a bit an entry, and both counts
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (f.e + k >= l.n || !(f.bound[k] >= l.least)) continue;
      u32 key = most > 0 ? key_of(l, f, k) : 0;
      bool leading = key > 0 && place_of(key, f.atom[k]) >= cut;
      (leading ? leads : stays) |= 1u << k;
      count += leading ? 1u << 16 : 1u;
    }
    u32 all, before = scan_block(count, w->totals[MUTANT(35) ? 0 : round & 1], &all);
    // an atom listed twice may be one too many for lead, and stays
    u32 at = gone + (before >> 16), to = keep + (before & 0xffffu) + MUTANT(38) * (threadIdx.x & 1) + (at > most ? at - most : 0);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if ((leads >> k & 1) && at < most) {
        lead[at++] = f.atom[k];
      } else if ((leads | stays) >> k & 1) {
        if (to != f.e + k) {
          l.atom[to] = f.atom[k];
          l.bound[to] = f.bound[k];
          if (l.carry) l.estimate[to] = f.estimate[k];
        }
        to++;
        top = max(top, order32(f.bound[k]));
      }
    }
    keep += all & 0xffffu;
    gone += all >> 16;
    if (gone > most) {
      keep += gone - most;
      gone = most;
    }
  }
  top = __reduce_max_sync(kAll, top);
  if (lane_id() == 0) MUTANT(36) ? w->top = top : atomicMax(&w->top, top);
  *kept = keep;
  *led = gone;
}

// pick drops what does not reach the threshold, and moves up to want candidates to lead: those of greatest
// key, of equal ones the lower atoms. *kept and *led become the numbers of entries left and moved, w->top
// the greatest bound left.
DEV void pick(Picking* w, const List& l, u32 want, u32* lead, u32* kept, u32* led) {
  if (threadIdx.x == 0) {
    w->top = kLowest;
    w->count = w->high = 0;
    w->low = kAll;
  }
  if (!MUTANT(37)) __syncthreads();
  if (want > 0) candidates(w, l);
  __syncthreads();
  u64 cut = w->count > want ? choose(w, l, want) : 0;
  sift(w, l, cut, want, lead, kept, led);
  __syncthreads();
}

// settle_list notes what became of the list. One thread does.
DEV void settle_list(Query* q, const Picking& w, u32 kept) {
  q->listed = kept;
  q->open = (double)unorder32(w.top);
}

// survey_query says, after a chunk of a scan, whether the query need not go on: because none of the atoms not
// scanned, of norm at most beyond, reaches the threshold (negative: there is none), or because it has kept
// more than `share` of those it may return (0: any).
DEV void survey_query(Query* q, double share, float beyond) {
  if (q->flags & (kDone | kDense | kListed)) return;
  if (beyond < 0 || q->norm * beyond * kUp < q->tau) {
    q->flags |= kListed;
  } else if (share > 0 && q->seen >= max(1024u, 16 * q->k) && q->listed > share * q->allowed) {
    q->flags |= kDense;
  }
}
