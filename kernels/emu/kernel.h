// kernel.h: how the kernels' sources register with the emulator.
#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

namespace emu {

// Param is a kernel's parameter as in PTX: its size in bytes, and whether it is a floating-point number.
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

// Unit is one source file of kernels, compiled with or without the checker's calls.
struct Unit {
  const char* name;
  bool checked;
  char *shared_begin, *shared_end;  // its static shared variables
  int* mutant;                      // the value of MUTANT's variable, dev.cuh
  const Kernel* kernels;
  size_t count;
  Unit* next;
};
void add_unit(Unit* unit);

template <auto F>
struct Entry;
template <class... A, void (*F)(A...)>
struct Entry<F> {
  static_assert(((sizeof(A) <= 8 || sizeof(A) % 8 == 0) && ...), "a kernel's parameters are of 8 bytes or less, or structures of whole words");
  static_assert((((sizeof(A) + 7) / 8) + ... + 0) <= 512, "a kernel's parameters take 4 KiB at most");
  static constexpr Param params[sizeof...(A) + 1] = {{sizeof(A), std::is_floating_point_v<A>}..., {0, false}};
  template <size_t... I>
  static void spread(void** args, std::index_sequence<I...>) { F(*static_cast<A*>(args[I])...); }
  static void call(void** args) { spread(args, std::index_sequence_for<A...>()); }
  static constexpr Kernel kernel(const char* name) { return {name, call, params, sizeof...(A)}; }
};

}  // namespace emu

// EMU_REGISTER registers the kernels of a source; build.sh appends it.
#define EMU_JOIN2(a, b) a##b
#define EMU_JOIN(a, b) EMU_JOIN2(a, b)
#define EMU_SECTION_EDGE(edge) EMU_JOIN(EMU_JOIN(__##edge##_emu_shared_, EMU_UNIT), )
#define EMU_REGISTER(name, checked)                                                                        \
  extern "C" {                                                                                             \
  extern char EMU_SECTION_EDGE(start)[] __attribute__((weak));                                            \
  extern char EMU_SECTION_EDGE(stop)[] __attribute__((weak));                                             \
  }                                                                                                        \
  static emu::Unit emu_unit = {name, checked, EMU_SECTION_EDGE(start), EMU_SECTION_EDGE(stop), &emu_mutant, \
                               emu_kernels, sizeof emu_kernels / sizeof *emu_kernels, nullptr};            \
  static const bool emu_added = (emu::add_unit(&emu_unit), true);
