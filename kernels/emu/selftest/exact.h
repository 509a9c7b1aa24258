// exact.h: directed rounding that does not use the processor's rounding modes, as the emulator does: the nearest value,
// then a step if it is on the wrong side of the exact one.
#pragma once
#include <cmath>
#include <limits>

namespace test {

enum Rounding { kNearest, kDown, kUp, kZero };

// directed rounds, given the value nearest to an exact result and its side: -1 if it is below, 0 if equal, 1 if above.
template <class T>
T directed(T nearest, int side, Rounding r) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  if (r == kNearest || nearest != nearest || side == 0) return nearest;
  bool want_low = r == kDown;
  if (r == kZero) want_low = nearest > 0 || (nearest == 0 && side < 0);
  if (want_low) return side > 0 ? std::nextafter(nearest, -inf) : nearest;
  return side < 0 ? std::nextafter(nearest, inf) : nearest;
}

// round_to rounds v, which float128 holds exactly, to T.
template <class T>
T round_to(__float128 v, Rounding r) {
  T nearest = (T)v;
  __float128 back = nearest;
  int side = back < v ? -1 : back > v ? 1 : 0;
  T out = directed(nearest, side, r);
  return out == 0 && v != 0 ? (v < 0 ? -T(0) : T(0)) : out;
}

}  // namespace test
