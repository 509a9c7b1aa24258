package tournaments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"thresher/choice/duel"
	"thresher/internal/crashtest"
	"thresher/service/problem"
)

// leaving is the argument of children that create and delete tournaments, lastLeaving the number of
// their steps.
const (
	leaving     = "leaving"
	lastLeaving = 24
)

// folderOf opens the tournaments of a folder, with transcripts of small blocks.
func folderOf(dir string, step func(string)) (*Store, *bbolt.DB, error) {
	transcripts := filepath.Join(dir, "tournaments")
	if err := os.MkdirAll(transcripts, 0o700); err != nil {
		return nil, nil, err
	}
	db, err := bbolt.Open(filepath.Join(dir, "meta.db"), 0o600, &bbolt.Options{NoSync: true, Timeout: 10 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	s, err := Open(db, &Options{Dir: transcripts, logBytes: 100, blockBytes: 1, step: step})
	if err != nil {
		return nil, nil, err
	}
	return s, db, nil
}

// seeds returns the ids of all tournaments by their seeds, which are their steps.
func seeds(s *Store) (map[uint64]string, error) {
	page, err := s.List("", problem.MaxPage)
	ids := map[uint64]string{}
	for _, t := range page.Data {
		if ids[*t.Seed] != "" {
			return nil, fmt.Errorf("there are two tournaments of step %d", *t.Seed)
		}
		ids[*t.Seed] = t.ID
	}
	return ids, err
}

// passOn executes step n: it creates a tournament, has a result accepted, and deletes the one of the
// step before the last. An earlier process may have done some of it.
func passOn(s *Store, n uint64) error {
	ctx, spec := context.Background(), alone()
	spec.Seed = of(n)
	t, err := s.Create(ctx, spec, fmt.Sprint("key ", n))
	if err != nil {
		return err
	}
	if _, err := judgeFirst(s, t.ID); err != nil {
		return err
	}
	ids, err := seeds(s)
	if err != nil {
		return err
	}
	if id := ids[n-2]; id != "" {
		return s.Delete(ctx, id)
	}
	return nil
}

// judgeFirst reports the result of a tournament's first duel, and returns the status of the receipt.
func judgeFirst(s *Store, id string) (string, error) {
	issued, err := s.Next(context.Background(), id, 1, "the first")
	if err != nil {
		return "", err
	}
	r, err := s.Report(context.Background(), id, []duel.Result{judged(issued.Duels[0])}, false)
	if err != nil {
		return "", err
	}
	return r.Receipts[0].Status, nil
}

// playLeaving executes the steps from first on.
func playLeaving(c *crashtest.Child, first int) error {
	s, db, err := folderOf(c.Args[0], c.Print)
	if err != nil {
		return err
	}
	defer db.Close()
	defer s.Close(context.Background())
	for n := first; n < lastLeaving; n++ {
		if err := passOn(s, uint64(n)); err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
		c.Print(fmt.Sprint(crashtest.StepDone, n))
	}
	return nil
}

// TestKillDeleting kills a process that creates and deletes tournaments: those that were acknowledged are
// there, each once and with its result, those whose deletion was are not, and a deletion that was not
// acknowledged was done as a whole, with the transcript, or not at all.
func TestKillDeleting(t *testing.T) {
	t.Parallel()
	r, dir, longest := rand.New(rand.NewPCG(1, 3)), t.TempDir(), 40
	if testing.Short() {
		longest = 120
	}
	did, unanswered, at := 2, 0, map[string]int{}
	for lives := 0; did < lastLeaving; lives++ {
		if lives > 200 {
			t.Fatal("no end")
		}
		life := crashtest.Run(t, 1+r.IntN(longest), r.IntN(2) == 0, dir, leaving, fmt.Sprint(did))
		did = life.NextStep(did)
		at[strings.Fields(life.Last())[0]]++
		s, db, err := folderOf(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, err := seeds(s)
		if err != nil {
			t.Fatalf("killed at %q: %v", life.Last(), err)
		}
		if checkLeaving(t, s, dir, uint64(did), found); t.Failed() {
			t.Fatalf("killed at %q, before step %d was done: %v", life.Last(), did, found)
		}
		if did >= 4 && did < lastLeaving && found[uint64(did-2)] == "" {
			unanswered++
		}
		s.journal.close() // as a killed process leaves it
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d deletions were done and not acknowledged; killed at %v", unanswered, at)
}

// checkLeaving compares the tournaments by their seeds with those that may be there before step n is done.
func checkLeaving(t *testing.T, s *Store, dir string, n uint64, found map[uint64]string) {
	for step := range uint64(lastLeaving) {
		was, is := step >= 2 && step+2 >= n && step < n, found[step] != ""
		under := step == n || step+2 == n && found[n] != "" // being created, being deleted
		if is != was && !under {
			t.Errorf("the tournament of step %d is there: %t", step, is)
		}
		if !was || !is {
			continue
		}
		if status, err := judgeFirst(s, found[step]); err != nil || status == string(duel.Accepted) {
			t.Errorf("the result in the tournament of step %d, sent again, is %s, %v", step, status, err)
		}
	}
	transcripts, err := os.ReadDir(filepath.Join(dir, "tournaments"))
	if err != nil {
		t.Error(err)
	}
	for _, e := range transcripts {
		id := strings.TrimSuffix(e.Name(), transcriptSuffix)
		known := false
		for _, other := range found {
			known = known || id == other
		}
		if !known {
			t.Errorf("%s is left", e.Name())
		}
	}
}
