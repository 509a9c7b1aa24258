// list.cuh: a block of kThreads threads selects and compacts the entries of one query's list.
#pragma once
#include "warp.cuh"

// A round of the search for the cut divides places into kBins intervals, by kBits bits.
static const int kBits = 10;
static const u32 kBins = 1 << kBits;

// Selection is the shared memory of a block that works on one list.
struct Selection {
  u32 bins[kBins];
  u32 totals[2][32];
  u32 count, low, high;  // number of eligible entries, their least and greatest key
  u32 bin, above;        // the interval that holds the cut, and how many eligible entries lie above it
  u32 top;               // greatest bound that stays in the list, as order32 maps it
};

// List is one query's list, and how its entries are selected. An entry is eligible if its bound reaches
// the threshold and, with byEstimate, its estimate does too.
struct List {
  u32* atom;
  float *bound, *estimate;
  u32 n;
  float least;      // the threshold
  bool byEstimate;  // entries are ranked by estimate, and estimates move with their entries; else ranked by bound
};

DEV List list_of(const Query* queries, u32 j, const Lists* lists, int by) {
  size_t first = (size_t)j * lists->cap;
  const Query* q = queries + j;
  return {lists->atom + first, lists->bound + first, lists->estimate + first, min(q->listed, lists->cap), (float)q->tau, by != 0};
}

// Entries are four consecutive entries of a list, from entry e on.
struct Entries {
  u32 e;
  u32 atom[4];
  float bound[4], estimate[4];
};

DEV void load_words(u32* v, const u32* from) {
  uint4 x = *reinterpret_cast<const uint4*>(from);
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}
DEV void load_words(float* v, const float* from) {
  float4 x = *reinterpret_cast<const float4*>(from);
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}

// key_of returns an entry's rank: at least 1 if it is eligible, otherwise 0.
DEV u32 key_of(const List& l, const Entries& f, int k) {
  float key = l.byEstimate ? f.estimate[k] : f.bound[k];
  return f.e + k < l.n + MUTANT(39) && f.bound[k] >= l.least && key >= l.least ? order32(key) : 0;
}

// place_of orders eligible entries: by key, then the lower atom first. A greater place is selected before a lesser.
DEV u64 place_of(u32 key, u32 atom) { return (u64)key << 32 | (MUTANT(32) ? atom : ~atom); }

// load_entries reads four entries; atoms and estimates only on request. Past the end of the list the content is undefined.
DEV void load_entries(const List& l, Entries* f, u32 e, bool atoms, bool estimates) {
  f->e = e;
  if (e >= l.n) return;
  load_words(f->bound, l.bound + e);
  if (atoms) load_words(f->atom, l.atom + e);
  if (estimates) load_words(f->estimate, l.estimate + e);
}

