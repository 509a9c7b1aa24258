// move_lists.cu: copies lists between memories, for batches whose lists do not fit the device together.
//
//   move_lists: grid (m, any), 256 threads.
//   queries  const Query*  [m]     read: listed
//   from, to Lists                 entries keep their order; those beyond the room of either are lost
#include "warp.cuh"

extern "C" __global__ void __launch_bounds__(256) move_lists(const Query* queries, const __grid_constant__ Lists from, const __grid_constant__ Lists to) {
  u32 n = min(queries[blockIdx.x].listed, min(from.cap, to.cap));
  size_t a = (size_t)blockIdx.x * from.cap, b = (size_t)blockIdx.x * to.cap;
  for (u32 e = blockIdx.y * blockDim.x + threadIdx.x; e < n; e += gridDim.y * blockDim.x) {
    to.atom[b + e] = from.atom[a + e];
    to.bound[b + e] = from.bound[a + e];
    to.estimate[b + e] = from.estimate[a + e];
  }
}
