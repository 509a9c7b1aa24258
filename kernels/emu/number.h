// number.h: CUDA's bit, conversion and directed-rounding functions on the host, bit for bit.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

namespace emu {

// Operations under a rounding mode of the processor, as exact as on the device; denormals are kept.
enum class Round { nearest, down, up, zero };
float add(Round r, float a, float b);
double add(Round r, double a, double b);
float mul(Round r, float a, float b);
double mul(Round r, double a, double b);
float div(Round r, float a, float b);
double div(Round r, double a, double b);
float root(Round r, float a);
double root(Round r, double a);
float multiply_add(Round r, float a, float b, float c);
double multiply_add(Round r, double a, double b, double c);
float narrow(Round r, double a);              // float64 to float32
float to_float(Round r, long long a);
float to_float(Round r, unsigned long long a);
double to_double(Round r, long long a);
double to_double(Round r, unsigned long long a);
double whole(Round r, double a);              // rounded to an integer

template <class To, class From>
static inline To bits(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To r;
  std::memcpy(&r, &v, sizeof r);
  return r;
}

// Out of range saturates. NaN gives the top bit alone where a 64-bit type is involved, else 0 (PTX, cvt).
template <class To, class From>
static inline To to_int(Round r, From v) {
  using L = std::numeric_limits<To>;
  double a = v;
  if (a != a) return sizeof(To) == 8 || sizeof(From) == 8 ? (To)(To(1) << (8 * sizeof(To) - 1)) : To(0);
  a = whole(r, a);
  if (a >= std::ldexp(1.0, L::digits)) return L::max();
  if (a < (double)L::min()) return L::min();
  return (To)a;
}

}  // namespace emu

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
static inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
// Selects bytes of (y:x) by the low three bits of each nibble of s; the fourth bit replicates the sign.
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  unsigned long long v = (unsigned long long)y << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned n = s >> 4 * i & 15, b = (unsigned)(v >> 8 * (n & 7)) & 255;
    r |= (n & 8 ? (b & 128 ? 255u : 0u) : b) << 8 * i;
  }
  return r;
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  return (unsigned)(((unsigned long long)hi << 32 | lo) << (s & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  return (unsigned)(((unsigned long long)hi << 32 | lo) >> (s & 31));
}
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }

// c plus the four products of the bytes of a and b.
static inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c = (int)((unsigned)c + (unsigned)((signed char)(a >> i) * (signed char)(b >> i)));
  return c;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255);
  return c;
}

static inline int __float_as_int(float v) { return emu::bits<int>(v); }
static inline unsigned __float_as_uint(float v) { return emu::bits<unsigned>(v); }
static inline float __int_as_float(int v) { return emu::bits<float>(v); }
static inline float __uint_as_float(unsigned v) { return emu::bits<float>(v); }
static inline long long __double_as_longlong(double v) { return emu::bits<long long>(v); }
static inline double __longlong_as_double(long long v) { return emu::bits<double>(v); }
static inline int __double2hiint(double v) { return (int)(emu::bits<long long>(v) >> 32); }
static inline int __double2loint(double v) { return (int)emu::bits<long long>(v); }
static inline double __hiloint2double(int hi, int lo) { return emu::bits<double>((long long)hi << 32 | (unsigned)lo); }

// One family for each line: the suffixes _rn, _rd, _ru and _rz round to nearest, down, up and to zero.
#define EMU_ROUND(T, name, params, call) \
  static inline T name##_rn params { constexpr emu::Round R = emu::Round::nearest; return call; } \
  static inline T name##_rd params { constexpr emu::Round R = emu::Round::down; return call; } \
  static inline T name##_ru params { constexpr emu::Round R = emu::Round::up; return call; } \
  static inline T name##_rz params { constexpr emu::Round R = emu::Round::zero; return call; }
EMU_ROUND(float, __fadd, (float a, float b), (emu::add(R, a, b)))
EMU_ROUND(float, __fsub, (float a, float b), (emu::add(R, a, -b)))
EMU_ROUND(float, __fmul, (float a, float b), (emu::mul(R, a, b)))
EMU_ROUND(float, __fdiv, (float a, float b), (emu::div(R, a, b)))
EMU_ROUND(float, __frcp, (float a), (emu::div(R, 1.f, a)))
EMU_ROUND(float, __fsqrt, (float a), (emu::root(R, a)))
EMU_ROUND(float, __fmaf, (float a, float b, float c), (emu::multiply_add(R, a, b, c)))
EMU_ROUND(double, __dadd, (double a, double b), (emu::add(R, a, b)))
EMU_ROUND(double, __dsub, (double a, double b), (emu::add(R, a, -b)))
EMU_ROUND(double, __dmul, (double a, double b), (emu::mul(R, a, b)))
EMU_ROUND(double, __ddiv, (double a, double b), (emu::div(R, a, b)))
EMU_ROUND(double, __drcp, (double a), (emu::div(R, 1.0, a)))
EMU_ROUND(double, __dsqrt, (double a), (emu::root(R, a)))
EMU_ROUND(double, __fma, (double a, double b, double c), (emu::multiply_add(R, a, b, c)))
EMU_ROUND(float, __double2float, (double a), (emu::narrow(R, a)))
EMU_ROUND(float, __int2float, (int a), (emu::to_float(R, (long long)a)))
EMU_ROUND(float, __uint2float, (unsigned a), (emu::to_float(R, (unsigned long long)a)))
EMU_ROUND(float, __ll2float, (long long a), (emu::to_float(R, a)))
EMU_ROUND(float, __ull2float, (unsigned long long a), (emu::to_float(R, a)))
EMU_ROUND(double, __ll2double, (long long a), (emu::to_double(R, a)))
EMU_ROUND(double, __ull2double, (unsigned long long a), (emu::to_double(R, a)))
EMU_ROUND(int, __float2int, (float a), (emu::to_int<int>(R, a)))
EMU_ROUND(unsigned, __float2uint, (float a), (emu::to_int<unsigned>(R, a)))
EMU_ROUND(long long, __float2ll, (float a), (emu::to_int<long long>(R, a)))
EMU_ROUND(int, __double2int, (double a), (emu::to_int<int>(R, a)))
EMU_ROUND(unsigned, __double2uint, (double a), (emu::to_int<unsigned>(R, a)))
EMU_ROUND(long long, __double2ll, (double a), (emu::to_int<long long>(R, a)))
EMU_ROUND(unsigned long long, __double2ull, (double a), (emu::to_int<unsigned long long>(R, a)))
#undef EMU_ROUND
static inline double __int2double_rn(int a) { return a; }
static inline double __uint2double_rn(unsigned a) { return a; }

// Of mixed integers the unsigned type is the result's, as in C; of a number and NaN the result is the number.
template <class A, class B>
static inline auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) return (T)std::fmin((T)a, (T)b);
  else return (T)a < (T)b ? (T)a : (T)b;
}
template <class A, class B>
static inline auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) return (T)std::fmax((T)a, (T)b);
  else return (T)a < (T)b ? (T)b : (T)a;
}
