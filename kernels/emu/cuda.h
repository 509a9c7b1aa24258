// cuda.h: the part of CUDA C++ that the kernels use, for a host compiler. dev.cuh includes it where no
// CUDA compiler is at work.
#pragma once
#include <cstddef>
#include <cstdio>
#include <utility>

#include "atomic.h"
#include "matrix.h"
#include "number.h"
#include "thread.h"
#include "warp.h"

#define EMU_JOIN2(a, b) a##b
#define EMU_JOIN(a, b) EMU_JOIN2(a, b)
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
#define __align__(n) alignas(n)
#ifndef EMU_ENTRIES
#define EMU_GLOBAL
#endif

// Shared variables of one source file lie in a section of their own, which every block finds poisoned.
#define __shared__ static __attribute__((section("emu_shared_" EMU_TEXT(EMU_UNIT))))

#define threadIdx (emu::self->index)
#define blockIdx (emu::block_index)
#define blockDim (emu::block_size)
#define gridDim (emu::grid_size)
#define warpSize 32

namespace emu {

void fence();  // a memory fence of the device

// Param is a kernel's parameter as PTX words it: its bytes, and whether it is a floating-point number.
struct Param {
  unsigned size;
  bool real;
};

struct Kernel {
  const char* name;
  void (*call)(void** args);
  const Param* params;
  size_t count;
};

// Unit is one source file of kernels, compiled plainly or with the checker's calls in it.
struct Unit {
  const char* name;
  bool checked;
  char *shared_begin, *shared_end;  // its static shared variables
  int* mutant;                      // see MUTANT in dev.cuh
  const Kernel* kernels;
  size_t count;
  Unit* next;
};
void add_unit(Unit* unit);

template <auto F>
struct Entry;
template <class... A, void (*F)(A...)>
struct Entry<F> {
  static constexpr Param params[sizeof...(A) + 1] = {{sizeof(A), std::is_floating_point_v<A>}..., {0, false}};
  template <size_t... I>
  static void spread(void** args, std::index_sequence<I...>) { F(*static_cast<A*>(args[I])...); }
  static void call(void** args) { spread(args, std::index_sequence_for<A...>()); }
  static constexpr Kernel kernel(const char* name) { return {name, call, params, sizeof...(A)}; }
};

}  // namespace emu

// EMU_REGISTER ends the file that build.sh makes of a source: it tells the emulator of its kernels.
#define EMU_SECTION_EDGE(edge) EMU_JOIN(EMU_JOIN(__##edge##_emu_shared_, EMU_UNIT), )
#define EMU_REGISTER(name, checked)                                                                        \
  extern "C" {                                                                                             \
  extern char EMU_SECTION_EDGE(start)[] __attribute__((weak));                                            \
  extern char EMU_SECTION_EDGE(stop)[] __attribute__((weak));                                             \
  }                                                                                                        \
  static emu::Unit emu_unit = {name, checked, EMU_SECTION_EDGE(start), EMU_SECTION_EDGE(stop), &emu_mutant, \
                               emu_kernels, sizeof emu_kernels / sizeof *emu_kernels, nullptr};            \
  static const bool emu_added = (emu::add_unit(&emu_unit), true);

static inline void __threadfence() { emu::fence(); }
static inline void __threadfence_block() {}
static inline void __threadfence_system() { emu::fence(); }
static inline void __trap(emu::At at = {}) { emu::trap(emu::kIllegalInstruction, at, "__trap"); }

template <class T> static inline T __ldg(const T* p) { return *p; }
template <class T> static inline T __ldcg(const T* p) { return *p; }
template <class T> static inline T __ldcs(const T* p) { return *p; }
template <class T> static inline void __stcg(T* p, T v) { *p = v; }
template <class T> static inline void __stcs(T* p, T v) { *p = v; }
