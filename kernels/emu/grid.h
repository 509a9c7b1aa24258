// grid.h: one launch of a kernel, its blocks run one after another.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "block.h"

namespace emu {

constexpr unsigned kMaxShared = 227 << 10;  // bytes a block can have at most
constexpr size_t kMaxParams = 512;           // of a kernel: 4 KiB, 8 bytes or less each

struct Launch {
  const Unit* unit;
  const Kernel* kernel;
  int device;
  dim3 grid, block;
  unsigned dynamic_bytes;
  std::vector<unsigned char> args;  // 8 bytes a parameter
};

// run executes a launch by the schedule that EMU_SEED chooses. The fault's text names the kernel and the
// block.
Fault run(const Launch& launch);

// The unit and the kernel of that name, compiled plainly or with the checker's calls; null if none.
struct Found {
  const Unit* unit;
  const Kernel* kernel;
};
Found find_kernel(const char* name, bool checked);
const Unit* units();

// Of the block that runs:
bool in_shared_memory(const void* p, size_t n);
std::string describe_shared(const void* p);  // empty if p is not near shared memory
bool copies_early();                         // whether the next asynchronous copy lands at once

}  // namespace emu
