// shadow.h: the checker's record of every word of memory that the running launch has accessed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace emu {

// Access is one thread's access to some bytes of a word.
struct Access {
  uint32_t pc;      // offset of the code in the library
  uint32_t tick;    // of the launch (race.cc); 0: no access
  uint32_t clock;   // of the thread
  uint16_t thread;  // rank in its block
  uint8_t bytes;    // one bit for each byte
  bool atomic;
};

// Cell is the history of a word: its last write, and two later readers. Two suffice to detect a write that conflicts with
// any reader, except where three lanes of a warp read and __syncwarp orders two of them.
struct Cell {
  Access write, reads[2];
  uint32_t written_tick;  // tick of the last block that wrote any of its bytes
  uint8_t written;
};

// Shadow maps addresses to cells.
class Shadow {
 public:
  Cell& cell(uintptr_t address) {
    uintptr_t page = address / kPage;
    Slot& slot = cache_[page % kCache];
    if (slot.page != page) slot = {page, find(page)};
    return slot.cells[address % kPage / 4];
  }
  void clear() {
    pages_.clear();
    for (Slot& s : cache_) s = {};
  }

 private:
  static constexpr size_t kPage = 4096, kCache = 1024;
  struct Slot {
    uintptr_t page = 0;
    Cell* cells = nullptr;
  };
  Cell* find(uintptr_t page) {
    auto& cells = pages_[page];
    if (!cells) cells.reset(new Cell[kPage / 4]());
    return cells.get();
  }
  std::unordered_map<uintptr_t, std::unique_ptr<Cell[]>> pages_;
  Slot cache_[kCache];
};

}  // namespace emu
