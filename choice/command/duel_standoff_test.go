package command

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// answersAlternating writes so many judgments that let the arms of two win in turn.
func answersAlternating(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"duel\":%d,\"winner\":%q}\n", i+1, []string{"x", "y"}[i%2])
	}
	return b.String()
}

// Judges who cannot tell two arms apart are told what that means, at doubling numbers of judgments;
// not with an epsilon or a horizon, which end the tournament.
func TestDuelStandoff(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "x", "y")
	for name, c := range map[string]struct {
		more []string
		said int
	}{
		"forever": {nil, 2}, "epsilon": {[]string{"--epsilon", ".1"}, 0}, "horizon": {[]string{"--horizon", "5000"}, 0},
	} {
		r := duelRun(t, answersAlternating(700), append(c.more, "--jsonl", "--arms", arms, "--delta", ".05", "--state", filepath.Join(dir, name))...)
		r.WantCode(t, cli.ExitOK)
		if got := strings.Count(r.Err, "hard to tell apart after"); got != c.said {
			t.Errorf("%s: said %d times, not %d:\n%.2000s", name, got, c.said, r.Err)
		}
		lines := strings.Split(strings.TrimSpace(r.Out), "\n")
		var o outcomeLine
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &o); err != nil || (o.State.Standoff != nil) != (c.said > 0) {
			t.Errorf("%s: %v, %s", name, err, lines[len(lines)-1])
		}
		if c.said > 0 {
			wantAll(t, r.Err, "preference    0.500, in [0.4", "if they are equal, this never ends", "stop now with that: end the input", "--epsilon E", "--horizon N")
		}
	}
	r := duelRun(t, "q\n", "--state", filepath.Join(dir, "forever")) // said again by the next run
	r.WantCode(t, cli.ExitOK)
	wantAll(t, r.Err, "hard to tell apart after 700 judgments", "stop now with that: q")
	wantAll(t, r.Out, "hard to tell", ": 0.500, in [0.4")
	a, _, err := restoreTournament(clitest.ReadFile(t, filepath.Join(dir, "epsilon")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := standing(a), "193 judgments; x leads, wrong with probability at most 0.05"; got != want {
		t.Errorf("beside the bar: %q, not %q", got, want)
	}
}

// --json writes the outcome and nothing else to standard output, whoever judges.
func TestDuelJSON(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "x", "y")
	order := clitest.WriteFile(t, dir, "order.csv", []byte(orderMatrix))
	texts := textsFile(t, dir)
	for name, c := range map[string]struct {
		args  []string
		stdin string
		done  bool
		first string
	}{
		"typed":    {[]string{"run", "--arms", arms, "--delta", ".05"}, "1\nq\n", false, "x"},
		"resumed":  {[]string{"run", "--matrix", order, "--delta", ".05"}, "", true, "a"},
		"ranked":   {[]string{"rank", "--matrix", order, "--delta", ".01"}, "", true, "a"},
		"copeland": {[]string{"rank", "--matrix", order, "--delta", ".01", "--copeland"}, "", true, "a"},
		"program":  {[]string{"run", "--texts", texts, "--delta", ".1", "--judge-command", shorter}, "", true, "arm-short"},
	} {
		args := append([]string{"duel"}, append(c.args, "--json", "--state", filepath.Join(dir, name))...)
		r := thresherWith(t, t.Context(), c.stdin, args...)
		r.WantCode(t, cli.ExitOK)
		var o outcomeOutput
		d := json.NewDecoder(strings.NewReader(r.Out))
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil || strings.Count(r.Out, "\n") != 1 {
			t.Fatalf("%s: %v\n%s", name, err, r.Out)
		}
		if o.Done != c.done || (o.Winner == "") == c.done || o.State.Duels < 1 || o.Kept != filepath.Join(dir, name) || o.Arms[o.State.Leader] != o.Leader || string(o.Design.Algorithm) == "" {
			t.Errorf("%s: %s", name, r.Out)
		}
		if c.done && o.Winner != c.first || name == "ranked" && o.State.Ranking == nil || name == "copeland" && o.State.Copeland == nil {
			t.Errorf("%s: %s", name, r.Out)
		}
	}
	thresher(t, "duel", "run", "--arms", arms, "--delta", ".05", "--json", "--jsonl").WantError(t, "--json and --jsonl exclude each other")
}
