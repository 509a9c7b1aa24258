// thread.h: the running CUDA thread, and faults.
#pragma once
#include "vector.h"

namespace emu {

// At is the source line of a call of a function of the dialect: as a default argument it is evaluated at the call.
struct At {
  const char* file;
  int line;
  constexpr At(const char* file = __builtin_FILE(), int line = __builtin_LINE()) : file(file), line(line) {}
};

struct Thread {
  uint3 index;    // threadIdx
  unsigned rank;  // index in the block, x fastest
  unsigned lane;  // rank % 32
};

// One block runs at a time, so its coordinates are plain variables.
extern Thread* self;
extern uint3 block_index;
extern dim3 block_size, grid_size;
extern unsigned char* dynamic_shared;

// The codes of cuda.h with which a kernel can end.
enum Code : int {
  kOk = 0,
  kIllegalAddress = 700,
  kAssert = 710,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
};

// trap ends the running kernel with code; the message also names the thread and the source line.
[[noreturn]] void trap(Code code, At at, const char* format, ...) __attribute__((format(printf, 3, 4)));

// fence is __threadfence; only the checker uses it.
void fence();

}  // namespace emu
