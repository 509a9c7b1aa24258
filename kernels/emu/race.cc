#include "race.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "grid.h"
#include "memory.h"
#include "settings.h"
#include "shadow.h"
#include "symbol.h"
#include "text.h"

extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));  // the library's start in memory, defined by the linker
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace emu {

bool checking;

namespace {

Shadow shadow;
bool need_written;  // EMU_RACE=2

// A tick begins with every block and every fence. It identifies an access's block, and the fences after it.
struct Tick {
  uint32_t block;  // in the order they ran
  uint32_t first;  // tick of that block
};
std::vector<Tick> ticks;
std::vector<uint32_t> last_tick;  // of each block, in the order they ran
std::vector<uint3> block_names;
uint32_t tick;

// Time within a block: one clock for each thread, which advances when the thread passes a barrier or __syncwarp.
uint32_t clocks[kMaxThreads];
uint32_t barriers[kMaxThreads];                   // each thread's clock after its last barrier
uint32_t seen[kMaxThreads / 32][32][32];          // [warp][lane][other]: the other's accesses before this clock are ordered before the lane

const Launch* launch;
const Allocation* recent;  // the allocation of the last global access

uint32_t code_offset(const void* pc) { return (uint32_t)((const char*)pc - __ehdr_start); }
const char* code_address(uint32_t offset) { return __ehdr_start + offset - 1; }  // within the call instruction, for its source line

// Returns whether a is ordered before the running thread's next access.
bool ordered(const Access& a) {
  if (a.tick != tick) {
    const Tick &then = ticks[a.tick], &now = ticks[tick];
    if (then.block != now.block) return last_tick[then.block] > a.tick && tick > now.first;
  }
  unsigned me = self->rank;
  if (a.thread == me || a.clock < barriers[a.thread]) return true;
  return a.thread / 32 == me / 32 && seen[me / 32][me % 32][a.thread % 32] > a.clock;
}

const char* verb(Touch t) { return t == Touch::read ? "reads" : t == Touch::write ? "writes" : "changes by an atomic"; }

[[noreturn]] void conflict(uintptr_t word, bool shared, const Access& a, bool was_read, Touch touch, const void* pc) {
  uint3 index = {a.thread % block_size.x, a.thread / block_size.x % block_size.y, a.thread / block_size.x / block_size.y};
  std::string who = "thread " + coordinates(index), where = shared ? describe_shared((const void*)word) : describe(word);
  uint32_t block = ticks[a.tick].block;
  if (block != ticks[tick].block) who += " of block " + coordinates(block_names[block]);
  std::string now = source_line(code_address(code_offset(pc))), before = source_line(code_address(a.pc));
  trap(kLaunchFailed, {nullptr, 0}, "race: it %s %#zx, %s, at %s; %s %s it at %s, and nothing orders the two", verb(touch), (size_t)word, where.c_str(), now.c_str(), who.c_str(),
       was_read ? "read" : a.atomic ? "changed" : "wrote", before.c_str());
}

bool is_current(const Access& a) { return a.tick == tick || (a.tick && ticks[a.tick].block == ticks[tick].block); }

void note_read(Cell* c, const Access& me) {
  Access &first = c->reads[0], &second = c->reads[1];
  if (!first.tick || ordered(first)) {
    first = me;
  } else if (!second.tick || ordered(second) || (first.thread / 32 == second.thread / 32 && me.thread / 32 != first.thread / 32)) {
    second = me;  // prefer a reader of another warp, which __syncwarp does not order
  }
}

void touch_word(uintptr_t word, uint8_t bytes, bool shared, Touch touch, const void* pc) {
  Cell& c = shadow.cell(word);
  if (shared)
    for (Access* a : {&c.write, &c.reads[0], &c.reads[1]})
      if (!is_current(*a)) a->tick = 0;  // of another block
  Access me = {code_offset(pc), tick, clocks[self->rank], (uint16_t)self->rank, bytes, touch == Touch::atomic};
  auto conflicts = [&](const Access& a) { return a.tick && (a.bytes & bytes) && !(a.atomic && me.atomic) && !ordered(a); };
  if (conflicts(c.write)) conflict(word, shared, c.write, false, touch, pc);
  if (touch != Touch::read)
    for (const Access& r : c.reads)
      if (conflicts(r)) conflict(word, shared, r, true, touch, pc);
  if (need_written && shared) {
    bool fresh = !c.written_tick || ticks[c.written_tick].block != ticks[tick].block;
    uint8_t written = fresh ? 0 : c.written;
    if (touch != Touch::write && (bytes & ~written))
      trap(kLaunchFailed, {nullptr, 0}, "it reads shared memory at %#zx that nobody wrote, at %s", (size_t)word, source_line(code_address(me.pc)).c_str());
    c.written_tick = tick;
    c.written = written | (touch == Touch::read ? 0 : bytes);
  }
  if (touch == Touch::read) {
    note_read(&c, me);
    return;
  }
  c.write = me;
  c.reads[0].tick = c.reads[1].tick = 0;
}

[[noreturn]] void out_of_bounds(const void* p, size_t n, Touch touch, const void* pc) {
  std::string where = describe_shared(p), line = source_line(code_address(code_offset(pc)));
  // The access may begin inside an allocation and end outside.
  if (where.empty()) where = describe(find_allocation((Address)p) ? (Address)p + n - 1 : (Address)p);
  trap(kIllegalAddress, {nullptr, 0}, "it %s %zu bytes at %p, %s, at %s", verb(touch), n, p, where.c_str(), line.c_str());
}

}  // namespace

void race_touch(const void* p, size_t n, Touch touch, const void* pc, bool aligned) {
  if (in_fiber_memory(p)) return;
  bool shared = in_shared_memory(p, n);
  auto at = (uintptr_t)p;
  if (!shared) {
    if (p >= (const void*)__ehdr_start && p < (const void*)_end) return;  // constants, threadIdx
    if (!recent || at < recent->begin || at + n > recent->begin + recent->size) {
      recent = find_allocation(at);
      if (!recent || at + n > recent->begin + recent->size || (recent->device >= 0 && recent->device != launch->device)) out_of_bounds(p, n, touch, pc);
    }
  }
  if (aligned && at % n) trap(kMisalignedAddress, {nullptr, 0}, "it %s %zu bytes at %p, not a multiple of that, at %s", verb(touch), n, p, source_line(code_address(code_offset(pc))).c_str());
  for (uintptr_t word = at & ~(uintptr_t)3; word < at + n; word += 4) {
    uintptr_t from = std::max(at, word) - word, to = std::min(at + n, word + 4) - word;
    touch_word(word, (uint8_t)((1u << to) - (1u << from)), shared, touch, pc);
  }
}

void race_launch(const Launch& l) {
  unsigned long long level = number_setting("EMU_RACE", 0);
  checking = level > 0;
  need_written = level > 1;
  launch = &l;
  recent = nullptr;
  shadow.clear();
  ticks.assign(1, {});
  last_tick.clear();
  block_names.clear();
  tick = 0;
}

void race_block() {
  if (!checking) return;
  tick = (uint32_t)ticks.size();
  ticks.push_back({(uint32_t)last_tick.size(), tick});
  last_tick.push_back(tick);
  block_names.push_back(block_index);
  std::memset(clocks, 0, sizeof clocks);
  std::memset(barriers, 0, sizeof barriers);
  std::memset(seen, 0, sizeof seen);
}

void fence() {
  if (!checking) return;
  Tick now = ticks[tick];
  tick = (uint32_t)ticks.size();
  ticks.push_back(now);
  last_tick[now.block] = tick;
}

void race_barrier() {
  if (!checking) return;
  for (unsigned i = 0; i < kMaxThreads; i++) barriers[i] = ++clocks[i];
}

void race_warp(unsigned present) {
  if (!checking) return;
  unsigned w = self->rank / 32;
  uint32_t all[32] = {};
  for (unsigned l = 0; l < 32; l++) {
    if (!(present >> l & 1)) continue;
    for (unsigned o = 0; o < 32; o++) all[o] = std::max(all[o], seen[w][l][o]);
    all[l] = std::max(all[l], ++clocks[32 * w + l]);
  }
  for (unsigned l = 0; l < 32; l++)
    if (present >> l & 1) std::memcpy(seen[w][l], all, sizeof all);
}

}  // namespace emu
