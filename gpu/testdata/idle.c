// idle.c: a driver library of a device that takes no time and computes nothing, with which the work of the host is
// measured (gpu/bench_host_test.go). Device memory is host memory. Kernels, fills and asynchronous uploads do
// nothing. Asynchronous downloads are carried out by the call that waits for them, so what a benchmark has put in device
// memory is what every search finds there.
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

static struct { void *to; address from; size_t bytes; } downloads[64];
static int waiting;
static int object; // what all handles point to

static int finish(void) {
	for (int i = 0; i < waiting; i++) memcpy(downloads[i].to, (void *)downloads[i].from, downloads[i].bytes);
	waiting = 0;
	return 0;
}

static int allocate(void **p, size_t bytes) { return posix_memalign(p, 4096, bytes ? bytes : 1) ? 2 : (memset(*p, 0, bytes), 0); }

int idle_driver(void) { return 1; } // tells this library from others

int cuInit(unsigned flags) { return flags ? 1 : 0; }
int cuDriverGetVersion(int *v) { return *v = 12080, 0; }
int cuGetErrorName(int code, const char **s) { return *s = "CUDA_ERROR_OTHER", code < 0; }
int cuGetErrorString(int code, const char **s) { return *s = "other", code < 0; }

int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *d, int i) { return *d = i, 0; }
int cuDeviceGetName(char *s, int room, int d) { return strncpy(s, "idle", room), d; }
int cuDeviceGetUuid(char *s, int d) { return memset(s, 0x1d, 16), d; }
int cuDeviceTotalMem_v2(size_t *n, int d) { return *n = 1ull << 36, d; }
int cuDeviceGetAttribute(int *v, int which, int d) {
	switch (which) {
	case 75: *v = 9; break;                                // compute capability
	case 76: *v = 0; break;
	case 16: *v = 132; break;                              // multiprocessors
	case 38: *v = 50 << 20; break;                         // second-level cache
	case 97: *v = 227 << 10; break;                        // shared memory of a block that asks for it
	case 81: *v = 228 << 10; break;                        // of a multiprocessor
	case 39: *v = 2048; break;                             // threads of a multiprocessor
	case 10: *v = 32; break;                               // of a warp
	default: *v = 0;
	}
	return d;
}
int cuDevicePrimaryCtxRetain(void **c, int d) { return *c = &object, d; }
int cuDevicePrimaryCtxRelease_v2(int d) { return d; }
int cuCtxPushCurrent_v2(void *c) { return c != &object; }
int cuCtxPopCurrent_v2(void **c) { return *c = &object, 0; }
int cuCtxSynchronize(void) { return finish(); }

int cuMemGetInfo_v2(size_t *left, size_t *all) { return *left = *all = 1ull << 36, 0; }
int cuMemAlloc_v2(address *p, size_t bytes) { return allocate((void **)p, bytes); }
int cuMemFree_v2(address p) { return free((void *)p), 0; }
int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) { return (void)flags, allocate(p, bytes); }
int cuMemFreeHost(void *p) { return free(p), 0; }
int cuMemHostGetDevicePointer_v2(address *d, void *p, unsigned flags) { return *d = (address)p, flags != 0; }

int cuMemcpyHtoD_v2(address to, const void *from, size_t n) { return memcpy((void *)to, from, n), 0; }
int cuMemcpyDtoH_v2(void *to, address from, size_t n) { return memcpy(to, (void *)from, n), 0; }
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t n, void *s) { return !to + !from + !n + !s; }
int cuMemcpyDtoDAsync_v2(address to, address from, size_t n, void *s) { return !to + !from + !n + !s; }
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t n, void *s) {
	if (waiting == sizeof downloads / sizeof downloads[0] || !s) return 1;
	downloads[waiting].to = to, downloads[waiting].from = from, downloads[waiting++].bytes = n;
	return 0;
}
int cuMemsetD8Async(address p, unsigned char v, size_t n, void *s) { return (void)v, (void)n, !p + !s; }
int cuMemsetD16Async(address p, unsigned short v, size_t n, void *s) { return (void)v, (void)n, !p + !s; }
int cuMemsetD32Async(address p, unsigned v, size_t n, void *s) { return (void)v, (void)n, !p + !s; }

int cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *options, void **values) {
	return *m = &object, (void)n, (void)options, (void)values, !image;
}
int cuModuleUnload(void *m) { return !m; }
int cuModuleGetFunction(void **f, void *m, const char *name) { return *f = &object, !m + !name; }
int cuFuncGetAttribute(int *v, int which, void *f) { return *v = which ? 0 : 1024, !f; }
int cuFuncSetAttribute(void *f, int which, int value) { return (void)which, (void)value, !f; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared) {
	return *n = 2, (void)threads, (void)shared, !f;
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s, void **args, void **extra) {
	return (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)args, (void)extra, !f + !s;
}

int cuGraphCreate(void **g, unsigned flags) { return *g = &object, flags != 0; }
int cuGraphDestroy(void *g) { return !g; }
int cuGraphAddKernelNode_v2(void **node, void *g, void *const *after, size_t n, const void *params) {
	return *node = &object, !g + !params + (n > 1) + (n && after[0] != &object);
}
int cuGraphInstantiateWithFlags(void **e, void *g, unsigned long long flags) { return *e = &object, !g + (flags != 0); }
int cuGraphExecDestroy(void *e) { return !e; }
int cuGraphLaunch(void *e, void *s) { return !e + !s; }

int cuStreamCreate(void **s, unsigned flags) { return *s = &object, (int)flags & ~1; }
int cuStreamDestroy_v2(void *s) { return finish(), !s; }
int cuStreamSynchronize(void *s) { return finish(), !s; }
int cuStreamQuery(void *s) { return finish(), !s; }
int cuStreamWaitEvent(void *s, void *e, unsigned flags) { return !s + !e + (flags != 0); }
int cuEventCreate(void **e, unsigned flags) { return *e = &object, (int)flags & ~3; }
int cuEventDestroy_v2(void *e) { return !e; }
int cuEventRecord(void *e, void *s) { return !e + !s; }
int cuEventQuery(void *e) { return !e; }
int cuEventSynchronize(void *e) { return !e; }
int cuEventElapsedTime(float *ms, void *from, void *to) { return *ms = 0, !from + !to; }
