// norms.cu: lists atoms that no look has seen, by the bound that their norms give.
//
// list_norms: grid (m, any), 256 threads. Appends the atoms of lo..hi-1 that a query may return and whose greatest
// possible score reaches its threshold; bound and estimate are that score.
//   queries  Query*        [m]     only those with (flags & mask) == value; read: tau, norm, exp, filter, excluded, from.
//                                  listed grows; where there is no room, kOverflow is set and listed exceeds lists.cap
//   mask, value u32
//   lo, hi   u32
//   norm     const float*  [hi]    of atoms, rounded upward
//   offset   const float*  [hi]    of atoms, rounded upward, never positive; or null
//   lists    Lists
#include "allowed.cuh"
#include "warp.cuh"

extern "C" __global__ void __launch_bounds__(256) list_norms(Query* queries, u32 mask, u32 value, u32 lo, u32 hi, const float* norm,
                                                             const float* offset, const __grid_constant__ Lists lists) {
  Query* q = queries + blockIdx.x;
  if ((*(const volatile u32*)&q->flags & mask) != value) return;  // other blocks may set kOverflow concurrently
  size_t first = (size_t)blockIdx.x * lists.cap;
  float least = (float)q->tau;
  for (u32 i = lo + blockIdx.y * blockDim.x + threadIdx.x; i < hi; i += gridDim.y * blockDim.x) {
    double bound = q->norm * norm[i] * kUp;
    if (offset) { // float64 rounds this sum by less than kSlop of the offset
      double o = ldexp((double)offset[i], -q->exp);
      bound += o - kSlop * o;
    }
    float b = up32(bound);
    if ((MUTANT(1) ? b <= least : b < least) || !allows(q, i)) continue;
    u32 at = MUTANT(2) ? q->listed++ : atomicAdd(&q->listed, 1u);
    if (at >= lists.cap) {
      atomicOr(&q->flags, (u32)kOverflow);
      continue;
    }
    lists.atom[first + at] = i;
    lists.bound[first + at] = lists.estimate[first + at] = b;
  }
}
