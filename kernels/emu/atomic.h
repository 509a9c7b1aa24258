// atomic.h: atomics. Blocks run one after another and threads are never interrupted, so each is a plain read and write.
// They are calls nevertheless, so that the checker can distinguish them from racing accesses.
#pragma once
#include <cstring>

#include "thread.h"

namespace emu {

enum class Rmw { add, min, max, bit_and, bit_or, bit_xor, exch, cas, inc, dec };
// Returns the old value of *p. T is one of the types listed in atomic.cc; compare is used by cas only.
template <class T>
T atomic(Rmw op, T* p, T value, T compare = T());

}  // namespace emu

using emu_ull = unsigned long long;

#define EMU_ATOMIC(name, op, T) \
  static inline T name(T* p, T v) { return emu::atomic<T>(emu::Rmw::op, p, v); }
#define EMU_ATOMIC_INTS(name, op) EMU_ATOMIC(name, op, int) EMU_ATOMIC(name, op, unsigned) EMU_ATOMIC(name, op, emu_ull)
EMU_ATOMIC_INTS(atomicAdd, add)
EMU_ATOMIC(atomicAdd, add, float)
EMU_ATOMIC(atomicAdd, add, double)
EMU_ATOMIC_INTS(atomicMin, min)
EMU_ATOMIC(atomicMin, min, long long)
EMU_ATOMIC_INTS(atomicMax, max)
EMU_ATOMIC(atomicMax, max, long long)
EMU_ATOMIC_INTS(atomicAnd, bit_and)
EMU_ATOMIC_INTS(atomicOr, bit_or)
EMU_ATOMIC_INTS(atomicXor, bit_xor)
EMU_ATOMIC_INTS(atomicExch, exch)
EMU_ATOMIC(atomicExch, exch, float)
EMU_ATOMIC(atomicInc, inc, unsigned)
EMU_ATOMIC(atomicDec, dec, unsigned)
#undef EMU_ATOMIC_INTS
#undef EMU_ATOMIC

static inline int atomicSub(int* p, int v) { return emu::atomic<int>(emu::Rmw::add, p, (int)-(unsigned)v); }
static inline unsigned atomicSub(unsigned* p, unsigned v) { return emu::atomic<unsigned>(emu::Rmw::add, p, -v); }
static inline int atomicCAS(int* p, int c, int v) { return emu::atomic<int>(emu::Rmw::cas, p, v, c); }
static inline unsigned atomicCAS(unsigned* p, unsigned c, unsigned v) { return emu::atomic<unsigned>(emu::Rmw::cas, p, v, c); }
static inline emu_ull atomicCAS(emu_ull* p, emu_ull c, emu_ull v) { return emu::atomic<emu_ull>(emu::Rmw::cas, p, v, c); }
