// prepare_rotate.cu: heads and rotated rests of a batch of queries. prepare.cu describes the parameters of these entries
// and their order.
#include "types.cuh"

static const int kTile = 8;   // queries that a block multiplies by a matrix
static const int kWarps = 8;  // warps of such a block

// join_lanes reduces 2 H sums over groups of 2 H lanes: lane l of a group gets the l-th in a[0]. Each step halves the
// number of sums that a lane holds and doubles the number of lanes that they cover.
template <int H>
DEV void join_lanes(float* a) {
  bool upper = threadIdx.x & H;
#pragma unroll
  for (int i = 0; i < H; i++) {
    float keep = upper ? a[i + H] : a[i], send = upper ? a[i] : a[i + H];
    a[i] = keep + __shfl_xor_sync(~0u, send, H);
  }
  if constexpr (H > 1) join_lanes<H / 2>(a);
}

// products multiplies n <= kTile vectors by four rows of D coordinates, D apart; one warp. Lane l gets the product of vector
// l/4 with row l%4, if l/4 < n.
//
// A lane sums every 32nd group of four of 2048 coordinates, 64 products; five additions join the lanes, and further spans
// of 2048 are added in float64. So a product passes at most 69 float32 roundings; a head is allowed 79 before its own
// (bandit.HeadChunk and HeadChunks). With D <= 256 it passes 8 + 5, and a Haar matrix is allowed 16 + ceil(D/16).
DEV double products(const float* x, int n, const float* rows, int D) {
  const int kSpan = 2048;
  int lane = threadIdx.x & 31;
  double sum = 0;
  for (int from = 0; from < D; from += kSpan) {
    int end = min(D, from + kSpan);
    float a[4 * kTile];
#pragma unroll
    for (int i = 0; i < 4 * kTile; i++) a[i] = 0;
    for (int c = from + 4 * lane; c < end; c += 128) {
      float4 u[4];
#pragma unroll
      for (int r = 0; r < 4; r++) u[r] = *(const float4*)(rows + (size_t)r * D + c);
      // Beyond n the last vector is loaded again, which needs no branch; those sums are discarded.
      float4 v[kTile];
#pragma unroll
      for (int k = 0; k < kTile; k++) v[k] = *(const float4*)(x + (size_t)min(k + MUTANT(4), n - 1) * D + c);
#pragma unroll
      for (int i = 0; i < 4 * kTile; i++) {
        a[i] = fmaf(v[i / 4].x, u[i % 4].x, a[i]);
        a[i] = fmaf(v[i / 4].y, u[i % 4].y, a[i]);
        a[i] = fmaf(v[i / 4].z, u[i % 4].z, a[i]);
        a[i] = fmaf(v[i / 4].w, u[i % 4].w, a[i]);
      }
    }
    join_lanes<16>(a);
    sum += a[0];
  }
  return sum;
}

// head_project computes head = U x and rest = x - U^T head for kTile queries a block; a warp processes four directions at
// a time. A coordinate of the rest is x less R products in a chain, as bandit.HeadError assumes.
extern "C" __global__ void __launch_bounds__(256, 2)
head_project(const float* x, const float* U, float* head, float* rest, int m, int R, int D) {
  __shared__ float4 heads[32][kTile / 4];  // [direction][query]
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first = blockIdx.x * kTile, n = min(kTile, m - first);
  if (n <= 0) return;
  x += (size_t)first * D;
  rest += (size_t)first * D;
  head += (size_t)first * R;
  for (int r = 4 * warp; r < R; r += 4 * kWarps) {
    double s = products(x, n, U + (size_t)r * D, D);
    if (lane / 4 < n) head[lane / 4 * R + r + lane % 4] = (float)s;
  }
  for (int from = 0; from < R; from += 32) {
    int count = min(32, R - from);
    if (!MUTANT(2)) __syncthreads();
    if (lane < count) ((float*)heads[lane])[warp] = warp < n ? head[warp * R + from + lane] : 0;
    __syncthreads();
    const float* left = from ? rest : x;
    for (int c = 4 * threadIdx.x; c < D; c += 4 * blockDim.x) {
      float4 v[kTile];
#pragma unroll
      for (int k = 0; k < kTile; k++) v[k] = *(const float4*)(left + (size_t)min(k, n - 1) * D + c);
#pragma unroll 8
      for (int r = 0; r < count; r++) {
        float4 u = *(const float4*)(U + (size_t)(from + r) * D + c);
#pragma unroll
        for (int k = 0; k < kTile; k++) {
          float4 g = heads[r][k / 4];
          float h = k % 4 == 0 ? g.x : k % 4 == 1 ? g.y : k % 4 == 2 ? g.z : g.w;
          v[k].x = fmaf(-h, u.x, v[k].x);
          v[k].y = fmaf(-h, u.y, v[k].y);
          v[k].z = fmaf(-h, u.z, v[k].z);
          v[k].w = fmaf(-h, u.w, v[k].w);
        }
      }
#pragma unroll
      for (int k = 0; k < kTile; k++)
        if (k < n) *(float4*)(rest + (size_t)k * D + c) = v[k];
    }
  }
}

