package main

import (
	"context"
	"os"

	"thresher/internal/cli"
)

func main() {
	os.Exit(withSignals())
}

// withSignals runs the command of this process.
func withSignals() int {
	return cli.WithSignals(func(ctx context.Context) int { return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr) })
}
