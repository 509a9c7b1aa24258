// lists.cu: operations on the survivors of a query between looks.
//
//   entry              grid         threads
//   prune              m            256  removes the entries whose bound is below (float)tau; the others keep their order.
//                                        Writes listed and open of a Query
//   select_candidates  m            256  the same, and moves some entries from the list to `candidate`: those of greatest
//                                        bound, or of greatest estimate among those whose estimate reaches the threshold;
//                                        of equal ones the lower atoms. kept grows by their number. The set does not
//                                        depend on the order of the list; the order of `candidate` does
//   look_begin         1            1024 at the start of a look: clears its figures, and divides the lists into shares for a
//                                        look at rows (shares.cuh), but not those of queries that are kDone or kDense
//   look_end           ceil(m/256)  256  at its end: updates pulls, bytes, kRandom, expectedRows, as the CPU backend does
//   mark_finished      ceil(m/256)  256  after each chunk of a scan: kScanned, kDense, as the CPU backend does
//   mark_waiting       ceil(m/256)  256  before the end of a chunk, where queries have chunks of their own: sets or clears
//                                        kWaiting, for those whose chunk does not end there or does
//   take_given         m            256  takes the next given atoms as candidates, and advances given and givens
//
//   parameter   type          in the order of each entry's parameters
//   queries     Query*        [m]
//   lists       Lists         prune, select_candidates: of the m queries
//   cap         u32           look_begin: entries that a list has room for
//   want        u32           look_begin: at most want + m shares are made
//   begins      u32*          look_begin: [m+2] shares out
//   mask, value u32           prune, select_candidates: only queries with (flags & mask) == value
//   by          int           select_candidates: ranks by 0 bound, 1 estimate; only with 1 do entries keep their estimates
//   most        u32           select_candidates: the most to select, 0 for the query's k; never more than room
//   ceiling     int           select_candidates: 1 for those queries only that have a ceiling and hold fewer than k
//   candidate   u32*          select_candidates, take_given: [m][room] atoms out
//   selected    u32*          select_candidates, take_given: [m] number of them out; 0 for queries left alone
//   room        u32           select_candidates, take_given
//   m           u32           look_begin, look_end, mark_finished, mark_waiting
//   width       int           look_end: codes read of an atom; eight signs count as one
//   random      int           look_end: 1 if the look's bounds can fail
//   scan        int           look_end: 1 if the look saw atoms that were not listed before
//   reports     Report*       look_end: [m] atoms seen, and of these kept or selected as candidates, out
//   share       double        mark_finished: MaxSurvivors, 0 for no limit
//   beyond      float         mark_finished: greatest norm of the atoms not scanned, negative if there is none
//   end, first, n u32         mark_waiting: the end of a chunk of some queries, the length of first chunks, a multiple of
//                             kStrip, and the number of atoms
//
// Estimates, not measured on a GPU: prune reads 8 bytes an entry (12 with estimates) and writes those that move.
// select_candidates first reads the keys, once to count and once a round, usually one to three rounds and at most six:
// some 30 bytes an entry, of lists that an L2 of 60 MB holds. With 29 to 39 registers and 4.4 KB a block, a
// multiprocessor runs 6 to 8 blocks, so up to about 800 queries run at once.
#include "list.cuh"
#include "shares.cuh"

static const u32 kScanGrowth = 8;  // scanGrowth of gpu/takelook.go

extern "C" __global__ void __launch_bounds__(256) prune(Query* queries, const __grid_constant__ Lists lists, u32 mask, u32 value) {
  __shared__ Selection w;
  Query* q = queries + blockIdx.x;
  if ((q->flags & mask) != value) return;
  u32 kept, selected;
  select_entries(&w, list_of(queries, blockIdx.x, &lists, 0), 0, 0, &kept, &selected);
  if (threadIdx.x == 0) store_list(q, w, kept);
}

extern "C" __global__ void __launch_bounds__(256) select_candidates(Query* queries, const __grid_constant__ Lists lists, u32 mask, u32 value, int by, u32 most,
                                                          int ceiling, u32* candidate, u32* selected, u32 room) {
  __shared__ Selection w;
  Query* q = queries + blockIdx.x;
  u32 kept, moved = 0;
  if ((q->flags & mask) == value && (!ceiling || short_of_ceiling(q))) {
    u32 want = min(most > 0 ? most : q->k, room);
    select_entries(&w, list_of(queries, blockIdx.x, &lists, by), want, candidate + (size_t)blockIdx.x * room, &kept, &moved);
    if (threadIdx.x == 0) {
      store_list(q, w, kept);
      q->kept += MUTANT(1) ? 0 : moved;
    }
  }
  if (threadIdx.x == 0) selected[blockIdx.x] = moved;
}

extern "C" __global__ void __launch_bounds__(1024) look_begin(Query* queries, u32 m, u32 cap, u32 want, u32* begins) {
  __shared__ u32 totals[2][32];
  for (u32 j = threadIdx.x; j < m; j += kCounters) {
    Query* q = queries + j;
    q->seen = q->kept = 0;
    q->listedBefore = q->listed;
  }
  count_shares(begins, m, want, kListUnit, totals, [=](u32 j) { return queries[j].flags & (kDone | kDense) ? 0 : min(queries[j].listed, cap); });
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
      if (r.kept < q->listedBefore + (scan && !MUTANT(2) ? r.seen : 0)) q->flags |= kRandom;
      if (q->expectedRows == 0) q->expectedRows = q->rows + q->listed;
    }
  }
  q->seen = q->kept = 0;
  reports[j] = r;
}

extern "C" __global__ void __launch_bounds__(256) mark_finished(Query* queries, u32 m, double share, float beyond) {
  u32 j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < m) mark_if_finished(queries + j, share, beyond);
}

// chunk_end returns the end of the chunk of a scan that holds atom `at`: chunkEnd of gpu/takelook.go, for a query whose first
// atom is `from`.
DEV u64 chunk_end(u32 from, u32 at, u64 first, u32 n) {
  u64 start = from / kStrip * kStrip, end = start + first;
  while (end <= at) {
    first *= kScanGrowth;
    end = (start + first + (MUTANT(3) ? 0 : first - 1)) / first * first;
  }
  return min(end, (u64)n);
}

extern "C" __global__ void __launch_bounds__(256) mark_waiting(Query* queries, u32 m, u32 end, u32 first, u32 n) {
  u32 j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m) return;
  Query* q = queries + j;
  if (chunk_end(q->from, end - 1, first, n) != end) q->flags |= kWaiting;
  else q->flags &= ~kWaiting;
}

extern "C" __global__ void __launch_bounds__(256) take_given(Query* queries, u32* candidate, u32* selected, u32 room) {
  Query* q = queries + blockIdx.x;
  const u32* given = q->given;
  u32 n = min(q->givens, room);
  for (u32 i = threadIdx.x; i < n; i += kThreads) candidate[(size_t)blockIdx.x * room + i] = given[i];
  if (!MUTANT(5)) __syncthreads();
  if (threadIdx.x > 0) return;
  selected[blockIdx.x] = n;
  q->given = given + (MUTANT(4) ? 0 : n);
  q->givens -= n;
}
