// lists.cu: what is done to the survivors of a query between looks.
//
//   entry       grid          threads
//   prune       m             256   drops the entries whose bound is below (float)tau; the others keep their order.
//                                   Of a Query listed and open are written
//   leaders     m             256   the same, and some entries leave the list for lead: those of greatest bound, or of
//                                   greatest estimate among those whose estimate reaches the threshold; of equal ones
//                                   the lower atoms. kept grows by their number. Which they are does not depend on
//                                   the order of the list, but their own order does
//   look_begin  ceil(m/256)   256   before a look
//   look_end    ceil(m/256)   256   after it: figures into pulls, bytes, kRandom, owed (cpu/scan.go, leave)
//   survey      ceil(m/256)   256   after each chunk of a scan: kListed, kDense (cpu/scan.go, ended)
//
//   parameter   type          in the order of each entry's list
//   queries     Query*        [m]
//   lists       const Lists*  prune, leaders: of the m queries
//   mask, value u32           prune, leaders: only queries with (flags & mask) == value
//   by          int           leaders: 0 bound, 1 estimate
//   most        u32           leaders: how many at most, 0 for the query's k; never more than room
//   carry       int           prune, leaders: 1 estimates move with their entries, 0 they are lost
//   lead        u32*          leaders: [m][room] atoms out
//   led         u32*          leaders: [m] how many out; 0 for queries left alone
//   room        u32           leaders
//   m           u32           look_begin, look_end, survey
//   width       int           look_end: codes read of an atom; eight signs count as one
//   random      int           look_end: 1 if the look's bounds can fail
//   scan        int           look_end: 1 if it saw atoms that were not listed before
//   reports     Report*       look_end: [m] atoms seen, and of these kept or taken by leaders, out
//   share       double        survey: MaxSurvivors, 0 for no limit
//   beyond      float         survey: greatest norm of the atoms not scanned, negative if there is none
//
// Estimates; none of this has run on a GPU. prune reads 8 bytes an entry (12 with estimates) and writes those that
// move; leaders reads the keys once to count and once a round, one to three rounds as a rule and six at most,
// before that: some 30 bytes an entry, of lists that an L2 of 60 MB holds. Blocks of 32 to 40 registers and 4.4 KB
// stand 6 to 8 on a multiprocessor, so up to about 800 queries go at once; one with a list of 1,000 takes some 5 us,
// of barriers mostly.
#include "list.cuh"

extern "C" __global__ void __launch_bounds__(256) prune(Query* queries, const Lists* lists, u32 mask, u32 value, int carry) {
  __shared__ Picking w;
  Query* q = queries + blockIdx.x;
  if ((q->flags & mask) != value) return;
  u32 kept, led;
  pick(&w, list_of(queries, lists, 0, carry), 0, 0, &kept, &led);
  if (threadIdx.x == 0) settle_list(q, w, kept);
}

extern "C" __global__ void __launch_bounds__(256) leaders(Query* queries, const Lists* lists, u32 mask, u32 value, int by, u32 most, int carry,
                                                          u32* lead, u32* led, u32 room) {
  __shared__ Picking w;
  Query* q = queries + blockIdx.x;
  u32 kept, gone = 0;
  if ((q->flags & mask) == value) {
    u32 want = min(most > 0 ? most : q->k, room);
    pick(&w, list_of(queries, lists, by, carry), want, lead + (size_t)blockIdx.x * room, &kept, &gone);
    if (threadIdx.x == 0) {
      settle_list(q, w, kept);
      q->kept += MUTANT(1) ? 0 : gone;
    }
  }
  if (threadIdx.x == 0) led[blockIdx.x] = gone;
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
      if (r.kept < q->before + (scan && !MUTANT(2) ? r.seen : 0)) q->flags |= kRandom;
      if (q->owed == 0) q->owed = q->rows + q->listed;
    }
  }
  q->seen = q->kept = 0;
  reports[j] = r;
}

extern "C" __global__ void __launch_bounds__(256) survey(Query* queries, u32 m, double share, float beyond) {
  u32 j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < m) survey_query(queries + j, share, beyond);
}
