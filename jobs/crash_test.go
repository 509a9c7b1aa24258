package jobs

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestPowerCuts crashes a job in memory at random steps, loses a random part of what was not
// flushed, and resumes with another chunk size each time. It detects what killed processes
// cannot show: a missing flush, or one after the record.
func TestPowerCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 60).Draw(t, "items")
		r := rand.New(rand.NewPCG(3, rapid.Uint64().Draw(t, "loss")))
		disk := newMemory()
		spec := specIn("/job")
		spec.Resume = true
		crash := errors.New("power cut")

		crashes := rapid.SliceOfN(rapid.IntRange(1, 80), 0, 12).Draw(t, "crashes")
		for _, left := range append(crashes, -1) { // -1 never reaches 0
			st := hooked{disk, func(string, string) error {
				if left == 0 {
					return crash // and at every step after it
				}
				left--
				return nil
			}}
			src := &numbers{n: n, size: rapid.Int64Range(1, 20).Draw(t, "chunk")}
			sum, err := run(context.Background(), spec, st, src, answerNumbers())
			if err == nil {
				if !sum.Complete {
					t.Fatalf("returned before the end: %+v", sum)
				}
				continue
			}
			if !errors.Is(err, crash) {
				t.Fatal(err)
			}
			disk.cutPower(r)
			if j := disk.journals[spec.Progress]; j != nil && j.state.Items < sum.Items {
				t.Fatalf("summary says %d items are durable, recorded are %d", sum.Items, j.state.Items)
			}
		}
		for i, path := range spec.Outputs {
			want, _ := reference(n)
			if got := disk.read(path); string(got) != string(want[i]) {
				t.Fatalf("%s: got\n%q, want\n%q", path, got, want[i])
			}
		}
	})
}
