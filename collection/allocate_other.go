//go:build !linux

package collection

import "os"

// allocate does nothing: disk space cannot be reserved here.
func allocate(*os.File, int64, int64) error { return nil }
