// mutants.h: the deliberate faults in the test kernels (MUTANT in their sources), and the tests that must detect them.
#pragma once
#include <vector>

namespace test {

struct Mutant {
  const char* unit;
  int number;
  const char* test;  // the kernel case that fails
  bool checker;      // detected by EMU_RACE only: results do not depend on it
  const char* what;
};

inline const std::vector<Mutant> mutants = {
    {"tiles", 1, "gemm_s8", false, "no barrier between the copy's wait and the tile's use"},
    {"tiles", 2, "gemm_s8", false, "no barrier between the tile's use and the copy over it"},
    {"tiles", 3, "gemm_s8", false, "the wait leaves the last group under way"},
    {"tiles", 4, "gemm_s8", false, "fragments of two columns exchanged"},
    {"tiles", 5, "gemm_s8", false, "fragments of the sum exchanged"},
    {"tiles", 6, "gemm_u8s8", false, "a row too many is read"},
    {"tiles", 7, "gemm_s8", false, "no zeros beyond the ends"},
    {"tiles", 8, "gemm_s8", false, "ldmatrix with the wrong lanes' rows"},
    {"tiles", 9, "gemm_s8", false, "a group of copies is not committed"},
    {"tiles", 10, "gemm_bf16", false, "halves of a word exchanged"},
    {"tiles", 11, "gemm_tf32", false, "no barrier before the tile's use"},
    {"tiles", 12, "gemm_bf16", false, "words of the right factor exchanged"},
    {"tiles", 13, "gemm_tf32", false, "no barrier after the tile's use"},
    {"warps", 1, "sum", false, "a shuffle from the wrong lane"},
    {"warps", 2, "sum", false, "a barrier that part of the block reaches"},
    {"warps", 3, "sum", false, "two barriers for two parts of the block"},
    {"warps", 4, "sum", false, "no barrier before another warp's value is read"},
    {"warps", 5, "keep", false, "i <= n"},
    {"warps", 6, "keep", false, "a lane left out of the mask"},
    {"warps", 7, "keep", false, "an atomic by every lane"},
    {"warps", 8, "keep", false, "the place is not handed to the other lanes"},
    {"warps", 9, "keep", false, "places counted over all lanes, not those before"},
    {"warps", 10, "histogram", false, "no barrier after the bins are cleared"},
    {"warps", 11, "histogram", true, "shared bins counted without atomics"},
    {"warps", 12, "histogram", false, "no barrier before the bins are read"},
    {"warps", 13, "histogram", true, "global bins counted without atomics"},
    {"warps", 14, "turn", true, "a ballot where memory must be ordered"},
    {"warps", 15, "turn", false, "no __syncwarp"},
    {"warps", 16, "total", true, "no fence before the ticket"},
    {"warps", 17, "total", false, "the block of the greatest index taken for the last one"},
};

}  // namespace test
