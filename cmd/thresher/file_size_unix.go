//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// A file-size limit is an error of the write that meets it, like a full disk,
// and not the end of the process.
func init() { signal.Ignore(syscall.SIGXFSZ) }
