// Package kernels holds the CUDA kernels as PTX, and assembled for the GPUs of today. A
// manifest lists the hashes of each file and its sources, and PTX and Cubin return
// a file only if its hash matches.
//
// One .cu file of this folder is one module of the driver: kernels/copy.cu gives
// ptx/copy.ptx, loaded by PTX("copy"), and copy.cubin in each of the archives
// ptx/cubins/sm_80.zip, ptx/cubins/sm_86.zip and so on, of which Cubin("copy", 8, 7) takes the one that a GPU of
// capability 8.7 can run. `make kernels` compiles them, `make check-kernels` proves that
// the committed files are what the sources give; see docs/kernels.md. The package needs neither a GPU nor cgo. Only the CUDA backend
// imports it, so that other binaries do not contain the kernels.
package kernels
