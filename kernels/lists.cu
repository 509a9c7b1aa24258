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

// How many intervals a round of the selection tells apart.
static const u32 kBins = 1024;

// Shared memory of a block that works on one list.
struct Room {
  u32 bins[kBins];
  u32 totals[2][32];
  u32 count, low, high, top;
  u32 bin, above;
};

// key_of is by what entries are ranked: bound or estimate.
DEV u32 key_of(const Lists* l, size_t at, bool byEstimate) { return order32(byEstimate ? l->estimate[at] : l->bound[at]); }

// An entry's place among all: its key, then the lower atom first.
DEV u64 place_of(u32 key, u32 atom) { return (u64)key << 32 | (u32)~atom; }

// select returns the place from which on there are exactly `need` of the candidates: entries whose bound is
// at least `least` and whose key is from low to high. There are more than that of them.
DEV u64 select(Room* room, const Lists* lists, size_t first, u32 n, float least, bool byEstimate, u32 low32, u32 high32, u32 need) {
  u64 low = (u64)low32 << 32, high = (u64)high32 << 32 | 0xffffffffu;
  u32 t = threadIdx.x, parity = 0;
  for (;;) {
    int bits = 64 - __clzll((long long)(high - low));
    int shift = max(0, bits - 10);
    for (u32 b = t; b < kBins; b += blockDim.x) room->bins[b] = 0;
    __syncthreads();
    for (u32 e = t; e < n; e += blockDim.x) {
      if (lists->bound[first + e] < least) continue;
      u32 key = key_of(lists, first + e, byEstimate);
      if (key < (u32)(low >> 32) || key > (u32)(high >> 32)) continue;
      u64 place = place_of(key, shift < 32 ? lists->atom[first + e] : 0xffffffffu);
      if (place < low || place > high) continue;
      atomicAdd(&room->bins[(u32)((place - low) >> shift)], 1u);
    }
    __syncthreads();
    // from the last bin down, each thread a stretch
    u32 each = (kBins + blockDim.x - 1) / blockDim.x, sum = 0, all;
    for (u32 k = 0; k < each; k++) {
      u32 b = t * each + k;
      if (b < kBins) sum += room->bins[kBins - 1 - b];
    }
    u32 above = scan_block(sum, room->totals[parity], &all);
    parity ^= 1;
    if (above < need && need <= above + sum) {
      u32 b = t * each;
      for (; above + room->bins[kBins - 1 - b] < need; b++) above += room->bins[kBins - 1 - b];
      room->bin = kBins - 1 - b;
      room->above = above;
    }
    __syncthreads();
    u32 in = room->bins[room->bin];
    low += (u64)room->bin << shift;
    need -= room->above;
    if (in == need || shift == 0) return low;
    high = min(high, low + ((u64)1 << shift) - 1);
    __syncthreads();
  }
}

// sift keeps the entries whose bound is at least `least`, in their order, except that up to most
// candidates of place `cut` or later go to lead. Returns how many are kept and led; the greatest bound kept
// is in room->top, as order32 has it.
DEV void sift(Room* room, const Lists* lists, size_t first, u32 n, float least, bool byEstimate, bool carry, u64 cut, u32 most, u32* lead,
              u32* kept, u32* led) {
  u32 keep = 0, gone = 0, parity = 0, top = 0;
  for (u32 from = 0; from < n; from += blockDim.x) {
    u32 e = from + threadIdx.x, atom = 0;
    float bound = 0, estimate = 0;
    bool stays = false, leads = false;
    if (e < n) {
      atom = lists->atom[first + e];
      bound = lists->bound[first + e];
      if (carry || byEstimate) estimate = lists->estimate[first + e];
      stays = bound >= least;
      float key = byEstimate ? estimate : bound;
      leads = stays && most > 0 && key >= least && place_of(order32(key), atom) >= cut;
    }
    u32 all, before = scan_block(leads ? 1u << 16 : stays ? 1u : 0u, room->totals[parity], &all);
    parity ^= 1;
    if (leads) {
      lead[gone + (before >> 16)] = atom;
    } else if (stays) {
      u32 to = keep + (before & 0xffffu);
      lists->atom[first + to] = atom;
      lists->bound[first + to] = bound;
      if (carry) lists->estimate[first + to] = estimate;
      top = max(top, order32(bound));
    }
    keep += all & 0xffffu;
    gone += all >> 16;
  }
  top = __reduce_max_sync(kAll, top);
  if (lane_id() == 0) atomicMax(&room->top, top);
  *kept = keep;
  *led = gone;
}

extern "C" __global__ void __launch_bounds__(256) prune(Query* queries, const Lists* lists, u32 mask, u32 value, int carry) {
  __shared__ Room room;
  Query* q = queries + blockIdx.x;
  if ((q->flags & mask) != value) return;
  if (threadIdx.x == 0) room.top = 0;
  __syncthreads();
  size_t first = (size_t)blockIdx.x * lists->cap;
  u32 n = min(q->listed, lists->cap), kept, led;
  sift(&room, lists, first, n, (float)q->tau, false, carry, 0, 0, 0, &kept, &led);
  __syncthreads();
  if (threadIdx.x == 0) {
    q->listed = kept;
    q->open = kept > 0 ? (double)unorder32(room.top) : (double)__int_as_float(0xff800000);
  }
}

extern "C" __global__ void __launch_bounds__(256) leaders(Query* queries, const Lists* lists, u32 mask, u32 value, int by, u32 most, int carry,
                                                          u32* lead, u32* led, u32 room) {
  __shared__ Room r;
  Query* q = queries + blockIdx.x;
  if ((q->flags & mask) != value) {
    if (threadIdx.x == 0) led[blockIdx.x] = 0;
    return;
  }
  if (threadIdx.x == 0) r.top = 0, r.count = 0, r.low = kAll, r.high = 0;
  __syncthreads();
  size_t first = (size_t)blockIdx.x * lists->cap;
  u32 n = min(q->listed, lists->cap), want = min(most ? most : q->k, room), count = 0, low = kAll, high = 0;
  float least = (float)q->tau;
  for (u32 e = threadIdx.x; e < n; e += blockDim.x) {
    u32 key = key_of(lists, first + e, by);
    if (lists->bound[first + e] < least || key < order32(least)) continue;
    count++;
    low = min(low, key);
    high = max(high, key);
  }
  count = __reduce_add_sync(kAll, count);
  low = __reduce_min_sync(kAll, low);
  high = __reduce_max_sync(kAll, high);
  if (lane_id() == 0 && count) {
    atomicAdd(&r.count, count);
    atomicMin(&r.low, low);
    atomicMax(&r.high, high);
  }
  __syncthreads();
  u64 cut = 0;
  if (r.count > want && want > 0) cut = select(&r, lists, first, n, least, by, r.low, r.high, want);
  __syncthreads();
  u32 kept, gone;
  sift(&r, lists, first, n, least, by, carry, cut, want, lead + (size_t)blockIdx.x * room, &kept, &gone);
  __syncthreads();
  if (threadIdx.x == 0) {
    q->listed = kept;
    q->kept += gone;
    q->open = kept > 0 ? (double)unorder32(r.top) : (double)__int_as_float(0xff800000);
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
