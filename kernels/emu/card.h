// card.h: what the emulated card says of itself.
#pragma once
#include <cstddef>

namespace emu {

// Card has the limits of the data-centre part of a compute capability, and few multiprocessors.
struct Card {
  int capability;           // 80 for 8.0, as EMU_CC gives it
  int multiprocessors;
  int threads_per_sm;
  int shared_per_sm;        // bytes
  int shared_per_block;     // bytes, when a function asks for it; 48 KiB if not
  int l2;                   // bytes
  int clock_khz, memory_clock_khz, bus_bits;
};
Card card();

constexpr int kSharedPerBlock = 48 << 10;

// The value of a CUdevice_attribute; 0 for those that this card has nothing of.
int attribute(int which, int device);

}  // namespace emu
