//go:build !(cuda && cgo)

package gpu

import "thresher/backend"

// Open returns Driver's error: a build without CUDA has no backend. The type
// of the result is the contract, so that callers compile with and without.
func Open(Options) (backend.Backend, error) { return nil, Driver() }
