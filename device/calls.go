//go:build cuda && cgo

package device

/*
#include <cuda.h>

#cgo noescape launch
#cgo nocallback launch
// At most 32 arguments (maxArgs); argument i begins at words[first[i]]. The driver has read them when it returns.
static CUresult launch(CUfunction f, const unsigned *grid, const unsigned *block, unsigned shared, CUstream s, unsigned long long *words, const int *first, int count) {
	void *at[32];
	for (int i = 0; i < count; i++) at[i] = &words[first[i]];
	return cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, s, at, 0);
}
*/
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

// Driver calls that gorgonia.org/cu lacks.

// functionHandle relies on cu.Function being a single C handle. This does not compile with a
// version in which it is not.
var _ [unsafe.Sizeof(C.CUfunction(nil))]byte = [unsafe.Sizeof(cu.Function{})]byte{}

func functionHandle(fn cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&fn)) }

// The same for cu.Stream.
var _ [unsafe.Sizeof(C.CUstream(nil))]byte = [unsafe.Sizeof(cu.Stream{})]byte{}

// launchKernel enqueues fn with arguments that begin at the words of first; they must not hold pointers to Go memory. It replaces
// cu.Function.Launch, which builds its list of pointers in uninitialised C memory: the write
// barrier of a running collection then reads the old content as a pointer, which may crash the
// program.
func launchKernel(fn cu.Function, s cu.Stream, grid, block Dim, shared int, words []uint64, first []int32) error {
	g := [3]C.uint{C.uint(grid.X), C.uint(grid.Y), C.uint(grid.Z)}
	b := [3]C.uint{C.uint(block.X), C.uint(block.Y), C.uint(block.Z)}
	stream := *(*C.CUstream)(unsafe.Pointer(&s))
	return result(int(C.launch(functionHandle(fn), &g[0], &b[0], C.uint(shared), stream, (*C.ulonglong)(unsafe.Pointer(unsafe.SliceData(words))), (*C.int)(unsafe.Pointer(unsafe.SliceData(first))), C.int(len(first)))))
}

// hostAlloc returns size bytes of page-locked host memory, mapped into the devices' address
// spaces.
func hostAlloc(size int64) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	r := C.cuMemHostAlloc(&p, C.size_t(size), C.CU_MEMHOSTALLOC_PORTABLE|C.CU_MEMHOSTALLOC_DEVICEMAP)
	return p, result(int(r))
}

// hostAddress returns the device's address of page-locked host memory.
func hostAddress(p unsafe.Pointer) (cu.DevicePtr, error) {
	var d C.CUdeviceptr
	r := C.cuMemHostGetDevicePointer(&d, p, 0)
	return cu.DevicePtr(d), result(int(r))
}

// setDynamicShared allows fn size bytes of dynamic shared memory.
func setDynamicShared(fn cu.Function, size int) error {
	return result(int(C.cuFuncSetAttribute(functionHandle(fn), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(size))))
}

// sharedOptIn is the attribute for the shared memory that a block can have if its function
// allows it.
const sharedOptIn = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)

// codeName returns the driver's name of a code, and codeText its description; both are empty if
// the driver has none.
func codeName(code int) string {
	var s *C.char
	if C.cuGetErrorName(C.CUresult(code), &s) != 0 || s == nil {
		return ""
	}
	return C.GoString(s)
}

func codeText(code int) string {
	var s *C.char
	if C.cuGetErrorString(C.CUresult(code), &s) != 0 || s == nil {
		return ""
	}
	return C.GoString(s)
}
