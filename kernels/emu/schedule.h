// schedule.h: the order in which blocks, warps and lanes run, chosen by EMU_SEED.
#pragma once
#include <cstdint>

namespace emu {

// Schedule determines the orders of one launch. Seed 0 runs everything in ascending order and seed 1 in descending order,
// each thread until it waits; so the two seeds run any two unordered accesses in opposite orders. Higher seeds draw new
// orders for every block and barrier, and odd ones also let warps overtake each other at warp collectives.
class Schedule {
 public:
  explicit Schedule(uint64_t seed) : seed_(seed), state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  bool ascending() const { return seed_ == 0; }
  bool descending() const { return seed_ == 1; }
  bool random() const { return seed_ > 1; }
  bool roams() const { return random() && seed_ % 2; }

  // Returns a number below n.
  uint64_t draw(uint64_t n) {
    state_ += 0x9e3779b97f4a7c15u;  // splitmix64
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (uint64_t)((unsigned __int128)z * n >> 64);
  }

  // Returns a permutation of 0..n-1, n up to 32.
  void order(unsigned char* out, unsigned n);

  // Returns whether an asynchronous copy completes at once; otherwise it does at the wait for it.
  bool early() { return !ascending() && (descending() || draw(2)); }

  // Fresh memory is filled with NaN or 0xcc.
  unsigned char poison() const { return seed_ % 2 ? 0xcc : 0xff; }

 private:
  uint64_t seed_, state_;
};

// Blocks enumerates 0..n-1 in the schedule's order.
class Blocks {
 public:
  Blocks(uint64_t n, Schedule* schedule);
  uint64_t at(uint64_t i) const { return (uint64_t)(((unsigned __int128)i * step_ + first_) % n_); }

 private:
  uint64_t n_, step_ = 1, first_ = 0;
};

}  // namespace emu
