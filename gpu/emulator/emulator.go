//go:build cuda && cgo

package emulator

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

// The library is open already: by this name, or not at all.
static void *symbol(const char *library, const char *name) {
	void *lib = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	return lib ? dlsym(lib, name) : 0;
}
static unsigned long long count(void *f, const char *name) {
	return ((unsigned long long (*)(const char *))f)(name);
}
static void last_fault(void *f, char *out, size_t room) {
	((void (*)(char *, size_t))f)(out, room);
}
*/
import "C"

import (
	"math"
	"os"
	"unsafe"
)

// symbol finds a function of the driver library in use; nil if it has none of
// that name, as a real driver has not.
func symbol(name string) unsafe.Pointer {
	library := C.CString(os.Getenv("THRESHER_LIBCUDA"))
	defer C.free(unsafe.Pointer(library))
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return C.symbol(library, c)
}

// Present reports whether the driver in use is the emulator. It must be open:
// call gpu.Driver before.
func Present() bool { return symbol("emu_count") != nil }

// Count is a counter by the name kernels/emu/control.cc gives it; false if the
// emulator has none of that name or is not there.
func Count(name string) (uint64, bool) {
	f := symbol("emu_count")
	if f == nil {
		return 0, false
	}
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	n := uint64(C.count(f, c))
	return n, n != math.MaxUint64
}

// LastFault says what the latest kernel that failed did wrong and where; empty
// if none did.
func LastFault() string {
	f := symbol("emu_last_fault")
	if f == nil {
		return ""
	}
	var out [1024]C.char
	C.last_fault(f, &out[0], C.size_t(len(out)))
	return C.GoString(&out[0])
}
