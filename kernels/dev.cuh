// dev.cuh: the dialect in which the kernels are written. Sources include this file and other headers of this folder, and
// nothing else. A CUDA compiler (NVRTC, for compute_80 or newer) gets the primitives below as inline PTX. A host compiler
// gets them, and CUDA C++ itself, from emu/, which runs the same source on the CPU (docs/kernels.md).
//
// Rules that the emulator relies on: entries are extern "C" __global__ void with parameters of 8 bytes or less, or
// structures of whole 8-byte words, declared `const __grid_constant__`; __shared__ arrays are declared inside functions;
// dynamic shared memory comes from SHARED_DYN; there are no half types, textures, device globals, clusters, or waits for
// another block.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define DEV_CUDA 1
#else
#define DEV_CUDA 0
#include "emu/cuda.h"
#endif

#define DEV static __device__ __forceinline__

// SHARED_DYN(type, name) declares type* name, the block's dynamic shared memory, aligned to 16 bytes.
// MUTANT(n) marks the n-th deliberate fault of a source file: `if (!MUTANT(2)) __syncthreads();`. It is false, except on the
// emulator when EMU_MUTANT names it, so that a test can prove that it detects the fault.
// DEV_AT and DEV_FROM pass the location of a call to the emulator; on the device they are empty.
#if DEV_CUDA
#define SHARED_DYN(type, name)                                           \
  extern __shared__ __align__(16) unsigned char dev_dynamic_shared[]; \
  type* name = reinterpret_cast<type*>(dev_dynamic_shared)
#define MUTANT(n) false
#define DEV_AT
#define DEV_FROM
#else
#define SHARED_DYN(type, name) type* name = reinterpret_cast<type*>(emu::dynamic_shared)
#define MUTANT(n) __builtin_expect(emu_mutant == (n), 0)
#define DEV_AT , emu::At at = {}
#define DEV_FROM emu::At at = {}
#endif

// ---- asynchronous copies ----

// cp_async16 starts a copy of 16 bytes from global to shared memory that bypasses registers and L1: the first n (0 to 16)
// bytes come from global, the rest are zeros. Both addresses are multiples of 16; n bytes from global on must be readable.
// The bytes are visible to this thread after the wait for their group, and to the block after the barrier that follows.
DEV void cp_async16(void* shared, const void* global, unsigned n DEV_AT) {
#if DEV_CUDA
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(n)
               : "memory");
#else
  emu::copy_async(shared, global, n, at);
#endif
}

// cp_async_commit closes the group of the copies that this thread started since the last call.
DEV void cp_async_commit() {
#if DEV_CUDA
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emu::copy_commit();
#endif
}

// cp_async_wait waits until at most N of this thread's groups are incomplete; groups complete in order.
template <int N>
DEV void cp_async_wait(DEV_FROM) {
#if DEV_CUDA
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#else
  emu::copy_wait(N, at);
#endif
}

// ---- matrices ----
//
// A warp holds a matrix in fragments: lane l, with g = l/4 and t = l%4, has the 32-bit words below. A word is four 8-bit
// elements, two 16-bit ones or one of 32 bits, the lowest first. All 32 lanes must call.
//   a (16 rows, 8 words a row)        a[0] row g    word t      a[1] row g+8  word t
//                                     a[2] row g    word t+4    a[3] row g+8  word t+4
//   b (8 columns, 8 words a column)   b[0] column g word t      b[1] column g word t+4
//   c (16 rows, 8 columns)            c[0] row g   column 2t    c[1] row g   column 2t+1
//                                     c[2] row g+8 column 2t    c[3] row g+8 column 2t+1
// With both factors stored in shared memory with coordinates along a row, the words of a row of the left and of the right
// factor are loaded in the same way (row.col in PTX).

// c += a b, 16x32 by 32x8, signed bytes, 32-bit sums that wrap.
DEV void mma_m16n8k32_s8(int* c, const unsigned* a, const unsigned* b DEV_AT) {
#if DEV_CUDA
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  emu::mma_int8(c, a, b, emu::Int8::s8, at);
#endif
}

