// Package gpu is the CUDA backend, built with the tag cuda; without the tag it reports that no
// device is available. Memory, streams and launches are those of package device. The files are,
// from the backend to a kernel's launch:
//
//	backend.go      opening devices, loading collections; shards.go several devices
//	resident.go     a collection on a device; store.go and terms.go its arrays
//	run.go          a batch; departure.go queries that leave it; answers.go its answers
//	takelook.go     one look; mixed.go mixed codes; start.go the start of a first look; dense.go and gather.go the dense path
//	querybatch.go   queries on a device; querychunk.go those whose lists fit it; arena.go the lists;
//	                array.go arrays of both
//	pull.go         the kernels of a run, in their order; shapes.go how many threads run them
//	machine.go      a device with its kernels; queue.go enqueuing them
//	errors.go       what the contract of backends calls the errors of devices
//
// launchers.gen.go has for each kernel a structure of its arguments and a method that enqueues it,
// written from kernels/ptx/manifest.json: an argument of another type, or of another name, does not compile.
package gpu
