// matrix.h: the emulation behind dev.cuh's inline PTX: matrix products, matrix loads, asynchronous copies.
#pragma once
#include "thread.h"

namespace emu {

enum class Int8 { s8, u8 };  // type of the left factor; the right one is s8

// c += a b over the fragments of a whole warp, in the layouts of dev.cuh.
void mma_int8(int* c, const unsigned* a, const unsigned* b, Int8 left, At at);
void mma_bf16(float* c, const unsigned* a, const unsigned* b, At at);
void mma_tf32(float* c, const unsigned* a, const unsigned* b, At at);

// Loads count 8x8 matrices of 16-bit elements, one into each of r[0..count).
void load_matrices(unsigned* r, const void* row, int count, bool transposed, At at);

// Copies 16 bytes to shared memory, of which the first n come from global memory and the rest are zero. The schedule
// decides when it happens between now and the wait for its group.
void copy_async(void* shared, const void* global, unsigned n, At at);
void copy_commit();
void copy_wait(int pending, At at);

}  // namespace emu
