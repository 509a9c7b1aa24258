// layout.cu: how the device lays out the structures of types.cuh, for the host to compare.
#include "types.cuh"

#define AT(type, field) (u32)__builtin_offsetof(type, field)

// Writes to out how many numbers follow and then, of Query, Strip, Terms and Lists in this order,
// the size in bytes and the offset of every field; room is how many out can hold, and no more are
// written. One thread does it.
extern "C" __global__ void layout(u32* out, u32 room) {
  static const u32 all[] = {
      sizeof(Query),
      AT(Query, tau), AT(Query, epsilon), AT(Query, floor), AT(Query, norm), AT(Query, headNorm), AT(Query, restNorm),
      AT(Query, headStep8), AT(Query, restStep8), AT(Query, headErr8), AT(Query, restErr8),
      AT(Query, headStep), AT(Query, restStep), AT(Query, headErr), AT(Query, restErr), AT(Query, highErr), AT(Query, highSum),
      AT(Query, radiusFactor), AT(Query, hn), AT(Query, he), AT(Query, xn), AT(Query, nn), AT(Query, we), AT(Query, offsetFactor),
      AT(Query, filter), AT(Query, exp), AT(Query, k), AT(Query, skip), AT(Query, flags), AT(Query, allowed), AT(Query, best),
      AT(Query, listed), AT(Query, seen), AT(Query, kept), AT(Query, rows), AT(Query, owed), AT(Query, spare),
      AT(Query, pulls), AT(Query, bytes), AT(Query, open),
      sizeof(Strip),
      AT(Strip, headNorm), AT(Strip, headErr), AT(Strip, xnorm), AT(Strip, norm), AT(Strip, radius), AT(Strip, offset),
      AT(Strip, wholeErr), AT(Strip, meanRadius),
      sizeof(Terms),
      AT(Terms, headScale), AT(Terms, headNorm), AT(Terms, headErr), AT(Terms, norm), AT(Terms, offset), AT(Terms, scale),
      AT(Terms, radius), AT(Terms, xnorm), AT(Terms, wholeErr), AT(Terms, strips),
      sizeof(Lists),
      AT(Lists, atom), AT(Lists, bound), AT(Lists, estimate), AT(Lists, cap)};
  static const u32 n = sizeof(all) / sizeof(all[0]);
  if (blockIdx.x || threadIdx.x || !room) return;
  out[0] = n;
  for (u32 i = 0; i < n && i + 1 < room; i++) out[1 + i] = all[i];
}
