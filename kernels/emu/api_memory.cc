// api_memory.cc: the driver's calls for memory: allocation, copies, fills.
//
// Copies and fills are enqueued on a stream and run when something waits for that stream, so that a program that does not
// wait reads the old contents.
#include <algorithm>
#include <cstring>

#include "driver.h"
#include "settings.h"

using namespace emu;

namespace {

// Returns the allocation that contains all of [p, p + n); null if there is none.
Allocation* holding(Address p, size_t n) {
  Allocation* a = find_allocation(p);
  return a && p + n <= a->begin + a->size ? a : nullptr;
}

// Returns device memory of c, or page-locked memory, which has the same address on device and host.
Result need_device(Context& c, Address p, size_t n) {
  Allocation* a = holding(p, n);
  if (!a) return refuse(kInvalidValue, "%zu bytes at %#llx, which is %s", n, p, describe(p).c_str());
  if (a->device >= 0 && a->device != c.device) return refuse(kInvalidValue, "%#llx is %s", p, describe(p).c_str());
  return kSuccess;
}

bool page_locked(const void* p, size_t n) {
  Allocation* a = holding((Address)p, n);
  return a && a->device < 0;
}

Result wait(const std::shared_ptr<Stream>& s) {
  driver().counters.waits++;
  run_until(*s, s->queued);
  return s->context->lost;
}

// Pageable memory is read before the call returns; page-locked memory is read when the copy runs.
Result copy_in(Context& c, Address to, const void* from, size_t n, const std::shared_ptr<Stream>& s) {
  if (Result r = need_device(c, to, n)) return r;
  driver().counters.copied_in += n;
  if (page_locked(from, n)) {
    enqueue(s, [=] { memcpy((void*)to, from, n); });
    return kSuccess;
  }
  auto staged = std::make_shared<std::vector<char>>((const char*)from, (const char*)from + n);
  enqueue(s, [=] { memcpy((void*)to, staged->data(), n); });
  return kSuccess;
}

// A copy to pageable memory is waited for, even an asynchronous one.
Result copy_out(Context& c, void* to, Address from, size_t n, const std::shared_ptr<Stream>& s, bool asynchronous) {
  if (Result r = need_device(c, from, n)) return r;
  driver().counters.copied_out += n;
  enqueue(s, [=] { memcpy(to, (const void*)from, n); });
  return asynchronous && page_locked(to, n) ? kSuccess : wait(s);
}

Result copy_within(Context& c, Address to, Address from, size_t n, const std::shared_ptr<Stream>& s) {
  if (Result r = need_device(c, to, n)) return r;
  if (Result r = need_device(c, from, n)) return r;
  enqueue(s, [=] { memmove((void*)to, (const void*)from, n); });
  return kSuccess;
}

template <class T>
Result fill(Context& c, Address to, T value, size_t count, const std::shared_ptr<Stream>& s) {
  if (to % sizeof(T)) return refuse(kInvalidValue, "%#llx is not a multiple of %zu", to, sizeof(T));
  if (Result r = need_device(c, to, count * sizeof(T))) return r;
  enqueue(s, [=] { std::fill_n((T*)to, count, value); });
  return kSuccess;
}

// Runs body with the stream behind a handle.
template <class F>
Result on_stream(const char* name, void* handle, F body) {
  return in_context(name, [&](Context& c) -> Result {
    std::shared_ptr<Stream> s = find_stream(c, handle);
    if (!s) return refuse(kInvalidHandle, "%p is no stream of this context", handle);
    return body(c, s);
  });
}

// Copies between any two addresses; unified addressing tells device from host.
Result copy_any(Context& c, Address to, Address from, size_t n, const std::shared_ptr<Stream>& s, bool asynchronous) {
  bool into = is_device_memory(to), out_of = is_device_memory(from);
  if (into && out_of) return copy_within(c, to, from, n, s);
  if (into) return copy_in(c, to, (const void*)from, n, s);
  if (out_of) return copy_out(c, (void*)to, from, n, s, asynchronous);
  enqueue(s, [=] { memmove((void*)to, (const void*)from, n); });
  return asynchronous ? kSuccess : wait(s);
}

Result host_alloc(Context& c, void** out, size_t size) {
  if (!size) return refuse(kInvalidValue, "0 bytes");
  Allocation* a = host_allocate(size, &c);
  if (!a) return refuse(kOutOfMemory, "%zu bytes", size);
  *out = (void*)a->begin;
  return kSuccess;
}

// Frees the allocation that begins at p, after waiting for all work that may use it.
Result free_at(Context& c, Address p, bool host, bool registered) {
  Allocation* a = find_allocation(p);
  if (!a || a->begin != p || (a->device < 0) != host || a->mapped == registered)
    return refuse(registered ? kHostMemoryNotRegistered : kInvalidValue, "%#llx is %s", p, describe(p).c_str());
  run_all(c);
  release(a);
  return kSuccess;
}

}  // namespace

