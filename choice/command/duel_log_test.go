package command

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// played is a tournament in a file, with some random judgments.
func played(t testing.TB, path string, c duel.Config) *tournament {
	t.Helper()
	begun, err := duel.New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	file, _, err := openDuelFile(path, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.close() })
	all := &tournament{Tournament: begun, file: file}
	all.ready()
	return all
}

// judgeSome answers up to count duels in order; false at the end of the tournament.
func (t *tournament) judgeSome(tb testing.TB, r *rand.Rand, count int) bool {
	tb.Helper()
	duels, err := t.nextDuels(count)
	if errors.Is(err, duel.ErrEnded) {
		return false
	}
	if err != nil {
		tb.Fatal(err)
	}
	r.Shuffle(len(duels), func(i, j int) { duels[i], duels[j] = duels[j], duels[i] })
	for _, d := range duels {
		if _, err := t.Report(duel.Result{Duel: d.ID, AWon: r.Float64() < .5+.1*float64(d.B-d.A)}); err != nil && !errors.Is(err, duel.ErrWithdrawn) {
			tb.Fatal(err)
		}
	}
	return true
}

func stateOf(t testing.TB, all *tournament) []byte {
	t.Helper()
	b, err := all.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func logged(t *testing.T, visit func(t *testing.T, name string, c duel.Config)) {
	for _, d := range []duel.Design{
		{Delta: 1e-9}, {Delta: 1e-9, Testing: duel.Sweep},
		{Horizon: 400, Algorithm: duel.BeatTheMean}, {Horizon: 400, Algorithm: duel.BeatTheMean, Testing: duel.Sweep}, {Epsilon: .45, Delta: .9, Algorithm: duel.Knockout},
		{Horizon: 200, Algorithm: duel.DoubleThompson}, {Horizon: 400, Algorithm: duel.InterleavedFilter2},
	} {
		for _, name := range []string{"state.duel", "state.json"} {
			c := duel.Config{Arms: []string{"a", "b", "c", "d", "e"}, Design: d, Seed: 5, Order: duel.RandomOrder}
			t.Run(fmt.Sprint(d.Algorithm, d.Testing, name), func(t *testing.T) { visit(t, name, c) })
		}
	}
}

// After every save the file contains the current tournament, and a judgment appends a line
// instead of rewriting the file.
func TestDuelLog(t *testing.T) {
	logged(t, func(t *testing.T, name string, c duel.Config) {
		path := filepath.Join(t.TempDir(), name)
		all := played(t, path, c)
		r := rand.New(rand.NewPCG(1, 2))
		longest := 0
		for more, n := true, 0; more && n < 90; n++ {
			more = all.judgeSome(t, r, 1+n%4)
			if n == 60 {
				all.Recall()
			}
			if err := all.save(); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, all.log.lines)
			if n%7 > 0 && more {
				continue
			}
			content := clitest.ReadFile(t, path)
			again, torn, err := restoreTournament(content)
			if err != nil || torn != 0 {
				t.Fatalf("after %d calls: %d bytes torn, %v", n, torn, err)
			}
			if !bytes.Equal(stateOf(t, again), stateOf(t, all)) {
				t.Fatalf("after %d calls: another tournament", n)
			}
		}
		if longest < 30 {
			t.Errorf("%d lines at most", longest)
		}
		if err := all.close(); err != nil {
			t.Fatal(err)
		}
		if b, err := duel.Restore(clitest.ReadFile(t, path), nil); err != nil || b.State().Duels != all.State().Duels {
			t.Errorf("a file at rest is no state: %v", err)
		}
	})
}

// places are all from first to last; with -short every seventh, and the last.
func places(first, last int) (all []int) {
	step := 1
	if testing.Short() {
		step = 7
	}
	for i := first; i < last; i += step {
		all = append(all, i)
	}
	return append(all, last)
}

