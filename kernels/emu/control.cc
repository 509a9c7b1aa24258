// control.cc: functions of the emulator for tests, besides the driver's. A program finds them with dlsym.
#include <cstdio>
#include <cstring>

#include "driver.h"
#include "fail.h"
#include "settings.h"
#include "text.h"

using namespace emu;

namespace {

unsigned long long count_allocations(bool host) {
  unsigned long long n = 0;
  for (Allocation* a : allocations()) n += (a->device < 0) == host;
  return n;
}

unsigned long long live_bytes() {
  unsigned long long n = 0;
  for (Allocation* a : allocations())
    if (a->device >= 0) n += a->size;
  return n;
}

template <class F>
unsigned long long sum(F of) {
  unsigned long long n = 0;
  for (Context* c : driver().contexts) n += of(*c);
  return n;
}

struct Named {
  const char* name;
  unsigned long long value;
};

std::vector<Named> all_counters() {
  const Counters& c = driver().counters;
  return {
      {"allocations", count_allocations(false)},
      {"bytes", live_bytes()},
      {"host_allocations", count_allocations(true)},
      {"contexts", driver().contexts.size()},
      {"streams", sum([](Context& c) { return c.stream_handles.size(); })},
      {"events", sum([](Context& c) { return c.events.size(); })},
      {"modules", sum([](Context& c) { return c.modules.size(); })},
      {"graphs", sum([](Context& c) { return c.graphs.size(); })},
      {"graph_launches", c.graphs},
      {"launches", c.launches},
      {"blocks", c.blocks},
      {"calls", c.calls},
      {"waits", c.waits},
      {"copied_in", c.copied_in},
      {"copied_out", c.copied_out},
      {"peak_bytes", c.peak_bytes},
      {"leaks", c.leaks},
      {"faults", c.faults},
  };
}

}  // namespace

// emu_count returns a counter by its name in all_counters; ~0 if there is none of that name.
EMU_API unsigned long long emu_count(const char* name) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  for (const Named& n : all_counters())
    if (!strcmp(n.name, name)) return n.value;
  return ~0ull;
}

EMU_API unsigned long long emu_live_allocations() { return emu_count("allocations") + emu_count("host_allocations"); }
EMU_API unsigned long long emu_launches() { return emu_count("launches"); }

// emu_last_fault writes the message of the last fault of a kernel, truncated to size bytes including the final zero; empty if
// there was none since the start or emu_reset.
EMU_API void emu_last_fault(char* out, size_t size) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  snprintf(out, size, "%s", driver().last_fault.c_str());
}

// emu_reset destroys every context with all it owns and resets the counters, including EMU_FAIL's. It returns the number of
// allocations that were live. cuInit need not be called again.
EMU_API unsigned long long emu_reset() {
  std::lock_guard<std::mutex> lock(driver().mutex);
  Driver& d = driver();
  unsigned long long left = allocations().size();
  while (!d.contexts.empty()) {
    Context* c = *d.contexts.begin();
    c->lost = kContextIsDestroyed;  // unfinished work is discarded
    destroy_context(c);
  }
  d.primary.clear();
  d.retained.clear();
  d.primary_flags.clear();
  d.counters = {};
  d.last_fault.clear();
  reset_failures();
  return left;
}

// emu_ptx writes PTX declarations of every kernel of a unit, as NVRTC writes them: a module that a test can load without a
// CUDA compiler. It returns the length, without the final zero.
EMU_API size_t emu_ptx(const char* unit, char* out, size_t size) {
  std::string s = ".version 8.4\n.target sm_80\n.address_size 64\n";
  for (const Unit* u = units(); u; u = u->next) {
    if (u->checked || strcmp(u->name, unit)) continue;
    for (size_t i = 0; i < u->count; i++) {
      const Kernel& k = u->kernels[i];
      s += text(".visible .entry %s(", k.name);
      for (size_t p = 0; p < k.count; p++) {
        s += p ? ", .param " : ".param ";
        if (k.params[p].size > 8) s += text(".align 8 .b8 %s_param_%zu[%u]", k.name, p, k.params[p].size);
        else s += text(".%c%u %s_param_%zu", k.params[p].real ? 'f' : 'u', 8 * k.params[p].size, k.name, p);
      }
      s += ")\n{\n}\n";
    }
  }
  snprintf(out, size, "%s", s.c_str());
  return s.size();
}

// emu_unsupported implements all driver calls that are not emulated.
extern "C" int emu_unsupported(const char* name) {
  log_line(text("%s is not emulated", name));
  return kNotSupported;
}