EMU_API Result cuMemGetInfo_v2(size_t* left, size_t* total) {
  return in_context("cuMemGetInfo", [&](Context& c) {
    *total = device_memory(c.device);
    *left = *total - std::min(*total, used_memory(c.device));
    return kSuccess;
  });
}

EMU_API Result cuMemAlloc_v2(Address* out, size_t size) {
  return in_context("cuMemAlloc", [&](Context& c) -> Result {
    if (!size) return refuse(kInvalidValue, "0 bytes");
    size_t used = used_memory(c.device), total = device_memory(c.device);
    if (used > total || size > total - used) return refuse(kOutOfMemory, "%zu bytes, %zu of %zu in use", size, used, total);
    Schedule schedule(number_setting("EMU_SEED", 0));
    Allocation* a = device_allocate(c.device, size, &c, schedule.poison());
    if (!a) return refuse(kOutOfMemory, "%zu bytes: the host has no room", size);
    *out = a->begin;
    size_t all = 0;
    for (int d = 0; d < device_count(); d++) all += used_memory(d);
    driver().counters.peak_bytes = std::max<unsigned long long>(driver().counters.peak_bytes, all);
    return kSuccess;
  });
}

EMU_API Result cuMemFree_v2(Address p) {
  return in_context("cuMemFree", [&](Context& c) -> Result { return p ? free_at(c, p, false, false) : kSuccess; });
}

EMU_API Result cuMemGetAddressRange_v2(Address* begin, size_t* size, Address p) {
  return in_context("cuMemGetAddressRange", [&](Context&) -> Result {
    Allocation* a = find_allocation(p);
    if (!a) return refuse(kInvalidValue, "%#llx is %s", p, describe(p).c_str());
    if (begin) *begin = a->begin;
    if (size) *size = a->size;
    return kSuccess;
  });
}

EMU_API Result cuMemHostAlloc(void** out, size_t size, unsigned) {
  return in_context("cuMemHostAlloc", [&](Context& c) { return host_alloc(c, out, size); });
}
EMU_API Result cuMemAllocHost_v2(void** out, size_t size) {
  return in_context("cuMemAllocHost", [&](Context& c) { return host_alloc(c, out, size); });
}
EMU_API Result cuMemFreeHost(void* p) {
  return in_context("cuMemFreeHost", [&](Context& c) { return free_at(c, (Address)p, true, false); });
}
EMU_API Result cuMemHostRegister_v2(void* p, size_t size, unsigned) {
  return in_context("cuMemHostRegister", [&](Context& c) -> Result {
    if (!p || !size) return refuse(kInvalidValue, "%zu bytes at %p", size, p);
    for (Allocation* a : allocations())
      if (a->begin < (Address)p + size && (Address)p < a->begin + a->size)
        return refuse(kHostMemoryAlreadyRegistered, "%p is %s", p, describe((Address)p).c_str());
    host_register((Address)p, size, &c);
    return kSuccess;
  });
}
EMU_API Result cuMemHostUnregister(void* p) {
  return in_context("cuMemHostUnregister", [&](Context& c) { return free_at(c, (Address)p, true, true); });
}
EMU_API Result cuMemHostGetDevicePointer_v2(Address* out, void* p, unsigned flags) {
  return in_context("cuMemHostGetDevicePointer", [&](Context&) -> Result {
    if (flags) return refuse(kInvalidValue, "flags %u", flags);
    if (!page_locked(p, 1)) return refuse(kInvalidValue, "%p is %s", p, describe((Address)p).c_str());
    return *out = (Address)p, kSuccess;
  });
}
EMU_API Result cuMemHostGetFlags(unsigned* out, void* p) {
  return in_context("cuMemHostGetFlags", [&](Context&) -> Result {
    if (!page_locked(p, 1)) return refuse(kInvalidValue, "%p is %s", p, describe((Address)p).c_str());
    return *out = 3, kSuccess;  // portable, mapped
  });
}

