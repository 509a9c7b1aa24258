// thread.h: the running CUDA thread, and how it ends in a fault.
#pragma once
#include "vector.h"

namespace emu {

// At is the place in a kernel's source that called a function of the dialect: the default argument
// is made where the call stands.
struct At {
  const char* file;
  int line;
  constexpr At(const char* file = __builtin_FILE(), int line = __builtin_LINE()) : file(file), line(line) {}
};

struct Thread {
  uint3 index;    // threadIdx
  unsigned rank;  // place in the block, x fastest
  unsigned lane;  // rank % 32
};

// One block runs at a time, so its coordinates are plain variables.
extern Thread* self;
extern uint3 block_index;
extern dim3 block_size, grid_size;
extern unsigned char* dynamic_shared;

// The codes of cuda.h that a kernel can end with.
enum Code : int {
  kOk = 0,
  kIllegalAddress = 700,
  kAssert = 710,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
};

// trap ends the running kernel with code; the text names the thread and the place.
[[noreturn]] void trap(Code code, At at, const char* format, ...) __attribute__((format(printf, 3, 4)));

// fence is __threadfence: it matters to the checker alone.
void fence();

}  // namespace emu
