//go:build linux

package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPatience: time without looks counts as little.
func TestPatience(t *testing.T) {
	now := time.Now()
	p := newPatience(time.Minute, now)
	for range 100 {
		now = now.Add(patienceStep)
		p.look(now)
	}
	now = now.Add(time.Hour) // suspended
	if want := time.Minute - 102*patienceStep; !p.look(now) || p.left != want {
		t.Errorf("%v are left, want %v", p.left, want)
	}
	looks := 0
	for there := true; there; looks++ {
		now = now.Add(patienceStep)
		there = p.look(now)
	}
	if want := 240 - 102; looks != want {
		t.Errorf("the rest took %d looks, want %d", looks, want)
	}
}

// TestPatiently: a patience ends in time, with its cause, and with what it belongs to.
func TestPatiently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the cause")
		for _, d := range []time.Duration{time.Millisecond, time.Minute} {
			began := time.Now()
			ctx, stop := patiently(t.Context(), d, cause)
			<-ctx.Done()
			if took := time.Since(began); took != d || context.Cause(ctx) != cause {
				t.Errorf("it ended after %v, not %v, with %v", took, d, context.Cause(ctx))
			}
			stop()
		}
		ctx, stop := patiently(t.Context(), time.Minute, cause)
		stop()
		synctest.Wait()
		if context.Cause(ctx) != context.Canceled {
			t.Errorf("stopped, it ended with %v", context.Cause(ctx))
		}
	})
}
