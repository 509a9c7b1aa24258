#include "driver.h"

#include <algorithm>
#include <cstdarg>

#include "fail.h"
#include "settings.h"
#include "text.h"

namespace emu {

Driver& driver() {
  static Driver* d = new Driver;  // outlives every thread that may still call
  return *d;
}

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

int device_count() { return (int)number_setting("EMU_DEVICES", 1); }
size_t device_memory(int device) { return device_setting("EMU_MEM", device, 1ull << 30); }

int current_device() {
  auto& stack = context_stack();
  return !stack.empty() && driver().contexts.count(stack.back()) ? stack.back()->device : 0;
}

size_t used_memory(int device) {
  size_t used = 0;
  for (Allocation* a : allocations())
    if (a->device == device) used += (a->size + 255) & ~(size_t)255;
  return used;
}

namespace {
thread_local const char* present_call = "";
}

Result refuse(Result code, const char* format, ...) {
  va_list list;
  va_start(list, format);
  log_line(text("%s returns %d: %s", present_call, code, text(format, list).c_str()));
  va_end(list);
  return code;
}

Result begin_call(const char* name, bool needs_init) {
  present_call = name;
  driver().counters.calls++;
  if (Result r = injected_failure(name)) {
    auto& stack = context_stack();
    if (ends_context(r) && !stack.empty() && driver().contexts.count(stack.back())) lose(*stack.back(), r, "EMU_FAIL");
    return refuse(r, "EMU_FAIL");
  }
  if (needs_init && !driver().initialized) return refuse(kNotInitialized, "cuInit has not been called");
  return kSuccess;
}

Result begin_context(Context** out) {
  auto& stack = context_stack();
  if (stack.empty() || !stack.back()) return refuse(kInvalidContext, "no context is current on this thread");
  Context* c = stack.back();
  if (!driver().contexts.count(c)) return refuse(kContextIsDestroyed, "this thread's context has been destroyed");
  if (c->lost) return refuse(c->lost, "the context ended with this error before");
  *out = c;
  return kSuccess;
}

Context* make_context(int device, bool primary, unsigned flags) {
  auto* c = new Context{device, primary, flags};
  c->null_stream.reset(new Stream{c, true, 0});
  driver().contexts.insert(c);
  return c;
}

void destroy_context(Context* c) {
  if (!c->lost) run_all(*c);
  std::vector<Allocation*> left;
  for (Allocation* a : allocations())
    if (a->owner == c) left.push_back(a);
  for (Allocation* a : left) {
    log_line("never freed: " + describe(a->begin));
    release(a);
  }
  driver().counters.leaks += left.size();
  for (auto& [handle, m] : c->modules)
    for (auto& [name, f] : m->functions) driver().functions.erase(f.get());
  driver().contexts.erase(c);
  delete c;
}

std::shared_ptr<Stream> find_stream(Context& c, void* handle) {
  if (!handle || handle == (void*)1) return c.null_stream;  // 1 is CU_STREAM_LEGACY
  auto it = c.stream_handles.find(handle);
  return it == c.stream_handles.end() ? nullptr : it->second;
}

namespace {
void push(const std::shared_ptr<Stream>& s, std::function<void()> work) {
  s->queued++;
  s->work.push_back(std::move(work));
}

// Work on the null stream runs after all earlier work of blocking streams, and vice versa.
void follow(const std::shared_ptr<Stream>& s, const std::shared_ptr<Stream>& earlier) {
  unsigned long long number = earlier->queued;
  if (earlier->done < number) push(s, [=] { run_until(*earlier, number); });
}
}  // namespace

void enqueue(const std::shared_ptr<Stream>& s, std::function<void()> work) {
  Context& c = *s->context;
  if (s == c.null_stream) {
    for (auto& other : c.streams)
      if (other->blocking) follow(s, other);
  } else if (s->blocking) {
    follow(s, c.null_stream);
  }
  push(s, std::move(work));
  if (flag_setting("EMU_EAGER")) run_until(*s, s->queued);
}

void run_until(Stream& s, unsigned long long number) {
  if (s.busy) return;  // called from its own work: earlier work is complete
  s.busy = true;
  while (s.done < number && !s.work.empty()) {
    std::function<void()> work = std::move(s.work.front());
    s.work.pop_front();
    if (!s.context->lost) work();
    s.done++;
  }
  s.busy = false;
}

void run_all(Context& c) {
  driver().counters.waits++;
  run_until(*c.null_stream, c.null_stream->queued);
  for (auto& s : c.streams) run_until(*s, s->queued);
  // Removes destroyed streams whose work is complete.
  c.streams.erase(std::remove_if(c.streams.begin(), c.streams.end(), [&](auto& s) { return !c.stream_handles.count(s.get()); }), c.streams.end());
}

void lose(Context& c, Result code, const std::string& why) {
  if (c.lost) return;
  c.lost = code;
  driver().last_fault = why;
}

}  // namespace emu
