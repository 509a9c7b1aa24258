package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"thresher/internal/crashtest"
)

// childhood runs the job of a folder until it is done or killed, and prints a line before
// every step.
func childhood(c *crashtest.Child) error {
	step := func(op, _ string) error {
		c.Print(op)
		return nil
	}
	n, err := strconv.ParseInt(c.Args[1], 10, 64)
	if err != nil {
		return err
	}
	spec := specIn(c.Args[0])
	spec.Resume = true
	spec.Observe = func(Progress) { c.Print("observe") }
	src := &numbers{n: n, size: 5, hook: c.Print}
	answer := answerNumbers()
	work := func(ctx context.Context, chunk []int64, first int64, former []byte) ([][]byte, []byte, error) {
		c.Print("work")
		return answer(ctx, chunk, first, former)
	}
	_, err = run(context.Background(), spec, hooked{newDiskStorage(), step}, src, work)
	return err
}

// TestKill kills a job with SIGKILL repeatedly, half of the time at an exact step and half of
// the time at full speed, and then lets it finish.
func TestKill(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			items := int64(118) // the last chunk is a short one
			if testing.Short() {
				items = 48
			}
			dir, r := t.TempDir(), rand.New(rand.NewPCG(2, seed))
			at := map[string]int{}
			kills := 0
			for done := false; !done; {
				if kills > 400 {
					t.Fatal("no end")
				}
				// A process of less than some 12 steps only opens the files; one of 25
				// commits a chunk. The longer ones advance the job.
				lines := 1 + r.IntN([]int{12, 50}[r.IntN(2)])
				life := crashtest.Run(t, lines, r.IntN(2) == 0, dir, fmt.Sprint(items))
				if done = life.Done; !done {
					at[life.Lines[lines-1]]++
					kills++
				}
			}
			t.Logf("%d kills, at %v", kills, at)
			if kills < 5 {
				t.Errorf("only %d kills", kills)
			}

			spec := specIn(dir)
			checkOutputs(t, readDisk(t), spec, items)
			spec.Resume = true
			sum, err := Run(context.Background(), spec, &numbers{n: items, size: 5}, answerNumbers())
			if err != nil || !sum.Complete || sum.Resumed != items {
				t.Fatalf("resuming the complete job: %+v, %v", sum, err)
			}
			checkTotals(t, sum, items)
		})
	}
}
