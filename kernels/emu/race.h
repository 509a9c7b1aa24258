// race.h: the checker, active if EMU_RACE is set. The version of the kernels that calls it before every memory access
// (hooks.cc) then runs, and it checks each access against the bounds of allocations and against unordered accesses by other
// threads.
//
// Order comes from __syncthreads for the whole block; from __syncwarp for the lanes of its mask, and from no other
// collective, as in the manual; and between blocks from a __threadfence by the earlier block after its access and one by the
// later block before its own. Atomics and volatile accesses do not conflict with each other.
#pragma once
#include <cstddef>

#include "thread.h"

namespace emu {

struct Launch;

extern bool checking;  // of the running launch

enum class Touch : unsigned char { read, write, atomic };
// race_touch records an access by the running thread at the code address pc, and traps if it is out of bounds or conflicts
// with another. If `aligned`, the alignment of sizes 1, 2, 4, 8 and 16 is checked.
void race_touch(const void* p, size_t n, Touch touch, const void* pc, bool aligned = true);

void race_launch(const Launch& launch);
void race_block();                 // a new block begins
void race_barrier();               // the block's barrier opens
void race_warp(unsigned present);  // these lanes of the running warp pass __syncwarp

}  // namespace emu
