// words.cu: every function of the dialect that works on a thread's own words or exchanges words in a warp, one result in
// each column, for comparison with plain C++.
#include "dev.cuh"

static const unsigned kAll = 0xffffffffu;

// out[i][column]
template <class T>
struct Row {
  T* next;
  __device__ __forceinline__ void put(T v) { *next++ = v; }
};

// 32-bit results for a, b, c.
extern "C" __global__ void ints(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, int n, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], y = b[i], z = c[i];
  unsigned long long wide = (unsigned long long)x << 32 | y;
  Row<unsigned> r = {out + (size_t)i * columns};
  r.put(__popc(x));
  r.put(__popcll(wide));
  r.put(__ffs((int)x));
  r.put(__ffsll((long long)wide));
  r.put(__clz((int)x));
  r.put(__clzll((long long)wide));
  r.put(__brev(x));
  r.put((unsigned)(__brevll(wide) >> 32));
  r.put(__byte_perm(x, y, z));
  r.put(__funnelshift_l(x, y, z));
  r.put(__funnelshift_r(x, y, z));
  r.put((unsigned)__mulhi((int)x, (int)y));
  r.put(__umulhi(x, y));
  r.put((unsigned)(__umul64hi(wide, wide ^ z) >> 32));
  r.put((unsigned)(__mul64hi((long long)wide, (long long)(wide ^ z)) >> 32));
  r.put((unsigned)__dp4a((int)x, (int)y, (int)z));
  r.put(__dp4a(x, y, z));
  r.put((unsigned)dp4a_s8((int)x, (int)y, (int)z));
  r.put((unsigned)dp4a_u8s8(x, (int)y, (int)z));
  r.put(min((int)x, (int)y));
  r.put(max((int)x, (int)y));
  r.put(min(x, y));
  r.put(max(x, y));
}

// Bits of results for floats a, b, c.
extern "C" __global__ void floats(const float* a, const float* b, const float* c, unsigned* out, int n, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i], z = c[i];
  Row<unsigned> r = {out + (size_t)i * columns};
#define FLOAT(e) r.put(__float_as_uint(e))
#define FOUR(f, args) FLOAT(f##_rn args); FLOAT(f##_rd args); FLOAT(f##_ru args); FLOAT(f##_rz args)
  FOUR(__fadd, (x, y));
  FOUR(__fsub, (x, y));
  FOUR(__fmul, (x, y));
  FOUR(__fmaf, (x, y, z));
  FOUR(__fdiv, (x, y));
  FOUR(__fsqrt, (fabsf(x)));
  FOUR(__double2float, ((double)x * (double)y));
  FOUR(__ll2float, (((long long)__float_as_int(x) << 32 | __float_as_uint(y))));
  FOUR(__ull2float, (((unsigned long long)__float_as_uint(x) << 32 & ~0xffffffffffull) | 0x8000000001ull));  // just above a tie
  FOUR(__int2float, (__float_as_int(x)));
  FOUR(__uint2float, (__float_as_uint(x)));
  r.put((unsigned)__float2int_rn(x));
  r.put((unsigned)__float2int_rd(x));
  r.put((unsigned)__float2int_ru(x));
  r.put((unsigned)__float2int_rz(x));
  FLOAT(fmaf(x, y, z));
  FLOAT(fminf(x, y));
  FLOAT(fmaxf(x, y));
  FLOAT(__uint_as_float(to_tf32(x)));
  r.put(pack_bf16(x, y));
#undef FOUR
#undef FLOAT
}

// Bits of results for doubles a, b, c.
extern "C" __global__ void doubles(const double* a, const double* b, const double* c, long long* out, int n, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i], y = b[i], z = c[i];
  Row<long long> r = {out + (size_t)i * columns};
#define DOUBLE(e) r.put(__double_as_longlong(e))
#define FOUR(f, args) DOUBLE(f##_rn args); DOUBLE(f##_rd args); DOUBLE(f##_ru args); DOUBLE(f##_rz args)
  FOUR(__dadd, (x, y));
  FOUR(__dsub, (x, y));
  FOUR(__dmul, (x, y));
  FOUR(__fma, (x, y, z));
  FOUR(__ddiv, (x, y));
  FOUR(__dsqrt, (fabs(x)));
  FOUR(__ll2double, (__double_as_longlong(x)));
  FOUR(__ull2double, ((unsigned long long)__double_as_longlong(x)));
  FOUR(__ull2double, (((unsigned long long)__double_as_longlong(x) & ~0x7ffull) | 0x401));
  r.put(__double2ll_rn(x));
  r.put(__double2ll_rd(x));
  r.put(__double2ll_ru(x));
  r.put(__double2ll_rz(x));
