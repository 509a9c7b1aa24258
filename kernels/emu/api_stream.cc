// api_stream.cc: the driver's calls for streams and events.
#include <chrono>

#include "driver.h"

using namespace emu;

namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F>
Result with_stream(const char* name, void* handle, F body) {
  return in_context(name, [&](Context& c) -> Result {
    std::shared_ptr<Stream> s = find_stream(c, handle);
    return s ? body(c, s) : refuse(kInvalidHandle, "%p is no stream of this context", handle);
  });
}

template <class F>
Result with_event(const char* name, void* handle, F body) {
  return in_context(name, [&](Context& c) -> Result {
    auto it = c.events.find(handle);
    return it != c.events.end() ? body(c, it->second) : refuse(kInvalidHandle, "%p is no event of this context", handle);
  });
}

bool reached(const Event& e) { return !e.stream || e.stream->done >= e.number; }

Result make_stream(Context& c, void** out, unsigned flags, int priority) {
  if (flags > 1) return refuse(kInvalidValue, "flags %u", flags);
  std::shared_ptr<Stream> s(new Stream{&c, flags == 0, priority});
  c.streams.push_back(s);
  c.stream_handles[s.get()] = s;
  *out = s.get();
  return kSuccess;
}

}  // namespace

EMU_API Result cuStreamCreate(void** out, unsigned flags) {
  return in_context("cuStreamCreate", [&](Context& c) { return make_stream(c, out, flags, 0); });
}
EMU_API Result cuStreamCreateWithPriority(void** out, unsigned flags, int priority) {
  return in_context("cuStreamCreateWithPriority", [&](Context& c) { return make_stream(c, out, flags, priority); });
}
// Work left in the stream still runs, when something waits for the whole context.
EMU_API Result cuStreamDestroy_v2(void* handle) {
  return in_context("cuStreamDestroy", [&](Context& c) -> Result {
    if (!c.stream_handles.erase(handle)) return refuse(kInvalidHandle, "%p is no stream of this context", handle);
    return kSuccess;
  });
}
EMU_API Result cuStreamSynchronize(void* handle) {
  return with_stream("cuStreamSynchronize", handle, [&](Context&, auto& s) {
    driver().counters.waits++;
    run_until(*s, s->queued);
    return kSuccess;
  });
}
// Each query runs one piece of work, so that polling ends.
EMU_API Result cuStreamQuery(void* handle) {
  return with_stream("cuStreamQuery", handle, [&](Context&, auto& s) -> Result {
    if (s->done == s->queued) return kSuccess;
    run_until(*s, s->done + 1);
    return s->context->lost ? kSuccess : kNotReady;
  });
}
EMU_API Result cuStreamGetPriority(void* handle, int* out) {
  return with_stream("cuStreamGetPriority", handle, [&](Context&, auto& s) { return *out = s->priority, kSuccess; });
}
EMU_API Result cuStreamGetFlags(void* handle, unsigned* out) {
  return with_stream("cuStreamGetFlags", handle, [&](Context&, auto& s) { return *out = !s->blocking, kSuccess; });
}
EMU_API Result cuStreamWaitEvent(void* handle, void* event, unsigned) {
  return with_stream("cuStreamWaitEvent", handle, [&](Context& c, auto& s) -> Result {
    auto it = c.events.find(event);
    if (it == c.events.end()) return refuse(kInvalidHandle, "%p is no event of this context", event);
    std::shared_ptr<Stream> from = it->second->stream;
    unsigned long long number = it->second->number;
    if (from) enqueue(s, [=] { run_until(*from, number); });
    return kSuccess;
  });
}

EMU_API Result cuEventCreate(void** out, unsigned flags) {
  return in_context("cuEventCreate", [&](Context& c) {
    std::shared_ptr<Event> e(new Event{&c, !(flags & 2), nullptr});  // 2: no timing
    c.events[e.get()] = e;
    return *out = e.get(), kSuccess;
  });
}
EMU_API Result cuEventDestroy_v2(void* handle) {
  return in_context("cuEventDestroy", [&](Context& c) -> Result {
    if (!c.events.erase(handle)) return refuse(kInvalidHandle, "%p is no event of this context", handle);
    return kSuccess;
  });
}
EMU_API Result cuEventRecord(void* handle, void* stream) {
  return with_event("cuEventRecord", handle, [&](Context& c, std::shared_ptr<Event>& e) -> Result {
    std::shared_ptr<Stream> s = find_stream(c, stream);
    if (!s) return refuse(kInvalidHandle, "%p is no stream of this context", stream);
    std::shared_ptr<Event> event = e;
    enqueue(s, [=] { event->ms = now_ms(); });
    e->stream = s;
    e->number = s->queued;
    return kSuccess;
  });
}
EMU_API Result cuEventSynchronize(void* handle) {
  return with_event("cuEventSynchronize", handle, [&](Context&, auto& e) {
    driver().counters.waits++;
    if (e->stream) run_until(*e->stream, e->number);
    return kSuccess;
  });
}
EMU_API Result cuEventQuery(void* handle) {
  return with_event("cuEventQuery", handle, [&](Context&, auto& e) -> Result {
    if (reached(*e)) return kSuccess;
    run_until(*e->stream, e->stream->done + 1);
    return e->context->lost ? kSuccess : kNotReady;
  });
}
EMU_API Result cuEventElapsedTime(float* out, void* from, void* to) {
  return with_event("cuEventElapsedTime", from, [&](Context& c, auto& a) -> Result {
    auto b = c.events.find(to);
    if (b == c.events.end() || !a->timing || !b->second->timing || !a->stream || !b->second->stream)
      return refuse(kInvalidHandle, "events that were not recorded, or do not take the time");
    if (!reached(*a) || !reached(*b->second)) return kNotReady;
    *out = (float)(b->second->ms - a->ms);
    return kSuccess;
  });
}
