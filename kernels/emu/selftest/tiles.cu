// tiles.cu: matrix products by every kind of matrix instruction, for the emulator's own tests and for a first test of a
// new device. All compute C[i][j] = sum over c of A[i][c] B[j][c] for i < m and j < n, by
// tiles of 64 by 64 and 128 threads a block, four warps of 32 by 32.
#include "dev.cuh"

static const int kTile = 64, kThreads = 128;

// ---- bytes: asynchronous copies into two stages, fragments by ldmatrix ----

static const int kStep = 64;           // bytes of a row in a stage
static const int kPitch = kStep + 16;  // of rows in shared memory: eight rows use disjoint banks

// Starts the copy of bytes [c, c + 64) of rows [i0, i0 + 64) of a matrix of `rows` rows, with zeros beyond its ends.
DEV void load_stage(unsigned char* stage, const unsigned char* matrix, int rows, int i0, int k, int c) {
  for (int e = threadIdx.x; e < kTile * kStep / 16; e += kThreads) {
    int row = e / (kStep / 16), at = e % (kStep / 16) * 16, i = i0 + row;
    bool inside = i < (MUTANT(6) ? rows + 1 : rows) && c + at < k;
    const unsigned char* from = inside ? matrix + (size_t)i * k + c + at : matrix;
    cp_async16(stage + row * kPitch + at, from, inside || MUTANT(7) ? 16 : 0);
  }
}

// K is a multiple of 16. Dynamic shared memory: two stages of two tiles, 4 * 64 * kPitch bytes.
template <bool kUnsigned>
DEV void gemm_bytes(const unsigned char* A, const unsigned char* B, int* C, int m, int n, int k) {
  SHARED_DYN(unsigned char, stages);
  const int kTileBytes = kTile * kPitch;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int i0 = blockIdx.x * kTile, j0 = blockIdx.y * kTile, row = warp % 2 * 32, column = warp / 2 * 32;
  int c[2][4][4] = {};
  int steps = (k + kStep - 1) / kStep;
  load_stage(stages, A, m, i0, k, 0);
  load_stage(stages + kTileBytes, B, n, j0, k, 0);
  cp_async_commit();
  for (int s = 0; s < steps; s++) {
    if (s + 1 < steps) {
      unsigned char* next = stages + (s + 1) % 2 * 2 * kTileBytes;
      load_stage(next, A, m, i0, k, (s + 1) * kStep);
      load_stage(next + kTileBytes, B, n, j0, k, (s + 1) * kStep);
      if (!MUTANT(9)) cp_async_commit();
    }
    if (s + 1 < steps || MUTANT(3)) cp_async_wait<1>();
    else cp_async_wait<0>();
    if (!MUTANT(1)) __syncthreads();
    const unsigned char* a_tile = stages + s % 2 * 2 * kTileBytes;
    const unsigned char* b_tile = a_tile + kTileBytes;
    for (int at = 0; at < kStep; at += 32) {
      unsigned a[2][4], b[2][4];
      // Matrices 0 to 3 of a: rows 0-7 and 8-15 of bytes 0-15, then of bytes 16-31. Of b: columns 0-7,
      // bytes 0-15 and 16-31, then columns 8-15.
      int a_row = MUTANT(8) ? lane / 2 : lane % 16, a_byte = at + lane / 16 * 16;
      int b_row = lane / 16 * 8 + lane % 8, b_byte = at + lane / 8 % 2 * 16;
      for (int x = 0; x < 2; x++) {
        ldmatrix_x4(a[x], a_tile + (row + 16 * x + a_row) * kPitch + a_byte);
        ldmatrix_x4(b[x], b_tile + (column + 16 * x + b_row) * kPitch + b_byte);
      }
      for (int x = 0; x < 2; x++)
        for (int y = 0; y < 4; y++) {
          const unsigned* pair = b[y / 2] + (MUTANT(4) ? 1 - y % 2 : y % 2) * 2;
          if (kUnsigned) mma_m16n8k32_u8s8(c[x][y], a[x], pair);
          else mma_m16n8k32_s8(c[x][y], a[x], pair);
        }
    }
    if (!MUTANT(2)) __syncthreads();
  }
  for (int x = 0; x < 2; x++)
    for (int y = 0; y < 4; y++)
      for (int e = 0; e < 4; e++) {
        int i = i0 + row + 16 * x + g + (MUTANT(5) ? e % 2 : e / 2) * 8, j = j0 + column + 8 * y + 2 * t + (MUTANT(5) ? e / 2 : e % 2);
        if (i < m && j < n) C[(size_t)i * n + j] = c[x][y][e];
      }
}

extern "C" __global__ void __launch_bounds__(128) gemm_s8(const unsigned char* A, const unsigned char* B, int* C, int m, int n, int k) {
  gemm_bytes<false>(A, B, C, m, n, k);
}
extern "C" __global__ void __launch_bounds__(128) gemm_u8s8(const unsigned char* A, const unsigned char* B, int* C, int m, int n, int k) {
  gemm_bytes<true>(A, B, C, m, n, k);
}

// ---- floats: one stage, fragments word by word ----

static const int kWords = 8;  // of a row in a step: 16 bfloat16, or 8 tf32

