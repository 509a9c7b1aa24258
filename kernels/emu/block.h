// block.h: runs one CUDA block; its threads are fibers on the calling OS thread.
#pragma once
#include <string>
#include <vector>

#include "fiber.h"
#include "kernel.h"
#include "schedule.h"
#include "thread.h"

namespace emu {

constexpr unsigned kMaxThreads = 1024;

// Fault is how a kernel ended: with code kOk, or in a fault that the text describes.
struct Fault {
  Code code = kOk;
  std::string text;
};

// Copy is a pending cp.async.
struct Copy {
  void* to;
  const void* from;
  unsigned bytes;
  int group;
};

enum class Wait : char { none, barrier, warp, returned };

// Fiber is a CUDA thread: its call stack and what it waits for. Every switch reads one, so it fits a cache line.
struct alignas(64) Fiber : Thread {
  Wait wait;  // reset when the thread continues
  int group;  // group of its next copy
  Stack stack;
};

Fiber* running();

// copies_of returns the pending copies of a thread, oldest first.
std::vector<Copy>& copies_of(const Fiber* f);

// run_block runs all threads of block `index` until they return or one faults.
Fault run_block(const Kernel* kernel, void** args, uint3 index, Schedule* schedule);

// meet waits for the other lanes of mask in the running warp. The last lane to arrive calls finish with the `own` of every
// lane, which stay valid until their lanes continue. Lanes that have returned are not waited for; `present` has the bits of
// those that arrived. Lanes that call meet from different source lines are a fault.
using Finish = void (*)(unsigned present, void** own);
void meet(unsigned mask, Finish finish, void* own, const char* name, At at);

}  // namespace emu
