// api_device.cc: the driver's calls for devices and contexts.
#include <cstdio>
#include <cstring>

#include "card.h"
#include "driver.h"
#include "settings.h"

using namespace emu;

namespace {

bool valid_device(int d) { return d >= 0 && d < device_count(); }

// Runs body if the device exists.
template <class F>
Result for_device(const char* name, int d, F body) {
  return in_driver(name, [&]() -> Result {
    if (!valid_device(d)) return refuse(kInvalidDevice, "device %d of %d", d, device_count());
    return body();
  });
}

// Returns the context at the top of the calling thread's stack, null if there is none or it was destroyed.
Context* current() {
  auto& stack = context_stack();
  return !stack.empty() && driver().contexts.count(stack.back()) ? stack.back() : nullptr;
}

void release_primary(int d) {
  auto it = driver().primary.find(d);
  if (it == driver().primary.end()) return;
  destroy_context(it->second);
  driver().primary.erase(it);
}

}  // namespace

EMU_API Result cuInit(unsigned flags) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  if (Result r = begin_call("cuInit", false)) return r;
  if (flags) return refuse(kInvalidValue, "flags %u", flags);
  if (device_count() < 1) return refuse(kNoDevice, "EMU_DEVICES");
  driver().initialized = true;
  return kSuccess;
}

EMU_API Result cuDriverGetVersion(int* out) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  if (Result r = begin_call("cuDriverGetVersion", false)) return r;
  *out = (int)number_setting("EMU_VERSION", 12080);
  return kSuccess;
}

EMU_API Result cuDeviceGetCount(int* out) {
  return in_driver("cuDeviceGetCount", [&] { return *out = device_count(), kSuccess; });
}
EMU_API Result cuDeviceGet(int* out, int i) {
  return for_device("cuDeviceGet", i, [&] { return *out = i, kSuccess; });
}
EMU_API Result cuDeviceGetName(char* out, int size, int d) {
  return for_device("cuDeviceGetName", d, [&] { return snprintf(out, (size_t)size, "emulated card"), kSuccess; });
}
EMU_API Result cuDeviceGetUuid(char* out, int d) {
  return for_device("cuDeviceGetUuid", d, [&] { return memset(out, 0xe0 + d, 16), kSuccess; });
}
EMU_API Result cuDeviceGetUuid_v2(char* out, int d) { return cuDeviceGetUuid(out, d); }
EMU_API Result cuDeviceTotalMem_v2(size_t* out, int d) {
  return for_device("cuDeviceTotalMem", d, [&] { return *out = device_memory(d), kSuccess; });
}
EMU_API Result cuDeviceGetAttribute(int* out, int which, int d) {
  return for_device("cuDeviceGetAttribute", d, [&] { return *out = attribute(which, d), kSuccess; });
}
EMU_API Result cuDeviceGetPCIBusId(char* out, int size, int d) {
  return for_device("cuDeviceGetPCIBusId", d, [&] { return snprintf(out, (size_t)size, "0000:%02x:00.0", 1 + d), kSuccess; });
}
EMU_API Result cuDeviceCanAccessPeer(int* out, int d, int peer) {
  return for_device("cuDeviceCanAccessPeer", d, [&]() -> Result {
    if (!valid_device(peer)) return kInvalidDevice;
    return *out = 0, kSuccess;
  });
}

