package command

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// Ties, skips and undos that are typed do what they say, and what is undone may come from an
// earlier run.
func TestDuelTypedUndo(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b", "c")
	state := arms + ".duel"
	r := duelRun(t, "1\n=\n2\ns\n=\nq\n", "--arms", arms, quickly, "--judge", "ann")
	r.WantCode(t, cli.ExitOK)
	for _, want := range []string{"ties", "settled by a fair coin", "MOST TIES", "JUDGE", "ann"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.Out)
		}
	}
	before := restored(t, state).State()
	if before.Duels+int64(before.Waiting) != 4 || before.Waiting != 1 {
		t.Fatalf("%+v: the tie after the skip waits for the skipped duel", before)
	}
	r = duelRun(t, "u\nu\nq\n", "--state", state)
	r.WantCode(t, cli.ExitOK)
	if s := restored(t, state).State(); s.Duels != 2 || s.Ties != 1 || s.Undone != 2 {
		t.Errorf("%+v", s)
	}
	r = duelRun(t, "u\nu\nu\nu\nq\n", "--state", state)
	r.WantCode(t, cli.ExitOK)
	if s := restored(t, state).State(); s.Duels != 0 || s.Undone != 4 || !strings.Contains(r.Err, "no judgment is left that can be undone") {
		t.Errorf("%+v\n%s", s, r.Err)
	}
}

// Undoing when there is nothing to undo asks for the same duel again, so that judgments that follow count.
func TestDuelUndoNothing(t *testing.T) {
	for _, flags := range [][]string{nil, {"--testing", "sweep"}} {
		dir := t.TempDir()
		arms := armsFile(t, dir, "a", "b", "c")
		r := duelRun(t, "u\n1\nu\nu\n1\n1\n1\nq\n", append([]string{"--arms", arms, quickly}, flags...)...)
		r.WantCode(t, cli.ExitOK)
		if s := restored(t, arms+".duel").State(); s.Duels+int64(s.Waiting) != 3 || s.Waiting > 0 && flags == nil {
			t.Errorf("%v: %d judgments count and %d wait, of three\n%s", flags, s.Duels, s.Waiting, r.Err)
		}
	}
}

// The judgment that named the winner can be undone: at once, and by a later run.
func TestDuelUndoWinner(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b")
	state := arms + ".duel"
	always := func(input string) string { // "a" wins every duel of this seed's order
		var b strings.Builder
		probe, err := duel.New(duel.Config{Arms: []string{"a", "b"}, Design: duel.Design{Delta: .2}, Seed: 1, Order: duel.RandomOrder}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for {
			next, err := probe.Next(1)
			if err != nil {
				return b.String() + input
			}
			fmt.Fprintln(&b, 1+next[0].A)
			if _, err := probe.Report(duel.Result{Duel: next[0].ID, AWon: next[0].A == 0}); err != nil {
				t.Fatal(err)
			}
		}
	}
	args := []string{"--arms", arms, "--delta", ".2", "--seed", "1"}
	r := duelRun(t, always("u\nq\n"), args...)
	r.WantCode(t, cli.ExitOK)
	if s := restored(t, state).State(); s.Done || s.Undone != 1 || !strings.Contains(r.Err, "a is the winner") {
		t.Fatalf("%+v\n%s", s, r.Err)
	}
	duelRun(t, always("\n"), append(args, "--overwrite")...).WantCode(t, cli.ExitOK)
	whole := restored(t, state).State()
	if !whole.Done {
		t.Fatalf("%+v", whole)
	}
	duelRun(t, "q\n", "--state", state, "--undo", "2").WantCode(t, cli.ExitOK)
	if s := restored(t, state).State(); s.Done || s.Duels != whole.Duels-2 || s.Undone != 2 {
		t.Errorf("%+v", s)
	}
	duelRun(t, "", "--state", state, "--undo", "200").WantError(t, "--undo 200: no judgment is left")
}

// Lines with ties, skips, judges and undos; a kill after any line loses nothing.
func TestDuelLinesUndo(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b", "c")
	state := filepath.Join(dir, "s.json")
	args := []string{"--arms", arms, quickly, "--jsonl", "--state", state}
	r := duelRun(t, `{"duel":1,"winner":"tie","judge":"ann"}
{"duel":2,"skip":true,"judge":"ann"}
{"duel":3,"tie":true,"judge":"bob"}
{"duel":3,"a_won":true}
{"undo":true}
{"undo":true}
`, args...)
	r.WantCode(t, cli.ExitOK)
	for _, want := range []string{`{"undone":[3]}`, `{"undone":[1]}`, `{"duel":4`} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.Out)
		}
	}
	if s := restored(t, state).State(); s.Duels != 0 || s.Waiting != 0 || s.Undone != 2 {
		t.Errorf("%+v", s)
	}
	r = duelRun(t, `{"duel":1,"winner":"tie","judge":"ann"}`+"\n", args...)
	r.WantCode(t, cli.ExitOK)
	lines := strings.Split(strings.TrimSpace(r.Out), "\n")
	var outcome outcomeLine
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &outcome); err != nil {
		t.Fatal(err)
	}
	if j := outcome.Judges; j == nil || len(j.Judges) != 1 || j.Judges[0].Judge != "ann" || j.Judges[0].Ties != 1 || len(outcome.TiesOfPairs) != 1 {
		t.Errorf("%+v", outcome)
	}
}

