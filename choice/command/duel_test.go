package command

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// quickly ends a tournament of three arms, of which one always wins, after some hundreds of
// duels.
const quickly = "--delta=1e-40"

func armsFile(t *testing.T, dir string, arms ...string) string {
	t.Helper()
	return clitest.WriteFile(t, dir, "arms.txt", []byte(strings.Join(arms, "\n")+"\n\n"))
}

func duelRun(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return thresherWith(t, context.Background(), stdin, append([]string{"duel", "run"}, args...)...)
}

func TestDuelTyped(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "good", "bad")
	r := duelRun(t, "1\n2\nwhat?\n1\nq\n2\n", "--arms", arms, quickly)
	r.WantCode(t, cli.ExitOK)
	if got := strings.Count(r.Err, "which is better?"); got != 5 {
		t.Errorf("asked %d times, want 5: the third answer is none\n%s", got, r.Err)
	}
	for _, want := range []string{"leader so far", "kept in", arms + ".duel", "RATE"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.Out)
		}
	}
	saved := restored(t, arms+".duel").State()
	if saved.Duels < 3 || saved.Done {
		t.Errorf("%+v", saved)
	}
	// It is resumed without repeating the flags.
	r = duelRun(t, "2\nq\n", "--state", arms+".duel")
	r.WantCode(t, cli.ExitOK)
	if s := restored(t, arms+".duel").State(); s.Duels <= saved.Duels {
		t.Errorf("%d duels, were %d", s.Duels, saved.Duels)
	}
}

func restored(t *testing.T, path string) *duel.Tournament {
	t.Helper()
	all, _, err := restoreTournament(clitest.ReadFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return all.Tournament
}

// judgeLines answers duels in favour of the name that sorts first, until limit.
func judgeLines(t *testing.T, limit int, args ...string) (lines []string) {
	t.Helper()
	toJudge, duels := io.Pipe()
	judgments, answers := io.Pipe()
	done := make(chan clitest.Result)
	go func() {
		var errs bytes.Buffer
		code := run(context.Background(), append([]string{"duel", "run", "--jsonl"}, args...), judgments, duels, &errs)
		duels.Close()
		done <- clitest.Result{Code: code, Err: errs.String()}
	}()
	in := json.NewDecoder(toJudge)
	for {
		var raw json.RawMessage
		if err := in.Decode(&raw); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(raw))
		var d duelLine
		if err := json.Unmarshal(raw, &d); err != nil || d.Duel == 0 {
			continue // the outcome
		}
		if limit--; limit < 0 {
			answers.Close()
			continue
		}
		fmt.Fprintf(answers, `{"duel":%d,"winner":%q}`+"\n", d.Duel, min(d.A, d.B))
	}
	answers.Close()
	(<-done).WantCode(t, cli.ExitOK)
	return lines
}

// An interrupted run that is resumed issues the same duels, and ends like an uninterrupted
// one.
func TestDuelLinesResume(t *testing.T) {
	for _, testing := range []string{"strict", "sweep"} {
		dir := t.TempDir()
		arms := armsFile(t, dir, "a", "b", "c")
		state := func(name string) []string {
			return []string{"--arms", arms, "--testing", testing, quickly, "--state", filepath.Join(dir, name)}
		}
		whole := judgeLines(t, 1<<30, state("whole.json")...)
		var outcome outcomeLine
		if err := json.Unmarshal([]byte(whole[len(whole)-1]), &outcome); err != nil || !outcome.Done || outcome.Winner != "a" || outcome.State.Guarantee == nil {
			t.Fatalf("%v: %s", err, whole[len(whole)-1])
		}
		first := judgeLines(t, 50, state("parts.json")...)
		if last := first[len(first)-1]; !strings.Contains(last, `"done":false`) {
			t.Fatalf("stopped with %s", last)
		}
		rest := judgeLines(t, 1<<30, state("parts.json")...)
		if got, want := rest[len(rest)-1], whole[len(whole)-1]; got != want {
			t.Errorf("%s: in parts\n%s\nwhole\n%s", testing, got, want)
		}
	}
}

// The flags of a resumed run must not contradict it.
func TestDuelOtherFlags(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b")
	state := filepath.Join(dir, "state")
	duelRun(t, "", "--arms", arms, "--state", state, "--horizon", "1e5").WantCode(t, cli.ExitOK)
	duelRun(t, "", "--arms", arms, "--state", state, "--horizon", "100000", "--gamma=1", "--seed=1").WantCode(t, cli.ExitOK)
	other := clitest.WriteFile(t, dir, "other.txt", []byte("a\nc\n"))
	for _, c := range [][]string{
		{"--horizon", "1e6", "with horizon 100000, not 1e+06"},
		{"--seed", "2", "with seed 1, not 2"},
		{"--arms", other, "of other arms;"},
		{"--testing", "sweep", "with testing strict, not sweep"},
	} {
		duelRun(t, "", "--state", state, c[0], c[1]).WantError(t, c[2], "--overwrite starts over")
	}
	duelRun(t, "", "--arms", other, "--state", state, "--horizon", "1e6", "--overwrite").WantCode(t, cli.ExitOK)
	if c := restored(t, state).Config(); c.Horizon != 1e6 || c.Arms[1] != "c" {
		t.Errorf("%+v", c)
	}
}

