package jobs

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
)

const (
	childDir   = "THRESHER_JOBS_TEST_DIR"   // set: this process is the child
	childStep  = "THRESHER_JOBS_TEST_STEP"  // set: wait for a byte after every step
	childItems = "THRESHER_JOBS_TEST_ITEMS" // how many items the job has
)

// child runs the job of dir until it is done or killed, and prints a line
// before every step it takes.
func child(dir string) int {
	var mu sync.Mutex // the source reads ahead beside the work
	ack := make([]byte, 1)
	step := func(op, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(op)
		if os.Getenv(childStep) == "" {
			return nil
		}
		_, err := os.Stdin.Read(ack)
		return err
	}

	var n int64
	if _, err := fmt.Sscan(os.Getenv(childItems), &n); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	spec := specIn(dir)
	spec.Resume = true
	spec.Observe = func(Progress) { step("observe", "") }
	src := &numbers{n: n, size: 5, hook: func(op string) { step(op, "") }}
	answer := answerNumbers()
	work := func(ctx context.Context, chunk []int64, first int64, former []byte) ([][]byte, []byte, error) {
		step("work", "")
		return answer(ctx, chunk, first, former)
	}
	if _, err := run(context.Background(), spec, hooked{newDiskStorage(), step}, src, work); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// live runs a child and kills it when it prints its last line, unless it is
// done before. With step the child stands still at that line.
func live(t *testing.T, dir string, items int64, lines int, step bool) (done bool, lastOp string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprint(childItems, "=", items))
	if step {
		cmd.Env = append(cmd.Env, childStep+"=1")
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	for s := bufio.NewScanner(out); !killed && s.Scan(); {
		lastOp = s.Text()
		if lines--; lines == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed = true
		} else if step {
			in.Write([]byte{'.'}) // fails when the child has failed, which Wait tells
		}
	}
	err = cmd.Wait()
	if err != nil && !killed {
		t.Fatalf("child: %v", err)
	}
	return err == nil, lastOp
}

// TestKill kills a job with SIGKILL again and again, half of the times at an
// exact step, half of the times at full speed, and lets it finish at last.
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
				// A life of less than some 12 steps only opens the files; of 25
				// it commits a chunk. The longer ones bring the job forward.
				lines := 1 + r.IntN([]int{12, 50}[r.IntN(2)])
				var op string
				done, op = live(t, dir, items, lines, r.IntN(2) == 0)
				if !done {
					at[op]++
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
