// lists.cu: what is done to the survivors of a query between looks.
//
// prune: a block of 256 threads a query. Drops the entries whose bound is below (float)tau; the others
// keep their order. Written: the list, listed, open.
// leaders: the same, and up to `most` entries leave the list for lead: those of greatest bound, or of
// greatest estimate among those whose estimate reaches the threshold; of equal ones the lower atoms. Which
// they are does not depend on the order of the list, but their order does. kept grows by their number.
//   queries  Query*        [m]     only those with (flags & mask) == value
//   lists    const Lists*
//   mask, value u32                kDone|kDense, 0 for queries under elimination; kDone|kDense, kDense
//                                  for those of the dense path
//   by       int                   leaders: 0 bound, 1 estimate
//   most     u32                   leaders: 0 takes the query's k; never more than room
//   carry    int                   1: estimates move with their entries, 0: they are lost
//   lead     u32*          [m][room] leaders: atoms
//   led      u32*          [m]     leaders: how many; 0 for queries left alone
//   room     u32
// look_begin, look_end, survey: a thread a query; before a look, after it, and after each chunk of a scan.
//   queries  Query*        [m]
//   m        u32
//   width    int                   look_end: codes read of an atom; eight signs count as one
//   random   int                   look_end: 1 if the look's bounds can fail
//   scan     int                   look_end: 1 if it saw atoms that were not listed before
//   reports  Report*       [m]     look_end: atoms seen, and of these kept or taken by leaders
//   share    double                survey: MaxSurvivors, 0 for no limit; more kept, and a query is kDense
//   beyond   float                 survey: greatest norm of the atoms not scanned, negative if none is; a
//                                  query that none can reach is kListed
#include "warp.cuh"

static const u32 kThreads = 256;

// A round of the selection tells kBins intervals apart, kBits of a place.
static const int kBits = 10;
static const u32 kBins = 1 << kBits;

// Work is the shared memory of a block that works on one list.
struct Work {
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
  return f.e + k < l.n && f.bound[k] >= l.least && key >= l.least ? order32(key) : 0;
}

// A candidate's place among all: its key, then the lower atom first.
DEV u64 place_of(u32 key, u32 atom) { return (u64)key << 32 | ~atom; }

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
DEV void candidates(Work* w, const List& l) {
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
DEV u64 choose(Work* w, const List& l, u32 need) {
  u64 low = (u64)w->low << 32, high = (u64)w->high << 32 | 0xffffffffu;
  for (u32 round = 0;; round++) {
    int shift = max(0, 64 - __clzll((long long)(high - low)) - kBits);
    bool atoms = shift < 32;  // else every atom of a key falls into the same interval
    for (u32 b = threadIdx.x; b < kBins; b += kThreads) w->bins[b] = 0;
    __syncthreads();
    for (u32 e = 4 * threadIdx.x; e < l.n; e += 4 * kThreads) {
      Four f;
      load(l, &f, e, atoms, l.byEstimate);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        u32 key = key_of(l, f, k);
        if (key == 0) continue;
        u64 place = place_of(key, atoms ? f.atom[k] : kAll);
        if (place >= low && place <= high) atomicAdd(&w->bins[(u32)((place - low) >> shift)], 1u);
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
DEV void sift(Work* w, const List& l, u64 cut, u32 most, u32* lead, u32* kept, u32* led) {
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
    u32 all, before = scan_block(count, w->totals[round & 1], &all);
    // an atom listed twice may be one too many for lead, and stays
    u32 at = gone + (before >> 16), to = keep + (before & 0xffffu) + (at > most ? at - most : 0);
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
  if (lane_id() == 0) atomicMax(&w->top, top);
  *kept = keep;
  *led = gone;
}

DEV void settle(Query* q, u32 kept, u32 top) {
  q->listed = kept;
  q->open = (double)unorder32(top);
}

extern "C" __global__ void __launch_bounds__(256) prune(Query* queries, const Lists* lists, u32 mask, u32 value, int carry) {
  __shared__ Work w;
  Query* q = queries + blockIdx.x;
  if ((q->flags & mask) != value) return;
  if (threadIdx.x == 0) w.top = kLowest;
  __syncthreads();
  u32 kept, led;
  sift(&w, list_of(queries, lists, 0, carry), 0, 0, 0, &kept, &led);
  __syncthreads();
  if (threadIdx.x == 0) settle(q, kept, w.top);
}

extern "C" __global__ void __launch_bounds__(256) leaders(Query* queries, const Lists* lists, u32 mask, u32 value, int by, u32 most, int carry,
                                                          u32* lead, u32* led, u32 room) {
  __shared__ Work w;
  Query* q = queries + blockIdx.x;
  if ((q->flags & mask) != value) {
    if (threadIdx.x == 0) led[blockIdx.x] = 0;
    return;
  }
  if (threadIdx.x == 0) {
    w.top = kLowest;
    w.count = w.high = 0;
    w.low = kAll;
  }
  __syncthreads();
  List l = list_of(queries, lists, by, carry);
  u32 want = min(most > 0 ? most : q->k, room);
  if (want > 0) candidates(&w, l);
  __syncthreads();
  u64 cut = w.count > want ? choose(&w, l, want) : 0;
  u32 kept, gone;
  sift(&w, l, cut, want, lead + (size_t)blockIdx.x * room, &kept, &gone);
  __syncthreads();
  if (threadIdx.x == 0) {
    settle(q, kept, w.top);
    q->kept += gone;
    led[blockIdx.x] = gone;
  }
}

extern "C" __global__ void __launch_bounds__(256) look_begin(Query* queries, u32 m) {
  u32 j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m) return;
  Query* q = queries + j;
  q->seen = q->kept = 0;
  q->before = q->listed;
}

extern "C" __global__ void __launch_bounds__(256) look_end(Query* queries, u32 m, int width, int random, int scan, Report* reports) {
  u32 j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m) return;
  Query* q = queries + j;
  Report r = {0, 0};
  if (!(q->flags & (kDone | kDense)) || q->seen > 0) {
    r = {q->seen, q->kept + q->listed};
    q->pulls += (u64)width * r.seen;
    q->bytes += (u64)(width + 12) * r.seen;
    if (random) {
      if (r.kept < q->before + (scan ? r.seen : 0)) q->flags |= kRandom;
      if (q->owed == 0) q->owed = q->rows + q->listed;
    }
  }
  q->seen = q->kept = 0;
  reports[j] = r;
}

extern "C" __global__ void __launch_bounds__(256) survey(Query* queries, u32 m, double share, float beyond) {
  u32 j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m) return;
  Query* q = queries + j;
  if (q->flags & (kDone | kDense | kListed)) return;
  if (beyond < 0 || q->norm * beyond * kUp < q->tau) {
    q->flags |= kListed;
  } else if (share > 0 && q->seen >= max(1024u, 16 * q->k) && q->listed > share * q->allowed) {
    q->flags |= kDense;
  }
}
