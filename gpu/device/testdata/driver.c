// driver.c: a driver library with only the calls that identify it. -DINIT=code is
// cuInit's result, -DVERSION=12040 the version.
#ifndef INIT
#define INIT 0
#endif
#ifndef VERSION
#define VERSION 12040
#endif

int cuInit(unsigned flags) { return flags ? 1 : INIT; }

int cuDriverGetVersion(int *v) {
	*v = VERSION;
	return 0;
}

int cuGetErrorName(int code, const char **s) {
	*s = code == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : "CUDA_ERROR_OTHER";
	return 0;
}

int cuGetErrorString(int code, const char **s) {
	*s = code == 803 ? "system has unsupported display driver / cuda driver combination" : "other";
	return 0;
}