#undef FOUR
#undef DOUBLE
}

// Exchanges within a warp; v and w are the lane's own words.
extern "C" __global__ void __launch_bounds__(64) exchanges(const unsigned* v, const unsigned* w, unsigned* out, int columns) {
  unsigned i = threadIdx.x, lane = i % 32, x = v[i], y = w[i];
  unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
  unsigned long long wide = (unsigned long long)x << 32 | y;
  Row<unsigned> r = {out + (size_t)i * columns};
  r.put(__shfl_sync(kAll, x, (int)(y % 32)));
  r.put((unsigned)(__shfl_sync(kAll, wide, 5) >> 32));
  r.put(__shfl_sync(kAll, x, 3, 8));
  r.put(__shfl_up_sync(kAll, x, 3));
  r.put(__shfl_up_sync(kAll, x, 3, 16));
  r.put(__shfl_down_sync(kAll, x, 5));
  r.put(__shfl_down_sync(kAll, x, 5, 8));
  r.put(__shfl_xor_sync(kAll, x, 7));
  r.put(__shfl_xor_sync(kAll, x, 12, 8));
  r.put(__shfl_sync(half, x, (int)(lane / 16 * 16 + y % 16)));
  r.put(__float_as_uint(__shfl_xor_sync(kAll, __uint_as_float(x), 1)));
  r.put(__ballot_sync(kAll, x & 1));
  r.put(__ballot_sync(half, x & 1));
  r.put((unsigned)__any_sync(half, x % 16 == 0));
  r.put((unsigned)__all_sync(half, x % 16 != 0));
  r.put(__reduce_add_sync(kAll, x));
  r.put(__reduce_min_sync(half, x));
  r.put(__reduce_max_sync(kAll, x));
  r.put((unsigned)__reduce_add_sync(kAll, (int)x));
  r.put((unsigned)__reduce_min_sync(kAll, (int)x));
  r.put((unsigned)__reduce_max_sync(half, (int)x));
  r.put(__reduce_and_sync(kAll, x | 0xffffu));
  r.put(__reduce_or_sync(kAll, x & 0xffffu));
  r.put(__reduce_xor_sync(kAll, x));
  r.put(__match_any_sync(kAll, x % 4));
  r.put(__match_any_sync(half, (unsigned long long)(x % 3) << 40));
  r.put((unsigned)__syncthreads_count((int)(x & 1)));
  r.put((unsigned)(__syncthreads_and((int)(x | 1)) != 0));
  r.put((unsigned)(__syncthreads_and(lane != 7) != 0));
  r.put((unsigned)(__syncthreads_or(lane == 7) != 0));
  if (lane < 20) r.put(__ballot_sync(0xfffffu, x & 2));  // the others continue
  else r.put(0);
}

// All threads change the same words: ints[8], unsigneds[12], longs[8], and sums of a float and a double.
extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, unsigned* old) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  int s = (int)(t * 2654435761u);
  unsigned long long w = (unsigned long long)t * 11400714819323198485ull;
  atomicAdd(&i[0], s);
  atomicMin(&i[1], s);
  atomicMax(&i[2], s);
  atomicSub(&i[3], s);
  atomicAnd(&i[4], s | 0xff);
  atomicOr(&i[5], s & 0xff0);
  atomicXor(&i[6], s);
  old[t] = atomicAdd(&u[0], 1u);
  atomicMin(&u[1], (unsigned)s);
  atomicMax(&u[2], (unsigned)s);
  atomicAnd(&u[3], (unsigned)s | 7u);
  atomicOr(&u[4], 1u << t % 32);
  atomicXor(&u[5], (unsigned)s);
  atomicInc(&u[6], 9u);
  atomicDec(&u[7], 9u);
  atomicExch(&u[8], 77u);
  atomicSub(&u[9], 3u);
  for (unsigned seen = *(volatile unsigned*)&u[10], want;; seen = want) {  // u[10] = max, by compare and swap
    want = atomicCAS(&u[10], seen, max(seen, (unsigned)s));
    if (want == seen) break;
  }
  atomicAdd(&l[0], w);
  atomicMin(&l[1], w);
  atomicMax(&l[2], w);
  atomicAnd(&l[3], w | 1);
  atomicOr(&l[4], 1ull << t % 64);
  atomicXor(&l[5], w);
  atomicExch(&l[6], 5ull);
  atomicCAS(&l[7], 0ull, 9ull);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
}

// Every built-in coordinate, in three dimensions.
extern "C" __global__ void coordinates(unsigned* out) {
  unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = blockIdx.x | blockIdx.y << 4 | blockIdx.z << 8 | threadIdx.x << 12 | threadIdx.y << 20 | threadIdx.z << 24;
}
