// tighten_short.cu: what tighten (tighten.cu) does for queries that want few atoms and have short lists, by a warp for each
// query in place of a block: the lists of a later chunk are short, and a block spends its time at barriers then. The
// results are the same, bit for bit.
//
//   entry           grid       threads
//   tighten_short   ceil(m/8)  256
//
//   parameters      those of tighten but for `without` and ceilingRounds; u32 m is the second
//
// It takes the queries that takes_short selects; tighten, launched after it with without = 1, takes the others.
//
// Estimate, not measured on a GPU: a warp reads 128 entries at a time, a list of 512 in 4 steps, which with two rounds it passes over
// five times, and scores four
// rows at a time. No barriers. Where all queries have a block at the same time, blocks score a query's rows sooner.
#include "best.cuh"
#include "exact.cuh"
#include "list.cuh"

static const u32 kWarps = kThreads / 32;

// Top is the greatest places of a warp's entries, descending from lane 0, 0 for none.
struct Top { u64 place; u32 count; };

// insert_place inserts a place, the same in all lanes; the least of 32 is lost.
DEV void insert_place(Top* t, u64 place) {
  u32 at = (u32)__popc(__ballot_sync(kAll, t->place >= place)), lane = lane_id();
  u64 above = __shfl_up_sync(kAll, t->place, 1);
  t->place = lane < at ? t->place : lane == at ? place : above;
}

// cut_of returns the place that exactly `want` <= 32 eligible entries reach, or 0 if no more are eligible.
DEV u64 cut_of(const List& l, u32 want) {
  Top t = {0, 0};
  for (u32 from = 0; from < l.n; from += 128) {
    Entries f;
    load_entries(l, &f, from + 4 * lane_id(), true, l.byEstimate);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      u32 key = key_of(l, f, k);
      u64 place = key > 0 ? place_of(key, f.atom[k]) : 0, least = __shfl_sync(kAll, t.place, (int)want - 1);
      t.count += key > 0;
      for (u32 left = __ballot_sync(kAll, place > least); left; left &= left - 1) insert_place(&t, __shfl_sync(kAll, place, __ffs((int)left) - 1));
    }
  }
  u64 cut = __shfl_sync(kAll, t.place, (int)want - (MUTANT(1) ? 2 : 1));
  return __reduce_add_sync(kAll, t.count) > want ? cut : 0;
}

// compact_short is compact (list.cuh) for a warp. *top becomes the greatest bound kept, as order32 maps it.
DEV void compact_short(const List& l, u64 cut, u32 most, u32* candidate, u32* kept, u32* selected, u32* top) {
  u32 keep = 0, moved = 0, greatest = kLowest;
  for (u32 from = 0; from < l.n; from += 128) {
    Entries f;
    load_entries(l, &f, from + 4 * lane_id(), true, l.byEstimate);
    u32 stays = 0, moves = 0, count = 0;  // a bit for each entry; count has the number kept in its lower half, moved in its upper
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (f.e + k >= l.n || !(f.bound[k] >= l.least)) continue;
      u32 key = most > 0 ? key_of(l, f, k) : 0;
      bool moving = key > 0 && place_of(key, f.atom[k]) >= cut;
      (moving ? moves : stays) |= 1u << k;
      count += moving ? 1u << 16 : 1u;
    }
    u32 before = count;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      u32 below = __shfl_up_sync(kAll, before, (u32)d);
      if (lane_id() >= (u32)d) before += below;
    }
    u32 all = __shfl_sync(kAll, before, 31);
    before -= count;
    if (!MUTANT(2)) __syncwarp();  // all have read their entries
    // With an atom listed twice, more than `most` entries may reach the cut; the surplus stays in the list.
    u32 at = moved + (before >> 16), to = keep + (before & 0xffffu) + (at > most ? at - most : 0);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if ((moves >> k & 1) && at < most) {
        candidate[at++] = f.atom[k];
      } else if ((moves | stays) >> k & 1) {
        l.atom[to] = f.atom[k];
        l.bound[to] = f.bound[k];
        if (l.byEstimate) l.estimate[to] = f.estimate[k];
        to++;
        greatest = max(greatest, order32(f.bound[k]));
      }
    }
    keep += all & 0xffffu;
    moved += all >> 16;
    if (moved > most) {
      keep += moved - most;
      moved = most;
    }
  }
  *top = __reduce_max_sync(kAll, greatest);
  *kept = keep;
  *selected = moved;
  if (!MUTANT(3)) __syncwarp();  // entries and candidates are written
}

