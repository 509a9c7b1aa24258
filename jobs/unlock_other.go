//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package jobs

import "os"

// unlock frees bbolt's lock and closes f.
func unlock(f *os.File) error {
	return f.Close()
}
