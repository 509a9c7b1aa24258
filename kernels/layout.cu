// layout.cu: how the device lays out the structures of types.cuh; a test compares it with the host's.
#include "types.cuh"

struct Output {
  u32* out;
  u32 room, n;
};

// put appends a number if there is room for it, and counts it.
DEV void put(Output* s, size_t v) {
  if (s->n < s->room) s->out[s->n] = (u32)v;
  s->n++;
}

#define SIZE(type) put(&s, sizeof(type))
#define AT(type, field) put(&s, (size_t)&((const type*)0)->field)

// layout writes to out the number of values that follow, and then, for Query, Strip, Side, Terms, Lists, Mixing and Report in this
// order, the size in bytes and the offset of every field. room is the capacity of out. One thread does it.
extern "C" __global__ void layout(u32* out, u32 room) {
  if (blockIdx.x || threadIdx.x || !room) return;
  Output s = {out, room, 1};

  SIZE(Query);
  AT(Query, tau), AT(Query, epsilon), AT(Query, floor), AT(Query, ceiling), AT(Query, lead), AT(Query, give), AT(Query, norm);
  AT(Query, headNorm), AT(Query, restNorm), AT(Query, square), AT(Query, unit);
  AT(Query, headStep8), AT(Query, restStep8), AT(Query, headErr8), AT(Query, restErr8);
  AT(Query, headStep), AT(Query, restStep), AT(Query, headErr), AT(Query, restErr), AT(Query, highErr), AT(Query, highSum), AT(Query, mixedStep);
  AT(Query, radiusFactor), AT(Query, hn), AT(Query, he), AT(Query, xn), AT(Query, nn), AT(Query, we), AT(Query, offsetFactor);
  AT(Query, filter), AT(Query, excluded), AT(Query, given), AT(Query, excludes), AT(Query, givens), AT(Query, from);
  AT(Query, exp), AT(Query, k), AT(Query, flags), AT(Query, allowed), AT(Query, best);
  AT(Query, listed), AT(Query, seen), AT(Query, kept), AT(Query, rows), AT(Query, expectedRows), AT(Query, origin);
  AT(Query, pulls), AT(Query, bytes), AT(Query, open), AT(Query, listedBefore);

  SIZE(Strip);
  AT(Strip, headNorm), AT(Strip, headErr), AT(Strip, xnorm), AT(Strip, norm);
  AT(Strip, radius), AT(Strip, offset), AT(Strip, wholeErr), AT(Strip, meanRadius);

  SIZE(Side);
  AT(Side, headScale), AT(Side, scale), AT(Side, radius), AT(Side, headErr);
  AT(Side, offset), AT(Side, size), AT(Side, wholeErr);

  SIZE(Terms);
  AT(Terms, headScale), AT(Terms, headNorm), AT(Terms, headErr), AT(Terms, norm), AT(Terms, offset);
  AT(Terms, scale), AT(Terms, radius), AT(Terms, xnorm), AT(Terms, wholeErr), AT(Terms, strips), AT(Terms, side);

  SIZE(Lists);
  AT(Lists, atom), AT(Lists, bound), AT(Lists, estimate), AT(Lists, cap);

  SIZE(Mixing);
  AT(Mixing, limit), AT(Mixing, norms), AT(Mixing, slack), AT(Mixing, codeSlack), AT(Mixing, rest);
  AT(Mixing, R), AT(Mixing, To), AT(Mixing, width);

  SIZE(Report);
  AT(Report, seen), AT(Report, kept);

  out[0] = s.n - 1;
}
