// Package kernels holds the CUDA kernels as PTX, each tied to its sources by a
// manifest, and hands a file out only if it is the one the manifest was written
// for.
//
// One .cu file of this folder is one module of the driver: kernels/copy.cu gives
// copy.ptx, loaded by PTX("copy"). `make kernels` compiles them, `make
// check-kernels` proves that what is committed is what the sources give; see
// docs/kernels.md. The package needs neither a GPU nor cgo and is imported by the
// CUDA backend alone, so that other binaries do not carry it.
package kernels
