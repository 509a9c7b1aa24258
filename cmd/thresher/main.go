package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	boundHeap()
	os.Exit(withSignals())
}

// withSignals ends the context at the first SIGINT or SIGTERM; a second one kills the
// process.
func withSignals() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
