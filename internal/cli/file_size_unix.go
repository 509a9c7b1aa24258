//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// A file-size limit is an error of the write that exceeds it, like a full disk, and does not
// end the process.
func init() { signal.Ignore(syscall.SIGXFSZ) }
