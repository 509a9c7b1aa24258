// move_lists.cu: copies lists between memories, for batches whose lists do not fit the device together.
//
//   move_lists: any grid, a multiple of 32 threads, at most 256.
//   queries  const Query*  [m]     read: listed
//   m        u32
//   begins   const u32*    [m+2]   shares, by share_lists (shares.cu), of lists cut to the room of either
//   from, to Lists                 entries keep their order; those beyond the room of either are lost
#include "shares.cuh"

extern "C" __global__ void __launch_bounds__(256) move_lists(const Query* queries, u32 m, const u32* begins, const __grid_constant__ Lists from, const __grid_constant__ Lists to) {
  Share share;
  if (!take_share(begins, m, &share)) return;
  size_t a = (size_t)share.list * from.cap, b = (size_t)share.list * to.cap;
  u32 end = min(share.to, min(queries[share.list].listed, min(from.cap, to.cap)));
  for (u32 e = share.from + lane_id(); e < end; e += 32) {
    to.atom[b + e] = from.atom[a + e];
    to.bound[b + e] = from.bound[a + e];
    to.estimate[b + e] = from.estimate[a + e];
  }
}
