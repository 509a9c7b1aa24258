// block.h: one CUDA block, its threads run as fibers on the calling OS thread.
#pragma once
#include <string>
#include <vector>

#include "fiber.h"
#include "kernel.h"
#include "schedule.h"
#include "thread.h"

namespace emu {

constexpr unsigned kMaxThreads = 1024;

// Fault is how a kernel ended: code is kOk when it ended well.
struct Fault {
  Code code = kOk;
  std::string text;
};

// Copy is a cp.async that has not been carried out.
struct Copy {
  void* to;
  const void* from;
  unsigned bytes;
  int group;
};

enum class Wait : char { none, barrier, warp, returned };

// Fiber is a CUDA thread with its call stack and what it waits for. Every switch reads one, so it is a cache
// line.
struct alignas(64) Fiber : Thread {
  Wait wait;  // none again when it goes on
  int group;  // number of the group its next copy belongs to
  Stack stack;
};

Fiber* running();

// copies_of are the copies that a thread has under way, oldest first.
std::vector<Copy>& copies_of(const Fiber* f);

// run_block runs every thread of block `index` to its end or to the first fault.
Fault run_block(const Kernel* kernel, void** args, uint3 index, Schedule* schedule);

// meet waits for the other lanes of mask in the running warp. The last to arrive calls finish with every
// lane's `own`, which stay valid until their lanes go on; lanes that have returned do not count, and
// `present` has the bits of those that came. Lanes that meet from different places are a fault.
using Finish = void (*)(unsigned present, void** own);
void meet(unsigned mask, Finish finish, void* own, const char* name, At at);

}  // namespace emu
