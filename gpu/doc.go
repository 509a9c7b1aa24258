// Package gpu is the CUDA backend, built with the tag cuda; without the tag it reports that no
// device is available.
//
// The device layer, which knows nothing of searches, is in these files:
//
//	driver.go  finding a driver and checking its version
//	shim.c     lets a binary that links the driver start on machines without one
//	device.go  a device: its context, and Do, which runs one function at a time on it;
//	           thread.go the OS thread of such a function
//	memory.go  the byte budget; buffer.go and pinned.go its allocations
//	stream.go  streams and events
//	launch.go  modules, functions, arguments, launches; ptx.go their declarations in PTX
//	errors.go  the driver's codes, and which of them lose the device
//
// The files of searches are, from the backend to a kernel's launch:
//
//	backend.go      opening devices, loading collections; shards.go several devices
//	resident.go     a collection on a device; store.go and terms.go its arrays
//	run.go          a batch; leave.go queries that leave it; answers.go its answers
//	takelook.go     one look; dense.go and gather.go the dense path
//	querybatch.go   queries on a device; querychunk.go those whose lists fit it; arena.go the lists
//	queue.go        enqueuing kernels; pool.go memory kept between runs
//
// Every driver call that needs a context is made inside a function passed to Device.Do, with the
// context current on its OS thread. If it fails, the error holds a *DriverError.
package gpu
