// shares.cuh: lists of uneven lengths, divided into shares of equal length, each for one warp. A share is consecutive
// entries of one list; the last of a list may be shorter. However uneven the lists are, no warp has more than a share.
#pragma once
#include "warp.cuh"

// The length of a share is a multiple of this many entries: of a list of survivors, and of a list of candidates.
static const u32 kListUnit = 16, kCandidateUnit = 4;

// kCounters is the number of threads of the block that counts shares.
static const u32 kCounters = 1024;

DEV u32 quotient_up(u32 n, u32 by) { return n / by + (n % by > 0); }

// count_shares divides m lists of of(j) entries into at most want + m shares of a multiple of `unit` entries. It writes to
// begins[j] the number of shares of the lists before list j, to begins[m] that of all lists, and to begins[m+1] the length of
// a share. The lists have fewer than 2^32 units together: no device has memory for more entries. One block of kCounters
// threads does it; totals is [2][32] words of shared memory.
template <class Of>
DEV void count_shares(u32* begins, u32 m, u32 want, u32 unit, u32 (*totals)[32], Of of) {
  u32 units = 0, before = 0, all, round = 0;
  for (u32 j = threadIdx.x; j < m; j += kCounters) units += quotient_up(of(j), unit);
  scan_block(units, totals[round++ & 1], &all);
  u32 length = max(quotient_up(all, want), 1u) * unit;
  for (u32 from = 0; from < m; from += kCounters) {
    u32 j = from + threadIdx.x, at = before + scan_block(j < m ? quotient_up(of(j), length) : 0, totals[MUTANT(91) ? 1 : round++ & 1], &all);
    if (j < m) begins[j] = at;
    before += all;
  }
  if (threadIdx.x > 0) return;
  begins[m] = before;
  begins[m + 1] = length;
}

// Share is entries `from` to `to` - 1 of a list, but for those behind the list's end.
struct Share { u32 list, from, to; };

// take_share sets *share to that of this warp, and returns false if there is none. The whole warp calls it. Of few shares,
// neighbours go to different blocks, so that no multiprocessor gets them all.
DEV bool take_share(const u32* begins, u32 m, Share* share) {
  u32 number = MUTANT(92) ? blockIdx.x : threadIdx.x / 32 * gridDim.x + blockIdx.x, length = begins[m + 1];
  if (number >= begins[m]) return false;
  // Its list is the last that begins at or before it; lists without entries lie before that. Each round leaves a
  // thirty-second of the lists: list `at` begins at or before the share, list `end` behind it.
  u32 at = 0;
  for (u32 end = m; end - at > 1;) {
    u32 step = (end - at + 31) / 32, probe = at + lane_id() * step;
    u32 before = __ballot_sync(kAll, probe < end && (MUTANT(93) ? begins[probe] < number : begins[probe] <= number));
    at += (31 - (u32)__clz((int)(before | MUTANT(93)))) * step;
    end = min(end, at + step);
  }
  u32 from = (number - begins[at]) * length;
  *share = {at, from, from + length - (u32)MUTANT(94)};
  return true;
}
