//go:build !unix || solaris || aix

package db

import "os"

// lock leaves locking to bbolt, whose lock is none that can be taken twice here.
func lock(*os.File) (taken bool, err error) { return true, nil }
