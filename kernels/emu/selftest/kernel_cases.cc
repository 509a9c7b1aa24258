// kernel_cases.cc: compares kernels that use tiles, warps, blocks and grids with plain C++.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cases.h"

namespace test {
namespace {

template <class T>
void same(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
  for (size_t i = 0; i < want.size(); i++)
    if (got[i] != want[i]) fail("%s: place %zu: %.9g, not %.9g", what, i, (double)got[i], (double)want[i]);
}

float bf16(float v) {
  uint32_t u;
  memcpy(&u, &v, 4);
  u = (u + 0x7fffu + (u >> 16 & 1)) & 0xffff0000u;
  memcpy(&v, &u, 4);
  return v;
}

float tf32(float v) {
  uint32_t u;
  memcpy(&u, &v, 4);
  u = (u + 0x1000u) & 0xffffe000u;
  memcpy(&v, &u, 4);
  return v;
}

struct Size {
  int m, n, k;
};
constexpr Size kByteSizes[] = {{64, 64, 64}, {70, 130, 208}, {1, 3, 16}, {128, 65, 240}};
constexpr Size kFloatSizes[] = {{64, 64, 32}, {70, 130, 37}, {1, 3, 1}};

template <class Left>
void gemm_bytes(Host& host, const char* kernel) {
  Random random(1);
  for (Size s : kByteSizes) {
    std::vector<uint8_t> a(s.m * s.k), b(s.n * s.k);
    for (auto& v : a) v = (uint8_t)random.word();
    for (auto& v : b) v = (uint8_t)random.word();
    std::vector<int> want(s.m * s.n);
    for (int i = 0; i < s.m; i++)
      for (int j = 0; j < s.n; j++)
        for (int c = 0; c < s.k; c++) want[i * s.n + j] += (Left)a[i * s.k + c] * (int8_t)b[j * s.k + c];
    Host::Shape shape = {{(unsigned)(s.m + 63) / 64, (unsigned)(s.n + 63) / 64, 1}, {128, 1, 1}, 4 * 64 * 80};
    Address A = host.upload(a), B = host.upload(b), C = host.allocate(want.size() * 4);
    host.check("cuLaunchKernel", host.launch(shape, "tiles", kernel, A, B, C, s.m, s.n, s.k));
    same(kernel, host.download<int>(C, want.size()), want);
    host.free_all();
  }
}

// Compares float32 sums in any order, within the error of that many additions truncated to 24 bits.
void gemm_floats(Host& host, const char* kernel, float (*round)(float)) {
  Random random(2);
  for (Size s : kFloatSizes) {
    std::vector<float> a(s.m * s.k), b(s.n * s.k);
    for (auto& v : a) v = random.unit();
    for (auto& v : b) v = random.unit();
    Host::Shape shape = {{(unsigned)(s.m + 63) / 64, (unsigned)(s.n + 63) / 64, 1}, {128, 1, 1}, 0};
    Address A = host.upload(a), B = host.upload(b), C = host.allocate(s.m * s.n * 4);
    host.check("cuLaunchKernel", host.launch(shape, "tiles", kernel, A, B, C, s.m, s.n, s.k));
    std::vector<float> got = host.download<float>(C, s.m * s.n);
    for (int i = 0; i < s.m; i++)
      for (int j = 0; j < s.n; j++) {
        double sum = 0, size = 0;
        for (int c = 0; c < s.k; c++) {
          double p = (double)round(a[i * s.k + c]) * round(b[j * s.k + c]);
          sum += p;
          size += std::fabs(p);
        }
        double off = std::fabs(got[i * s.n + j] - sum);
        if (!(off <= size * (s.k + 1) / (1 << 22))) fail("%s, %d by %d by %d: place (%d,%d): %.9g, not %.9g", kernel, s.m, s.n, s.k, i, j, got[i * s.n + j], sum);
      }
    host.free_all();
  }
}

// One warp with random words detects words of the wrong lane. Float sums are of small integers, hence exact.
void fragments(Host& host) {
  Random random(3);
  for (int kind = 0; kind < 4; kind++) {
    int per_word = kind < 2 ? 4 : kind == 2 ? 2 : 1, k = 8 * per_word;
    std::vector<int> a(16 * k), b(8 * k), c(16 * 8);
    for (auto& v : a) v = kind == 1 ? (int)random.below(256) : (int)random.below(256) - 128;
    for (auto& v : b) v = (int)random.below(256) - 128;
    for (auto& v : c) v = (int)random.below(2001) - 1000;
    auto word = [&](const std::vector<int>& m, int row, int w) {
      uint32_t u = 0;
      for (int e = 0; e < per_word; e++) {
        int v = m[row * k + w * per_word + e];
        float f = (float)v;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if (kind < 2) u |= (uint32_t)(v & 255) << 8 * e;
        else if (kind == 2) u |= bits >> 16 << 16 * e;  // up to 8 bits: exact in bfloat16
        else u = bits | random.word() % 8192;           // the low bits are ignored
      }
      return u;
    };
    auto sum = [&](int v) {
      float f = (float)v;
      uint32_t bits;
      memcpy(&bits, &f, 4);
      return kind < 2 ? (uint32_t)v : bits;
    };
    std::vector<uint32_t> la(128), lb(64), lc(128), want(128);
    for (int l = 0; l < 32; l++) {
      int g = l / 4, t = l % 4;
      for (int e = 0; e < 4; e++) la[4 * l + e] = word(a, g + e % 2 * 8, t + e / 2 * 4);
      for (int e = 0; e < 2; e++) lb[2 * l + e] = word(b, g, t + e * 4);
      for (int e = 0; e < 4; e++) {
        int i = g + e / 2 * 8, j = 2 * t + e % 2, total = c[i * 8 + j];
        lc[4 * l + e] = sum(total);
        for (int x = 0; x < k; x++) total += a[i * k + x] * b[j * k + x];
        want[4 * l + e] = sum(total);
      }
    }
    Address A = host.upload(la), B = host.upload(lb), C = host.upload(lc);
    host.check("cuLaunchKernel", host.launch({{1, 1, 1}, {32, 1, 1}, 0}, "tiles", "fragments", A, B, C, kind));
    same(text("fragments, kind %d", kind).c_str(), host.download<uint32_t>(C, 128), want);
    host.free_all();
  }
}

void matrices(Host& host) {
  Random random(4);
  std::vector<uint16_t> in(4 * 64);
  for (auto& v : in) v = (uint16_t)random.word();
  auto element = [&](int matrix, int r, int c) { return (uint32_t)in[matrix * 64 + r * 8 + c]; };
  std::vector<uint32_t> want;
  for (int l = 0; l < 32; l++) {
    int g = l / 4, t = l % 4;
    auto plain = [&](int m) { want.push_back(element(m, g, 2 * t) | element(m, g, 2 * t + 1) << 16); };
    auto turned = [&](int m) { want.push_back(element(m, 2 * t, g) | element(m, 2 * t + 1, g) << 16); };
    for (int count : {1, 2, 4})
      for (int m = 0; m < count; m++) plain(m);
    for (int count : {1, 2, 4})
      for (int m = 0; m < count; m++) turned(m);
  }
  Address I = host.upload(in), O = host.allocate(want.size() * 4);
  host.check("cuLaunchKernel", host.launch({{1, 1, 1}, {32, 1, 1}, 0}, "tiles", "matrices", I, O));
  same("matrices", host.download<uint32_t>(O, want.size()), want);
  host.free_all();
}

void block_sum(Host& host) {
  Random random(5);
  int n = 1000;
  std::vector<float> in(n), want(4);
  for (int i = 0; i < n; i++) {
    in[i] = (float)random.below(1000);  // integers: exact in any order
    want[i / 256] += in[i];
  }
  Address I = host.upload(in), O = host.allocate(16);
  host.check("cuLaunchKernel", host.launch({{4, 1, 1}, {256, 1, 1}, 0}, "warps", "sum", I, O, n));
  same("sum", host.download<float>(O, 4), want);
  host.free_all();
}

void keep(Host& host) {
  Random random(6);
  int n = 997;
  std::vector<float> in(n);
  std::vector<unsigned> want;
  for (int i = 0; i < n; i++) {
    in[i] = random.unit();
    if (in[i] >= 0.5f) want.push_back((unsigned)i);
  }
  Address I = host.upload(in), O = host.allocate(want.size() * 4), N = host.upload(std::vector<unsigned>{0});
  host.check("cuLaunchKernel", host.launch({{8, 1, 1}, {128, 1, 1}, 0}, "warps", "keep", I, O, N, n, 0.5f));
  unsigned count = host.download<unsigned>(N, 1)[0];
  if (count != want.size()) fail("keep: %u kept, not %zu", count, want.size());
  std::vector<unsigned> got = host.download<unsigned>(O, count);
  std::sort(got.begin(), got.end());
  same("keep", got, want);
  host.free_all();
}

void histogram(Host& host) {
  Random random(7);
  std::vector<uint8_t> in(5000);
  std::vector<unsigned> want(256);
  for (auto& v : in) want[v = (uint8_t)(random.below(16) * random.below(16))]++;
  Address I = host.upload(in), O = host.upload(std::vector<unsigned>(256));
  host.check("cuLaunchKernel", host.launch({{3, 1, 1}, {256, 1, 1}, 0}, "warps", "histogram", I, O, (int)in.size()));
  same("histogram", host.download<unsigned>(O, 256), want);
  host.free_all();
}

void turn(Host& host) {
  Random random(8);
  std::vector<uint32_t> in(4 * 1024), want(in.size());
  for (auto& v : in) v = random.word();
  for (int p = 0; p < 4; p++)
    for (int r = 0; r < 32; r++)
      for (int c = 0; c < 32; c++) want[p * 1024 + r * 32 + c] = in[p * 1024 + c * 32 + r];
  Address I = host.upload(in), O = host.allocate(in.size() * 4);
  host.check("cuLaunchKernel", host.launch({{2, 1, 1}, {64, 1, 1}, 0}, "warps", "turn", I, O));
  same("turn", host.download<uint32_t>(O, want.size()), want);
  host.free_all();
}

void total(Host& host) {
  Random random(9);
  std::vector<uint32_t> in(5000), want(1);
  for (auto& v : in) want[0] += v = random.word();
  Address I = host.upload(in), P = host.allocate(40 * 4), T = host.upload(std::vector<uint32_t>{0}), O = host.upload(std::vector<uint32_t>{0});
  host.check("cuLaunchKernel", host.launch({{40, 1, 1}, {32, 1, 1}, 0}, "warps", "total", I, P, T, O, (int)in.size()));
  same("total", host.download<uint32_t>(O, 1), want);
  host.free_all();
}

}  // namespace

const std::vector<Case> kernel_cases = {
    {"gemm_s8", [](Host& h) { gemm_bytes<int8_t>(h, "gemm_s8"); }},
    {"gemm_u8s8", [](Host& h) { gemm_bytes<uint8_t>(h, "gemm_u8s8"); }},
    {"gemm_bf16", [](Host& h) { gemm_floats(h, "gemm_bf16", bf16); }},
    {"gemm_tf32", [](Host& h) { gemm_floats(h, "gemm_tf32", tf32); }},
    {"fragments", fragments},
    {"matrices", matrices},
    {"sum", block_sum},
    {"keep", keep},
    {"histogram", histogram},
    {"turn", turn},
    {"total", total},
};

}  // namespace test
