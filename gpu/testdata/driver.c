// driver.c: a driver library that has nothing but what finding out about it
// takes. -DINIT=code is what cuInit answers, -DVERSION=12040 what version it has.
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
