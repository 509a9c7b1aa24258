#include "card.h"

#include "driver.h"
#include "settings.h"

namespace emu {

Card card() { return card_of(current_device()); }

Card card_of(int device) {
  int cc = (int)device_setting("EMU_CC", device, 80);
  Card c = {cc, 4, 2048, 164 << 10, 163 << 10, 40 << 20, 1410000, 1215000, 5120};
  if (cc >= 90 && cc < 120) c = {cc, 4, 2048, 228 << 10, 227 << 10, 50 << 20, 1980000, 2619000, 5120};
  else if (cc > 80) c = {cc, 4, 1536, 100 << 10, 99 << 10, 48 << 20, 2520000, 10501000, 384};
  else if (cc < 80) c = {cc, 4, 1024, 64 << 10, 64 << 10, 4 << 20, 1590000, 5001000, 256};
  return c;
}

int attribute(int which, int device) {
  Card c = card_of(device);
  switch (which) {
    case 1: return 1024;                                 // threads per block
    case 2: case 3: return 1024;                         // block x, y
    case 4: return 64;                                   // block z
    case 5: return 0x7fffffff;                           // grid x
    case 6: case 7: return 65535;                        // grid y, z
    case 8: return kSharedPerBlock;                      // shared memory per block
    case 9: return 64 << 10;                             // constant memory
    case 10: return 32;                                  // warp size
    case 11: return 0x7fffffff;                          // pitch
    case 12: return 65536;                               // registers per block
    case 13: return c.clock_khz;
    case 14: return 512;                                 // texture alignment
    case 15: return 1;                                   // copies overlap kernels
    case 16: return c.multiprocessors;
    case 19: return 1;                                   // can map host memory
    case 31: return 1;                                   // concurrent kernels
    case 32: return 1;                                   // ECC
    case 33: return 1 + device;                          // PCI bus
    case 36: return c.memory_clock_khz;
    case 37: return c.bus_bits;
    case 38: return c.l2;
    case 39: return c.threads_per_sm;
    case 40: return 2;                                   // copy engines
    case 41: return 1;                                   // unified addressing
    case 75: return c.capability / 10;
    case 76: return c.capability % 10;
    case 78: return 1;                                   // stream priorities
    case 79: case 80: return 1;                          // L1 caches global and local memory
    case 81: return c.shared_per_sm;
    case 82: return 65536;                               // registers per multiprocessor
    case 97: return c.shared_per_block;
    case 99: return 1;                                   // host memory can be registered
    case 106: return 32;                                 // blocks per multiprocessor
    case 111: return 1 << 10;                            // reserved shared memory per block
    default: return 0;
  }
}

}  // namespace emu
