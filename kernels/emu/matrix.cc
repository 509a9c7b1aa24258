#include "matrix.h"

#include <cstdint>
#include <cstring>

#include "grid.h"
#include "mma_sum.h"
#include "race.h"

namespace emu {
namespace {

// Fragments of one lane, which are on its own stack.
template <class C>
struct Fragments {
  C* c;
  const unsigned *a, *b;
  const char* name;
  At at;
};

// Words holds both factors as 32-bit words: 16 rows of the left one and 8 columns of the right one.
struct Words {
  uint32_t a[16][8], b[8][8];
};

template <class C>
void need_whole_warp(unsigned present, void** all) {
  if (present == 0xffffffffu) return;
  auto* f = (Fragments<C>*)all[__builtin_ctz(present)];
  trap(kLaunchFailed, f->at, "%s by part of a warp (lanes %08x)", f->name, present);
}

// dev.cuh describes the layouts.
template <class C>
void gather(void** all, Words* w, C (*c)[8]) {
  for (int l = 0; l < 32; l++) {
    auto* f = (Fragments<C>*)all[l];
    int g = l / 4, t = l % 4;
    w->a[g][t] = f->a[0];
    w->a[g + 8][t] = f->a[mma_exchanges ? 2 : 1];
    w->a[g][t + 4] = f->a[mma_exchanges ? 1 : 2];
    w->a[g + 8][t + 4] = f->a[3];
    w->b[g][t] = f->b[0];
    w->b[g][t + 4] = f->b[1];
    std::memcpy(&c[g][2 * t], f->c, sizeof(C) * 2);
    std::memcpy(&c[g + 8][2 * t], f->c + 2, sizeof(C) * 2);
  }
}

template <class C>
void scatter(void** all, const C (*c)[8]) {
  for (int l = 0; l < 32; l++) {
    auto* f = (Fragments<C>*)all[l];
    int g = l / 4, t = l % 4;
    std::memcpy(f->c, &c[g][2 * t], sizeof(C) * 2);
    std::memcpy(f->c + 2, &c[g + 8][2 * t], sizeof(C) * 2);
  }
}

template <bool Unsigned>
void finish_int8(unsigned present, void** all) {
  need_whole_warp<int>(present, all);
  Words w;
  int c[16][8];
  gather(all, &w, c);
  uint32_t b[32][8];  // [coordinate][column]; unsigned, so that sums wrap
  for (int n = 0; n < 8; n++)
    for (int k = 0; k < 32; k++) b[k][n] = (uint32_t)(int8_t)(w.b[n][k / 4] >> 8 * (k % 4));
  for (int m = 0; m < 16; m++) {
    Row<uint32_t> sum;
    std::memcpy(&sum, c[m], sizeof sum);
    for (int k = 0; k < 32; k++) {
      uint32_t byte = w.a[m][k / 4] >> 8 * (k % 4);
      uint32_t a = Unsigned ? byte & 255 : (uint32_t)(int8_t)byte;
      sum += a * row_of(b[k]);
    }
    std::memcpy(c[m], &sum, sizeof sum);
  }
  scatter(all, c);
}

// Decode converts words to the K values of a row.
template <int K, class Decode>
void finish_float(unsigned present, void** all, Decode decode) {
  need_whole_warp<float>(present, all);
  Words w;
  float c[16][8], a[16][K], b[K][8], row[K];
  gather(all, &w, c);
  for (int m = 0; m < 16; m++) decode(w.a[m], a[m]);
  for (int n = 0; n < 8; n++) {
    decode(w.b[n], row);
    for (int k = 0; k < K; k++) b[k][n] = row[k];
  }
  multiply_add_tile<K>(a, b, c);
  scatter(all, c);
}

void decode_bf16(const uint32_t* words, float* out) {
  for (int i = 0; i < 8; i++) {
    out[2 * i] = bits<float>(words[i] << 16);
    out[2 * i + 1] = bits<float>(words[i] & 0xffff0000u);
  }
}

void decode_tf32(const uint32_t* words, float* out) {
  for (int i = 0; i < 8; i++) out[i] = bits<float>(words[i] & 0xffffe000u);
}

template <class C>
void multiply(C* c, const unsigned* a, const unsigned* b, Finish finish, const char* name, At at) {
  Fragments<C> own = {c, a, b, name, at};
  meet(0xffffffffu, finish, &own, name, at);
}

struct Load {
  unsigned* r;
  const void* row;
  int count;
  bool transposed;
  At at;
};

// Traps unless an address is aligned to 16 bytes.
void need_aligned(const void* p, const char* what, At at) {
  if ((uintptr_t)p % 16) trap(kMisalignedAddress, at, "%s: %p is not a multiple of 16", what, p);
}

void need_shared(const void* p, size_t n, const char* what, At at) {
  if (!in_shared_memory(p, n)) trap(kIllegalAddress, at, "%s: %p is not in shared memory", what, p);
}

void finish_load(unsigned present, void** all) {
  auto* first = (Load*)all[__builtin_ctz(present)];
  if (present != 0xffffffffu) trap(kLaunchFailed, first->at, "ldmatrix by part of a warp (lanes %08x)", present);
  for (int i = 0; i < first->count; i++) {
    uint16_t m[8][8];
    for (int r = 0; r < 8; r++) {
      auto* l = (Load*)all[8 * i + r];
      need_aligned(l->row, "ldmatrix", l->at);
      need_shared(l->row, 16, "ldmatrix", l->at);
      std::memcpy(m[r], l->row, 16);
    }
    for (int l = 0; l < 32; l++) {
      int g = l / 4, t = l % 4;
      uint32_t lo = first->transposed ? m[2 * t][g] : m[g][2 * t], hi = first->transposed ? m[2 * t + 1][g] : m[g][2 * t + 1];
      ((Load*)all[l])->r[i] = hi << 16 | lo;
    }
  }
}

void land(const Copy& c) {
  std::memcpy(c.to, c.from, c.bytes);
  std::memset((char*)c.to + c.bytes, 0, 16 - c.bytes);
}

}  // namespace

void mma_int8(int* c, const unsigned* a, const unsigned* b, Int8 left, At at) {
  multiply(c, a, b, left == Int8::u8 ? finish_int8<true> : finish_int8<false>, left == Int8::u8 ? "mma_m16n8k32_u8s8" : "mma_m16n8k32_s8", at);
}

void mma_bf16(float* c, const unsigned* a, const unsigned* b, At at) {
  multiply(c, a, b, [](unsigned present, void** all) { finish_float<16>(present, all, decode_bf16); }, "mma_m16n8k16_bf16", at);
}

void mma_tf32(float* c, const unsigned* a, const unsigned* b, At at) {
  multiply(c, a, b, [](unsigned present, void** all) { finish_float<8>(present, all, decode_tf32); }, "mma_m16n8k8_tf32", at);
}

void load_matrices(unsigned* r, const void* row, int count, bool transposed, At at) {
  // A fault is reported for the lane that passed the address.
  if (checking && running()->lane < 8u * (unsigned)count) race_touch(row, 16, Touch::read, __builtin_return_address(0));
  Load own = {r, row, count, transposed, at};
  static const char* const names[2][5] = {{"", "ldmatrix_x1", "ldmatrix_x2", "", "ldmatrix_x4"},
                                          {"", "ldmatrix_x1_trans", "ldmatrix_x2_trans", "", "ldmatrix_x4_trans"}};
  meet(0xffffffffu, finish_load, &own, names[transposed][count], at);
}

void copy_async(void* shared, const void* global, unsigned n, At at) {
  need_aligned(shared, "cp_async16 to", at);
  need_shared(shared, 16, "cp_async16 to", at);
  if (n > 16) trap(kLaunchFailed, at, "cp_async16 of %u bytes", n);
  if (n) need_aligned(global, "cp_async16 from", at);
  if (n && in_shared_memory(global, n)) trap(kIllegalAddress, at, "cp_async16 from %p, which is not in global memory", global);
  if (checking) {
    if (n) race_touch(global, n, Touch::read, __builtin_return_address(0), false);
    race_touch(shared, 16, Touch::write, __builtin_return_address(0));
  }
  Fiber* f = running();
  Copy c = {shared, global, n, f->group};
  if (!checking && copies_early()) land(c);
  else copies_of(f).push_back(c);
}

void copy_commit() { running()->group++; }

void copy_wait(int pending, At) {
  Fiber* f = running();
  std::vector<Copy>& copies = copies_of(f);
  size_t done = 0;
  for (; done < copies.size() && copies[done].group < f->group - pending; done++) {
    // Up to here the bytes could arrive at any time.
    if (checking) race_touch(copies[done].to, 16, Touch::write, __builtin_return_address(0));
    land(copies[done]);
  }
  copies.erase(copies.begin(), copies.begin() + (long)done);
}

}  // namespace emu
