// race.h: the checker, on when EMU_RACE is set. Kernels then run as compiled with a call before every
// access to memory (hooks.cc), and each is held against the bounds of what it touches and against the
// accesses of other threads that nothing orders it after.
//
// What orders: __syncthreads the whole block; __syncwarp the lanes of its mask, and no other collective,
// as the manual has it; between blocks, a __threadfence by the earlier block after its access and one by
// the later block before its own. Atomics and volatile accesses do not conflict with each other.
#pragma once
#include <cstddef>

#include "thread.h"

namespace emu {

struct Launch;

extern bool checking;  // of the launch that runs

enum class Touch : unsigned char { read, write, atomic };
// race_touch notes an access by the running thread at the code address pc, and traps if it is out of
// bounds or conflicts. Alignment is checked for a size of 1, 2, 4, 8 or 16 if `aligned`.
void race_touch(const void* p, size_t n, Touch touch, const void* pc, bool aligned = true);

void race_launch(const Launch& launch);
void race_block();                 // a new block begins
void race_barrier();               // the block's barrier opens
void race_warp(unsigned present);  // these lanes of the running warp pass __syncwarp

}  // namespace emu
