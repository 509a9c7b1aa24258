//go:build cuda && cgo

package gpu

import (
	"context"
	"testing"

	"thresher/gpu/device"
)

// BenchmarkLaunch measures the host's cost of one launch, of a kernel with few arguments.
func BenchmarkLaunch(b *testing.B) {
	m := testMachine(b, Options{})
	err := m.do(context.Background(), func(q *queue) error {
		mem, err := device.Alloc[query](q.t, "states", 1)
		if err != nil {
			return err
		}
		defer mem.Free(q.t)
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			q.markFinished(device.Shape{Grid: device.Dim{X: 1}, Block: device.Dim{X: 32}}, markFinishedArgs{queries: device.Ptr(mem), m: 0, share: 0, beyond: 0})
			if n++; n%256 == 0 {
				b.StopTimer()
				if err := q.sync(); err != nil {
					return err
				}
				b.StartTimer()
			}
		}
		return q.sync()
	})
	if err != nil {
		b.Fatal(err)
	}
}
