// cuda.h: the part of CUDA C++ that the kernels use, for a host compiler. dev.cuh includes it if the compiler is not a CUDA
// compiler.
#pragma once
#include <cstddef>
#include <cstdio>

#include "atomic.h"
#include "kernel.h"
#include "matrix.h"
#include "number.h"
#include "thread.h"
#include "warp.h"

#define EMU_TEXT2(a) #a
#define EMU_TEXT(a) EMU_TEXT2(a)

// build.sh finds the entries by EMU_GLOBAL in the preprocessed source.
#define __global__ EMU_GLOBAL
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
#ifndef EMU_ENTRIES
#define EMU_GLOBAL
#endif

// The shared variables of each source file are in a section of their own, which is poisoned before every block.
#define __shared__ static __attribute__((section("emu_shared_" EMU_TEXT(EMU_UNIT))))

#define threadIdx (emu::self->index)
#define blockIdx (emu::block_index)
#define blockDim (emu::block_size)
#define gridDim (emu::grid_size)
#define warpSize 32

static inline void __threadfence() { emu::fence(); }
static inline void __threadfence_block() {}
static inline void __threadfence_system() { emu::fence(); }
static inline void __trap(emu::At at = {}) { emu::trap(emu::kIllegalInstruction, at, "__trap"); }

template <class T> static inline T __ldg(const T* p) { return *p; }
template <class T> static inline T __ldcg(const T* p) { return *p; }
template <class T> static inline T __ldcs(const T* p) { return *p; }
template <class T> static inline void __stcg(T* p, T v) { *p = v; }
template <class T> static inline void __stcs(T* p, T v) { *p = v; }
