// hooks.cc: the functions that the compiler's -fsanitize=thread calls before memory accesses. They are hidden symbols of
// this library, so a program with a ThreadSanitizer of its own keeps it.
#include "race.h"

using emu::race_touch;
using emu::Touch;

#define HERE __builtin_return_address(0)
#define HOOKS(n)                                                                             \
  void __tsan_read##n(void* p) { race_touch(p, n, Touch::read, HERE); }                      \
  void __tsan_write##n(void* p) { race_touch(p, n, Touch::write, HERE); }                    \
  void __tsan_unaligned_read##n(void* p) { race_touch(p, n, Touch::read, HERE, false); }     \
  void __tsan_unaligned_write##n(void* p) { race_touch(p, n, Touch::write, HERE, false); }   \
  void __tsan_volatile_read##n(void* p) { race_touch(p, n, Touch::atomic, HERE); }           \
  void __tsan_volatile_write##n(void* p) { race_touch(p, n, Touch::atomic, HERE); }          \
  void __tsan_unaligned_volatile_read##n(void* p) { race_touch(p, n, Touch::atomic, HERE); } \
  void __tsan_unaligned_volatile_write##n(void* p) { race_touch(p, n, Touch::atomic, HERE); }

extern "C" {
void __tsan_init() {}
void __tsan_vptr_update(void**, void*) {}
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void* p, unsigned long n) {
  if (n) race_touch(p, n, Touch::read, HERE, false);
}
void __tsan_write_range(void* p, unsigned long n) {
  if (n) race_touch(p, n, Touch::write, HERE, false);
}
}
