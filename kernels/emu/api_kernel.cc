// api_kernel.cc: the driver's calls for modules, functions and launches.
#include <cstdio>
#include <cstring>

#include "card.h"
#include "driver.h"
#include "fail.h"
#include "settings.h"
#include "text.h"

using namespace emu;

namespace {

// Returns the code with which the driver refuses the PTX, with the reason in *why; kSuccess if it can run.
Result check_ptx(const Ptx& ptx, std::string* why) {
  int version = (int)number_setting("EMU_VERSION", 12080), cc = card().capability;
  if (driver_for(ptx.version) > version) {
    *why = text("PTX %d.%d needs driver %d, this is %d", ptx.version / 10, ptx.version % 10, driver_for(ptx.version), version);
    return kUnsupportedPtxVersion;
  }
  if (ptx.exact ? ptx.target != cc : ptx.target > cc) {
    *why = text("PTX for sm_%d%s, the device is %d", ptx.target, ptx.exact ? "a" : "", cc);
    return kInvalidPtx;
  }
  for (auto& [name, entry] : ptx.entries) {
    Found found = find_kernel(name.c_str(), false);
    // A kernel that the emulator was built without can be loaded, but cuModuleGetFunction does not find it.
    if (!found.kernel) continue;
    bool same = entry.params.size() == found.kernel->count;
    for (size_t i = 0; same && i < entry.params.size(); i++)
      same = entry.params[i].size == found.kernel->params[i].size && entry.params[i].real == found.kernel->params[i].real;
    if (!same) {
      *why = text("%s: the PTX and the source the emulator was built from differ in parameters", name.c_str());
      return kInvalidPtx;
    }
  }
  return kSuccess;
}

Result load(Context& c, Module** out, const char* image, std::string* why) {
  // The driver's own variable: PTX is compiled, and assembled code is not looked at.
  if (image && !strncmp(image, "\x7f" "ELF", 4) && flag_setting("CUDA_FORCE_PTX_JIT")) {
    *why = "CUDA_FORCE_PTX_JIT, and the image holds no PTX";
    return kNoBinaryForGpu;
  }
  // PTX begins with text; cubins and fat binaries do not.
  if (!image || !strstr(image, ".version")) {
    *why = "not PTX";
    return kInvalidImage;
  }
  std::unique_ptr<Module> m(new Module{&c, {}, {}});
  *why = read_ptx(image, &m->ptx);
  if (!why->empty()) return kInvalidPtx;
  if (Result r = check_ptx(m->ptx, why)) return r;
  *out = m.get();
  c.modules[*out] = std::move(m);
  return kSuccess;
}

// Returns the error log buffer of cuModuleLoadDataEx, if the options have one.
void write_log(const std::string& why, unsigned count, const int* options, void** values) {
  char* buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == 5) buffer = (char*)values[i];
    if (options[i] == 6) size = (size_t)values[i];
  }
  if (buffer && size) snprintf(buffer, size, "%s", why.c_str());
}

template <class F>
Result with_function(const char* name, const Function* f, F body) {
  return in_context(name, [&](Context& c) -> Result {
    return driver().functions.count(f) ? body(c) : refuse(kInvalidHandle, "%p is no function", (const void*)f);
  });
}

int blocks_per_multiprocessor(const Function& f, int threads, size_t dynamic) {
  Card k = card();
  int by_threads = threads > 0 ? k.threads_per_sm / ((threads + 31) / 32 * 32) : 0;
  int shared = (int)(f.entry.static_shared + dynamic) + (1 << 10), by_shared = k.shared_per_sm / shared;
  return std::min({by_threads, by_shared, 32});
}

