#include "schedule.h"

#include <numeric>
#include <utility>

namespace emu {

void Schedule::order(unsigned char* out, unsigned n) {
  for (unsigned i = 0; i < n; i++) out[i] = (unsigned char)(descending() ? n - 1 - i : i);
  if (!random()) return;
  for (unsigned i = n; i > 1; i--) std::swap(out[i - 1], out[draw(i)]);
}

// i -> first + i*step mod n is a permutation if step and n are coprime, and needs no memory.
Blocks::Blocks(uint64_t n, Schedule* schedule) : n_(n) {
  if (schedule->ascending() || n < 2) return;
  if (schedule->descending()) {
    first_ = n - 1;
    step_ = n - 1;
    return;
  }
  first_ = schedule->draw(n);
  do step_ = 1 + schedule->draw(n - 1);
  while (std::gcd(step_, n) != 1);
}

}  // namespace emu
