// best.cuh: the best scored arms of one query, in global memory, and merging more into them, by a block of kThreads
// threads.
#pragma once
#include "warp.cuh"

// kMergeChunk is the most scored arms merged at once.
static const u32 kMergeChunk = 1024;

// MergeBuffer is the shared memory of a block that works on the best of one query.
struct MergeBuffer {
  double score[kMergeChunk];
  u32 row[kMergeChunk];
  u32 at[kMergeChunk];  // position among the best
  u32 totals[2][32];
  u32 count;
};

// before defines the order of answers: score descending, row ascending.
DEV bool before(double a, u32 i, double b, u32 j) { return a > b || (a == b && (MUTANT(41) ? i > j : i < j)); }

// sort sorts the first count arms of w, count <= kMergeChunk. The elements behind them, up to a power of two, are overwritten.
DEV void sort(MergeBuffer* w, u32 count) {
  u32 n = 1;
  while (n < count) n *= 2;
  for (u32 i = count + threadIdx.x; i < n; i += kThreads) {
    w->score[i] = __longlong_as_double(0xfff0000000000000ll);  // -inf
    w->row[i] = kAll;
  }
  __syncthreads();
  for (u32 run = 2; run <= n; run *= 2)
    for (u32 half = run / 2; half > 0; half /= 2) {
      for (u32 i = threadIdx.x; i < n / 2; i += kThreads) {
        u32 a = 2 * i - (i & (half - 1)), b = a + half;  // a has no bit `half`
        if (before(w->score[b], w->row[b], w->score[a], w->row[a]) == ((a & run) == 0)) {
          double s = w->score[a];
          w->score[a] = w->score[b];
          w->score[b] = s;
          u32 r = w->row[a];
          w->row[a] = w->row[b];
          w->row[b] = r;
        }
      }
      if (!MUTANT(42)) __syncthreads();
    }
}

// Best is the sorted list of a query's best arms so far: `held` of them, with room for `most`, at least 1.
struct Best {
  double* score;
  u32* row;
  u32 held, most;
};

// best_of returns the best of query j, at q.
DEV Best best_of(const Query* q, u32 j, double* score, u32* row, u32 room) {
  size_t first = (size_t)j * room;
  return {score + first, row + first, q->best, min(q->k, room)};
}

// drop_known removes from the first count arms of w, which are sorted, duplicates and those already among the best. It
// returns how many remain, and sets w->at to their positions among the best.
DEV u32 drop_known(MergeBuffer* w, const Best& best, u32 count) {
  u32 kept = 0;
  for (u32 from = 0, round = 0; from < count; from += kThreads, round++) {
    u32 i = from + threadIdx.x, at = 0, row = 0;
    double score = 0;
    bool keep = false;
    if (i < count) {
      score = w->score[i];
      row = w->row[i];
      for (u32 end = best.held; at < end;) {
        u32 middle = (at + end) / 2;
        if (before(best.score[middle], best.row[middle], score, row))
          at = middle + 1;
        else
          end = middle;
      }
      keep = !(at < best.held && best.score[at] == score && best.row[at] == row) && !(i > 0 && !MUTANT(43) && w->score[i - 1] == score && w->row[i - 1] == row);
    }
    u32 all, to = kept + scan_block(keep, w->totals[round & 1], &all);
    if (keep) {
      w->at[to] = at;
      if (to != i) {  // otherwise a thread of the next round might be reading it
        w->score[to] = score;
        w->row[to] = row;
      }
    }
    kept += all;
  }
  __syncthreads();
  return kept;
}

// insert_sorted inserts the first count arms of w, count > 0, at w->at. It moves the best from the last one backwards,
// so that none is overwritten before it was read. Arms beyond `most` are lost.
DEV void insert_sorted(MergeBuffer* w, const Best& best, u32 count) {
  u32 least = w->at[0];
  for (u32 end = best.held; end > least;) {
    u32 from = end > least + kThreads ? end - kThreads : least, i = from + threadIdx.x, row = 0, shift = 0;
    double score = 0;
    if (i < end) {
      score = best.score[i];
      row = best.row[i];
      for (u32 stop = count; shift < stop;) {  // number of new arms before entry i
        u32 middle = (shift + stop) / 2;
        if (w->at[middle] <= i)
          shift = middle + 1;
        else
          stop = middle;
      }
    }
    if (!MUTANT(44)) __syncthreads();
    if (i < end && i + shift < best.most) {
      best.score[i + shift] = score;
      best.row[i + shift] = row;
    }
    end = from;
  }
  for (u32 i = threadIdx.x; i < count; i += kThreads) {
    u32 to = w->at[i] + i;
    if (to >= best.most + MUTANT(46)) break;
    best.score[to] = w->score[i];
    best.row[to] = w->row[i];
  }
  __syncthreads();
}

// buffer_scored appends a scored arm to w, unless it is below the floor, above the ceiling, or worse than the last of a
// full list.
DEV void buffer_scored(MergeBuffer* w, const Query* q, const Best& best, double score, u32 row) {
  if (!(score >= q->floor && (score <= q->ceiling || MUTANT(48)))) return;
  u32 last = best.most - 1;
  if (best.held == best.most && !before(score, row, best.score[last], best.row[last])) return;
  u32 to = MUTANT(47) ? w->count++ : atomicAdd(&w->count, 1u);  // in any order: merge_buffered sorts them
  w->score[to] = score;
  w->row[to] = row;
}

// merge_buffered merges the arms in w into the best. All threads must have passed a barrier after buffer_scored.
DEV void merge_buffered(MergeBuffer* w, Best* best) {
  u32 count = w->count;
  sort(w, count);
  count = drop_known(w, *best, count);
  if (count == 0) return;
  insert_sorted(w, *best, count);
  best->held = min(best->held + count, best->most);
}

// store_best writes the length of the best, the new threshold and the cost of scoring n rows of dim coordinates to the
// query. Called by one thread.
DEV void store_best(Query* q, const Best& best, u32 n, int dim) {
  if (best.held == q->k) q->tau = fmax(q->tau, threshold(*q, best.score[best.held - 1]) + (MUTANT(45) ? -q->epsilon : q->epsilon));
  q->best = best.held;
  q->rows += n;
  q->pulls += (u64)n * dim;
  q->bytes += 4 * (u64)n * dim;
}