// A file that is truncated after its state restores the tournament as of the last save or an
// earlier one; other damage is refused.
func TestDuelLogDamaged(t *testing.T) {
	logged(t, func(t *testing.T, name string, c duel.Config) {
		path := filepath.Join(t.TempDir(), name)
		all := played(t, path, c)
		r := rand.New(rand.NewPCG(3, 4))
		var states [][]byte
		for range 4 {
			all.judgeSome(t, r, 2)
			if err := all.save(); err != nil {
				t.Fatal(err)
			}
			states = append(states, stateOf(t, all))
		}
		content := clitest.ReadFile(t, path)
		state, rest := duel.Split(content)
		if bytes.Count(rest, []byte("\n")) < 4 {
			t.Fatalf("no log:\n%s", rest)
		}
		for _, n := range places(len(state), len(content)) {
			again, torn, err := restoreTournament(content[:n])
			if err != nil {
				t.Fatalf("cut at %d of %d: %v", n, len(content), err)
			}
			ends := content[n-1] == '\n' || n == len(state)
			if ends != (torn == 0) && n < len(content) {
				t.Fatalf("cut at %d: %d bytes are torn", n, torn)
			}
			if b := stateOf(t, again); n == len(content) && !bytes.Equal(b, states[3]) {
				t.Fatal("the whole file leads to another tournament")
			}
		}
		last := bytes.LastIndexByte(content[:len(content)-1], '\n') + 1
		zeroed := bytes.Clone(content)
		clear(zeroed[last+3 : last+9])
		if _, torn, err := restoreTournament(zeroed); err != nil || torn != len(content)-last {
			t.Errorf("zeros in the last line: %d bytes torn, %v", torn, err)
		}
		whole := stateOf(t, all)
		for _, i := range places(0, len(content)-1) {
			bad := bytes.Clone(content)
			bad[i] ^= 1
			again, torn, err := restoreTournament(bad)
			switch {
			case err == nil && torn == 0 && bytes.Equal(stateOf(t, again), whole): // a space was added
			case err == nil && i == len(content)-1: // the last line seems incomplete
			case err == nil:
				t.Fatalf("%q for %q at %d of %d, behind a state of %d bytes, is taken", bad[i], content[i], i, len(content), len(state))
			}
		}
		lines := strings.SplitAfter(string(rest), "\n")[1:]
		for name, other := range map[string]string{
			"one is missing":       lines[0] + strings.Join(lines[2:], ""),
			"one is listed twice":  lines[0] + lines[0] + strings.Join(lines[1:], ""),
			"the order is changed": lines[1] + lines[0] + strings.Join(lines[2:], ""),
			"something follows":    strings.Join(lines, "") + "and more",
		} {
			if _, _, err := restoreTournament([]byte(string(state) + "\n" + other)); err == nil {
				t.Errorf("lines of which %s are taken", name)
			}
		}
	})
}

// Files from before checksums and logs may end with a checksum.
func TestDuelFilesOfBefore(t *testing.T) {
	files, err := filepath.Glob("../duel/testdata/state-1.*")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content := clitest.ReadFile(t, file)
		for _, old := range [][]byte{bytes.TrimSuffix(content, []byte("\n")), content} {
			all, torn, err := restoreTournament(old)
			if err != nil || torn != 0 {
				t.Fatalf("%s: %d bytes torn, %v", file, torn, err)
			}
			if want, err := duel.Restore(bytes.TrimSuffix(old, []byte("\n")), nil); err != nil || want.State().Duels != all.State().Duels {
				t.Errorf("%s: %v", file, err)
			}
		}
		// A run can resume a file of an earlier release.
		dir := t.TempDir()
		path := clitest.WriteFile(t, dir, filepath.Base(file), content)
		duelRun(t, "1\n2\nq\n", "--state", path).WantCode(t, cli.ExitOK)
		if now := restored(t, path).State().Duels; now <= func() int64 { b, _, _ := restoreTournament(content); return b.State().Duels }() {
			t.Errorf("%s: %d duels", file, now)
		}
	}
}

