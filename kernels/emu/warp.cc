#include "warp.h"

#include "block.h"
#include "race.h"

namespace emu {
namespace {

template <class F>
void each(unsigned lanes, F f) {
  for (; lanes; lanes &= lanes - 1) f((unsigned)__builtin_ctz(lanes));
}

struct Ballot {
  bool predicate;
  unsigned result;
};

struct Shuffle {
  unsigned long long value, result;
  unsigned source;
  const char* name;
  At at;
};

struct Reduction {
  unsigned value, result;
  Reduce op;
};

struct Match {
  unsigned long long value;
  unsigned same;  // lanes with the same value
};

unsigned combine(Reduce op, unsigned a, unsigned b) {
  switch (op) {
    case Reduce::add: return a + b;
    case Reduce::min: return a < b ? a : b;
    case Reduce::max: return a > b ? a : b;
    case Reduce::smin: return (int)a < (int)b ? a : b;
    case Reduce::smax: return (int)a > (int)b ? a : b;
    case Reduce::bit_and: return a & b;
    case Reduce::bit_or: return a | b;
    case Reduce::bit_xor: return a ^ b;
  }
  __builtin_unreachable();
}

}  // namespace

void sync_warp(unsigned mask, At at) {
  meet(mask, [](unsigned present, void**) { race_warp(present); }, nullptr, "__syncwarp", at);
}

unsigned ballot(unsigned mask, int predicate, const char* name, At at) {
  Ballot own = {predicate != 0, 0};
  meet(mask, [](unsigned present, void** all) {
    unsigned votes = 0;
    each(present, [&](unsigned l) { votes |= (unsigned)((Ballot*)all[l])->predicate << l; });
    each(present, [&](unsigned l) { ((Ballot*)all[l])->result = votes; });
  }, &own, name, at);
  return own.result;
}

unsigned long long shuffle(unsigned mask, unsigned long long value, unsigned source, const char* name, At at) {
  Shuffle own = {value, 0, source, name, at};
  meet(mask, [](unsigned present, void** all) {
    each(present, [&](unsigned l) {
      auto* to = (Shuffle*)all[l];
      if (!(present >> to->source & 1))
        trap(kLaunchFailed, to->at, "%s: lane %u reads lane %u, which is not there", to->name, l, to->source);
      to->result = ((Shuffle*)all[to->source])->value;
    });
  }, &own, name, at);
  return own.result;
}

unsigned reduce(unsigned mask, unsigned value, Reduce op, const char* name, At at) {
  Reduction own = {value, 0, op};
  meet(mask, [](unsigned present, void** all) {
    unsigned first = (unsigned)__builtin_ctz(present);
    auto* r = (Reduction*)all[first];
    unsigned sum = r->value;
    each(present & ~(1u << first), [&](unsigned l) { sum = combine(r->op, sum, ((Reduction*)all[l])->value); });
    each(present, [&](unsigned l) { ((Reduction*)all[l])->result = sum; });
  }, &own, name, at);
  return own.result;
}

unsigned match(unsigned mask, unsigned long long value, int* all, const char* name, At at) {
  Match own = {value, 0};
  meet(mask, [](unsigned present, void** lanes) {
    each(present, [&](unsigned l) {
      auto* m = (Match*)lanes[l];
      each(present, [&](unsigned o) { m->same |= (unsigned)(((Match*)lanes[o])->value == m->value) << o; });
    });
  }, &own, name, at);
  if (!all) return own.same;
  // __match_all_sync: the mask if all lanes have the same value, otherwise 0.
  *all = (own.same & mask) == mask;
  return *all ? mask : 0;
}

}  // namespace emu
