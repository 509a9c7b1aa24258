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

#cgo noescape add_kernel
#cgo nocallback add_kernel
// The same as a node of a graph, which copies the arguments. after is the node that it waits for, or null.
static CUresult add_kernel(CUgraphNode *node, CUgraph g, CUgraphNode after, CUfunction f, const unsigned *grid, const unsigned *block, unsigned shared, unsigned long long *words, const int *first, int count) {
	void *at[32];
	for (int i = 0; i < count; i++) at[i] = &words[first[i]];
	CUDA_KERNEL_NODE_PARAMS p = {0};
	p.func = f;
	p.gridDimX = grid[0], p.gridDimY = grid[1], p.gridDimZ = grid[2];
	p.blockDimX = block[0], p.blockDimY = block[1], p.blockDimZ = block[2];
	p.sharedMemBytes = shared, p.kernelParams = at;
	return cuGraphAddKernelNode(node, g, &after, after != 0, &p);
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

// functionID returns the driver's handle of fn as a number.
func functionID(fn cu.Function) uint64 { return uint64(uintptr(unsafe.Pointer(functionHandle(fn)))) }

// A graph that is being made, one of its nodes, and a graph that can be launched.
type (
	graphHandle = C.CUgraph
	graphNode   = C.CUgraphNode
	graphExec   = C.CUgraphExec
)

// newGraph returns an empty graph, to be released by destroyGraph.
func newGraph() (g graphHandle, err error) {
	err = result(int(C.cuGraphCreate(&g, 0)))
	return g, err
}

func destroyGraph(g graphHandle) error { return result(int(C.cuGraphDestroy(g))) }

// addKernel adds a launch, as launchKernel takes it, that waits for the node after, unless that is nil.
func addKernel(g graphHandle, after graphNode, fn cu.Function, grid, block Dim, shared int, words []uint64, first []int32) (node graphNode, err error) {
	d := [3]C.uint{C.uint(grid.X), C.uint(grid.Y), C.uint(grid.Z)}
	b := [3]C.uint{C.uint(block.X), C.uint(block.Y), C.uint(block.Z)}
	err = result(int(C.add_kernel(&node, g, after, functionHandle(fn), &d[0], &b[0], C.uint(shared), (*C.ulonglong)(unsafe.Pointer(unsafe.SliceData(words))), (*C.int)(unsafe.Pointer(unsafe.SliceData(first))), C.int(len(first)))))
	return node, err
}

// instantiate makes a graph that can be launched, to be released by destroyGraphExec.
func instantiate(g graphHandle) (e graphExec, err error) {
	err = result(int(C.cuGraphInstantiateWithFlags(&e, g, 0)))
	return e, err
}

func destroyGraphExec(e graphExec) error { return result(int(C.cuGraphExecDestroy(e))) }

func launchGraph(e graphExec, s cu.Stream) error {
	return result(int(C.cuGraphLaunch(e, *(*C.CUstream)(unsafe.Pointer(&s)))))
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
