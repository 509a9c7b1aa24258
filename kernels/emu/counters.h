// counters.h: counters of the driver, for tests.
#pragma once
#include <string>

namespace emu {

struct Counters {
  unsigned long long launches = 0;      // kernels run
  unsigned long long blocks = 0;        // of those kernels
  unsigned long long graphs = 0;        // launched
  unsigned long long calls = 0;         // to the driver
  unsigned long long waits = 0;         // calls that waited for a device
  unsigned long long copied_in = 0;     // bytes, host to device
  unsigned long long copied_out = 0;    // bytes, device to host
  unsigned long long peak_bytes = 0;    // of device memory, all devices together
  unsigned long long leaks = 0;         // allocations not freed when their context ended
  unsigned long long faults = 0;        // of kernels
};

}  // namespace emu