// Rounds rows of floats to words in shared memory, with zeros beyond the ends.
template <bool kBf16>
DEV void load_words(unsigned (*tile)[kWords + 4], const float* matrix, int rows, int i0, int k, int c) {
  for (int e = threadIdx.x; e < kTile * kWords; e += kThreads) {
    int row = e / kWords, word = e % kWords, i = i0 + row;
    if (kBf16) {
      int at = c + 2 * word;
      float lo = i < rows && at < k ? matrix[(size_t)i * k + at] : 0.f;
      float hi = i < rows && at + 1 < k ? matrix[(size_t)i * k + at + 1] : 0.f;
      tile[row][word] = MUTANT(10) ? pack_bf16(hi, lo) : pack_bf16(lo, hi);
    } else {
      int at = c + word;
      tile[row][word] = i < rows && at < k ? to_tf32(matrix[(size_t)i * k + at]) : 0;
    }
  }
}

template <bool kBf16>
DEV void gemm_floats(unsigned (*A_tile)[kWords + 4], unsigned (*B_tile)[kWords + 4], const float* A, const float* B, float* C, int m, int n, int k) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int i0 = blockIdx.x * kTile, j0 = blockIdx.y * kTile, row = warp % 2 * 32, column = warp / 2 * 32;
  float c[2][4][4] = {};
  for (int at = 0; at < k; at += kBf16 ? 2 * kWords : kWords) {
    load_words<kBf16>(A_tile, A, m, i0, k, at);
    // Mutant 10 swaps the halves of one factor only; swapping both would change nothing.
    if (MUTANT(10)) {
      for (int e = threadIdx.x; e < kTile * kWords; e += kThreads) {
        int i = j0 + e / kWords, p = at + e % kWords * 2;
        B_tile[e / kWords][e % kWords] = pack_bf16(i < n && p < k ? B[(size_t)i * k + p] : 0.f, i < n && p + 1 < k ? B[(size_t)i * k + p + 1] : 0.f);
      }
    } else {
      load_words<kBf16>(B_tile, B, n, j0, k, at);
    }
    if (!MUTANT(11)) __syncthreads();
    for (int x = 0; x < 2; x++)
      for (int y = 0; y < 4; y++) {
        const unsigned *lo = A_tile[row + 16 * x + g], *hi = A_tile[row + 16 * x + g + 8], *right = B_tile[column + 8 * y + g];
        unsigned a[4] = {lo[t], hi[t], lo[t + 4], hi[t + 4]}, b[2] = {right[t], right[t + 4]};
        if (MUTANT(12)) b[0] = right[t + 4], b[1] = right[t];
        if (kBf16) mma_m16n8k16_bf16(c[x][y], a, b);
        else mma_m16n8k8_tf32(c[x][y], a, b);
      }
    if (!MUTANT(13)) __syncthreads();
  }
  for (int x = 0; x < 2; x++)
    for (int y = 0; y < 4; y++)
      for (int e = 0; e < 4; e++) {
        int i = i0 + row + 16 * x + g + e / 2 * 8, j = j0 + column + 8 * y + 2 * t + e % 2;
        if (i < m && j < n) C[(size_t)i * n + j] = c[x][y][e];
      }
}

extern "C" __global__ void __launch_bounds__(128) gemm_bf16(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ unsigned a[kTile][kWords + 4], b[kTile][kWords + 4];
  gemm_floats<true>(a, b, A, B, C, m, n, k);
}
extern "C" __global__ void __launch_bounds__(128) gemm_tf32(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ unsigned a[kTile][kWords + 4], b[kTile][kWords + 4];
  gemm_floats<false>(a, b, A, B, C, m, n, k);
}

// fragments: one warp multiplies the fragments of its lanes. a is [32][4] words, b [32][2], c [32][4]; kind 0 is
// s8, 1 u8s8, 2 bf16, 3 tf32.
extern "C" __global__ void __launch_bounds__(32) fragments(const unsigned* a, const unsigned* b, unsigned* c, int kind) {
  unsigned lane = threadIdx.x;
  if (kind < 2) {
    int sum[4];
    for (int e = 0; e < 4; e++) sum[e] = (int)c[4 * lane + e];
    if (kind == 0) mma_m16n8k32_s8(sum, a + 4 * lane, b + 2 * lane);
    else mma_m16n8k32_u8s8(sum, a + 4 * lane, b + 2 * lane);
    for (int e = 0; e < 4; e++) c[4 * lane + e] = (unsigned)sum[e];
  } else {
    float sum[4];
    for (int e = 0; e < 4; e++) sum[e] = __uint_as_float(c[4 * lane + e]);
    if (kind == 2) mma_m16n8k16_bf16(sum, a + 4 * lane, b + 2 * lane);
    else mma_m16n8k8_tf32(sum, a + 4 * lane, b + 2 * lane);
    for (int e = 0; e < 4; e++) c[4 * lane + e] = __float_as_uint(sum[e]);
  }
}

// matrices: in are four matrices of 8 by 8 16-bit elements; out [lane][14] is what x1, x2, x4 and their transposing forms
// give each lane.
extern "C" __global__ void __launch_bounds__(32) matrices(const uint4* in, unsigned* out) {
  __shared__ uint4 rows[32];
  unsigned lane = threadIdx.x;
  rows[lane] = in[lane];
  __syncwarp();
  unsigned r[14];
  ldmatrix_x1(r, &rows[lane % 8]);
  ldmatrix_x2(r + 1, &rows[lane % 16]);
  ldmatrix_x4(r + 3, &rows[lane]);
  ldmatrix_x1_trans(r + 7, &rows[lane % 8]);
  ldmatrix_x2_trans(r + 8, &rows[lane % 16]);
  ldmatrix_x4_trans(r + 10, &rows[lane]);
  for (int i = 0; i < 14; i++) out[14 * lane + i] = r[i];
}