func TestDuelPlan(t *testing.T) {
	r := thresher(t, "duel", "plan", "--arms=5", "--gap=.3", "--horizon=1e6", "--trials=40", "--json", "--algorithm=beat-the-mean")
	r.WantCode(t, cli.ExitOK)
	var f duel.Forecast
	if err := json.Unmarshal([]byte(r.Out), &f); err != nil || f.Trials != 40 || f.Best != 40 || len(f.Quantiles) == 0 {
		t.Fatalf("%v: %s", err, r.Out)
	}
	for i, q := range f.Quantiles {
		if q.Duels < 100 || q.Duels > 1e6 || i > 0 && q.Duels < f.Quantiles[i-1].Duels {
			t.Errorf("%+v", f.Quantiles)
		}
	}
	for _, more := range []string{"--algorithm=interleaved-filter-2", "--shape=chain", "--testing=sweep"} {
		r = thresher(t, "duel", "plan", "--arms=5", "--gap=.3", "--horizon=1e4", "--trials=10", "--algorithm=anytime", more)
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, "50% of them took") {
			t.Errorf("%s:\n%s", more, r.Out)
		}
	}
	r = thresher(t, "duel", "plan", "--arms=4", "--shape=logistic", "--epsilon=.3", "--delta=.2", "--algorithm=knockout", "--trials=10")
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "found one within epsilon") {
		t.Error(r.Out)
	}
}

// Without --algorithm all are compared. The one of the fewest judgments is recommended, if
// tournaments end before the horizon.
func TestDuelPlanCompares(t *testing.T) {
	compare := func(args ...string) (plan struct {
		Recommended duel.Algorithm
		Algorithms  []duel.Prospect
	}, table string) {
		t.Helper()
		args = append([]string{"duel", "plan", "--arms=5", "--gap=.15", "--trials=20"}, args...)
		r := thresher(t, args...)
		r.WantCode(t, cli.ExitOK)
		j := thresher(t, append(args, "--json")...)
		j.WantCode(t, cli.ExitOK)
		if err := json.Unmarshal([]byte(j.Out), &plan); err != nil || len(plan.Algorithms) != len(duel.Algorithms()) {
			t.Fatalf("%v: %s", err, j.Out)
		}
		for _, p := range plan.Algorithms {
			if !strings.Contains(r.Out, string(p.Algorithm)) || (p.Forecast == nil) != (p.Unfit != "") || p.Assumes == "" {
				t.Errorf("%+v in\n%s", p, r.Out)
			}
		}
		return plan, r.Out
	}
	plan, table := compare("--epsilon=.1", "--delta=.05")
	at := map[duel.Algorithm]duel.Prospect{}
	for _, p := range plan.Algorithms {
		at[p.Algorithm] = p
	}
	if plan.Recommended != duel.Anytime || !strings.Contains(table, "recommended  anytime") {
		t.Errorf("%s", table)
	}
	anytime, knockout, beat := at[duel.Anytime].Forecast, at[duel.Knockout].Forecast, at[duel.BeatTheMean].Forecast
	if !(3*anytime.Mean < knockout.Mean && 50*knockout.Mean < beat.Mean) || beat.AtHorizon != 0 || at[duel.InterleavedFilter1].Forecast != nil {
		t.Errorf("%s", table)
	}
	if g := at[duel.Knockout].Guarantee; g == nil || g.Epsilon != .1 || g.Failure != .05 {
		t.Errorf("%+v", g)
	}
	plan, table = compare("--epsilon=.1", "--delta=.05", "--horizon=2000")
	for _, p := range plan.Algorithms {
		if p.Algorithm == duel.BeatTheMean && p.Forecast.AtHorizon != 20 || p.Algorithm == duel.Anytime && p.Forecast.AtHorizon != 0 {
			t.Errorf("%s", table)
		}
	}
	if _, table = compare("--delta=.01", "--horizon=20"); !strings.Contains(table, "none is recommended: even anytime mostly reaches the horizon") || !strings.Contains(table, "epsilon 0 is not in (0, 1/2)") {
		t.Errorf("%s", table)
	}
	if plan, table = compare("--horizon=1e5", "--gamma=1.5"); plan.Recommended != duel.Anytime || !strings.Contains(table, "proven for gamma = 1") {
		t.Errorf("%s", table)
	}
	if _, table = compare("--horizon=1e5"); !strings.Contains(table, "never ends before the horizon") {
		t.Errorf("%s", table)
	}
}

