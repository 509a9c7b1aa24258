// card.h: the properties of the emulated card.
#pragma once
#include <cstddef>

namespace emu {

// Card has the limits of the data-centre part of a compute capability, and few multiprocessors.
struct Card {
  int capability;           // 80 for 8.0, from EMU_CC
  int multiprocessors;
  int threads_per_sm;
  int shared_per_sm;        // bytes
  int shared_per_block;     // bytes, if the function allows it; otherwise 48 KiB
  int l2;                   // bytes
  int clock_khz, memory_clock_khz, bus_bits;
};
Card card();  // of the calling thread's context
Card card_of(int device);

constexpr int kSharedPerBlock = 48 << 10;

// Returns the value of a CUdevice_attribute; 0 for features that this card lacks.
int attribute(int which, int device);

}  // namespace emu
