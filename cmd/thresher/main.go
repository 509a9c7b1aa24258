package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(withSignals())
}

// withSignals runs the command within the limit on its memory, and ends the context at the first SIGINT or
// SIGTERM; a second one kills the process.
func withSignals() int {
	boundHeap()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
