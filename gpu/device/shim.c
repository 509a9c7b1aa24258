//go:build cuda && cgo

// shim.c: defines the driver symbols that this program links and forwards each
// to a libcuda.so.1 opened at run time. So a binary built with the tag cuda needs
// no driver to link or to start, and a search on the CPU never touches one.
//
// gorgonia.org/cu calls cuInit when it is loaded and ends the process if that
// fails. The cuInit here does nothing and succeeds; thresher_shim_open calls the
// driver's own.
#include "shim.h"

#include <dlfcn.h>
#include <stdio.h>

enum { not_initialized = 3, requires_newer_driver = 36 };

static int answer = not_initialized;
static int absent(void) { return answer; }

#define X(f) __attribute__((visibility("hidden"))) void *thresher_shim_##f = (void *)absent;
#include "shim_symbols.h"
#undef X

// A jump leaves arguments and stack as they are, so no prototype is needed. The
// symbols are hidden: the driver's own references must not find them.
#define SYMBOL(f) ".text\n.globl " #f "\n.hidden " #f "\n.type " #f ",@function\n" #f ":\n"
#if defined(__x86_64__)
#define X(f) __asm__(SYMBOL(f) "\tjmp *thresher_shim_" #f "(%rip)\n.size " #f ",.-" #f "\n");
#elif defined(__aarch64__)
#define X(f) __asm__(SYMBOL(f) "\tadrp x16,thresher_shim_" #f "\n\tldr x16,[x16,:lo12:thresher_shim_" #f "]\n\tbr x16\n.size " #f ",.-" #f "\n");
#else
#error "the CUDA backend is for amd64 and arm64"
#endif
#include "shim_symbols.h"
#undef X

__attribute__((visibility("hidden"))) int cuInit(unsigned flags) {
	(void)flags;
	return 0;
}

int thresher_shim_open(const char *path, char *why, size_t room) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*init)(unsigned) = lib ? (int (*)(unsigned))dlsym(lib, "cuInit") : 0;
	if (!init) {
		snprintf(why, room, "%s", dlerror()); // its memory is the loader's
		if (lib) dlclose(lib);
		return -1;
	}
	int r = init(0);
	void *f;
	// Also after a failure: the driver names its errors without being initialized.
#define X(n) if ((f = dlsym(lib, #n))) thresher_shim_##n = f;
#include "shim_symbols.h"
#undef X
	answer = requires_newer_driver;
	return r;
}