// Returns why a launch is refused.
Result check_launch(const Function& f, dim3 grid, dim3 block, unsigned dynamic) {
  unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
  if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return refuse(kInvalidValue, "%s: grid %ux%ux%u", f.entry.name.c_str(), grid.x, grid.y, grid.z);
  if (!threads || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > kMaxThreads)
    return refuse(kInvalidValue, "%s: block %ux%ux%u", f.entry.name.c_str(), block.x, block.y, block.z);
  if (threads > f.entry.max_threads)
    return refuse(kInvalidValue, "%s: %llu threads a block, __launch_bounds__ says %u", f.entry.name.c_str(), threads, f.entry.max_threads);
  if (dynamic > f.max_dynamic)
    return refuse(kInvalidValue, "%s: %u bytes of dynamic shared memory, the function allows %u", f.entry.name.c_str(), dynamic, f.max_dynamic);
  if (f.entry.static_shared + dynamic > (unsigned)card().shared_per_block)
    return refuse(kLaunchOutOfResources, "%s: %u bytes of shared memory, the device has %d", f.entry.name.c_str(), f.entry.static_shared + dynamic, card().shared_per_block);
  return kSuccess;
}

// Collects the arguments, in whole words of 8 bytes, from an array of pointers or from one buffer laid out as in C.
Result read_args(const Function& f, void** params, void** extra, std::vector<unsigned char>* out) {
  const auto& want = f.entry.params;
  size_t words = 0, to = 0;
  for (const auto& p : want) words += (p.size + 7) / 8;
  out->assign(8 * words, 0);
  const char* buffer = nullptr;
  size_t size = 0;
  for (size_t i = 0; extra && extra[i]; i += 2) {
    if (extra[i] == (void*)1) buffer = (const char*)extra[i + 1];
    if (extra[i] == (void*)2) size = *(const size_t*)extra[i + 1];
  }
  size_t at = 0;
  for (size_t i = 0; i < want.size(); i++) {
    const void* from = nullptr;
    if (buffer) {
      size_t align = want[i].size < 8 ? want[i].size : 8;
      at = (at + align - 1) / align * align;
      if (at + want[i].size <= size) from = buffer + at;
      at += want[i].size;
    } else if (params) {
      from = params[i];
    }
    if (!from) return refuse(kInvalidValue, "%s: no argument for parameter %zu of %zu", f.entry.name.c_str(), i, want.size());
    memcpy(&(*out)[to], from, want[i].size);
    to += (want[i].size + 7) / 8 * 8;
  }
  return kSuccess;
}

}  // namespace

namespace emu {

Result prepare_launch(Context& c, const Function* f, dim3 grid, dim3 block, unsigned dynamic, void** params, void** extra, Launch* out) {
  if (!driver().functions.count(f)) return refuse(kInvalidHandle, "%p is no function", (const void*)f);
  if (Result r = check_launch(*f, grid, block, dynamic)) return r;
  Found found = find_kernel(f->entry.name.c_str(), flag_setting("EMU_RACE"));
  if (!found.kernel) return refuse(kNotFound, "%s: not built for EMU_RACE", f->entry.name.c_str());
  *out = {found.unit, found.kernel, c.device, grid, block, dynamic, {}};
  return read_args(*f, params, extra, &out->args);
}

void run_kernel(Context& c, const Launch& launch) {
  std::string name = launch.kernel->name;
  int injected = injected_failure("kernel");
  if (!injected) injected = injected_failure(("kernel " + name).c_str());
  driver().counters.launches++;
  driver().counters.blocks += (unsigned long long)launch.grid.x * launch.grid.y * launch.grid.z;
  Fault fault = injected ? Fault{(Code)injected, name + ": EMU_FAIL"} : run(launch);
  if (fault.code == kOk) return;
  driver().counters.faults++;
  fprintf(stderr, "emu: %s\n", fault.text.c_str());
  lose(c, fault.code, fault.text);
}

}  // namespace emu

