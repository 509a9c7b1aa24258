// mma_sum.h: sums of products as tensor cores compute them; the manuals specify neither order nor rounding.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "number.h"

namespace emu {

// Returns whether EMU_MMA=truncate is set for this launch.
extern bool mma_truncates;

// Returns whether EMU_MMA_EXCHANGE is set for this launch: registers of the left factor exchanged, so that products are wrong.
extern bool mma_exchanges;

// truncated_sum is c plus the products as summed by the least exact tensor core, a V100's: the exact terms are aligned to
// the greatest exponent among them and truncated below 24 bits, and the sum is truncated again
// (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ CS 7:e330, 2021).
// Later devices keep more bits. Truncating all K terms together is less exact than any device.
template <int K>
float truncated_sum(const float* a, const float (*b)[8], int n, float c) {
  double terms[K + 1];  // float32 products of at most 11-bit factors are exact here
  terms[K] = c;
  int top = -1000;
  bool finite = true;
  for (int k = 0; k < K; k++) terms[k] = (double)a[k] * b[k][n];
  for (double t : terms) {
    finite = finite && std::isfinite(t);
    if (t != 0) top = top > std::ilogb(t) ? top : std::ilogb(t);
  }
  if (!finite || top == -1000) {
    double s = 0;
    for (double t : terms) s += t;
    return (float)s;
  }
  int64_t sum = 0;
  for (double t : terms) sum += (int64_t)std::ldexp(t, 23 - top);  // the cast truncates toward zero
  return narrow(Round::zero, std::ldexp((double)sum, top - 23));
}

// Row is a row of a tile in one register: compilers keep an array of sums in memory.
template <class T>
using Row [[gnu::vector_size(8 * sizeof(T))]] = T;
template <class T>
inline __attribute__((always_inline)) Row<T> row_of(const T* values) {
  Row<T> row;
  std::memcpy(&row, values, sizeof row);
  return row;
}

// c += a b for one tile.
template <int K>
void multiply_add_tile(const float (*a)[K], const float (*b)[8], float (*c)[8]) {
  if (mma_truncates) {
    for (int m = 0; m < 16; m++)
      for (int n = 0; n < 8; n++) c[m][n] = truncated_sum<K>(a[m], b, n, c[m][n]);
    return;
  }
  for (int m = 0; m < 16; m++) {
    Row<float> sum = row_of(c[m]);
    for (int k = 0; k < K; k++) sum += a[m][k] * row_of(b[k]);
    std::memcpy(c[m], &sum, sizeof sum);
  }
}

}  // namespace emu
