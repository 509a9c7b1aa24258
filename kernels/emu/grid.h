// grid.h: runs one launch of a kernel, its blocks one after another.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "block.h"

namespace emu {

constexpr unsigned kMaxShared = 227 << 10;  // the most bytes of a block
constexpr size_t kMaxParams = 512;           // of a kernel: 4 KiB, in words of 8 bytes

struct Launch {
  const Unit* unit;
  const Kernel* kernel;
  int device;
  dim3 grid, block;
  unsigned dynamic_bytes;
  std::vector<unsigned char> args;  // whole words of 8 bytes for each parameter
};

// run executes a launch in the order of EMU_SEED's schedule. A fault's text names the kernel and the block.
Fault run(const Launch& launch);

// Returns the unit and the kernel of that name, compiled with or without the checker's calls; null if there is none.
struct Found {
  const Unit* unit;
  const Kernel* kernel;
};
Found find_kernel(const char* name, bool checked);
const Unit* units();

// Of the running block:
bool in_shared_memory(const void* p, size_t n);
std::string describe_shared(const void* p);  // empty if p is not near shared memory
bool copies_early();                         // whether the next asynchronous copy completes at once

}  // namespace emu
