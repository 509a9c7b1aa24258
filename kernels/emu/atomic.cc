#include "atomic.h"

#include "race.h"

namespace emu {
namespace {

template <class T>
T combine(Rmw op, T old, T value, T compare) {
  switch (op) {
    case Rmw::add:
      if constexpr (sizeof(T) == 4 && T(1) / 2 == T(0)) return (T)((unsigned)old + (unsigned)value);
      else if constexpr (T(1) / 2 == T(0)) return (T)((unsigned long long)old + (unsigned long long)value);
      else return old + value;
    case Rmw::min: return value < old ? value : old;
    case Rmw::max: return value > old ? value : old;
    case Rmw::exch: return value;
    case Rmw::cas: return old == compare ? value : old;
    default: break;
  }
  if constexpr (T(1) / 2 == T(0)) {
    switch (op) {
      case Rmw::bit_and: return old & value;
      case Rmw::bit_or: return old | value;
      case Rmw::bit_xor: return old ^ value;
      case Rmw::inc: return old >= value ? T(0) : T(old + 1);
      case Rmw::dec: return old == T(0) || old > value ? value : T(old - 1);
      default: break;
    }
  }
  __builtin_unreachable();
}

}  // namespace

template <class T>
T atomic(Rmw op, T* p, T value, T compare) {
  if (checking) race_touch(p, sizeof *p, Touch::atomic, __builtin_return_address(0));
  T old = *p;
  *p = combine(op, old, value, compare);
  return old;
}

template int atomic(Rmw, int*, int, int);
template unsigned atomic(Rmw, unsigned*, unsigned, unsigned);
template long long atomic(Rmw, long long*, long long, long long);
template unsigned long long atomic(Rmw, unsigned long long*, unsigned long long, unsigned long long);
template float atomic(Rmw, float*, float, float);
template double atomic(Rmw, double*, double, double);

}  // namespace emu
