// warp.h: barriers and warp collectives. The last parameter of every function is the source line of its call, for reports;
// kernels never pass it.
#pragma once
#include <cstring>

#include "thread.h"

namespace emu {

enum class Vote { count, all, any };
int barrier(Vote vote, int predicate, const char* name, At at);

void sync_warp(unsigned mask, At at);
unsigned ballot(unsigned mask, int predicate, const char* name, At at);
// Returns the value of lane `source`; the caller has applied the width.
unsigned long long shuffle(unsigned mask, unsigned long long value, unsigned source, const char* name, At at);
enum class Reduce { add, min, max, smin, smax, bit_and, bit_or, bit_xor };
unsigned reduce(unsigned mask, unsigned value, Reduce op, const char* name, At at);
unsigned match(unsigned mask, unsigned long long value, int* all, const char* name, At at);

template <class T>
T shuffle_as(unsigned mask, T value, unsigned source, const char* name, At at) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes");
  unsigned long long bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = shuffle(mask, bits, source, name, at);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
unsigned long long match_bits(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a match compares 4 or 8 bytes");
  unsigned long long bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

}  // namespace emu

static inline void __syncthreads(emu::At at = {}) { emu::barrier(emu::Vote::any, 0, "__syncthreads", at); }
static inline int __syncthreads_count(int p, emu::At at = {}) { return emu::barrier(emu::Vote::count, p, "__syncthreads_count", at); }
static inline int __syncthreads_and(int p, emu::At at = {}) { return emu::barrier(emu::Vote::all, p, "__syncthreads_and", at); }
static inline int __syncthreads_or(int p, emu::At at = {}) { return emu::barrier(emu::Vote::any, p, "__syncthreads_or", at); }

static inline void __syncwarp(unsigned mask = 0xffffffffu, emu::At at = {}) { emu::sync_warp(mask, at); }
static inline unsigned __ballot_sync(unsigned mask, int p, emu::At at = {}) { return emu::ballot(mask, p, "__ballot_sync", at); }
static inline int __any_sync(unsigned mask, int p, emu::At at = {}) { return emu::ballot(mask, p, "__any_sync", at) != 0; }
static inline int __all_sync(unsigned mask, int p, emu::At at = {}) { return emu::ballot(mask, !p, "__all_sync", at) == 0; }

// As on the device, lanes form groups of width (a power of two), and a lane that would read beyond its group gets its own
// value.
template <class T>
static inline T __shfl_sync(unsigned mask, T v, int source, int width = 32, emu::At at = {}) {
  unsigned w = (unsigned)width - 1;
  return emu::shuffle_as(mask, v, (emu::self->lane & ~w) | ((unsigned)source & w), "__shfl_sync", at);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, emu::At at = {}) {
  unsigned lane = emu::self->lane, w = (unsigned)width - 1;
  return emu::shuffle_as(mask, v, (lane & w) >= delta ? lane - delta : lane, "__shfl_up_sync", at);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, emu::At at = {}) {
  unsigned lane = emu::self->lane, w = (unsigned)width - 1;
  return emu::shuffle_as(mask, v, (lane & w) + delta <= w ? lane + delta : lane, "__shfl_down_sync", at);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32, emu::At at = {}) {
  unsigned lane = emu::self->lane, source = lane ^ (unsigned)bits, last = lane | ((unsigned)width - 1);
  return emu::shuffle_as(mask, v, source <= last ? source : lane, "__shfl_xor_sync", at);
}

static inline unsigned __reduce_add_sync(unsigned m, unsigned v, emu::At at = {}) { return emu::reduce(m, v, emu::Reduce::add, "__reduce_add_sync", at); }
static inline unsigned __reduce_min_sync(unsigned m, unsigned v, emu::At at = {}) { return emu::reduce(m, v, emu::Reduce::min, "__reduce_min_sync", at); }
static inline unsigned __reduce_max_sync(unsigned m, unsigned v, emu::At at = {}) { return emu::reduce(m, v, emu::Reduce::max, "__reduce_max_sync", at); }
static inline int __reduce_add_sync(unsigned m, int v, emu::At at = {}) { return (int)emu::reduce(m, (unsigned)v, emu::Reduce::add, "__reduce_add_sync", at); }
static inline int __reduce_min_sync(unsigned m, int v, emu::At at = {}) { return (int)emu::reduce(m, (unsigned)v, emu::Reduce::smin, "__reduce_min_sync", at); }
static inline int __reduce_max_sync(unsigned m, int v, emu::At at = {}) { return (int)emu::reduce(m, (unsigned)v, emu::Reduce::smax, "__reduce_max_sync", at); }
static inline unsigned __reduce_and_sync(unsigned m, unsigned v, emu::At at = {}) { return emu::reduce(m, v, emu::Reduce::bit_and, "__reduce_and_sync", at); }
static inline unsigned __reduce_or_sync(unsigned m, unsigned v, emu::At at = {}) { return emu::reduce(m, v, emu::Reduce::bit_or, "__reduce_or_sync", at); }
static inline unsigned __reduce_xor_sync(unsigned m, unsigned v, emu::At at = {}) { return emu::reduce(m, v, emu::Reduce::bit_xor, "__reduce_xor_sync", at); }

template <class T>
static inline unsigned __match_any_sync(unsigned mask, T v, emu::At at = {}) {
  return emu::match(mask, emu::match_bits(v), nullptr, "__match_any_sync", at);
}
template <class T>
static inline unsigned __match_all_sync(unsigned mask, T v, int* all, emu::At at = {}) {
  return emu::match(mask, emu::match_bits(v), all, "__match_all_sync", at);
}
