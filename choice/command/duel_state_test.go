package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/filelock"
)

// A run that is killed, before or while a judgment is saved, has saved every judgment that
// was followed by a duel; the same command resumes it and ends like an uninterrupted one.
func TestDuelKilled(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b", "c")
	args := func(state string) []string {
		return []string{"--arms", arms, quickly, "--state", filepath.Join(dir, state)}
	}
	whole := judgeLines(t, 1<<30, args("whole.json")...)
	for _, name := range []string{"killed.json", "killed.duel"} {
		kept, logs := 0, 0
		for _, life := range []int{1, 30, 2, 7, 55} {
			acknowledged := killedAfter(t, life, args(name)...)
			s := restored(t, filepath.Join(dir, name)).State()
			if int(s.Duels) < kept+acknowledged {
				t.Fatalf("%s: %d duels are kept, %d judgments were acknowledged", name, s.Duels, kept+acknowledged)
			}
			kept = int(s.Duels)
			if _, rest := duel.Split(clitest.ReadFile(t, filepath.Join(dir, name))); len(rest) > 0 {
				logs++
			}
		}
		if logs < 4 { // a run of one judgment may have none
			t.Errorf("%s: %d runs died with a log", name, logs)
		}
		rest := judgeLines(t, 1<<30, args(name)...)
		if got, want := rest[len(rest)-1], whole[len(whole)-1]; got != want {
			t.Errorf("%s: after kills\n%s\nwhole\n%s", name, got, want)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// killedAfter judges duels of a child process, which is killed as soon as the last judgment
// is written. It returns the number of judgments that were followed by another duel.
func killedAfter(t *testing.T, judgments int, args ...string) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"duel", "run", "--jsonl"}, args...)...)
	cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1")
	toJudge, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := json.NewDecoder(toJudge)
	for range judgments {
		var d duelLine
		if err := in.Decode(&d); err != nil || d.Duel == 0 {
			t.Fatalf("%+v, %v", d, err)
		}
		fmt.Fprintf(answers, `{"duel":%d,"winner":%q}`+"\n", d.Duel, min(d.A, d.B))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // the error says that it was killed
	return judgments - 1
}

// Two runs would overwrite each other's judgments.
func TestDuelTakenTwice(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b")
	duelRun(t, "", "--arms", arms, quickly).WantCode(t, cli.ExitOK)
	if !filelock.Supported {
		t.Skip("no locks on this system")
	}
	first, _, err := openDuelFile(arms+".duel", false)
	if err != nil {
		t.Fatal(err)
	}
	before := clitest.ReadFile(t, arms+".duel")
	for range 2 { // before a save of the first, and after
		for _, more := range [][]string{{}, {"--overwrite"}} {
			duelRun(t, "1\n", append([]string{"--arms", arms, quickly}, more...)...).WantError(t, "another run uses this tournament")
		}
		if err := first.save(before); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	duelRun(t, "q\n", "--arms", arms, quickly).WantCode(t, cli.ExitOK)
}

// The file keeps its permissions. An empty file counts as missing, because a run that is
// killed at its start leaves one.
func TestDuelFile(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b")
	state := clitest.WriteFile(t, dir, "state", nil)
	if err := os.Chmod(state, 0o600); err != nil {
		t.Fatal(err)
	}
	duelRun(t, "q\n", "--arms", arms, quickly, "--state", state).WantCode(t, cli.ExitOK)
	if info, err := os.Stat(state); err != nil || filelock.Supported && info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// A run fails if a tournament that has ended cannot be saved.
func TestDuelLastSaveFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tournament := ended(t, filepath.Join(dir, "state"))
	if _, err := tournament.nextDuels(1); !errors.Is(err, duel.ErrEnded) {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := tournament.nextDuels(1); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, duel.ErrEnded) {
		t.Error(err)
	}
}

// ended is a tournament of two arms of which one is left.
func ended(t *testing.T, path string) *tournament {
	t.Helper()
	config := duel.Config{Arms: []string{"a", "b"}, Design: duel.Design{Horizon: 100}}
	begun, err := duel.New(config, nil)
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
	for {
		duels, err := all.Next(1)
		if errors.Is(err, duel.ErrEnded) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all.Report(duel.Result{Duel: duels[0].ID, AWon: duels[0].A == 0}); err != nil {
			t.Fatal(err)
		}
	}
}

// A judge that repeats judgments after a restart changes nothing, whether by name or by
// a_won.
func TestDuelToldAgain(t *testing.T) {
	arms := armsFile(t, t.TempDir(), "a", "b", "c")
	args := []string{"--jsonl", "--arms", arms, quickly}
	id := openDuel(t, func() string { duelRun(t, "", args...).WantCode(t, cli.ExitOK); return arms + ".duel" }())
	d := duelLine{}
	r := duelRun(t, "", args...)
	if err := json.NewDecoder(strings.NewReader(r.Out)).Decode(&d); err != nil || fmt.Sprint(d.Duel) != id {
		t.Fatalf("%v: %s", err, r.Out)
	}
	told := `{"duel":` + id + `,"winner":"` + d.A + `"}` + "\n"
	duelRun(t, told, args...).WantCode(t, cli.ExitOK)
	after := restored(t, arms+".duel").State().Duels
	for _, again := range []string{told, `{"duel":` + id + `,"a_won":true}` + "\n", `{"duel":` + id + `,"winner":"somebody"}` + "\n"} {
		duelRun(t, again, args...).WantCode(t, cli.ExitOK)
		if got := restored(t, arms+".duel").State().Duels; got != after {
			t.Errorf("%s: %d duels, were %d", again, got, after)
		}
	}
}

// A coin that eliminates an arm withdraws the duels after it: every issued duel still counts.
func TestDuelCoinsWithdraw(t *testing.T) {
	for seed := range uint64(40) {
		config := duel.Config{Arms: []string{"a", "b", "c", "d"}, Design: duel.Design{Horizon: 300}, Seed: seed}
		begun, err := duel.New(config, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := &tournament{Tournament: begun}
		all.ready()
		for {
			duels, err := all.Next(4)
			if errors.Is(err, duel.ErrEnded) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			ask, err := all.toss(duels)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range ask {
				if _, err := all.Check(duel.Result{Duel: d.ID}); err != nil {
					t.Fatalf("seed %d: asked for duel %d: %v", seed, d.ID, err)
				}
			}
			for _, d := range ask {
				_, err := all.Report(duel.Result{Duel: d.ID, AWon: d.A < d.B})
				if errors.Is(err, duel.ErrWithdrawn) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