// A run that stops early says how sure the leader is; judges who always take the first are
// found out.
func TestDuelStopsAnyTime(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b")
	r := duelRun(t, "", "--arms", arms, "--delta=1e-6", "--state", filepath.Join(dir, "none"))
	r.WantCode(t, cli.ExitOK)
	if strings.Contains(r.Err, " leads") {
		t.Errorf("before a judgment:\n%s", r.Err)
	}
	if strings.Contains(r.Out, "\nso far") || strings.Contains(r.Out, "lean") {
		t.Errorf("without a judgment:\n%s", r.Out)
	}
	state := filepath.Join(dir, "some")
	better := func(n int) (r clitest.Result) {
		for range n { // one by one, resumed each time; a is always better
			r = duelRun(t, "q\n", "--arms", arms, "--delta=1e-6", "--state", state)
			first := "2\n"
			if strings.Contains(r.Err, "1  a\n") {
				first = "1\n"
			}
			r = duelRun(t, first+"q\n", "--state", state)
			r.WantCode(t, cli.ExitOK)
		}
		return r
	}
	r = better(9)
	if want := "a leads, the best arm, if one beats all others; wrong with probability at most 0.0"; !strings.Contains(r.Err, want) {
		t.Errorf("stderr lacks %q:\n%s", want, r.Err)
	}
	for _, want := range []string{"leader so far  a\n", "so far         the best arm, if one beats all others; wrong with probability at most 0.0", "to the arm shown first, in ["} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.Out)
		}
	}
	r = duelRun(t, strings.Repeat("1\n", 300), "--arms", arms, "--delta=1e-6", "--state", filepath.Join(dir, "first"))
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "lean           +0.500 to the arm shown first") || !strings.Contains(r.Out, "so it cancels out") {
		t.Errorf("%s", r.Out)
	}
}

func TestDuelSimulate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figure.csv")
	drawing := filepath.Join(filepath.Dir(file), "figure.svg")
	thresher(t, "duel", "simulate", "--figure=2", "--trials=3", "--arms=3,4", "--gammas=1,1.5", "--fixed-arms=5", "--out", file, "--out", drawing).WantCode(t, cli.ExitOK)
	rows, err := csv.NewReader(bytes.NewReader(clitest.ReadFile(t, file))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 13 || strings.Join(rows[0], ",") != "figure,panel,setting,axis,k,gamma,algorithm,radius,trials,right,regret,regret_sd,duels" {
		t.Fatalf("%d rows: %v", len(rows), rows)
	}
	lines := []string{"beat-the-mean,wide", "interleaved-filter-2,wide", "interleaved-filter-2,tight"}
	for i, want := range []string{"K,3,1.3", "K,4,1.3", "gamma,5,1", "gamma,5,1.5"} {
		for j, line := range lines {
			if got := strings.Join(rows[3*i+j+1][3:8], ","); got != want+","+line {
				t.Errorf("row %d is %s, want %s,%s", 3*i+j+1, got, want, line)
			}
		}
	}
	text := clitest.ReadFile(t, drawing)
	for _, want := range []string{"; gamma = 1.3<", "; K = 5<", ">K<", ">gamma<", ">regret<", ">beat-the-mean, wide<", ">interleaved-filter-2, wide<", ">interleaved-filter-2, tight<", ">1.5<"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the drawing has no %s", want)
		}
	}
	one := thresher(t, "duel", "simulate", "--trials=1", "--arms=3", "--filter-radius=tight")
	if one.WantCode(t, cli.ExitOK); strings.Contains(one.Out, "wide") || strings.Count(one.Out, "\n") != 5 {
		t.Errorf("%s", one.Out)
	}
	missing := filepath.Join(filepath.Dir(file), "none")
	thresher(t, "duel", "simulate", "--figure=7", "--out", missing).WantError(t, "figure 7")
	if _, err := os.Stat(missing); err == nil {
		t.Error("a refused figure left a file")
	}
}

func TestDuelHelp(t *testing.T) {
	for _, verb := range []string{"duel", "duel run", "duel plan", "duel simulate"} {
		r := thresher(t, append(strings.Fields(verb), "--help")...)
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, "Usage:") || r.Err != "" {
			t.Errorf("%s: stdout %q, stderr %q", verb, r.Out, r.Err)
		}
	}
	r := thresher(t, "__complete", "duel", "run", "--algorithm", "")
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "knockout\n") {
		t.Errorf("%q", r.Out)
	}
}

// After one judgment nothing is known of any arm, and none is called the leader.
func TestDuelNoLeaderYet(t *testing.T) {
	r := duelRun(t, "1\nq\n", "--arms", armsFile(t, t.TempDir(), "a", "b", "c"), "--delta", ".05")
	if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Out, "leader so far  not known yet\n") {
		t.Error(r.Out)
	}
}