// A synchronous copy is enqueued on the null stream. Only copies to host memory are waited for.
EMU_API Result cuMemcpyHtoD_v2(Address to, const void* from, size_t n) {
  return in_context("cuMemcpyHtoD", [&](Context& c) -> Result {
    if (Result r = copy_in(c, to, from, n, c.null_stream)) return r;
    return page_locked(from, n) ? wait(c.null_stream) : kSuccess;
  });
}
EMU_API Result cuMemcpyDtoH_v2(void* to, Address from, size_t n) {
  return in_context("cuMemcpyDtoH", [&](Context& c) { return copy_out(c, to, from, n, c.null_stream, false); });
}
EMU_API Result cuMemcpyDtoD_v2(Address to, Address from, size_t n) {
  return in_context("cuMemcpyDtoD", [&](Context& c) { return copy_within(c, to, from, n, c.null_stream); });
}
EMU_API Result cuMemcpy(Address to, Address from, size_t n) {
  return in_context("cuMemcpy", [&](Context& c) { return copy_any(c, to, from, n, c.null_stream, false); });
}
EMU_API Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t n, void* stream) {
  return on_stream("cuMemcpyHtoDAsync", stream, [&](Context& c, auto& s) { return copy_in(c, to, from, n, s); });
}
EMU_API Result cuMemcpyDtoHAsync_v2(void* to, Address from, size_t n, void* stream) {
  return on_stream("cuMemcpyDtoHAsync", stream, [&](Context& c, auto& s) { return copy_out(c, to, from, n, s, true); });
}
EMU_API Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, void* stream) {
  return on_stream("cuMemcpyDtoDAsync", stream, [&](Context& c, auto& s) { return copy_within(c, to, from, n, s); });
}
EMU_API Result cuMemcpyAsync(Address to, Address from, size_t n, void* stream) {
  return on_stream("cuMemcpyAsync", stream, [&](Context& c, auto& s) { return copy_any(c, to, from, n, s, true); });
}

EMU_API Result cuMemsetD8_v2(Address to, unsigned char v, size_t n) {
  return in_context("cuMemsetD8", [&](Context& c) { return fill(c, to, v, n, c.null_stream); });
}
EMU_API Result cuMemsetD16_v2(Address to, unsigned short v, size_t n) {
  return in_context("cuMemsetD16", [&](Context& c) { return fill(c, to, v, n, c.null_stream); });
}
EMU_API Result cuMemsetD32_v2(Address to, unsigned v, size_t n) {
  return in_context("cuMemsetD32", [&](Context& c) { return fill(c, to, v, n, c.null_stream); });
}
EMU_API Result cuMemsetD8Async(Address to, unsigned char v, size_t n, void* stream) {
  return on_stream("cuMemsetD8Async", stream, [&](Context& c, auto& s) { return fill(c, to, v, n, s); });
}
EMU_API Result cuMemsetD16Async(Address to, unsigned short v, size_t n, void* stream) {
  return on_stream("cuMemsetD16Async", stream, [&](Context& c, auto& s) { return fill(c, to, v, n, s); });
}
EMU_API Result cuMemsetD32Async(Address to, unsigned v, size_t n, void* stream) {
  return on_stream("cuMemsetD32Async", stream, [&](Context& c, auto& s) { return fill(c, to, v, n, s); });
}
