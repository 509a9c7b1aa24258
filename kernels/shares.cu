// shares.cu: divides lists into shares for other kernels (shares.cuh). look_begin (lists.cu) does the same for later looks.
//
//   entry              grid   threads
//   share_lists        1      1024     of the lists of survivors of all queries
//   share_candidates   1      1024     of the lists of candidates
//
//   parameter   type           in the order of each entry's parameters
//   queries     const Query*   share_lists: [m]; read: listed
//   selected    const u32*     share_candidates: [m] number of candidates
//   m           u32
//   cap         u32            share_lists: entries that a list has room for
//   want        u32            at most want + m shares are made
//   begins      u32*           [m+2] shares out
#include "shares.cuh"

extern "C" __global__ void __launch_bounds__(1024) share_lists(const Query* queries, u32 m, u32 cap, u32 want, u32* begins) {
  __shared__ u32 totals[2][32];
  count_shares(begins, m, want, kListUnit, totals, [=](u32 j) { return min(queries[j].listed, cap); });
}

extern "C" __global__ void __launch_bounds__(1024) share_candidates(const u32* selected, u32 m, u32 want, u32* begins) {
  __shared__ u32 totals[2][32];
  count_shares(begins, m, want, kCandidateUnit, totals, [=](u32 j) { return selected[j]; });
}
