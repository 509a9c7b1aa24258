// fragments.cu: each primitive of dev.cuh that is inline PTX on the device, as an entry of its own, so that a test can
// compare its result with the documentation in dev.cuh (gpu/hardware_test.go).
//
//   entry                grid   threads  input of a block, and output
//   fragments_s8         cases  32       a[4][32], b[2][32] and c[4][32]; c becomes the sum
//   fragments_u8s8       cases  32       the same
//   fragments_bf16       cases  32       the same, c of floats
//   fragments_tf32       cases  32       the same
//   fragments_ldmatrix   cases  32       rows[32] of 16 bytes, and for each lane the number of the row whose address it
//                                        passes; out[14][32]: x1, x2, x4, and the three transposed
//   fragments_cp_async   cases  128      from[3][128] of 16 bytes, and how many of them to copy; out[3][128]
//   fragments_words      any    256      words i < n: sums[0][i] = dp4a_s8, sums[1][i] = dp4a_u8s8 of a, b and c;
//                                        rounded[0][i] = to_tf32(a), rounded[1][i] = pack_bf16(a, b), as floats
//
// The words of a warp's fragments are stored lane by lane, one array for each register.
#include "dev.cuh"

typedef unsigned int u32;

#define FRAGMENTS(type, multiply)                                                          \
  {                                                                                        \
    u32 lane = threadIdx.x, x[4], y[2];                                                    \
    type sum[4];                                                                           \
    for (int i = 0; i < 4; i++) x[i] = a[(blockIdx.x * 4 + i) * 32 + lane];                \
    for (int i = 0; i < 2; i++) y[i] = b[(blockIdx.x * 2 + i) * 32 + lane];                \
    for (int i = 0; i < 4; i++) sum[i] = c[(blockIdx.x * 4 + i) * 32 + lane];              \
    multiply(sum, x, y);                                                                   \
    for (int i = 0; i < 4; i++) c[(blockIdx.x * 4 + i) * 32 + lane] = sum[i];              \
  }

extern "C" __global__ void __launch_bounds__(32) fragments_s8(const u32* a, const u32* b, int* c) FRAGMENTS(int, mma_m16n8k32_s8)
extern "C" __global__ void __launch_bounds__(32) fragments_u8s8(const u32* a, const u32* b, int* c) FRAGMENTS(int, mma_m16n8k32_u8s8)
extern "C" __global__ void __launch_bounds__(32) fragments_bf16(const u32* a, const u32* b, float* c) FRAGMENTS(float, mma_m16n8k16_bf16)
extern "C" __global__ void __launch_bounds__(32) fragments_tf32(const u32* a, const u32* b, float* c) FRAGMENTS(float, mma_m16n8k8_tf32)

extern "C" __global__ void __launch_bounds__(32) fragments_ldmatrix(const uint4* rows, const u32* names, u32* out) {
  __shared__ uint4 tile[32];
  u32 lane = threadIdx.x, r[14];
  tile[lane] = rows[blockIdx.x * 32 + lane];
  const uint4* row = tile + names[blockIdx.x * 32 + lane];
  __syncthreads();
  ldmatrix_x1(r, row);
  ldmatrix_x2(r + 1, row);
  ldmatrix_x4(r + 3, row);
  ldmatrix_x1_trans(r + 7, row);
  ldmatrix_x2_trans(r + 8, row);
  ldmatrix_x4_trans(r + 10, row);
  for (int i = 0; i < 14; i++) out[(blockIdx.x * 14 + i) * 32 + lane] = r[i];
}

// Each thread copies one piece in a first group and two in a second. It reads the first itself after the wait for its
// group, and the others, copied by the next thread, after the barrier.
extern "C" __global__ void __launch_bounds__(128) fragments_cp_async(const uint4* from, const u32* bytes, uint4* out) {
  __shared__ uint4 piece[3][128];
  u32 i = threadIdx.x, next = (i + 1) % 128, first = blockIdx.x * 3 * 128;
  for (int k = 0; k < 3; k++) piece[k][i] = make_uint4(~0u, ~0u, ~0u, ~0u);
  __syncthreads();
  cp_async16(&piece[0][i], from + first + i, bytes[first + i]);
  cp_async_commit();
  cp_async16(&piece[1][i], from + first + 128 + i, bytes[first + 128 + i]);
  cp_async16(&piece[2][i], from + first + 256 + i, bytes[first + 256 + i]);
  cp_async_commit();
  cp_async_wait<1>();
  out[first + i] = piece[0][i];
  cp_async_wait<0>();
  __syncthreads();
  out[first + 128 + i] = piece[1][next];
  out[first + 256 + i] = piece[2][next];
}

extern "C" __global__ void __launch_bounds__(256)
fragments_words(const u32* a, const u32* b, const int* c, int* sums, u32* rounded, u32 n) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  sums[i] = dp4a_s8((int)a[i], (int)b[i], c[i]);
  sums[n + i] = dp4a_u8s8(a[i], (int)b[i], c[i]);
  rounded[i] = to_tf32(__uint_as_float(a[i]));
  rounded[n + i] = pack_bf16(__uint_as_float(a[i]), __uint_as_float(b[i]));
}
