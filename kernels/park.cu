// park.cu: lists moved between memories of other room, for batches larger than one memory of lists.
//
// park: grid (m, any), 256 threads.
//   queries  const Query*  [m]     read: listed
//   from, to const Lists*          entries move in their order; those beyond either room are lost
#include "warp.cuh"

extern "C" __global__ void __launch_bounds__(256) park(const Query* queries, const Lists* from, const Lists* to) {
  u32 n = min(queries[blockIdx.x].listed, min(from->cap, to->cap));
  size_t a = (size_t)blockIdx.x * from->cap, b = (size_t)blockIdx.x * to->cap;
  for (u32 e = blockIdx.y * blockDim.x + threadIdx.x; e < n; e += gridDim.y * blockDim.x) {
    to->atom[b + e] = from->atom[a + e];
    to->bound[b + e] = from->bound[a + e];
    to->estimate[b + e] = from->estimate[a + e];
  }
}
