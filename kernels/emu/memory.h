// memory.h: device memory and page-locked host memory. Every allocation ends at an unmapped page and is surrounded by
// canaries, and its addresses stay unmapped after it is freed, so that a kernel's stray access faults.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emu {

using Address = unsigned long long;

// Allocation is a live piece of memory that kernels may access.
struct Allocation {
  Address begin;
  size_t size;   // as requested
  int device;    // -1: page-locked host memory
  void* owner;   // the context that allocated it
  bool mapped;   // mapped here and to be unmapped; false for memory that the host registered
};

// device_allocate returns size bytes filled with `poison`, or null if the host has no room. They are aligned to 256 bytes
// if size is a multiple of 256, otherwise to 16, so that the end is that of a page.
Allocation* device_allocate(int device, size_t size, void* owner, unsigned char poison);
// host_allocate is the same for page-locked host memory, aligned to a page.
Allocation* host_allocate(size_t size, void* owner);
// host_register makes existing host memory page-locked.
Allocation* host_register(Address begin, size_t size, void* owner);
void release(Allocation* a);

// Returns the live allocation that contains p, or begins there; null if there is none.
Allocation* find_allocation(Address p);
bool is_device_memory(Address p);  // whether p is in the range of device memory, allocated or not
const std::vector<Allocation*>& allocations();

// Describes p for reports: "8 bytes past the end of 4096 bytes of memory of device 0".
std::string describe(Address p);
// Describes where memory around an allocation was overwritten; empty if all canaries are intact.
std::string broken_canary();

}  // namespace emu
