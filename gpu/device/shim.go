//go:build cuda && cgo

package device

/*
#cgo LDFLAGS: -L${SRCDIR}/link -ldl
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"unsafe"
)

//go:generate sh symbols.sh shim_symbols.h

// openLibrary opens the driver library at path and initialises it. It returns cuInit's code; err
// is the loader's error if the library could not be opened.
func openLibrary(path string) (code int, err error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	if r := C.thresher_shim_open(name, &why[0], C.size_t(len(why))); r != -1 {
		return int(r), nil
	}
	return 0, errors.New(C.GoString(&why[0]))
}
