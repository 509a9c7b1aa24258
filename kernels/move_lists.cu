// move_lists.cu: copies lists between memories, for batches whose lists do not fit the device together.
//
//   move_lists: grid (m, any), 256 threads.
//   queries  const Query*  [m]     read: listed
//   from, to const Lists*          entries keep their order; those beyond the room of either are lost
#include "warp.cuh"

extern "C" __global__ void __launch_bounds__(256) move_lists(const Query* queries, const Lists* from, const Lists* to) {
  Lists f = *from, t = *to;  // copied once, or each entry would read them again, perhaps over the bus
  u32 n = min(queries[blockIdx.x].listed, min(f.cap, t.cap));
  size_t a = (size_t)blockIdx.x * f.cap, b = (size_t)blockIdx.x * t.cap;
  for (u32 e = blockIdx.y * blockDim.x + threadIdx.x; e < n; e += gridDim.y * blockDim.x) {
    t.atom[b + e] = f.atom[a + e];
    t.bound[b + e] = f.bound[a + e];
    t.estimate[b + e] = f.estimate[a + e];
  }
}
