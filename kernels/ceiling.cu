// ceiling.cu: the greatest rates at which the device's units can do what the scan asks of them, to compare the scan with.
//
//   entry             grid  threads  dynamic shared memory
//   ceiling_mma_s8    any   256      0
//   ceiling_tests     any   256      24*slots bytes
//
// ceiling_mma_s8 multiplies matrices of 8-bit integers in registers and does nothing else: 8 rounds times 8192 products a
// warp, of which no two consecutive ones depend on each other. words are 16 a lane; out is written so that the compiler
// keeps the computation.
//
// ceiling_tests does what the scan does besides products and memory accesses: it turns sums into bounds and tests whether
// any passes, as scan_steps of scan.cu does for atoms without offsets, 256 pairs a warp for every 8 of `slots` (a multiple
// of 8), rounds times. factors are slots*3 pairs: of heads the step and the term that removes the bias, of rests the same,
// of which the first serves all, and of tests the factor of radius and minus the cut. words are the sums, 16 a lane, and
// terms the scales, 12 a lane. out counts the pairs that pass.
#include "dev.cuh"

typedef unsigned int u32;

extern "C" __global__ void __launch_bounds__(256) ceiling_mma_s8(const u32* words, int* out, int rounds) {
  u32 lane = threadIdx.x % 32, a[2][4], b[4][2];
  int c[8][4] = {};
#pragma unroll
  for (int i = 0; i < 8; i++) a[i / 4][i % 4] = words[i * 32 + lane], b[i / 2][i % 2] = words[(8 + i) * 32 + lane];
  // sass ceiling_mma_s8 IMMA: 4096 products each
#pragma unroll 1
  for (int r = 0; r < rounds; r++) {
#pragma unroll
    for (int i = 0; i < 8; i++) mma_m16n8k32_s8(c[i], a[i / 4], b[i % 4]);
  }
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 32; i++) sum ^= c[i / 4][i % 4];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256, 2)
ceiling_tests(const u32* words, const float* terms, const float2* factors, int slots, int rounds, int* out) {
  SHARED_DYN(float2, shared);
  for (int i = threadIdx.x; i < 3 * slots; i += blockDim.x) shared[i] = factors[i];
  __syncthreads();
  u32 lane = threadIdx.x % 32;
  float dh[2][4], dr[2][4], head[4], rest[4], radius[4];
#pragma unroll
  for (int i = 0; i < 8; i++) {
    dh[i / 4][i % 4] = __uint_as_float(words[i * 32 + lane]);
    dr[i / 4][i % 4] = __uint_as_float(words[(8 + i) * 32 + lane]);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) head[i] = terms[i * 32 + lane], rest[i] = terms[(4 + i) * 32 + lane], radius[i] = terms[(8 + i) * 32 + lane];
  float start[4];
#pragma unroll
  for (int i = 0; i < 4; i++) rest[i] *= shared[slots].x, start[i] = rest[i] * shared[slots].y / shared[slots].x;
  int passed = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; r++) {
    const float2* pair = shared + 2 * (lane % 4);
    // sass ceiling_tests VOTE: 256 pairs
#pragma unroll 1
    for (int n = 0; n < slots; n += 8, pair += 8) {
      float4 fh = *(const float4*)pair, ft = *(const float4*)(pair + 2 * slots);
      float v[8];
#pragma unroll
      for (int e = 0; e < 8; e++) {
        bool odd = e % 2;
        v[e] = fmaf(radius[e / 2], odd ? ft.z : ft.x, start[e / 2]);  // first, or the compiler would hoist invariant sums
        v[e] = fmaf(rest[e / 2], dr[e / 4][e % 4], v[e]);
        v[e] = fmaf(head[e / 2], fmaf(dh[e / 4][e % 4], odd ? fh.z : fh.x, odd ? fh.w : fh.y), v[e]);
      }
      float even = fmaxf(fmaxf(v[0], v[2]), fmaxf(v[4], v[6])), odd = fmaxf(fmaxf(v[1], v[3]), fmaxf(v[5], v[7]));
      if (!__any_sync(0xffffffffu, even >= -ft.y || odd >= -ft.w)) continue;
#pragma unroll
      for (int e = 0; e < 8; e++) passed += v[e] >= (e % 2 ? -ft.w : -ft.y);
    }
  }
  if (passed) atomicAdd(out, passed);
}
