// host.h: a CUDA driver library opened by its path, through the calls that the tests need.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace test {

using Address = unsigned long long;

// Failure is a failed test or a failed driver call.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Host is the driver, with a context of device 0 current.
class Host {
 public:
  // ptx is the folder of the units' PTX; if it is empty, the emulator's declarations (emu_ptx) are used.
  Host(const std::string& library, const std::string& ptx);

  // Returns the driver's function of that name, as F.
  template <class F>
  F* call(const char* name) {
    return reinterpret_cast<F*>(symbol(name));
  }
  // Calls the driver's function; fails unless it returns 0.
  template <class... A>
  void must(const char* name, A... a) {
    check(name, call<int(A...)>(name)(a...));
  }
  template <class... A>
  int result(const char* name, A... a) {
    return call<int(A...)>(name)(a...);
  }
  void check(const char* name, int code);
  bool has(const char* name);

  // renew resets contexts, allocations and faults. Emulator only.
  void renew();
  std::string last_fault();
  unsigned long long count(const char* name);

  template <class T>
  Address upload(const std::vector<T>& v) {
    Address p = allocate(v.size() * sizeof(T));
    must("cuMemcpyHtoD_v2", p, (const void*)v.data(), v.size() * sizeof(T));
    return p;
  }
  template <class T>
  std::vector<T> download(Address p, size_t n) {
    std::vector<T> v(n);
    must("cuMemcpyDtoH_v2", (void*)v.data(), p, n * sizeof(T));
    return v;
  }
  Address allocate(size_t bytes);
  void free_all();  // all memory of allocate and upload

  void* function(const char* unit, const char* kernel);

  struct Shape {
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, dynamic = 0;
    void* stream = nullptr;
  };
  // launch returns the code of cuLaunchKernel. Arguments have the exact types of the parameters.
  template <class... A>
  int launch(const Shape& s, const char* unit, const char* kernel, A... a) {
    uint64_t slots[sizeof...(A) + 1] = {};
    void* pointers[sizeof...(A) + 1] = {};
    size_t i = 0;
    ((put(&slots[i], a), pointers[i] = &slots[i], i++), ...);
    return start(s, function(unit, kernel), pointers);
  }

 private:
  template <class T>
  static void put(uint64_t* slot, T v) {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
    __builtin_memcpy(slot, &v, sizeof v);
  }
  void* symbol(const char* name);
  int start(const Shape& s, void* function, void** params);
  void open_context();
  std::string read_ptx(const char* unit);

  void* library_;
  std::string ptx_;
  std::map<std::string, void*> symbols_, modules_;
  std::vector<Address> held_;
};

}  // namespace test
