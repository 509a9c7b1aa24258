//go:build cuda && cgo

package device

import (
	"context"
	"sync"
	"testing"
	"time"
)

// BenchmarkDo measures the cost of running a function on a device: repeatedly, after the machine
// has slept for a millisecond, and with two callers that alternate, whose 100 us of work each are
// not counted.
func BenchmarkDo(b *testing.B) {
	if err := Driver(); err != nil {
		b.Skip(err)
	}
	d, err := Open(0, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	do := func(f func(*Thread) error) {
		if err := d.Do(context.Background(), f); err != nil {
			b.Error(err)
		}
	}
	nothing := func(*Thread) error { return nil }
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			do(nothing)
		}
	})
	b.Run("rested", func(b *testing.B) {
		var took time.Duration
		for b.Loop() {
			time.Sleep(time.Millisecond)
			began := time.Now()
			do(nothing)
			took += time.Since(began)
		}
		b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/op")
	})
	b.Run("shared", func(b *testing.B) {
		const callers, work = 2, 100 * time.Microsecond
		busy := func(*Thread) error {
			for began := time.Now(); time.Since(began) < work; {
			}
			return nil
		}
		began := time.Now()
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range b.N {
					do(busy)
				}
			})
		}
		wg.Wait()
		b.ReportMetric(float64((time.Since(began)-time.Duration(callers*b.N)*work).Nanoseconds())/float64(callers*b.N), "ns/op")
	})
}
