#include "grid.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "memory.h"
#include "mma_sum.h"
#include "race.h"
#include "segv.h"
#include "settings.h"
#include "text.h"

namespace emu {

unsigned char* dynamic_shared;
bool mma_truncates, mma_exchanges;

namespace {

constexpr size_t kPage = 4096;
Unit* first_unit;

// The running launch.
const Unit* unit;
unsigned dynamic_bytes;
Schedule* schedule;
// Its arguments are in the library's memory, which the checker lets every thread read.
unsigned char args[8 * kMaxParams];
void* slots[kMaxParams];

// Dynamic shared memory ends at an unmapped page.
unsigned char* shared_end() {
  static unsigned char* end = [] {
    size_t size = (kMaxShared + kPage - 1) / kPage * kPage;
    auto* p = (unsigned char*)mmap(nullptr, size + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + kPage, size, PROT_READ | PROT_WRITE) != 0) abort();
    return p + kPage + size;
  }();
  return end;
}

// EMU_MUTANT=unit:n makes MUTANT(n) of that source file true.
void set_mutant(const Unit* u) {
  std::string want = setting("EMU_MUTANT", "");
  size_t colon = want.find(':');
  bool named = colon != std::string::npos && want.compare(0, colon, u->name) == 0;
  *u->mutant = named ? atoi(want.c_str() + colon + 1) : -1;
}

// Returns the first parameter that is an address of another device's memory, or -1.
int foreign_argument(const Launch& l) {
  size_t at = 0;
  for (size_t i = 0; i < l.kernel->count; i++) {
    size_t end = at + (l.kernel->params[i].size + 7) / 8 * 8;
    for (; at < end; at += 8) {
      Address p;
      std::memcpy(&p, &l.args[at], 8);
      if (l.kernel->params[i].size < 8 || !is_device_memory(p)) continue;
      Allocation* a = find_allocation(p);
      if (a && a->device >= 0 && a->device != l.device) return (int)i;
    }
  }
  return -1;
}

}  // namespace

void add_unit(Unit* u) {
  u->next = first_unit;
  first_unit = u;
}

const Unit* units() { return first_unit; }

Found find_kernel(const char* name, bool checked) {
  for (const Unit* u = first_unit; u; u = u->next)
    for (size_t i = 0; u->checked == checked && i < u->count; i++)
      if (!strcmp(u->kernels[i].name, name)) return {u, &u->kernels[i]};
  return {nullptr, nullptr};
}

bool in_shared_memory(const void* p, size_t n) {
  auto inside = [&](const void* begin, const void* end) { return p >= begin && (const char*)p + n <= end; };
  return inside(unit->shared_begin, unit->shared_end) || inside(dynamic_shared, dynamic_shared + dynamic_bytes);
}

std::string describe_shared(const void* p) {
  auto* c = (const unsigned char*)p;
  if (c >= shared_end() && c < shared_end() + kPage)
    return text("byte %zu of %u bytes of dynamic shared memory", (size_t)(c - dynamic_shared), dynamic_bytes);
  if (!in_shared_memory(p, 1)) return "";
  bool dynamic = c >= dynamic_shared && c < dynamic_shared + dynamic_bytes;
  return dynamic ? text("byte %zu of dynamic shared memory", (size_t)(c - dynamic_shared)) : "static shared memory";
}

bool copies_early() { return schedule->early(); }

Fault run(const Launch& l) {
  Schedule order(number_setting("EMU_SEED", 0));
  unit = l.unit;
  schedule = &order;
  dynamic_bytes = l.dynamic_bytes;
  dynamic_shared = shared_end() - (dynamic_bytes + 15) / 16 * 16;
  block_size = l.block;
  grid_size = l.grid;
  mma_truncates = setting("EMU_MMA", "") == "truncate";
  mma_exchanges = flag_setting("EMU_MMA_EXCHANGE");
  set_mutant(unit);
  if (int i = foreign_argument(l); i >= 0)
    return {kIllegalAddress, text("%s: parameter %d points to another device's memory", l.kernel->name, i)};
  std::memcpy(args, l.args.data(), l.args.size());
  for (size_t i = 0, at = 0; i < l.kernel->count; i++) slots[i] = &args[at], at += (l.kernel->params[i].size + 7) / 8 * 8;

  KernelRunning running;
  race_launch(l);
  Blocks blocks((uint64_t)l.grid.x * l.grid.y * l.grid.z, &order);
  uint64_t count = (uint64_t)l.grid.x * l.grid.y * l.grid.z;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t id = blocks.at(i);
    uint3 index = {(unsigned)(id % l.grid.x), (unsigned)(id / l.grid.x % l.grid.y), (unsigned)(id / l.grid.x / l.grid.y)};
    if (unit->shared_begin) std::memset(unit->shared_begin, order.poison(), (size_t)(unit->shared_end - unit->shared_begin));
    std::memset(dynamic_shared, order.poison(), dynamic_bytes);
    Fault f = run_block(l.kernel, slots, index, &order);
    if (f.code != kOk) return {f.code, text("%s, block %s, %s", l.kernel->name, coordinates(index).c_str(), f.text.c_str())};
  }
  checking = false;
  std::string canary = broken_canary();
  if (!canary.empty()) return {kIllegalAddress, text("%s: something was written at %s", l.kernel->name, canary.c_str())};
  return {};
}

}  // namespace emu
