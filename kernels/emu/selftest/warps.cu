// warps.cu: cooperation of the threads of a warp, a block and a grid, for the emulator's own tests.
#include "dev.cuh"

static const unsigned kAll = 0xffffffffu;

// sum: out[block] is the sum of that block's 256 values.
extern "C" __global__ void __launch_bounds__(256) sum(const float* in, float* out, int n) {
  __shared__ float part[8];
  int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float v = i < n ? in[i] : 0.f;
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(kAll, v, MUTANT(1) ? 1 : d);
  if (lane == 0) part[warp] = v;
  if (MUTANT(2)) {
    if (warp < 4) __syncthreads();
  } else if (MUTANT(3)) {
    if (warp < 4) __syncthreads();
    else __syncthreads();
  } else if (!MUTANT(4)) {
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; w++) v += part[w];
    out[blockIdx.x] = v;
  }
}

// keep: the indices of values that reach the cut, in any order, and their number; one atomic a warp.
extern "C" __global__ void __launch_bounds__(128) keep(const float* in, unsigned* out, unsigned* count, int n, float cut) {
  int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32;
  bool in_range = MUTANT(5) ? i <= n : i < n;
  bool kept = in_range && !(in[i] < cut);
  unsigned mask = __ballot_sync(MUTANT(6) ? 0x7fffffffu : kAll, kept), base = 0;
  if (lane == 0 || MUTANT(7)) base = mask ? atomicAdd(count, (unsigned)__popc(mask)) : 0;
  if (!MUTANT(8)) base = __shfl_sync(kAll, base, 0);
  unsigned before = MUTANT(9) ? mask : mask & ((1u << lane) - 1);
  if (kept) out[base + __popc(before)] = i;
}

// histogram: of n bytes, in shared memory first.
extern "C" __global__ void __launch_bounds__(256) histogram(const unsigned char* in, unsigned* out, int n) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  if (!MUTANT(10)) __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    if (MUTANT(11)) bins[in[i]]++;
    else atomicAdd(&bins[in[i]], 1u);
  }
  if (!MUTANT(12)) __syncthreads();
  if (MUTANT(13)) out[threadIdx.x] += bins[threadIdx.x];
  else atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// turn: every warp transposes 32 by 32 values through its own part of shared memory.
extern "C" __global__ void __launch_bounds__(64) turn(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[2][32][33];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  size_t base = ((size_t)blockIdx.x * 2 + warp) * 1024;
  for (int r = 0; r < 32; r++) tile[warp][r][lane] = in[base + r * 32 + lane];
  if (MUTANT(14)) __ballot_sync(kAll, 1);  // a collective that does not order memory
  else if (!MUTANT(15)) __syncwarp();
  for (int r = 0; r < 32; r++) out[base + r * 32 + lane] = tile[warp][lane][r];
}

// total: one sum for the whole grid, computed by the last block. part holds one value for each block.
extern "C" __global__ void __launch_bounds__(32) total(const unsigned* in, unsigned* part, unsigned* ticket, unsigned* out, int n) {
  unsigned v = 0, lane = threadIdx.x;
  for (int i = blockIdx.x * 32 + lane; i < n; i += gridDim.x * 32) v += in[i];
  v = __reduce_add_sync(kAll, v);
  bool last = false;
  if (lane == 0) {
    part[blockIdx.x] = v;
    if (!MUTANT(16)) __threadfence();
    last = MUTANT(17) ? blockIdx.x == gridDim.x - 1 : atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  if (!__any_sync(kAll, last)) return;
  __threadfence();
  __syncwarp();  // part[blockIdx.x] is lane 0's
  v = 0;
  for (unsigned b = lane; b < gridDim.x; b += 32) v += part[b];
  v = __reduce_add_sync(kAll, v);
  if (lane == 0) *out = v;
}

// Uses 400 KB of local memory.
static __device__ __noinline__ unsigned deep(int n) {
  volatile unsigned memory[100000];
  memory[n] = 1;
  return memory[n + 1];
}

// faults: a deliberate fault of each kind.
extern "C" __global__ void __launch_bounds__(64) faults(int kind, unsigned* p, int n, long long far) {
  SHARED_DYN(unsigned, dynamic);
  unsigned lane = threadIdx.x;
  switch (kind) {
    case 0: p[n] = 1; break;                                       // past the end
    case 1: p[-1] = 1; break;                                      // before the begin
    case 2: *(unsigned*)far = 1; break;                            // anywhere
    case 3: dynamic[n] = 1; break;                                 // past dynamic shared memory
    case 4: if (lane < 32) __syncthreads(); break;                 // others have returned
    case 5: if (lane < 16) __syncwarp(); else __ballot_sync(kAll, 1); break;
    case 6: if (lane < 16) __syncwarp(0xffffu << 16); break;       // not in its own mask
    case 7: __trap(); break;
    case 8: p[lane] = __shfl_sync(lane < 16 ? 0xffffu : 0xffff0000u, lane, 20); break;  // of a lane outside the mask
    case 9: if (lane < 8) __syncwarp(0xffffu); else if (lane < 16) __syncwarp(0x1ffffu); break;
    case 10: cp_async16(p, p, 16); break;                          // not into shared memory
    case 11: cp_async16(dynamic + 1, p, 16); break;                // misaligned
    case 12: { float c[4] = {}; unsigned a[4] = {}; if (lane < 16) mma_m16n8k8_tf32(c, a, a); p[lane] = (unsigned)c[0]; break; }
    case 13: p[lane] = dynamic[0]; break;                          // nobody wrote it
    case 14: *(unsigned long long*)(p + 1) = 1; break;             // misaligned
    case 15: if (lane == 0) dynamic[1] = 1; else if (lane == 63) p[0] = dynamic[1]; break;
    case 16: p[0] = lane; break;                                   // all threads at once
    case 17: *(volatile unsigned*)p = 1; break;                    // all at once, but volatile
    case 18: ((unsigned char*)p)[lane] = 1; break;                 // other bytes of the same words
    case 19: if (lane == 0) atomicAdd(p, 1u); else if (lane == 40) p[1] = p[0]; break;
    case 20: p[0] = deep(n); break;
    case 21: if (lane < 16) p[lane] = __ballot_sync(kAll, 1); break;  // the others return and do not count
    case 22:
      if (lane < 16) __syncwarp();
      else __syncwarp();  // one barrier's worth of lanes at two of them
      break;
    case 23:  // no fault: 13 bytes and three zeros
      if (lane >= 16) break;
      cp_async16(dynamic + 4 * lane, p, 13);
      cp_async_commit();
      cp_async_wait<0>();
      p[64 + lane] = dynamic[4 * lane + 3];
      break;
    case 24:  // of two blocks, with a fence by the one that writes, by the one that reads if n & 1
      if (lane == 0 && blockIdx.x == 0) p[0] = 1, __threadfence();
      if (lane == 0 && blockIdx.x == 1) {
        if (n & 1) __threadfence();
        p[1] = p[0];
      }
      break;
  }
}