// A log ends before it would be longer than a state.
func TestDuelLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	all := played(t, path, duel.Config{Arms: []string{"a", "b", "c"}, Design: duel.Design{Horizon: 1e6}})
	all.judgeSome(t, rand.New(rand.NewPCG(1, 1)), 1)
	if err := all.save(); err != nil || all.log.lines != 1 {
		t.Fatal(all.log.lines, err)
	}
	all.judgeSome(t, rand.New(rand.NewPCG(1, 2)), 1)
	all.log.bytes = minLog // as if there had been so many bytes
	if err := all.save(); err != nil || all.log.lines != 0 {
		t.Errorf("%d lines, %v", all.log.lines, err)
	}
	for range maxCalls + 1 {
		all.Recall()
	}
	if err := all.save(); err != nil || all.log.lines != 0 || all.log.unlogged {
		t.Errorf("%d lines of more calls than one has, %v", all.log.lines, err)
	}
	if got, _, err := restoreTournament(clitest.ReadFile(t, path)); err != nil || !bytes.Equal(stateOf(t, got), stateOf(t, all)) {
		t.Errorf("%v", err)
	}
}

// A file that is moved or deleted during a run is rewritten completely.
func TestDuelFileMoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	all := played(t, path, duel.Config{Arms: []string{"a", "b", "c"}, Design: duel.Design{Horizon: 1e6}})
	r := rand.New(rand.NewPCG(1, 1))
	for range 3 {
		all.judgeSome(t, r, 1)
		if err := all.save(); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, path+".moved"); err != nil {
			t.Fatal(err)
		}
	}
	all.judgeSome(t, r, 1)
	if err := all.save(); err != nil {
		t.Fatal(err)
	}
	if got, _, err := restoreTournament(clitest.ReadFile(t, path)); err != nil || !bytes.Equal(stateOf(t, got), stateOf(t, all)) {
		t.Errorf("%v", err)
	}
}

// A damaged file is refused by its name, and not changed.
func TestDuelDamagedFile(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b", "c")
	for _, name := range []string{"s.duel", "s.json"} {
		path := filepath.Join(dir, name)
		all := played(t, path, duel.Config{Arms: []string{"a", "b", "c"}, Design: duel.Design{Delta: 1e-40}, Seed: 1})
		for range 3 {
			all.judgeSome(t, rand.New(rand.NewPCG(1, 1)), 1)
			if err := all.save(); err != nil {
				t.Fatal(err)
			}
		}
		content := clitest.ReadFile(t, path)
		if err := all.file.close(); err != nil {
			t.Fatal(err)
		}
		state, _ := duel.Split(content)
		digit := len(state)/2 + bytes.IndexAny(state[len(state)/2:], "2468")
		for at, want := range map[int]string{digit: "checksum", len(state) + 14: "line 1 of the judgments after the snapshot is damaged"} {
			bad := bytes.Clone(content)
			bad[at] ^= 1
			clitest.WriteFile(t, dir, name, bad)
			duelRun(t, "1\n", "--arms", arms, quickly, "--state", path).WantError(t, name, want)
			if !bytes.Equal(clitest.ReadFile(t, path), bad) {
				t.Errorf("%s has changed", name)
			}
		}
		clitest.WriteFile(t, dir, name, content[:len(content)-5])
		r := duelRun(t, "q\n", "--arms", arms, quickly, "--state", path)
		if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Err, "killed while saving a judgment") || !strings.Contains(r.Err, name) {
			t.Errorf("%s", r.Err)
		}
	}
}

// BenchmarkDuelSave measures saving a judgment of a tournament of 2,000 arms under strict
// testing.
func BenchmarkDuelSave(b *testing.B) {
	var arms []string
	for i := range 2000 {
		arms = append(arms, fmt.Sprint(i))
	}
	all := played(b, filepath.Join(b.TempDir(), "state"), duel.Config{Arms: arms, Design: duel.Design{Horizon: 1e9}})
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		all.judgeSome(b, r, 1)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "judgments/s")
}

// FuzzDuelFile reads anything as the file of a tournament.
func FuzzDuelFile(f *testing.F) {
	for _, name := range []string{"state.duel", "state.json"} {
		path := filepath.Join(f.TempDir(), name)
		all := played(f, path, duel.Config{Arms: []string{"a", "b", "c"}, Design: duel.Design{Horizon: 300}})
		for range 3 {
			all.judgeSome(f, rand.New(rand.NewPCG(1, 1)), 1)
		}
		if err := all.save(); err != nil {
			f.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		all, torn, err := restoreTournament(content)
		if err != nil {
			return
		}
		if torn < 0 || torn > len(content) || all.log.lines < 0 {
			t.Errorf("%d bytes of %d are torn", torn, len(content))
		}
		stateOf(t, all)
	})
}
