// warp.cuh: operations of the lanes of a warp and the threads of a block that several kernels use.
#pragma once
#include "types.cuh"

static const u32 kAll = 0xffffffffu;

// kThreads is the number of threads of a block that works on one query.
static const u32 kThreads = 256;

DEV u32 lane_id() { return threadIdx.x & 31; }

// fold4 sums four values over groups of G lanes (8 or more, a power of two): lane l gets the sum of v[l & 3]. The order of
// the additions is the same for all four, so a float64 sum depends neither on its index nor on its neighbours.
template <int G, class T>
DEV T fold4(const T* v) {
  u32 lane = lane_id();
  bool odd = lane & 1, high = lane & 2;
  T a = (odd ? v[1] : v[0]) + __shfl_xor_sync(kAll, odd ? v[0] : v[1], 1);
  T b = (odd ? v[3] : v[2]) + __shfl_xor_sync(kAll, odd ? v[2] : v[3], 1);
  T sum = (high ? b : a) + __shfl_xor_sync(kAll, high ? a : b, 2);
#pragma unroll
  for (int d = 4; d < G; d *= 2) sum += __shfl_xor_sync(kAll, sum, d);
  return sum;
}

// up32 returns the least float32 not below x, +inf if there is none else; x is not NaN.
DEV float up32(double x) { return __double2float_ru(x); }

// order32 maps floats other than NaN to integers in the same order, with -0 before +0.
DEV u32 order32(float f) {
  u32 u = __float_as_uint(f);
  return u & 0x80000000u ? ~u : u | 0x80000000u;
}
static const u32 kLowest = 0x007fffff;  // of -inf
DEV float unorder32(u32 u) { return __uint_as_float(u & 0x80000000u ? u & 0x7fffffffu : ~u); }

// scan_block returns the sum of v over the threads before this one and sets *all to the sum over the block, which has at
// most 32 full warps. totals is 32 words of shared memory; a barrier must separate two calls that use the same.
DEV u32 scan_block(u32 v, u32* totals, u32* all) {
  u32 lane = lane_id(), warp = threadIdx.x / 32, sum = v;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    u32 below = __shfl_up_sync(kAll, sum, d);
    if (lane >= (u32)d) sum += below;
  }
  if (lane == 31) totals[warp] = sum;
  __syncthreads();
  u32 warps = blockDim.x / 32, t = lane < warps ? totals[lane] : 0;
  *all = __reduce_add_sync(kAll, t);
  return __reduce_add_sync(kAll, lane < warp ? t : 0) + sum - v;
}
