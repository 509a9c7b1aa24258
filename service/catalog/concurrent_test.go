package catalog

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/service/problem"
)

// TestSearchesWhileVersionsChange searches while a collection is replaced, appended to,
// reduced, deleted and created again: every answer is that of the version it names.
func TestSearchesWhileVersionsChange(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	const dim, rows = 4, 40
	// version v has rows and ids from first on, so that ids identify versions
	replace := func(first int) Info {
		return f.ready(f.c.Create(ctx, "a", rowsOf(first, rows, dim, counted(first, rows)), CreateOptions{Metric: "ip", Replace: true}, ""))
	}
	var mu sync.Mutex
	holds := map[int64][]int64{} // ids of each version
	note := func(version int64, ids []int64) {
		mu.Lock()
		defer mu.Unlock()
		holds[version] = ids
	}
	note(1, counted(1000, rows).Ints) // before a search can see it
	replace(1000)

	stop := make(chan struct{})
	var searchers sync.WaitGroup
	answered := make([]int, 4)
	for n := range answered {
		searchers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v, err := f.c.Use("a", 0)
				if err != nil {
					if k := kindOf(err); k != problem.UnknownCollection && k != problem.NotReady {
						t.Error(err)
					}
					continue
				}
				ask := v.Search
				if n%2 == 1 {
					ask = v.Direct
				}
				version := v.Info().Version
				resp, err := ask(ctx, batch.Request{Queries: v.Row(int64(n)), K: v.Len(), Method: batch.Exact})
				if err != nil {
					t.Error(err)
				} else {
					var got []int64
					for _, row := range resp.Answers[0].IDs {
						got = append(got, v.IDs().Int(row))
					}
					slices.Sort(got)
					mu.Lock()
					want := holds[version]
					mu.Unlock()
					if !slices.Equal(got, want) {
						t.Errorf("version %d has %v, want %v", version, got, want)
					}
				}
				v.Release()
				answered[n]++
			}
		})
	}
	version, ids := int64(1), counted(1000, rows).Ints
	for step := range 12 {
		first := 1000 * (step + 2)
		version++
		switch step % 4 {
		case 0:
			ids = append(slices.Clone(ids), counted(first, 3).Ints...)
			note(version, ids)
			f.ready(f.c.Append(ctx, "a", rowsOf(first, 3, dim, counted(first, 3)), ""))
		case 1:
			ids = ids[2:]
			note(version, ids)
			f.ready(f.c.Remove(ctx, "a", *ints(ids[0]-1, ids[0]-2), ""))
		case 2:
			ids = counted(first, rows).Ints
			note(version, ids)
			replace(first)
		case 3:
			if err := f.c.Delete("a"); err != nil {
				t.Error(err)
			}
			ids = counted(first, rows).Ints
			note(version, ids)
			replace(first)
		}
	}
	close(stop)
	searchers.Wait()
	if slices.Min(answered) == 0 {
		t.Error("searches:", answered)
	}
	f.exact()
	if len(f.c.versions) != 1 || f.c.inUse != 0 {
		t.Error(f.c.versions, f.c.inUse)
	}
}

// meanwhile is a context that never ends and calls a function when it is first waited for.
type meanwhile struct {
	context.Context
	do func()
}

func (m meanwhile) Done() <-chan struct{} {
	m.do()
	return nil
}

// TestWaitWhileVersionGoes deletes a collection while a request waits for its version: the
// version that is described is one that is still open.
func TestWaitWhileVersionGoes(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	was := f.ready(f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""))
	deleted := meanwhile{ctx, func() {
		if err := f.c.Delete("a"); err != nil {
			t.Error(err)
		}
	}}
	if i, err := f.c.Wait(deleted, "a", 1); err != nil || cmp.Diff(was, i) != "" {
		t.Error(cmp.Diff(was, i), err)
	}
	if got := f.files(); len(got) != 0 || len(f.c.versions) != 0 || f.c.inUse != 0 || f.c.memory.used != 0 {
		t.Error("what Wait leaves:", got, f.c.versions, f.c.inUse, f.c.memory.used)
	}
}