// rotate_haar computes rest = haar x for kTile queries a block; grid y divides the coordinates of the rest.
extern "C" __global__ void __launch_bounds__(256, 2)
rotate_haar(const float* x, const float* haar, float* rest, int m, int D) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first = blockIdx.x * kTile, n = min(kTile, m - first);
  if (n <= 0) return;
  x += (size_t)first * D;
  rest += (size_t)first * D;
  for (int i = 4 * (blockIdx.y * kWarps + warp); i < D; i += 4 * kWarps * gridDim.y) {
    double s = products(x, n, haar + (size_t)i * D, D);
    if (lane / 4 < n) rest[(size_t)(lane / 4) * D + i + lane % 4] = (float)s;
  }
}

// finish_transform does the last stages and the scaling of a transform of 32 N coordinates; v[At + i] of lane l is
// coordinate 32 i + l.
template <int At, int N>
DEV void finish_transform(float (&v)[8]) {
#pragma unroll
  for (int h = 1; h < N; h *= 2)
#pragma unroll
    for (int i = 0; i < N; i++)
      if (!(i & h)) {
        float s = v[At + i], t = v[At + i + h];
        v[At + i] = s + t;
        v[At + i + h] = s - t;
      }
  const float scale = N == 8 ? 0.0625f : N == 4 ? 0.08838834764831845f : N == 2 ? 0.125f : 0.17677669529663687f;
#pragma unroll
  for (int i = 0; i < N; i++) v[At + i] *= scale;
}

// transform does Walsh-Hadamard transforms of n coordinates; v[i] of lane l is coordinate 32 i + l. n = 256 is one
// transform; smaller n is a sum of 128, 64 and 32, with one transform for each.
DEV void transform(float (&v)[8], int n) {
  int lane = threadIdx.x & 31;
#pragma unroll
  for (int h = 1; h < 32; h *= 2)
#pragma unroll
    for (int i = 0; i < 8; i++) {
      float t = __shfl_xor_sync(~0u, v[i], h);
      v[i] = lane & h ? (MUTANT(3) ? v[i] - t : t - v[i]) : v[i] + t;
    }
  if (n == 256) {
    finish_transform<0, 8>(v);
  } else if (n & 128) {
    finish_transform<0, 4>(v);
    if (n & 64) {
      finish_transform<4, 2>(v);
      finish_transform<6, 1>(v);
    } else {
      finish_transform<4, 1>(v);
    }
  } else if (n & 64) {
    finish_transform<0, 2>(v);
    finish_transform<2, 1>(v);
  } else {
    finish_transform<0, 1>(v);
  }
}

// rotate_query computes rest = R x of one query by a block; a and b hold D floats each.
DEV void rotate_query(const float* x, const float* sign, const u32* perm, float* rest, float* a, float* b,
                                            int D, int rounds) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  for (int k = 0; k < rounds; k++) {
    for (int c = 256 * warp; c < D; c += 256 * warps) {
      int n = min(256, D - c);
      float v[8];
#pragma unroll
      for (int i = 0; i < 8; i++) {
        int at = c + 32 * i + lane;
        v[i] = 0;
        if (32 * i < n) v[i] = (k ? a[perm[at - D]] : x[at]) * sign[at];
      }
      transform(v, n);
#pragma unroll
      for (int i = 0; i < 8; i++)
        if (32 * i < n) b[c + 32 * i + lane] = v[i];
    }
    if (!MUTANT(1)) __syncthreads();
    float* t = a;
    a = b;
    b = t;
    sign += D;
    perm += D;
  }
  perm -= D;
  for (int i = threadIdx.x; i < D; i += blockDim.x) rest[i] = a[perm[i]];
}

// rotate computes rest = R x by rounds of signs, transforms and a permutation; D is a multiple of 32. Sums are in the CPU
// backend's order, so the same x gives the same rest, bit for bit. A round has the ten roundings of bandit.RotationError.
extern "C" __global__ void __launch_bounds__(256)
rotate(const float* x, const float* sign, const u32* perm, float* rest, float* work, int m, int D, int rounds) {
  SHARED_DYN(float, here);
  size_t j = blockIdx.x;
  if (j >= (size_t)m) return;
  if (work) {
    rotate_query(x + j * D, sign, perm, rest + j * D, work + 2 * j * D, work + (2 * j + 1) * D, D, rounds);
  } else {
    rotate_query(x + j * D, sign, perm, rest + j * D, here, here + D, D, rounds);
  }
}
