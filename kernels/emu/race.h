// race.h: the checker, on when EMU_RACE is set. Kernels are then run as compiled with a call before every
// access to memory (the compiler's -fsanitize=thread, whose callbacks race.cc defines).
#pragma once
#include <cstddef>

#include "thread.h"

namespace emu {

struct Launch;

extern bool checking;  // of the launch that runs

enum class Touch : unsigned char { read, write, atomic };
// race_touch notes an access of the running thread, and traps if it is out of bounds, misaligned, or in
// conflict with one that nothing orders it after. pc is the place of the access.
void race_touch(const void* p, size_t n, Touch touch, const void* pc);

void race_launch(const Launch& launch);
void race_block();                 // a new block begins
void race_barrier();               // the block's barrier opens
void race_warp(unsigned present);  // lanes of the running warp pass __syncwarp
}  // namespace emu
