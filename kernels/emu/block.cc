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

struct Warp {
  unsigned lanes;    // that exist
  unsigned alive;    // and have not returned
  unsigned ready;    // may run; by place in `order`
  unsigned char order[32], place[32];  // lane at a place, place of a lane
  void* own[32];     // what each waiting lane brought
  Meet meets[32];
  unsigned meeting;  // meets in use
};

Fiber fibers[kMaxThreads];
Warp warps[kMaxThreads / 32];
unsigned char warp_order[kMaxThreads / 32], warp_place[kMaxThreads / 32];
unsigned threads, warp_count, ready_warps;  // ready_warps by place
Schedule* schedule;
Stack outside;  // of run_block's caller
Fault fault;

const Kernel* kernel;
void** kernel_args;

struct Barrier {
  unsigned arrived;
  int count;  // of true predicates
  const char* name;
  At at;
} barrier_state;
int barrier_count;  // of the last barrier that opened

Warp& warp_of(const Fiber* f) { return warps[f->rank / 32]; }

void wake(unsigned w, unsigned lanes) {
  Warp& warp = warps[w];
  if (lanes == 0xffffffffu) warp.ready = lanes;
  else for (unsigned l = lanes; l; l &= l - 1) warp.ready |= 1u << warp.place[__builtin_ctz(l)];
  if (warp.ready) ready_warps |= 1u << warp_place[w];
}

// The next thread by the schedule, null when none can run.
Fiber* next() {
  if (!ready_warps) return nullptr;
  unsigned at = (unsigned)__builtin_ctz(ready_warps);
  if (schedule->roams() && (ready_warps & (ready_warps - 1))) {
    unsigned skip = (unsigned)schedule->draw((unsigned)__builtin_popcount(ready_warps)), set = ready_warps;
    while (skip--) set &= set - 1;
    at = (unsigned)__builtin_ctz(set);
  }
  unsigned w = warp_order[at];
  Warp& warp = warps[w];
  unsigned place = (unsigned)__builtin_ctz(warp.ready);
  warp.ready &= warp.ready - 1;
  if (!warp.ready) ready_warps &= ~(1u << at);
  return &fibers[32 * w + warp.order[place]];
}

// Gives the processor to the next thread; f is woken when somebody chooses it.
void give_way(Fiber* f) {
  Fiber* to = next();
  if (to == f) return;
  self = to;
  switch_stack(&f->stack, to ? &to->stack : &outside);
}

// Leaves the block for good.
[[noreturn]] void stop(Fiber* f) {
  switch_stack(&f->stack, &outside);
  __builtin_unreachable();
}

void shuffle_orders() {
  schedule->order(warp_order, warp_count);
  for (unsigned i = 0; i < warp_count; i++) warp_place[warp_order[i]] = (unsigned char)i;
  unsigned char order[32];
  schedule->order(order, 32);
  for (unsigned w = 0; w < warp_count; w++)
    for (unsigned i = 0; i < 32; i++) {
      warps[w].order[i] = order[i];
      warps[w].place[order[i]] = (unsigned char)i;
    }
}

void wake_all() {
  for (unsigned w = 0; w < warp_count; w++) wake(w, warps[w].alive);
}

void open(unsigned w, Meet* m) {
  Warp& warp = warps[w];
  unsigned present = m->arrived;
  m->finish(present, warp.own);
  for (unsigned l = present; l; l &= l - 1) fibers[32 * w + (unsigned)__builtin_ctz(l)].wait = Wait::none;
  *m = warp.meets[--warp.meeting];
  wake(w, present);
}

// Lanes that return let a collective go that waited for nobody else.
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

// The end of a report: what the threads wait for, threads that wait for the same thing together.
std::string waiting() {
  std::map<std::string, Ranges> groups;
  for (unsigned i = 0; i < threads; i++) {
    const Fiber& f = fibers[i];
    std::string where = f.wait == Wait::returned ? "returned" : f.wait == Wait::none ? "could go on" : text("%s at %s", f.name, place(f.at).c_str());
    if (f.wait == Wait::warp) where += text(" with mask %08x", f.mask);
    groups[where].add(i);
  }
  std::string s;
  for (auto& [where, who] : groups) s += text("\n  %s %s: %s", who.single() ? "thread" : "threads", who.str().c_str(), where.c_str());
  return s;
}

}  // namespace

Fiber* running() { return static_cast<Fiber*>(self); }

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
  stop(f);  // nothing of this frame is destroyed: it owns nothing
}

int barrier(Vote vote, int predicate, const char* name, At at) {
  Fiber* f = running();
  Barrier& b = barrier_state;
  if (b.arrived == 0) b = {0, 0, name, at};
  else if (b.name != name || b.at.line != at.line)
    trap(kLaunchFailed, {nullptr, 0}, "divergent barrier: %s at %s, while others wait in %s at %s", name, place(at).c_str(), b.name, place(b.at).c_str());
  b.count += predicate != 0;
  f->wait = Wait::barrier;
  f->name = name;
  f->at = at;
  if (++b.arrived == threads) {
    barrier_count = b.count;
    b.arrived = 0;
    for (unsigned i = 0; i < threads; i++) fibers[i].wait = Wait::none;
    race_barrier();
    shuffle_orders();
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
  if (!(mask & bit)) trap(kLaunchFailed, at, "%s: lane %u calls it and is not in its mask %08x", name, f->lane, mask);
  mask &= warp.lanes;
  Meet* m = nullptr;
  for (unsigned i = 0; i < warp.meeting; i++) {
    Meet* o = &warp.meets[i];
    if (o->mask == mask) m = o;
    // Each waits for the other.
    else if ((o->mask & bit) && (o->arrived & mask))
      trap(kLaunchFailed, {nullptr, 0}, "%s at %s with mask %08x, while lane %d waits for it in %s at %s with mask %08x", name, place(at).c_str(), mask,
           __builtin_ctz(o->arrived & mask), o->name, place(o->at).c_str(), o->mask);
  }
  if (!m) {
    m = &warp.meets[warp.meeting++];
    *m = {mask, 0, finish, name, at};
  } else if (m->name != name || m->at.line != at.line) {
    trap(kLaunchFailed, {nullptr, 0}, "divergent collective: %s at %s, while lane %d waits in %s at %s", name, place(at).c_str(), __builtin_ctz(m->arrived), m->name,
         place(m->at).c_str());
  }
  warp.own[f->lane] = own;
  m->arrived |= bit;
  f->wait = Wait::warp;
  f->name = name;
  f->at = at;
  f->mask = mask;
  if (m->arrived == (mask & warp.alive)) open(f->rank / 32, m);
  give_way(f);
}

Fault run_block(const Kernel* k, void** args, uint3 index, Schedule* s) {
  kernel = k;
  kernel_args = args;
  block_index = index;
  schedule = s;
  threads = block_size.x * block_size.y * block_size.z;
  warp_count = (threads + 31) / 32;
  ready_warps = 0;
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
    f.copies.clear();
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