// The same with unsigned bytes in a and signed ones in b.
DEV void mma_m16n8k32_u8s8(int* c, const unsigned* a, const unsigned* b DEV_AT) {
#if DEV_CUDA
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  emu::mma_int8(c, a, b, emu::Int8::u8, at);
#endif
}

// c += a b, 16x16 by 16x8, bfloat16 factors (pack_bf16), float32 sums whose order and rounding depend on the device.
DEV void mma_m16n8k16_bf16(float* c, const unsigned* a, const unsigned* b DEV_AT) {
#if DEV_CUDA
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  emu::mma_bf16(c, a, b, at);
#endif
}

// c += a b, 16x8 by 8x8, tf32 factors (to_tf32; bits below the ten of tf32 are ignored), float32 sums as above.
DEV void mma_m16n8k8_tf32(float* c, const unsigned* a, const unsigned* b DEV_AT) {
#if DEV_CUDA
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  emu::mma_tf32(c, a, b, at);
#endif
}

// to_tf32 rounds to tf32 (10 bits of fraction), to nearest, ties away from zero.
DEV unsigned to_tf32(float v) {
#if DEV_CUDA
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
  return r;
#else
  unsigned u = __float_as_uint(v);
  return (u & 0x7f800000u) == 0x7f800000u ? u : (u + 0x1000u) & 0xffffe000u;
#endif
}

// pack_bf16 rounds both arguments to bfloat16, to nearest even; lo becomes the lower half. NaN gives 0x7fff.
DEV unsigned pack_bf16(float lo, float hi) {
#if DEV_CUDA
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
#else
  unsigned l = __float_as_uint(lo), h = __float_as_uint(hi);
  l = lo != lo ? 0x7fffu : (l + 0x7fffu + (l >> 16 & 1)) >> 16;
  h = hi != hi ? 0x7fffu : (h + 0x7fffu + (h >> 16 & 1)) >> 16;
  return h << 16 | l;
#endif
}

// ldmatrix_xN loads N matrices of eight rows of 16 bytes (four words) from shared memory: lanes 8i to 8i+7 pass the
// addresses of the rows of matrix i, multiples of 16, and r[i] becomes word t of its row g. x4 with the addresses of rows
// 0-7 and 8-15 of words 0-3, then of words 4-7, loads an `a`; x2 with those of columns 0-7, words 0-3 and 4-7, loads a `b`;
// x4 loads two of the latter.
DEV void ldmatrix_x1(unsigned* r, const void* row DEV_AT) {
#if DEV_CUDA
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
#else
  emu::load_matrices(r, row, 1, false, at);
#endif
}

DEV void ldmatrix_x2(unsigned* r, const void* row DEV_AT) {
#if DEV_CUDA
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
#else
  emu::load_matrices(r, row, 2, false, at);
#endif
}

DEV void ldmatrix_x4(unsigned* r, const void* row DEV_AT) {
#if DEV_CUDA
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
#else
  emu::load_matrices(r, row, 4, false, at);
#endif
}

// ldmatrix_xN_trans transposes each matrix of 16-bit elements: r[i] holds element (row 2t, column g) in its lower half and
// (row 2t+1, column g) in its upper half.
DEV void ldmatrix_x1_trans(unsigned* r, const void* row DEV_AT) {
#if DEV_CUDA
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
#else
  emu::load_matrices(r, row, 1, true, at);
#endif
}

DEV void ldmatrix_x2_trans(unsigned* r, const void* row DEV_AT) {
#if DEV_CUDA
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
#else
  emu::load_matrices(r, row, 2, true, at);
#endif
}

DEV void ldmatrix_x4_trans(unsigned* r, const void* row DEV_AT) {
#if DEV_CUDA
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
#else
  emu::load_matrices(r, row, 4, true, at);
#endif
}

// ---- four bytes at a time ----

// dp4a adds the four products of the bytes of a and b to c: signed by signed (as __dp4a), or unsigned by signed.
DEV int dp4a_s8(int a, int b, int c) { return __dp4a(a, b, c); }

DEV int dp4a_u8s8(unsigned a, int b, int c) {
#if DEV_CUDA
  int r;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
#else
  for (int i = 0; i < 32; i += 8) c = (int)((unsigned)c + (unsigned)((int)(a >> i & 255) * (signed char)(b >> i)));
  return c;
#endif
}
