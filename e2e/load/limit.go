//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

const (
	usualLimit = 20 * time.Minute
	// grace is for what a verb does when its context is done: ending its servers, reading their logs.
	grace = stopWait + 20*time.Second
)

// errLate is in the error of a verb that was not done in time.
var errLate = errors.New("not done in time")

// inTime runs work with a limit, and ends this process if work does not heed it; the servers die
// with it.
func inTime(ctx context.Context, limit time.Duration, work func(context.Context) error) error {
	late := fmt.Errorf("%w, the %v of -limit", errLate, limit)
	hung, over := patiently(context.Background(), limit+grace, late)
	defer over()
	defer context.AfterFunc(hung, func() {
		debug.SetTraceback("all") // says where every goroutine waits
		panic(late)
	})()
	ctx, stop := patiently(ctx, limit, late)
	defer stop()
	err := work(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errLate) {
		return fmt.Errorf("%w: %w", late, err)
	}
	return err
}
