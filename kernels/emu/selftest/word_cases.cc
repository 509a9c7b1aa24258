// word_cases.cc: compares functions on single words and exchanges of words with plain C++, column by column.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "cases.h"
#include "exact.h"

namespace test {
namespace {

using std::bit_cast;
using u32 = uint32_t;
using u64 = uint64_t;
using s64 = int64_t;

constexpr Rounding kRoundings[] = {kNearest, kDown, kUp, kZero};

template <class T, class In>
void compare(Host& host, const char* kernel, const std::vector<In>& a, const std::vector<In>& b, const std::vector<In>& c,
             const std::function<std::vector<T>(In, In, In)>& want) {
  int n = (int)a.size(), columns = (int)want(a[0], b[0], c[0]).size();
  Address A = host.upload(a), B = host.upload(b), C = host.upload(c), O = host.allocate(sizeof(T) * n * columns);
  host.check("cuLaunchKernel", host.launch({{(unsigned)(n + 63) / 64, 1, 1}, {64, 1, 1}, 0}, "words", kernel, A, B, C, O, n, columns));
  std::vector<T> got = host.download<T>(O, (size_t)n * columns);
  host.free_all();
  for (int i = 0; i < n; i++) {
    std::vector<T> w = want(a[i], b[i], c[i]);
    for (int x = 0; x < columns; x++)
      if (got[(size_t)i * columns + x] != w[x])
        fail("%s, column %d of (%a, %a, %a): %#llx, not %#llx", kernel, x, (double)a[i], (double)b[i], (double)c[i],
             (unsigned long long)got[(size_t)i * columns + x], (unsigned long long)w[x]);
  }
}

void ints(Host& host) {
  Random random(11);
  std::vector<u32> a = {0, 0, 1, 0x80000000u, ~0u, 0x7fffffffu}, b = {0, 1, 0, 0x80000000u, ~0u, 0x80000000u}, c(6);
  for (int i = 0; i < 200; i++) {
    a.push_back(random.word() >> random.below(32));
    b.push_back(random.word() >> random.below(32));
    c.push_back(random.word());
  }
  compare<u32, u32>(host, "ints", a, b, c, [](u32 x, u32 y, u32 z) {
    u64 wide = (u64)x << 32 | y, other = wide ^ z, both = (u64)y << 32 | x, turned = 0;
    for (int i = 0; i < 64; i++) turned |= (wide >> i & 1) << (63 - i);
    u32 reversed = 0, permuted = 0;
    for (int i = 0; i < 32; i++) reversed |= (x >> i & 1) << (31 - i);
    for (int i = 0; i < 4; i++) {
      u32 pick = z >> 4 * i & 15, byte = (u32)(both >> 8 * (pick % 8)) & 255;
      permuted |= (pick < 8 ? byte : byte >= 128 ? 255u : 0u) << 8 * i;
    }
    auto dot = [&](auto left, auto right) {
      u32 sum = z;
      for (int i = 0; i < 32; i += 8) sum += (u32)((int)(decltype(left))(x >> i) * (int)(decltype(right))(y >> i));
      return sum;
    };
    int8_t s = 0;
    uint8_t u = 0;
    int shift = (int)(z & 31);
    return std::vector<u32>{
        (u32)std::popcount(x), (u32)std::popcount(wide), x ? (u32)std::countr_zero(x) + 1 : 0, wide ? (u32)std::countr_zero(wide) + 1 : 0,
        (u32)std::countl_zero(x), (u32)std::countl_zero(wide), reversed, (u32)(turned >> 32), permuted,
        (u32)((both << shift) >> 32), (u32)(both >> shift),  // of y:x
        (u32)((s64)(int)x * (int)y >> 32), (u32)((u64)x * y >> 32),
        (u32)((u64)((unsigned __int128)wide * other >> 64) >> 32), (u32)((u64)((__int128)(s64)wide * (s64)other >> 64) >> 32),
        dot(s, s), dot(u, u), dot(s, s), dot(u, s),
        (u32)std::min((int)x, (int)y), (u32)std::max((int)x, (int)y), std::min(x, y), std::max(x, y)};
  });
}

// Values whose sums and products float128 holds exactly, among them those that round to denormals.
template <class T>
std::vector<T> values(Random& random, int n, int spread) {
  std::vector<T> v = {0, T(-0.0), 1, -1, 3, T(0.5), std::numeric_limits<T>::denorm_min() * 3, std::numeric_limits<T>::min(), -std::numeric_limits<T>::min()};
  while ((int)v.size() < n) v.push_back((T)std::ldexp((T)((s64)random.next() >> 1) / T(1ull << 62), (int)random.below(2 * spread) - spread));
  return v;
}

template <class T>
void shuffle(std::vector<T>* v, Random& random) {
  for (size_t i = v->size(); i > 1; i--) std::swap((*v)[i - 1], (*v)[random.below(i)]);
}

template <class T, class Bits>
void four(std::vector<Bits>* out, const std::function<T(Rounding)>& f) {
  for (Rounding r : kRoundings) out->push_back(bit_cast<Bits>(f(r)));
}

template <class T>
T product(T a, T b, Rounding r) {
  __float128 p = (__float128)a * b;
  return p == 0 ? (std::signbit(a) != std::signbit(b) ? -T(0) : T(0)) : round_to<T>(p, r);
}

// x y + z, which may exceed float128, so its two parts are added with an error term. A zero has the sign of both parts or,
// if they differ, minus only when rounded down.
template <class T>
T product_sum(T x, T y, T z, Rounding r) {
  __float128 p = (__float128)x * y, s = p + z;
  bool minus = std::signbit(x) != std::signbit(y);
  if (s == 0) return p == 0 && z == 0 && minus == (bool)std::signbit(z) ? z : r == kDown ? -T(0) : T(0);
  __float128 part = s - p, lost = (p - (s - part)) + (z - part);  // the sum's error, exact
  T nearest = (T)s;
  __float128 off = ((__float128)nearest - s) - lost;
  // Casting s, which is rounded already, may miss the nearest value by one step if s is a tie.
  for (T t : {std::nextafter(nearest, -std::numeric_limits<T>::infinity()), std::nextafter(nearest, std::numeric_limits<T>::infinity())}) {
    __float128 o = ((__float128)t - s) - lost, ao = o < 0 ? -o : o, an = off < 0 ? -off : off;
    if (ao < an) nearest = t, off = o;
  }
  T out = directed(nearest, off < 0 ? -1 : off > 0 ? 1 : 0, r);
  return out == 0 ? (s < 0 ? -T(0) : T(0)) : out;
}

template <class T>
T quotient(T a, T b, Rounding r) {
  T q = a / b;
  if (b == 0 || a == 0) return q;
  __float128 back = (__float128)q * b, exact = a;
  int side = back < exact ? -1 : back > exact ? 1 : 0;
  if (b < 0) side = -side;
  T out = directed(q, side, r);
  return out == 0 ? (std::signbit(a) != std::signbit(b) ? -T(0) : T(0)) : out;
}

template <class T>
T square_root(T a, Rounding r) {
  T q = std::sqrt(a);
  __float128 back = (__float128)q * q;
  return directed(q, back < a ? -1 : back > a ? 1 : 0, r);
}

template <class To, class From>
To integer(From v, Rounding r) {
  if (v != v) return sizeof(To) == 8 || sizeof(From) == 8 ? std::numeric_limits<To>::min() : 0;
  double d = v, w = r == kNearest ? std::nearbyint(d) : r == kDown ? std::floor(d) : r == kUp ? std::ceil(d) : std::trunc(d);
  if (w >= std::ldexp(1.0, 8 * sizeof(To) - 1)) return std::numeric_limits<To>::max();
  if (w < -std::ldexp(1.0, 8 * sizeof(To) - 1)) return std::numeric_limits<To>::min();
  return (To)w;
}

// Of zero and one, zero; of a number and NaN, the number.
float least(float a, float b) { return a != a ? b : b != b ? a : a < b ? a : b; }
float most(float a, float b) { return a != a ? b : b != b ? a : a > b ? a : b; }

void floats(Host& host) {
  Random random(12);
  std::vector<float> a = values<float>(random, 300, 40), b = values<float>(random, 300, 40), c = values<float>(random, 300, 40);
  shuffle(&b, random);
  shuffle(&c, random);
  for (int i = 0; i < 300; i++)
    if (b[i] == 0 && a[i] == 0) b[i] = 1;  // min of two zeros may be either, and 0/0 any NaN
  compare<u32, float>(host, "floats", a, b, c, [](float x, float y, float z) {
    std::vector<u32> w;
    four<float, u32>(&w, [&](Rounding r) { return product_sum(x, 1.f, y, r); });
    four<float, u32>(&w, [&](Rounding r) { return product_sum(x, 1.f, -y, r); });
    four<float, u32>(&w, [&](Rounding r) { return product(x, y, r); });
    four<float, u32>(&w, [&](Rounding r) { return product_sum(x, y, z, r); });
    four<float, u32>(&w, [&](Rounding r) { return quotient(x, y, r); });
    four<float, u32>(&w, [&](Rounding r) { return square_root(std::fabs(x), r); });
    four<float, u32>(&w, [&](Rounding r) { return product(x, y, r); });
    s64 wide = (s64)((u64)bit_cast<u32>(x) << 32 | bit_cast<u32>(y));
    four<float, u32>(&w, [&](Rounding r) { return round_to<float>(wide, r); });
    four<float, u32>(&w, [&](Rounding r) { return round_to<float>(((u64)bit_cast<u32>(x) << 32 & ~0xffffffffffull) | 0x8000000001, r); });
    four<float, u32>(&w, [&](Rounding r) { return round_to<float>(bit_cast<int>(x), r); });
    four<float, u32>(&w, [&](Rounding r) { return round_to<float>(bit_cast<u32>(x), r); });
    for (Rounding r : kRoundings) w.push_back((u32)integer<int>(x, r));
    w.push_back(bit_cast<u32>(product_sum(x, y, z, kNearest)));
    w.push_back(bit_cast<u32>(least(x, y)));
    w.push_back(bit_cast<u32>(most(x, y)));
    w.push_back((bit_cast<u32>(x) + 0x1000) & ~0x1fffu);
    auto bf16 = [](float v) {
      u32 u = bit_cast<u32>(v), cut = u >> 16, rest = u & 0xffff;
      return cut + (rest > 0x8000 || (rest == 0x8000 && cut % 2));
    };
    w.push_back(bf16(y) << 16 | bf16(x));
    return w;
  });
}

void doubles(Host& host) {
  Random random(13);
  std::vector<double> a = values<double>(random, 300, 25), b = values<double>(random, 300, 25), c = values<double>(random, 300, 25);
  // Denormals do not fit exact float128 sums with the other values.
  for (auto* v : {&a, &b, &c})
    for (auto& x : *v)
      if (x != 0 && std::fabs(x) < 1e-30) x = 0x1.8p-20;
  a[10] = 1e300, a[11] = -1e300, a[12] = 9.3e18, a[13] = -9.3e18;  // beyond integers
  b[10] = b[11] = b[12] = b[13] = 1;
  c[10] = c[11] = c[12] = c[13] = 0;
  shuffle(&c, random);
  for (int i = 0; i < 300; i++)
    if (b[i] == 0) b[i] = 3;
  for (int i = 10; i < 14; i++) c[i] = 0;
  compare<s64, double>(host, "doubles", a, b, c, [](double x, double y, double z) {
    std::vector<s64> w;
    four<double, s64>(&w, [&](Rounding r) { return product_sum(x, 1.0, y, r); });
    four<double, s64>(&w, [&](Rounding r) { return product_sum(x, 1.0, -y, r); });
    four<double, s64>(&w, [&](Rounding r) { return product(x, y, r); });
    four<double, s64>(&w, [&](Rounding r) { return product_sum(x, y, z, r); });
    four<double, s64>(&w, [&](Rounding r) { return quotient(x, y, r); });
    four<double, s64>(&w, [&](Rounding r) { return square_root(std::fabs(x), r); });
    four<double, s64>(&w, [&](Rounding r) { return round_to<double>(bit_cast<s64>(x), r); });
    four<double, s64>(&w, [&](Rounding r) { return round_to<double>(bit_cast<u64>(x), r); });
    four<double, s64>(&w, [&](Rounding r) { return round_to<double>((bit_cast<u64>(x) & ~0x7ffull) | 0x401, r); });
    for (Rounding r : kRoundings) w.push_back(integer<s64>(x, r));
    return w;
  });
}

void exchanges(Host& host) {
  Random random(14);
  std::vector<u32> v(64), w(64), want;
  for (auto& x : v) x = random.word();
  for (auto& x : w) x = random.word();
  auto fold = [&](u32 first, u32 count, auto f) {
    u32 r = v[first];
    for (u32 l = first + 1; l < first + count; l++) r = f(r, v[l]);
    return r;
  };
  auto mask = [&](u32 first, u32 count, auto f) {
    u32 m = 0;
    for (u32 l = first; l < first + count; l++) m |= (u32)f(v[l]) << l % 32;
    return m;
  };
  auto add = [](u32 a, u32 b) { return a + b; };
  for (u32 i = 0; i < 64; i++) {
    u32 lane = i % 32, warp = i - lane, half = i / 16 * 16;
    auto is_odd = [](u32 x) { return x & 1; };
    u32 half_bits = lane < 16 ? 0xffffu : 0xffff0000u;
    u32 row[] = {
        v[warp + w[i] % 32],
        v[warp + 5],
        v[i / 8 * 8 + 3],
        lane >= 3 ? v[i - 3] : v[i],
        lane % 16 >= 3 ? v[i - 3] : v[i],
        lane + 5 < 32 ? v[i + 5] : v[i],
        lane % 8 + 5 < 8 ? v[i + 5] : v[i],
        v[i ^ 7],
        (lane ^ 12) <= (lane | 7) ? v[i ^ 12] : v[i],
        v[half + w[i] % 16],
        v[i ^ 1],
        mask(warp, 32, is_odd),
        mask(half, 16, is_odd),
        mask(half, 16, [](u32 x) { return x % 16 == 0; }) != 0,
        mask(half, 16, [](u32 x) { return x % 16 != 0; }) == half_bits,
        fold(warp, 32, add),
        fold(half, 16, [](u32 a, u32 b) { return std::min(a, b); }),
        fold(warp, 32, [](u32 a, u32 b) { return std::max(a, b); }),
        fold(warp, 32, add),
        fold(warp, 32, [](u32 a, u32 b) { return (u32)std::min((int)a, (int)b); }),
        fold(half, 16, [](u32 a, u32 b) { return (u32)std::max((int)a, (int)b); }),
        fold(warp, 32, [](u32 a, u32 b) { return a & b; }) | 0xffffu,
        fold(warp, 32, [](u32 a, u32 b) { return a | b; }) & 0xffffu,
        fold(warp, 32, [](u32 a, u32 b) { return a ^ b; }),
        mask(warp, 32, [&](u32 x) { return x % 4 == v[i] % 4; }),
        mask(half, 16, [&](u32 x) { return x % 3 == v[i] % 3; }),
        (u32)std::count_if(v.begin(), v.end(), is_odd),
        1,
        0,
        1,
        lane < 20 ? mask(warp, 20, [](u32 x) { return (x & 2) != 0; }) : 0,
    };
    want.insert(want.end(), std::begin(row), std::end(row));
  }
  int columns = (int)want.size() / 64;
  Address V = host.upload(v), W = host.upload(w), O = host.allocate(want.size() * 4);
  host.check("cuLaunchKernel", host.launch({{1, 1, 1}, {64, 1, 1}, 0}, "words", "exchanges", V, W, O, columns));
  std::vector<u32> got = host.download<u32>(O, want.size());
  host.free_all();
  for (size_t i = 0; i < want.size(); i++)
    if (got[i] != want[i]) fail("exchanges, thread %zu, column %zu: %#x, not %#x", i / columns, i % columns, got[i], want[i]);
}

void atomics(Host& host) {
  const unsigned blocks = 3, threads = 64, n = blocks * threads;
  std::vector<int> i = {0, 5, 5, 0, -1, 0, 0, 0};
  std::vector<u32> u = {0, ~0u, 0, ~0u, 0, 0, 0, 0, 0, 5, 0, 0};
  std::vector<u64> l = {0, ~0ull, 0, ~0ull, 0, 0, 0, 0};
  Address I = host.upload(i), U = host.upload(u), L = host.upload(l), F = host.upload(std::vector<float>{0}), D = host.upload(std::vector<double>{0}), O = host.allocate(4 * n);
  host.check("cuLaunchKernel", host.launch({{blocks, 1, 1}, {threads, 1, 1}, 0}, "words", "atomics", I, U, L, F, D, O));
  for (u32 t = 0; t < n; t++) {
    u32 s = t * 2654435761u;
    u64 w = t * 11400714819323198485ull;
    i[0] = (int)((u32)i[0] + s), i[1] = std::min(i[1], (int)s), i[2] = std::max(i[2], (int)s), i[3] = (int)((u32)i[3] - s);
    i[4] &= (int)s | 0xff, i[5] |= (int)s & 0xff0, i[6] ^= (int)s;
    u[0]++, u[1] = std::min(u[1], s), u[2] = std::max(u[2], s), u[3] &= s | 7, u[4] |= 1u << t % 32, u[5] ^= s;
    u[6] = u[6] >= 9 ? 0 : u[6] + 1, u[7] = u[7] == 0 || u[7] > 9 ? 9 : u[7] - 1, u[8] = 77, u[9] -= 3, u[10] = std::max(u[10], s);
    l[0] += w, l[1] = std::min(l[1], w), l[2] = std::max(l[2], w), l[3] &= w | 1, l[4] |= 1ull << t % 64, l[5] ^= w, l[6] = 5, l[7] = 9;
  }
  if (host.download<int>(I, 8) != i) fail("atomics on int");
  if (host.download<u32>(U, 12) != u) fail("atomics on unsigned");
  if (host.download<u64>(L, 8) != l) fail("atomics on unsigned long long");
  if (host.download<float>(F, 1)[0] != n * 0.5f || host.download<double>(D, 1)[0] != n * 0.25) fail("atomics on float and double");
  std::vector<u32> old = host.download<u32>(O, n);
  std::sort(old.begin(), old.end());
  for (u32 t = 0; t < n; t++)
    if (old[t] != t) fail("atomicAdd: %u was handed out twice or never", t);
  host.free_all();
}

void coordinates(Host& host) {
  std::vector<u32> want;
  for (u32 bz = 0; bz < 2; bz++)
    for (u32 by = 0; by < 3; by++)
      for (u32 bx = 0; bx < 4; bx++)
        for (u32 tz = 0; tz < 3; tz++)
          for (u32 ty = 0; ty < 2; ty++)
            for (u32 tx = 0; tx < 7; tx++) want.push_back(bx | by << 4 | bz << 8 | tx << 12 | ty << 20 | tz << 24);
  Address O = host.allocate(want.size() * 4);
  host.check("cuLaunchKernel", host.launch({{4, 3, 2}, {7, 2, 3}, 0}, "words", "coordinates", O));
  if (host.download<u32>(O, want.size()) != want) fail("coordinates");
  host.free_all();
}

}  // namespace

const std::vector<Case> word_cases = {
    {"ints", ints}, {"floats", floats}, {"doubles", doubles}, {"exchanges", exchanges}, {"atomics", atomics}, {"coordinates", coordinates},
};

}  // namespace test
