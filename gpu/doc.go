// Package gpu is the CUDA backend, built with the tag cuda; without the tag it reports that no
// device is available.
//
// The device layer, which knows nothing of searches, is in these files:
//
//	driver.go  is there a driver this program can use, and which
//	shim.c     how a binary that links the driver starts where there is none
//	device.go  a device: its context, and functions that take turns at it;
//	           thread.go what they run on
//	memory.go  the byte budget; buffer.go and pinned.go what is allocated from it
//	stream.go  streams and events
//	launch.go  modules, functions, arguments, launches; ptx.go what PTX says of them
//	errors.go  what the driver's codes mean and which of them lose the device
//
// Every driver call that needs a context is made inside a function passed to Device.Do, with the
// context current on its OS thread. If it fails, the error holds a *DriverError.
package gpu
