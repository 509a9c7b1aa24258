// copy.cu: the bandwidth of device memory, to compare other kernels with.
#include "dev.cuh"

// copy16 copies src[i] to dst[i] for i < n, 16 bytes a thread. src and dst must not overlap.
extern "C" __global__ void __launch_bounds__(256) copy16(const uint4* src, uint4* dst, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dst[i] = src[i];
}
