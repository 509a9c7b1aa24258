// allowed.cuh: which atoms looks and dense scans take for a query. The list of excluded atoms is searched only for atoms
// that pass everything else.
#pragma once
#include "types.cuh"

// first_from returns the index of the first of n ascending atoms that is at least `atom`, n if there is none.
DEV u32 first_from(const u32* atoms, u32 n, u32 atom) {
  u32 lo = 0;
#pragma unroll 1
  while (lo < n) {
    u32 middle = (lo + n) / 2;
    if (atoms[middle] < atom) lo = middle + 1;
    else n = middle;
  }
  return lo;
}

// excludes reports whether the query's list holds an atom. A word that is no atom follows the list, so that its length is not
// needed after the search: the scans have no register to spare.
DEV bool excludes(const Query* q, u32 atom) {
  const u32* atoms = q->excluded;
  u32 n = q->excludes - (MUTANT(82) && q->excludes > 0);
  if (n == 0) return false;
  return atoms[first_from(atoms, n, atom)] == atom + MUTANT(81);
}

// allows reports whether looks and dense scans take an atom for the query.
DEV bool allows(const Query* q, u32 atom) {
  return (atom >= q->from || MUTANT(83)) && (!q->filter || (q->filter[atom / 64] >> (atom % 64) & 1)) && !excludes(q, atom);
}

// count_allowed counts the atoms of lo..hi-1, lo < hi, that looks take for the query, by a warp: the sum over its lanes.
DEV u32 count_allowed(const Query* q, u32 lo, u32 hi) {
  const u64* filter = q->filter;
  u32 lane = threadIdx.x & 31, first = max(lo, MUTANT(84) ? lo : q->from), n = 0;
  if (first >= hi) return 0;
  if (!filter) n = lane == 0 ? hi - first : 0;
  else for (u32 w = first / 64 + lane; w < (hi + 63) / 64; w += 32) {
    u64 bits = filter[w];
    if (w == first / 64) bits &= ~0ull << (first % 64);
    if (w == hi / 64 && !MUTANT(85)) bits &= ~(~0ull << (hi % 64));
    n += (u32)__popcll((long long)bits);
  }
  u32 end = first_from(q->excluded, q->excludes, MUTANT(86) ? ~0u : hi);
  for (u32 e = first_from(q->excluded, q->excludes, first) + lane; e < end; e += 32) {
    u32 atom = q->excluded[e];
    if (!filter || (filter[atom / 64] >> (atom % 64) & 1) || MUTANT(87)) n--;  // the sum over the lanes is not negative
  }
  return n;
}
