// park.cu: lists moved between memories of other room, for batches larger than one memory of lists.
//
// park: grid (m, any), 256 threads.
//   queries  const Query*  [m]     read: listed
//   from, to const Lists*          entries move in their order; those beyond either room are lost
#include "warp.cuh"

extern "C" __global__ void __launch_bounds__(256) park(const Query* queries, const Lists* from, const Lists* to) {
  Lists f = *from, t = *to;  // or they are read anew for each entry, perhaps over the bus
  u32 n = min(queries[blockIdx.x].listed, min(f.cap, t.cap));
  size_t a = (size_t)blockIdx.x * f.cap, b = (size_t)blockIdx.x * t.cap;
  for (u32 e = blockIdx.y * blockDim.x + threadIdx.x; e < n; e += gridDim.y * blockDim.x) {
    t.atom[b + e] = f.atom[a + e];
    t.bound[b + e] = f.bound[a + e];
    t.estimate[b + e] = f.estimate[a + e];
  }
}