// The log replays ties, skips, undos and judges as they were.
func TestDuelLogOfJudges(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.duel")
	file, _, err := openDuelFile(path, true)
	if err != nil {
		t.Fatal(err)
	}
	live := &tournament{file: file}
	if live.Tournament, err = duel.New(duel.Config{Arms: []string{"a", "b", "c"}, Design: duel.Design{Delta: 1e-9}, Order: duel.RandomOrder}, nil); err != nil {
		t.Fatal(err)
	}
	live.ready()
	if err := live.prepareUndo(0); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		next, err := live.nextDuels(1) // saves what was before
		if err != nil {
			t.Fatal(err)
		}
		switch id := next[0].ID; {
		case i%7 == 3:
			err = live.Skip("ann", id)
		case i%7 == 5:
			_, err = live.Undo()
		default:
			_, err = live.Report(duel.Result{Duel: id, AWon: true, Tie: i%3 == 0, Judge: []string{"ann", "bob", ""}[i%3]})
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := live.save(); err != nil {
			t.Fatal(err)
		}
		again, torn, err := restoreTournament(clitest.ReadFile(t, path))
		if err != nil || torn != 0 {
			t.Fatal(err, torn)
		}
		if diff := cmp.Diff(live.State(), again.State()); diff != "" {
			t.Fatalf("step %d: (-live +replayed)\n%s", i, diff)
		}
		if diff := cmp.Diff(live.Judges(), again.Judges()); diff != "" {
			t.Fatalf("step %d: (-live +replayed)\n%s", i, diff)
		}
	}
	if live.log.lines < 20 {
		t.Errorf("%d lines", live.log.lines)
	}
	if err := live.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := duel.Restore(clitest.ReadFile(t, path), nil); err != nil {
		t.Error(err)
	}
}

// FuzzJudgment: a line of a judgment is parsed or refused with words that name no Go type.
func FuzzJudgment(f *testing.F) {
	for _, line := range []string{
		`{"duel":7,"winner":"x"}`, `{"duel":7,"winner":"tie","judge":"ann"}`, `{"duel":7,"tie":true}`, `{"duel":7,"skip":true}`, `{"undo":true}`,
		`{"duel":7,"undo":true}`, `{"duel":-1,"a_won":true}`, `{"duel":7,"tie":true,"a_won":false}`, `[]`, `null`, ``, `{"duel":7}{}`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		j, err := parseJudgment(line)
		if err == nil && j.Winner == nil && j.AWon == nil && !j.Tie && !j.Skip && !j.Undo {
			t.Errorf("%q says nothing", line)
		}
		if err != nil && strings.Contains(err.Error(), "main.") {
			t.Error(err)
		}
	})
}
