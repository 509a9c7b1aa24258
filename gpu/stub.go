//go:build !(cuda && cgo)

package gpu

import (
	"thresher/backend"
	"thresher/gpu/device"
)

// Open returns the error of device.Driver: this build lacks CUDA. The result's type is the contract's, so that
// callers compile with and without the tag.
func Open(Options) (backend.Backend, error) { return nil, unavailable(device.Driver()) }
