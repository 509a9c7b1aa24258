// counters.h: what a test may ask of the driver beyond its API.
#pragma once
#include <string>

namespace emu {

struct Counters {
  unsigned long long launches = 0;      // kernels run
  unsigned long long blocks = 0;        // of these
  unsigned long long calls = 0;         // of the driver
  unsigned long long waits = 0;         // calls that waited for a device
  unsigned long long copied_in = 0;     // bytes, host to device
  unsigned long long copied_out = 0;    // bytes, device to host
  unsigned long long peak_bytes = 0;    // of device memory, all devices together
  unsigned long long leaks = 0;         // allocations that lived when their context ended
  unsigned long long faults = 0;        // of kernels
};

}  // namespace emu
