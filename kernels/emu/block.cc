#include "block.h"

#include <cstdarg>
#include <map>

#include "race.h"
#include "text.h"
#include "warp.h"

namespace emu {

Thread* self;
uint3 block_index;
dim3 block_size, grid_size;

namespace {

// Meet is a warp collective that some lanes of its mask have reached.
struct Meet {
  unsigned mask, arrived;
  Finish finish;
  const char* name;
  At at;
};

// What every collective reads comes first, within a cache line.
struct alignas(64) Warp {
  unsigned lanes;    // lanes that exist
  unsigned alive;    // lanes that have not returned
  unsigned ready;    // lanes that may run, by index in lane_order
  unsigned meeting;  // how many of meets are in use
  Meet meets[32];
  void* own[32];     // the data of each waiting lane
};

Fiber fibers[kMaxThreads];
std::vector<Copy> copies[kMaxThreads];
Warp warps[kMaxThreads / 32];
// Permutations of warps and lanes, and their inverses.
unsigned char warp_order[kMaxThreads / 32], warp_place[kMaxThreads / 32], lane_order[32], lane_place[32];
unsigned threads, warp_count, ready_warps;  // ready_warps by index in the order
Schedule* schedule;
bool roams;     // the schedule lets warps overtake each other
Fiber* coming;  // the fiber that next() will return, null if not known yet
Stack outside;  // stack of run_block's caller
Fault fault;

const Kernel* kernel;
void** kernel_args;

struct Barrier {
  unsigned arrived;
  int count;  // number of true predicates
  const char* name;
  At at;
} barrier_state;
int barrier_count;  // of the last barrier that opened

Warp& warp_of(const Fiber* f) { return warps[f->rank / 32]; }

void wake(unsigned w, unsigned lanes) {
  Warp& warp = warps[w];
  coming = nullptr;
  if (lanes == 0xffffffffu) warp.ready = lanes;
  else for (unsigned l = lanes; l; l &= l - 1) warp.ready |= 1u << lane_place[__builtin_ctz(l)];
  if (warp.ready) ready_warps |= 1u << warp_place[w];
}

Fiber* at_place(unsigned at) {
  unsigned w = warp_order[at];
  return &fibers[32 * w + lane_order[__builtin_ctz(warps[w].ready)]];
}

// Returns the next thread of the schedule, null if none can run. It was determined, and its stack prefetched, when the one
// before was chosen: switches take most of the emulator's time, and the stacks of a block exceed the first-level cache.
inline __attribute__((always_inline)) Fiber* next() {
  if (!ready_warps) return nullptr;
  unsigned at = (unsigned)__builtin_ctz(ready_warps);
  if (roams && (ready_warps & (ready_warps - 1))) {
    unsigned skip = (unsigned)schedule->draw((unsigned)__builtin_popcount(ready_warps)), set = ready_warps;
    while (skip--) set &= set - 1;
    at = (unsigned)__builtin_ctz(set);
  }
  Fiber* f = coming ? coming : at_place(at);
  Warp& warp = warps[warp_order[at]];
  warp.ready &= warp.ready - 1;
  if (!warp.ready) ready_warps &= ~(1u << at);
  coming = nullptr;
  if (ready_warps && !roams) {
    coming = at_place((unsigned)__builtin_ctz(ready_warps));
#if defined(__x86_64__) && !defined(EMU_UCONTEXT)
    for (int line = 0; line < 4; line++) __builtin_prefetch((const char*)coming->stack.top + 64 * line, 1);
#endif
  }
  return f;
}

// Switches to the next thread; f resumes when it is chosen again.
void give_way(Fiber* f) {
  Fiber* to = next();
  if (to != f) {
    self = to;
    switch_stack(&f->stack, to ? &to->stack : &outside);
  }
  f->wait = Wait::none;
}

// Ends the block.
[[noreturn]] void stop(Fiber* f) {
  switch_stack(&f->stack, &outside);
  __builtin_unreachable();
}

void shuffle_orders() {
  schedule->order(warp_order, warp_count);
  for (unsigned i = 0; i < warp_count; i++) warp_place[warp_order[i]] = (unsigned char)i;
  schedule->order(lane_order, 32);
  for (unsigned i = 0; i < 32; i++) lane_place[lane_order[i]] = (unsigned char)i;
}

void wake_all() {
  for (unsigned w = 0; w < warp_count; w++) wake(w, warps[w].alive);
}

// Reports of faults are functions of their own, so that the calls without a fault save few registers.
[[noreturn]] __attribute__((noinline, cold)) void not_in_mask(unsigned mask, const char* name, At at) {
  trap(kLaunchFailed, at, "%s: lane %u calls it and is not in its mask %08x", name, self->lane, mask);
}

[[noreturn]] __attribute__((noinline, cold)) void divergent(const Meet* m, const char* name, At at) {
  trap(kLaunchFailed, {nullptr, 0}, "divergent collective: %s at %s, while lane %d waits in %s at %s", name, place(at).c_str(), __builtin_ctz(m->arrived), m->name,
       place(m->at).c_str());
}

[[noreturn]] __attribute__((noinline, cold)) void divergent(const Barrier& b, const char* name, At at) {
  trap(kLaunchFailed, {nullptr, 0}, "divergent barrier: %s at %s, while others wait in %s at %s", name, place(at).c_str(), b.name, place(b.at).c_str());
}

void open(unsigned w, Meet* m) {
  Warp& warp = warps[w];
  unsigned present = m->arrived;
  m->finish(present, warp.own);
  *m = warp.meets[--warp.meeting];
  wake(w, present);
}

// Returns the collective with this mask in which lanes of the warp wait, or a new one. It is a fault if another collective
// waits for the calling lane.
__attribute__((noinline)) Meet* meeting(Warp& warp, unsigned bit, unsigned mask, Finish finish, const char* name, At at) {
  Meet* m = nullptr;
  for (unsigned i = 0; i < warp.meeting; i++) {
    Meet* o = &warp.meets[i];
    if (o->mask == mask) m = o;
    // Each waits for the other: a deadlock.
    else if ((o->mask & bit) && (o->arrived & mask))
      trap(kLaunchFailed, {nullptr, 0}, "%s at %s with mask %08x, while lane %d waits for it in %s at %s with mask %08x", name, place(at).c_str(), mask,
           __builtin_ctz(o->arrived & mask), o->name, place(o->at).c_str(), o->mask);
  }
  if (m) return m;
  m = &warp.meets[warp.meeting++];
  *m = {mask, 0, finish, name, at};
  return m;
}

// When lanes return, collectives that waited only for them complete.
void depart(Fiber* f) {
  f->wait = Wait::returned;
  Warp& warp = warp_of(f);
  warp.alive &= ~(1u << f->lane);
  for (unsigned i = warp.meeting; i-- > 0;) {
    Meet* m = &warp.meets[i];
    if (m->arrived == (m->mask & warp.alive)) open(f->rank / 32, m);
  }
}

void entry() {
  Fiber* f = running();
  kernel->call(kernel_args);
  depart(f);
  give_way(f);
  __builtin_unreachable();
}

// The end of a report: what threads wait for, grouped by what it is.
std::string waiting() {
  std::map<std::string, Ranges> groups;
  for (unsigned i = 0; i < threads; i++) {
    const Fiber& f = fibers[i];
    std::string where = f.wait == Wait::returned ? "returned" : "could go on";
    if (f.wait == Wait::barrier) where = text("%s at %s", barrier_state.name, place(barrier_state.at).c_str());
    if (f.wait == Wait::warp) {
      const Meet* m = warp_of(&f).meets;
      while (!(m->arrived >> f.lane & 1)) m++;
      where = text("%s at %s with mask %08x", m->name, place(m->at).c_str(), m->mask);
    }
    groups[where].add(i);
  }
  std::string s;
  for (auto& [where, who] : groups) s += text("\n  %s %s: %s", who.single() ? "thread" : "threads", who.str().c_str(), where.c_str());
  return s;
}

}  // namespace

Fiber* running() { return static_cast<Fiber*>(self); }

std::vector<Copy>& copies_of(const Fiber* f) { return copies[f->rank]; }

void trap(Code code, At at, const char* format, ...) {
  Fiber* f = running();
  va_list list;
  va_start(list, format);
  if (fault.code == kOk) {
    fault.code = code;
    fault.text = "thread " + coordinates(f->index) + ": " + text(format, list);
    if (at.line) fault.text += " at " + place(at);
  }
  va_end(list);
  stop(f);  // no destructors of this frame run, and none are needed
}

int barrier(Vote vote, int predicate, const char* name, At at) {
  Fiber* f = running();
  Barrier& b = barrier_state;
  if (b.arrived == 0) b = {0, 0, name, at};
  else if (b.name != name || b.at.line != at.line) divergent(b, name, at);
  b.count += predicate != 0;
  f->wait = Wait::barrier;
  if (++b.arrived == threads) {
    barrier_count = b.count;
    b.arrived = 0;
    race_barrier();
    if (schedule->random()) shuffle_orders();
    wake_all();
  }
  give_way(f);
  switch (vote) {
    case Vote::count: return barrier_count;
    case Vote::all: return barrier_count == (int)threads;
    default: return barrier_count != 0;
  }
}

void meet(unsigned mask, Finish finish, void* own, const char* name, At at) {
  Fiber* f = running();
  Warp& warp = warp_of(f);
  unsigned bit = 1u << f->lane;
  if (!(mask & bit)) not_in_mask(mask, name, at);
  mask &= warp.lanes;
  Meet* m = warp.meets;
  if (warp.meeting != 1 || m->mask != mask) m = meeting(warp, bit, mask, finish, name, at);
  if (m->name != name || m->at.line != at.line) divergent(m, name, at);
  warp.own[f->lane] = own;
  m->arrived |= bit;
  f->wait = Wait::warp;
  if (m->arrived == (mask & warp.alive)) open(f->rank / 32, m);
  give_way(f);
}

Fault run_block(const Kernel* k, void** args, uint3 index, Schedule* s) {
  kernel = k;
  kernel_args = args;
  block_index = index;
  schedule = s;
  roams = s->roams();
  threads = block_size.x * block_size.y * block_size.z;
  warp_count = (threads + 31) / 32;
  ready_warps = 0;
  coming = nullptr;
  barrier_state = {};
  fault = {};
  for (unsigned w = 0; w < warp_count; w++) {
    unsigned left = threads - 32 * w, lanes = left >= 32 ? 0xffffffffu : (1u << left) - 1;
    warps[w].lanes = warps[w].alive = lanes;
    warps[w].ready = warps[w].meeting = 0;
  }
  for (unsigned i = 0; i < threads; i++) {
    Fiber& f = fibers[i];
    f.index = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
    f.rank = i;
    f.lane = i % 32;
    f.wait = Wait::none;
    f.group = 0;
    copies[i].clear();
    StackMemory memory = fiber_memory(i);
    prepare(&f.stack, memory.low, memory.size, entry);
  }
  shuffle_orders();
  wake_all();
  race_block();
  Fiber* first = next();
  self = first;
  switch_stack(&outside, &first->stack);
  self = nullptr;
  if (fault.code != kOk) return fault;
  for (unsigned i = 0; i < threads; i++)
    if (fibers[i].wait != Wait::returned) return {kLaunchFailed, "deadlock:" + waiting()};
  return {};
}

}  // namespace emu
