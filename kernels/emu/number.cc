#include "number.h"

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace emu {
namespace {

// Rounding sets the processor's rounding mode during its lifetime. Operands pass through `opaque`, so that the compiler
// neither folds an operation nor moves it out of that lifetime.
class Rounding {
 public:
#if defined(__x86_64__)
  explicit Rounding(Round r) : old_(_mm_getcsr()) {
    constexpr unsigned bits[] = {_MM_ROUND_NEAREST, _MM_ROUND_DOWN, _MM_ROUND_UP, _MM_ROUND_TOWARD_ZERO};
    _mm_setcsr((old_ & ~_MM_ROUND_MASK) | bits[(int)r]);
  }
  ~Rounding() { _mm_setcsr(old_); }
  unsigned old_;
#else
  explicit Rounding(Round r) : old_(std::fegetround()) {
    constexpr int bits[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::fesetround(bits[(int)r]);
  }
  ~Rounding() { std::fesetround(old_); }
  int old_;
#endif
};

template <class T>
T opaque(T v) {
  asm volatile("" : "+m"(v)::"memory");
  return v;
}

template <class F>
auto rounded(Round r, F f) {
  Rounding rounding(r);
  return opaque(f());
}

}  // namespace

float add(Round r, float a, float b) { return rounded(r, [&] { return opaque(a) + opaque(b); }); }
double add(Round r, double a, double b) { return rounded(r, [&] { return opaque(a) + opaque(b); }); }
float mul(Round r, float a, float b) { return rounded(r, [&] { return opaque(a) * opaque(b); }); }
double mul(Round r, double a, double b) { return rounded(r, [&] { return opaque(a) * opaque(b); }); }
float div(Round r, float a, float b) { return rounded(r, [&] { return opaque(a) / opaque(b); }); }
double div(Round r, double a, double b) { return rounded(r, [&] { return opaque(a) / opaque(b); }); }
float root(Round r, float a) { return rounded(r, [&] { return std::sqrt(opaque(a)); }); }
double root(Round r, double a) { return rounded(r, [&] { return std::sqrt(opaque(a)); }); }
float multiply_add(Round r, float a, float b, float c) { return rounded(r, [&] { return std::fma(opaque(a), opaque(b), opaque(c)); }); }
double multiply_add(Round r, double a, double b, double c) { return rounded(r, [&] { return std::fma(opaque(a), opaque(b), opaque(c)); }); }
float narrow(Round r, double a) { return rounded(r, [&] { return (float)opaque(a); }); }
float to_float(Round r, long long a) { return rounded(r, [&] { return (float)opaque(a); }); }
double to_double(Round r, long long a) { return rounded(r, [&] { return (double)opaque(a); }); }
double whole(Round r, double a) { return rounded(r, [&] { return std::nearbyint(opaque(a)); }); }

// From 2^63 on, half of the value, with the lost bit or-ed into the last (sticky), so that it is rounded correctly.
float to_float(Round r, unsigned long long a) {
  if (!(a >> 63)) return to_float(r, (long long)a);
  return 2 * to_float(r, (long long)(a >> 1 | (a & 1)));
}
double to_double(Round r, unsigned long long a) {
  if (!(a >> 63)) return to_double(r, (long long)a);
  return 2 * to_double(r, (long long)(a >> 1 | (a & 1)));
}

}  // namespace emu