// Held is the best of a query, one in each lane, in order.
struct Held { double score; u32 row, count; };

// hold inserts a scored arm, the same in all lanes, unless it is below the floor, above the ceiling, known, or worse than the
// last of a full list.
DEV void hold(Held* h, const Query* q, u32 most, double score, u32 row) {
  if (!(score >= q->floor && score <= q->ceiling)) return;
  u32 lane = lane_id(), at = (u32)__popc(__ballot_sync(kAll, lane < h->count && before(h->score, h->row, score, row)));
  if (at >= most) return;
  bool known = lane == at && lane < h->count && h->score == score && h->row == row;
  if (__any_sync(kAll, known && !MUTANT(4))) return;
  double score1 = __shfl_up_sync(kAll, h->score, 1);
  u32 row1 = __shfl_up_sync(kAll, h->row, 1);
  if (lane >= at) {
    h->score = lane == at ? score : score1;
    h->row = lane == at ? row : row1;
  }
  h->count = min(h->count + 1, most);
}

extern "C" __global__ void __launch_bounds__(256) tighten_short(Query* queries, u32 m, const __grid_constant__ Lists lists, u32 mask, u32 value, int by, int rounds, const float* rows,
                                                             int dim, const u32* order, const double* scaled, const double* rowSquare, int metric, double* bestScore,
                                                             u32* bestRow, u32 bestRoom, double share, float beyond) {
  __shared__ u32 candidates[kWarps][kShortK];
  u32 j = blockIdx.x * kWarps + threadIdx.x / 32, lane = lane_id();
  if (j >= m) return;
  Query* q = queries + j;
  if ((q->flags & mask) != value || !takes_short(q, lists.cap)) return;
  u32* candidate = candidates[threadIdx.x / 32];
  List l = list_of(queries, j, &lists, by);
  Best best = best_of(q, j, bestScore, bestRow, bestRoom);
  Held held = {lane < best.held ? best.score[lane] : 0, lane < best.held ? best.row[lane] : 0, best.held};
  Scorer scorer = scorer_of(queries, j, rows, dim, scaled, rowSquare, metric);
  u32 want = q->k, top;
  for (int round = 0;; round++) {
    u32 selected, most = round < rounds ? want : 0;
    compact_short(l, most > 0 ? cut_of(l, most) : 0, most, candidate, &l.n, &selected, &top);
    if (selected == 0) break;
    for (u32 e = 0; e < selected; e += kRows) {
      u32 count = min(selected - e, (u32)kRows), number = lane < count ? order[candidate[e + lane]] : 0;
      double score = score_rows(scorer, number, count);
      for (u32 r = 0; r < count; r++) hold(&held, q, best.most, __shfl_sync(kAll, score, (int)r), __shfl_sync(kAll, number, (int)r));
    }
    if (lane < held.count) {
      best.score[lane] = held.score;
      best.row[lane] = held.row;
    }
    best.held = held.count;
    __syncwarp();
    if (lane == 0) {
      store_best(q, best, selected, dim);
      q->kept += selected;
    }
    __syncwarp();
    l.least = (float)q->tau;
  }
  if (lane > 0) return;
  q->listed = l.n;
  q->open = (double)unorder32(top);
  mark_if_finished(q, share, beyond);
}