EMU_API Result cuDevicePrimaryCtxRetain(Context** out, int d) {
  return for_device("cuDevicePrimaryCtxRetain", d, [&]() -> Result {
    Context*& c = driver().primary[d];
    if (!c) c = make_context(d, true, driver().primary_flags[d]);
    driver().retained[d]++;
    *out = c;
    return kSuccess;
  });
}
EMU_API Result cuDevicePrimaryCtxRelease_v2(int d) {
  return for_device("cuDevicePrimaryCtxRelease", d, [&]() -> Result {
    if (!driver().retained[d]) return refuse(kInvalidContext, "device %d: the primary context is not retained", d);
    if (--driver().retained[d] == 0) release_primary(d);
    return kSuccess;
  });
}
EMU_API Result cuDevicePrimaryCtxReset_v2(int d) {
  return for_device("cuDevicePrimaryCtxReset", d, [&] { return release_primary(d), kSuccess; });
}
EMU_API Result cuDevicePrimaryCtxSetFlags_v2(int d, unsigned flags) {
  return for_device("cuDevicePrimaryCtxSetFlags", d, [&]() -> Result {
    driver().primary_flags[d] = flags;
    if (driver().primary.count(d)) driver().primary[d]->flags = flags;
    return kSuccess;
  });
}
EMU_API Result cuDevicePrimaryCtxGetState(int d, unsigned* flags, int* active) {
  return for_device("cuDevicePrimaryCtxGetState", d, [&]() -> Result {
    *flags = driver().primary_flags[d];
    *active = driver().primary.count(d) != 0;
    return kSuccess;
  });
}

EMU_API Result cuCtxCreate_v2(Context** out, unsigned flags, int d) {
  return for_device("cuCtxCreate", d, [&]() -> Result {
    *out = make_context(d, false, flags);
    context_stack().push_back(*out);
    return kSuccess;
  });
}
EMU_API Result cuCtxDestroy_v2(Context* c) {
  return in_driver("cuCtxDestroy", [&]() -> Result {
    if (!driver().contexts.count(c) || c->primary) return refuse(kInvalidContext, "no context that cuCtxCreate made");
    auto& stack = context_stack();
    if (!stack.empty() && stack.back() == c) stack.pop_back();
    destroy_context(c);
    return kSuccess;
  });
}
EMU_API Result cuCtxSetCurrent(Context* c) {
  return in_driver("cuCtxSetCurrent", [&]() -> Result {
    if (c && !driver().contexts.count(c)) return refuse(kInvalidContext, "no such context");
    auto& stack = context_stack();
    if (!stack.empty()) stack.pop_back();
    if (c) stack.push_back(c);
    return kSuccess;
  });
}
EMU_API Result cuCtxGetCurrent(Context** out) {
  return in_driver("cuCtxGetCurrent", [&] { return *out = current(), kSuccess; });
}
EMU_API Result cuCtxPushCurrent_v2(Context* c) {
  return in_driver("cuCtxPushCurrent", [&]() -> Result {
    if (!driver().contexts.count(c)) return refuse(kInvalidContext, "no such context");
    context_stack().push_back(c);
    return kSuccess;
  });
}
EMU_API Result cuCtxPopCurrent_v2(Context** out) {
  return in_driver("cuCtxPopCurrent", [&]() -> Result {
    auto& stack = context_stack();
    if (stack.empty()) return refuse(kInvalidContext, "no context is current on this thread");
    if (out) *out = stack.back();
    stack.pop_back();
    return kSuccess;
  });
}
EMU_API Result cuCtxGetDevice(int* out) {
  return in_context("cuCtxGetDevice", [&](Context& c) { return *out = c.device, kSuccess; });
}
EMU_API Result cuCtxGetFlags(unsigned* out) {
  return in_context("cuCtxGetFlags", [&](Context& c) { return *out = c.flags, kSuccess; });
}
EMU_API Result cuCtxGetApiVersion(Context* c, unsigned* out) {
  return in_driver("cuCtxGetApiVersion", [&]() -> Result {
    if (c && !driver().contexts.count(c)) return kInvalidContext;
    return *out = 3020, kSuccess;
  });
}
EMU_API Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return in_context("cuCtxGetStreamPriorityRange", [&](Context&) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return kSuccess;
  });
}
EMU_API Result cuCtxSynchronize() {
  return in_context("cuCtxSynchronize", [&](Context& c) { return run_all(c), kSuccess; });
}