EMU_API Result cuModuleLoadDataEx(Module** out, const void* image, unsigned count, int* options, void** values) {
  return in_context("cuModuleLoadDataEx", [&](Context& c) -> Result {
    std::string why;
    Result r = load(c, out, (const char*)image, &why);
    if (r) write_log(why, count, options, values);
    return r ? refuse(r, "%s", why.c_str()) : kSuccess;
  });
}
EMU_API Result cuModuleLoadData(Module** out, const void* image) {
  return in_context("cuModuleLoadData", [&](Context& c) -> Result {
    std::string why;
    Result r = load(c, out, (const char*)image, &why);
    return r ? refuse(r, "%s", why.c_str()) : kSuccess;
  });
}
EMU_API Result cuModuleUnload(Module* m) {
  return in_context("cuModuleUnload", [&](Context& c) -> Result {
    auto it = c.modules.find(m);
    if (it == c.modules.end()) return refuse(kInvalidHandle, "%p is no module of this context", (void*)m);
    run_all(c);
    for (auto& [name, f] : m->functions) driver().functions.erase(f.get());
    c.modules.erase(it);
    return kSuccess;
  });
}
EMU_API Result cuModuleGetFunction(Function** out, Module* m, const char* name) {
  return in_context("cuModuleGetFunction", [&](Context& c) -> Result {
    if (!c.modules.count(m)) return refuse(kInvalidHandle, "%p is no module of this context", (void*)m);
    auto entry = m->ptx.entries.find(name);
    if (entry == m->ptx.entries.end()) return refuse(kNotFound, "no entry %s", name);
    if (!find_kernel(name, false).kernel) return refuse(kNotFound, "%s is in the PTX and not in the emulator", name);
    auto& f = m->functions[name];
    if (!f) f.reset(new Function{entry->second, (unsigned)kSharedPerBlock - std::min(entry->second.static_shared, (unsigned)kSharedPerBlock)});
    driver().functions.insert(f.get());
    return *out = f.get(), kSuccess;
  });
}

EMU_API Result cuFuncSetAttribute(Function* f, int which, int value) {
  return with_function("cuFuncSetAttribute", f, [&](Context&) -> Result {
    if (which == 9) return kSuccess;  // preferred carveout: a hint
    if (which != 8) return refuse(kInvalidValue, "attribute %d cannot be set", which);
    unsigned most = (unsigned)card().shared_per_block - f->entry.static_shared;
    if (value < 0 || (unsigned)value > most) return refuse(kInvalidValue, "%s: %d bytes of dynamic shared memory, the device has %u", f->entry.name.c_str(), value, most);
    f->max_dynamic = (unsigned)value;
    return kSuccess;
  });
}
EMU_API Result cuFuncGetAttribute(int* out, int which, Function* f) {
  return with_function("cuFuncGetAttribute", f, [&](Context& c) -> Result {
    const Ptx* ptx = nullptr;
    for (auto& [handle, m] : c.modules)
      if (m->functions.count(f->entry.name) && m->functions[f->entry.name].get() == f) ptx = &m->ptx;
    switch (which) {
      case 0: return *out = (int)f->entry.max_threads, kSuccess;
      case 1: return *out = (int)f->entry.static_shared, kSuccess;
      case 2: case 3: return *out = 0, kSuccess;                  // constant and local bytes: known to ptxas only
      case 4: return *out = 64, kSuccess;                         // registers: likewise
      case 5: return *out = ptx ? ptx->target : 0, kSuccess;
      case 6: return *out = card().capability, kSuccess;
      case 8: return *out = (int)f->max_dynamic, kSuccess;
      case 9: return *out = -1, kSuccess;
      default: return refuse(kInvalidValue, "attribute %d", which);
    }
  });
}
EMU_API Result cuFuncSetCacheConfig(Function* f, int) {
  return with_function("cuFuncSetCacheConfig", f, [&](Context&) { return kSuccess; });
}
EMU_API Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, Function* f, int threads, size_t dynamic) {
  return with_function("cuOccupancyMaxActiveBlocksPerMultiprocessor", f, [&](Context&) { return *out = blocks_per_multiprocessor(*f, threads, dynamic), kSuccess; });
}
EMU_API Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, Function* f, int threads, size_t dynamic, unsigned) {
  return with_function("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", f, [&](Context&) { return *out = blocks_per_multiprocessor(*f, threads, dynamic), kSuccess; });
}

EMU_API Result cuLaunchKernel(Function* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned dynamic, void* stream, void** params, void** extra) {
  return in_context("cuLaunchKernel", [&](Context& c) -> Result {
    std::shared_ptr<Stream> s = find_stream(c, stream);
    if (!s) return refuse(kInvalidHandle, "%p is no stream of this context", stream);
    Launch launch;
    if (Result r = prepare_launch(c, f, dim3(gx, gy, gz), dim3(bx, by, bz), dynamic, params, extra, &launch)) return r;
    enqueue(s, [context = &c, launch] { run_kernel(*context, launch); });
    return kSuccess;
  });
}
