// Package device runs kernels on an NVIDIA GPU by the CUDA driver (build tag cuda): memory, streams
// and launches of one device, without knowledge of what the kernels compute. Without the tag it
// reports that no device is available.
//
//	driver.go  finding a driver and checking its version
//	shim.c     lets a binary that links the driver start on machines without one
//	device.go  a device: its context, and Do, which runs one function at a time on it;
//	           thread.go the OS thread of such a function
//	memory.go  the byte budget; buffer.go and pinnedmemory.go its allocations, pool.go those kept for later
//	stream.go  streams and events
//	launch.go  modules, functions, launches; argument.go what kernels are given, ptx.go what their
//	           declarations in PTX want
//	graph.go   launches that are collected and enqueued together, by CUDA graphs if they come again
//	drivererror.go  the driver's codes, and which of them lose the device
//	calls.go   driver calls that gorgonia.org/cu lacks
//
// Every driver call that needs a context is made inside a function passed to Device.Do, with the
// context current on its OS thread. If it fails, the error holds a *DriverError.
package device
