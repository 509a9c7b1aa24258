//go:build !linux

package threads

// yieldCore does nothing: on this system a thread has no way to leave its core to another that needs no C.
func yieldCore() {}
