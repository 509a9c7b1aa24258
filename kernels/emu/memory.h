// memory.h: device memory and page-locked host memory. Every allocation ends at an unmapped page, lies
// among canaries, and leaves its addresses unmapped when freed, so that a kernel's stray access faults.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emu {

using Address = unsigned long long;

// Allocation is a live piece of memory that kernels may touch.
struct Allocation {
  Address begin;
  size_t size;   // as asked for
  int device;    // -1: page-locked host memory
  void* owner;   // the context it was made in
  bool mapped;   // ours to unmap: not memory that the host registered
};

// device_allocate returns size bytes filled with `poison`, aligned to 256 bytes if size is a multiple of
// 256 and to 16 if not (so that its end is the page's), or null when the host has no room.
Allocation* device_allocate(int device, size_t size, void* owner, unsigned char poison);
// host_allocate is the same for page-locked host memory, aligned to a page.
Allocation* host_allocate(size_t size, void* owner);
// host_register makes memory of the host's own page-locked.
Allocation* host_register(Address begin, size_t size, void* owner);
void release(Allocation* a);

// The live allocation that holds p, or begins there; null if none.
Allocation* find_allocation(Address p);
bool is_device_memory(Address p);  // whether p is an address of device memory, live or not
const std::vector<Allocation*>& allocations();

// What p is, for reports: "8 bytes past the end of 4096 bytes of memory of device 0".
std::string describe(Address p);
// Where something was written around an allocation, as describe has it; empty if all canaries stand.
std::string broken_canary();

}  // namespace emu
