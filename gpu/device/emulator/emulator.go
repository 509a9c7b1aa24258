//go:build cuda && cgo

package emulator

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

// The library is already open under this name, or not in use.
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

// symbol returns a function of the driver library in use, nil if it has none of that name; a real
// driver has none of these.
func symbol(name string) unsafe.Pointer {
	library := C.CString(os.Getenv("THRESHER_LIBCUDA"))
	defer C.free(unsafe.Pointer(library))
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return C.symbol(library, c)
}

// Present reports whether the driver in use is the emulator. device.Driver must have been called
// before.
func Present() bool { return symbol("emu_count") != nil }

// Count returns a counter by its name in kernels/emu/control.cc; false if there is none of that
// name or no emulator.
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

// LastFault describes the most recent fault of a kernel and its source line; empty if there was none.
func LastFault() string {
	f := symbol("emu_last_fault")
	if f == nil {
		return ""
	}
	var out [1024]C.char
	C.last_fault(f, &out[0], C.size_t(len(out)))
	return C.GoString(&out[0])
}
