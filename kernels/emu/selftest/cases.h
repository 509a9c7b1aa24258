// cases.h: the tests by name. Those of kernels must pass on any device; a test throws Failure if it fails.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "host.h"

namespace test {

struct Case {
  const char* name;
  void (*run)(Host& host);
};
extern const std::vector<Case> kernel_cases;  // also run under every seed, with the checker, and with mutants
extern const std::vector<Case> word_cases;
extern const std::vector<Case> fault_cases;   // for the emulator only, like the next
extern const std::vector<Case> driver_cases;

// Setting sets an environment variable during its lifetime.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

// want fails unless got equals what is expected.
inline void want(const char* what, long long got, long long expected) {
  if (got != expected) fail("%s: %lld, not %lld", what, got, expected);
}

// Random numbers, equal in every run.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  uint32_t word() { return (uint32_t)(next() >> 32); }
  uint64_t below(uint64_t n) { return next() % n; }
  float unit() { return (float)((double)(next() >> 40) / (1 << 23) - 1); }  // -1 to 1

 private:
  uint64_t state_;
};

}  // namespace test
