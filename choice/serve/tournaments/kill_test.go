package tournaments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"thresher/choice/duel"
	"thresher/internal/crashtest"
	"thresher/internal/race"
	"thresher/service/problem"
)

// childhood plays tournaments in a folder until they end or the process is killed.
func childhood(c *crashtest.Child) error {
	dir, what := c.Args[0], c.Args[1]
	first := 0
	if len(c.Args) > 2 {
		var err error
		if first, err = strconv.Atoi(c.Args[2]); err != nil {
			return err
		}
	}
	if what == leaving {
		return playLeaving(c, first)
	}
	db, err := bbolt.Open(filepath.Join(dir, "meta.db"), 0o600, &bbolt.Options{NoSync: true, Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := Open(db, &Options{logBytes: 400, step: c.Print})
	if err != nil {
		return err
	}
	defer s.Close(context.Background())
	if what == "alone" {
		return playAlone(s, first, c.Print)
	}
	var all errgroup.Group
	for i, spec := range together() {
		if _, err := s.Create(context.Background(), spec, fmt.Sprint("key ", i)); err != nil {
			return err
		}
		for range 3 {
			all.Go(func() error { return playTogether(s, spec, fmt.Sprint("key ", i), c.Print) })
		}
	}
	return all.Wait()
}

// together returns tournaments that several judges share. They use sweeps, so that the order
// of judges does not matter, and short leases, because judges are killed.
func together() []Spec {
	one, two := online(5), online(4)
	one.Testing, two.Testing = string(duel.Sweep), string(duel.Sweep)
	one.LeaseSeconds, two.LeaseSeconds = of(minLease), of(minLease)
	two.Algorithm = string(duel.InterleavedFilter1)
	return []Spec{one, two}
}

// playTogether judges duels of a tournament and prints what was acknowledged.
func playTogether(s *Store, spec Spec, key string, say func(string)) error {
	ctx := context.Background()
	t, err := s.Create(ctx, spec, key)
	if err != nil {
		return err
	}
	for !t.Done {
		issued, err := s.Next(ctx, t.ID, 3, "")
		if ended(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var results []duel.Result
		for _, d := range issued.Duels {
			results = append(results, judged(d))
		}
		if len(results) == 0 {
			runtime.Gosched() // other judges hold all duels
			continue
		}
		if _, err := s.Report(ctx, t.ID, results, false); err != nil {
			return err
		}
		for _, r := range results {
			say(fmt.Sprintf("ack %s %d %t", t.ID, r.Duel, r.AWon))
		}
	}
	return nil
}

func ended(err error) bool {
	return err != nil && problem.Of(err).Kind == TournamentEnded
}

// alone returns a tournament that depends on every call. Its leases do not expire.
func alone() Spec {
	spec := online(5)
	spec.LeaseSeconds = of(float64(maxLease))
	return spec
}

// playAlone executes the steps of one judge from first on, each a call for duels under the
// step's key and reports of them; every fifth begins with an undo under a key of its own.
func playAlone(s *Store, first int, say func(string)) error {
	ctx := context.Background()
	t, err := s.Create(ctx, alone(), "key")
	if err != nil {
		return err
	}
	for n := first; ; n++ {
		if n%5 == 4 { // also of eliminations; a repeated step does not undo again
			if _, err := s.Undo(ctx, t.ID, 0, fmt.Sprint("undo ", n)); err != nil && problem.Of(err).Kind != problem.Conflict {
				return err
			}
		}
		issued, err := s.Next(ctx, t.ID, 1+n%3, fmt.Sprint("step ", n))
		if ended(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, d := range issued.Duels {
			// duels withdrawn by an earlier result are refused
			_, err := s.Report(ctx, t.ID, []duel.Result{judged(d)}, false)
			if err != nil && problem.Of(err).Kind != DuelWithdrawn {
				return err
			}
		}
		say(fmt.Sprint(crashtest.StepDone, n))
	}
}

// final opens a folder and inspects its tournaments.
func final(t *testing.T, dir string, look func(*Store)) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, "meta.db"), 0o600, &bbolt.Options{NoSync: true, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	look(s)
}

// states returns those of all tournaments, oldest first.
func states(t *testing.T, s *Store) (ids []string, all []State) {
	t.Helper()
	page, err := s.List("", problem.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(page.Data) - 1; i >= 0; i-- {
		x, err := s.Get(t.Context(), page.Data[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		ids, all = append(ids, x.ID), append(all, *x.State)
	}
	return ids, all
}

// forgetOrder clears what depends on the order of reports in sweeps.
func forgetOrder(all []State) {
	for i := range all {
		all[i].Undoable = nil
	}
}

// TestKillAlone kills a server repeatedly at random steps, while one judge continues under
// keys: the tournament ends as an undisturbed one.
func TestKillAlone(t *testing.T) {
	race.Skip(t, "a store's goroutines are those of TestKillTogether")
	t.Parallel()
	calm := t.TempDir()
	if life := crashtest.Run(t, 0, false, calm, "alone", "0"); !life.Done {
		t.Fatal("undisturbed, it did not end")
	}
	var want []State
	final(t, calm, func(s *Store) { _, want = states(t, s) })
	if len(want) != 1 || !want[0].Done || len(want[0].Eliminated) != 4 {
		t.Fatalf("undisturbed, it is %+v", want)
	}
	r, dir, longest := rand.New(rand.NewPCG(1, 1)), t.TempDir(), 400
	if testing.Short() {
		longest = 1200
	}
	kills, did, at := 0, 0, map[string]int{}
	for done := false; !done; kills++ {
		if kills > 300 {
			t.Fatal("no end")
		}
		life := crashtest.Run(t, 1+r.IntN(longest), r.IntN(2) == 0, dir, "alone", fmt.Sprint(did))
		done = life.Done
		did = life.NextStep(did)
		at[strings.Fields(life.Last())[0]]++
	}
	t.Logf("%d lives, %d steps, ended at %v", kills, did, at)
	if kills < 5 {
		t.Errorf("only %d lives", kills)
	}
	final(t, dir, func(s *Store) {
		_, got := states(t, s)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// TestKillTogether kills a server while judges share tournaments: every acknowledged result
// counts exactly once, and the tournaments end as undisturbed ones.
func TestKillTogether(t *testing.T) {
	t.Parallel()
	var want []State
	calm := newHouse(t, Options{})
	for i, spec := range together() {
		spec.LeaseSeconds = nil
		if err := playTogether(calm.Store, spec, fmt.Sprint("key ", i), func(string) {}); err != nil {
			t.Fatal(err)
		}
	}
	_, want = states(t, calm.Store)
	forgetOrder(want)
	seeds, longest := uint64(2), 250
	if testing.Short() {
		seeds, longest = 1, 800
	}
	for seed := range seeds {
		r, dir := rand.New(rand.NewPCG(seed, 2)), t.TempDir()
		lives, acks := 0, map[string]map[uint64]bool{}
		for done := false; !done; lives++ {
			if lives > 300 {
				t.Fatal("no end")
			}
			life := crashtest.Run(t, 1+r.IntN(longest), r.IntN(2) == 0, dir, "together")
			done = life.Done
			for _, line := range life.Lines {
				if f := strings.Fields(line); f[0] == "ack" {
					n, err := strconv.ParseUint(f[2], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					if acks[f[1]] == nil {
						acks[f[1]] = map[uint64]bool{}
					}
					acks[f[1]][n] = f[3] == "true"
				}
			}
		}
		if lives < 5 {
			t.Errorf("only %d lives", lives)
		}
		final(t, dir, func(s *Store) {
			ids, got := states(t, s)
			forgetOrder(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("seed %d: %s", seed, d)
			}
			for _, id := range ids {
				t.Logf("seed %d: %d lives, %d results acknowledged of %s", seed, lives, len(acks[id]), id)
				for n, won := range acks[id] {
					_, same := s.Report(context.Background(), id, []duel.Result{{Duel: n, AWon: won}}, false)
					_, other := s.Report(context.Background(), id, []duel.Result{{Duel: n, AWon: !won}}, false)
					if same != nil || other == nil || problem.Of(other).Kind != problem.Conflict {
						t.Errorf("duel %d, acknowledged as %t: %v", n, won, errors.Join(same, other))
					}
				}
			}
		})
	}
}