// count_eligible counts the eligible entries and finds their least and greatest key.
DEV void count_eligible(Selection* w, const List& l) {
  u32 count = 0, low = kAll, high = 0;
  for (u32 e = 4 * threadIdx.x; e < l.n; e += 4 * kThreads) {
    Entries f;
    load_entries(l, &f, e, false, l.byEstimate);
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

// find_cut returns the place that exactly `need` eligible entries reach, by radix selection; more than `need` must be
// eligible. If an atom is listed twice, more than `need` may reach the place. Each round counts the entries in each of
// 1024 intervals of the places in question and continues in the interval that holds the cut, until that interval's
// lower end separates exactly `need` entries.
DEV u64 find_cut(Selection* w, const List& l, u32 need) {
  u64 low = (u64)w->low << 32, high = (u64)w->high << 32 | 0xffffffffu;
  for (u32 round = 0;; round++) {
    int shift = max(0, 64 - __clzll((long long)(high - low)) - kBits);
    bool atoms = shift < 32;  // otherwise all atoms with the same key fall into the same interval
    for (u32 b = threadIdx.x; b < kBins; b += kThreads) w->bins[b] = 0;
    if (!MUTANT(31)) __syncthreads();
    for (u32 e = 4 * threadIdx.x; e < l.n; e += 4 * kThreads) {
      Entries f;
      load_entries(l, &f, e, atoms, l.byEstimate);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        u32 key = key_of(l, f, k);
        if (key == 0) continue;
        u64 place = place_of(key, atoms ? f.atom[k] : kAll);
        if (place >= low && place <= high) MUTANT(33) ? ++w->bins[(u32)((place - low) >> shift)] : atomicAdd(&w->bins[(u32)((place - low) >> shift)], 1u);
      }
    }
    __syncthreads();
    // Each thread sums four intervals, the highest first.
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

// compact removes the entries below the threshold and keeps the others in order. Up to `most` eligible entries whose
// place reaches `cut` are moved to `candidate` instead. *kept and *selected become the numbers of entries kept and
// moved, w->top the greatest bound kept.
DEV void compact(Selection* w, const List& l, u64 cut, u32 most, u32* candidate, u32* kept, u32* selected) {
  u32 keep = 0, moved = 0, top = kLowest;
  for (u32 from = 0, round = 0; from < l.n; from += 4 * kThreads, round++) {
    Entries f;
    load_entries(l, &f, from + 4 * threadIdx.x, true, l.byEstimate);
    u32 stays = 0, moves = 0, count = 0;  // a bit for each entry; count has the number kept in its lower half, moved in its upper
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (f.e + k >= l.n || !(f.bound[k] >= l.least)) continue;
      u32 key = most > 0 ? key_of(l, f, k) : 0;
      bool moving = key > 0 && place_of(key, f.atom[k]) >= cut;
      (moving ? moves : stays) |= 1u << k;
      count += moving ? 1u << 16 : 1u;
    }
    u32 all, before = scan_block(count, w->totals[MUTANT(35) ? 0 : round & 1], &all);
    // With an atom listed twice, more than `most` entries may reach the cut; the surplus stays in the list.
    u32 at = moved + (before >> 16), to = keep + (before & 0xffffu) + MUTANT(38) * (threadIdx.x & 1) + (at > most ? at - most : 0);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if ((moves >> k & 1) && at < most) {
        candidate[at++] = f.atom[k];
      } else if ((moves | stays) >> k & 1) {
        if (to != f.e + k) {
          l.atom[to] = f.atom[k];
          l.bound[to] = f.bound[k];
          if (l.byEstimate) l.estimate[to] = f.estimate[k];
        }
        to++;
        top = max(top, order32(f.bound[k]));
      }
    }
    keep += all & 0xffffu;
    moved += all >> 16;
    if (moved > most) {
      keep += moved - most;
      moved = most;
    }
  }
  top = __reduce_max_sync(kAll, top);
  if (lane_id() == 0) MUTANT(36) ? w->top = top : atomicMax(&w->top, top);
  *kept = keep;
  *selected = moved;
}

// select_entries removes the entries below the threshold and moves up to `want` eligible ones to `candidate`: those of
// greatest key, of equal keys the lower atoms. *kept and *selected become the numbers of entries kept and moved, w->top
// the greatest bound kept.
DEV void select_entries(Selection* w, const List& l, u32 want, u32* candidate, u32* kept, u32* selected) {
  if (threadIdx.x == 0) {
    w->top = kLowest;
    w->count = w->high = 0;
    w->low = kAll;
  }
  if (!MUTANT(37)) __syncthreads();
  if (want > 0) count_eligible(w, l);
  __syncthreads();
  u64 cut = w->count > want ? find_cut(w, l, want) : 0;
  compact(w, l, cut, want, candidate, kept, selected);
  __syncthreads();
}

// store_list writes the length and the greatest bound of a list to its query. Called by one thread.
DEV void store_list(Query* q, const Selection& w, u32 kept) {
  q->listed = kept;
  q->open = (double)unorder32(w.top);
}

// mark_if_finished sets kScanned or kDense of a query that needs no further chunk of a scan: kScanned if no atom that
// was not scanned reaches the threshold, given that their norms are at most `beyond` (negative: no such atoms);
// kDense if its list exceeds `share` of the atoms that it may return (share 0: no limit). The chunk of a waiting query has
// not ended.
DEV void mark_if_finished(Query* q, double share, float beyond) {
  if (q->flags & (kDone | kDense | kScanned | kWaiting)) return;
  if (beyond < 0 || q->norm * beyond * kUp < q->tau) {
    q->flags |= kScanned;
  } else if (share > 0 && q->seen >= max(1024u, 16 * q->k) && q->listed > share * q->allowed) {
    q->flags |= kDense;
  }
}

// takes_short reports whether a list is short and few atoms are wanted, without a ceiling: a warp tightens it, by tighten_short, in
// place of a block. A list that tighten_short has processed is no longer than before, so it stays one of these.
static const u32 kShortK = 32, kShortList = 512;
DEV bool takes_short(const Query* q, u32 cap) {
  return q->k - 1 < kShortK && min(q->listed, cap) <= kShortList && q->ceiling == __longlong_as_double(0x7ff0000000000000ll);
}
