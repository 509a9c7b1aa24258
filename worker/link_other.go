//go:build !unix

package worker

import "os"

// connect returns the link over two pipes, which it owns.
func connect(in, out *os.File) (link, error) { return &pipes{in, out}, nil }
