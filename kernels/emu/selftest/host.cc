#include "host.h"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace test {

std::string text(const char* format, va_list list) {
  va_list copy;
  va_copy(copy, list);
  std::string s((size_t)vsnprintf(nullptr, 0, format, copy), '\0');
  va_end(copy);
  vsnprintf(s.data(), s.size() + 1, format, list);
  return s;
}

std::string text(const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::string s = text(format, list);
  va_end(list);
  return s;
}

void fail(const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::string s = text(format, list);
  va_end(list);
  throw Failure(s);
}

Host::Host(const std::string& library, const std::string& ptx) : ptx_(ptx) {
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) fail("%s", dlerror());
  must("cuInit", 0u);
  open_context();
}

bool Host::has(const char* name) { return dlsym(library_, name) != nullptr; }

void* Host::symbol(const char* name) {
  void*& s = symbols_[name];
  if (!s) s = dlsym(library_, name);
  if (!s) fail("the driver has no %s", name);
  return s;
}

void Host::check(const char* name, int code) {
  if (code) fail("%s returned %d%s%s", name, code, has("emu_last_fault") ? ": " : "", has("emu_last_fault") ? last_fault().c_str() : "");
}

void Host::open_context() {
  void* context = nullptr;
  must("cuDevicePrimaryCtxRetain", &context, 0);
  must("cuCtxSetCurrent", context);
  modules_.clear();
  held_.clear();
}

void Host::renew() {
  call<unsigned long long()>("emu_reset")();
  open_context();
}

std::string Host::last_fault() {
  char s[2000];
  call<void(char*, size_t)>("emu_last_fault")(s, sizeof s);
  return s;
}

unsigned long long Host::count(const char* name) { return call<unsigned long long(const char*)>("emu_count")(name); }

Address Host::allocate(size_t bytes) {
  Address p = 0;
  must("cuMemAlloc_v2", &p, bytes);
  held_.push_back(p);
  return p;
}

void Host::free_all() {
  for (Address p : held_) must("cuMemFree_v2", p);
  held_.clear();
}

std::string Host::read_ptx(const char* unit) {
  if (ptx_.empty()) {
    auto* ptx = call<size_t(const char*, char*, size_t)>("emu_ptx");
    std::string s(ptx(unit, nullptr, 0), '\0');
    ptx(unit, s.data(), s.size() + 1);
    return s;
  }
  std::ifstream file(ptx_ + "/" + unit + ".ptx");
  if (!file) fail("cannot read %s/%s.ptx", ptx_.c_str(), unit);
  std::ostringstream s;
  s << file.rdbuf();
  return s.str();
}

void* Host::function(const char* unit, const char* kernel) {
  void*& module = modules_[unit];
  if (!module) must("cuModuleLoadData", &module, (const void*)read_ptx(unit).c_str());
  void* f = nullptr;
  must("cuModuleGetFunction", &f, module, kernel);
  return f;
}

int Host::start(const Shape& s, void* function, void** params) {
  using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  return call<Launch>("cuLaunchKernel")(function, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.dynamic, s.stream, params, nullptr);
}

}  // namespace test
