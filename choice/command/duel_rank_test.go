package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

const circleMatrix = ",r,p,s,x\nr,.5,.2,.8,.9\np,.8,.5,.2,.9\ns,.2,.8,.5,.9\nx,.1,.1,.1,.5\n"
const orderMatrix = ",a,b,c\na,.5,.8,.9\nb,.2,.5,.8\nc,.1,.2,.5\n"

func duelRank(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return thresherWith(t, t.Context(), stdin, append([]string{"duel", "rank"}, args...)...)
}

// wantAll fails unless the text has every string.
func wantAll(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A ranking, its continuation after the end, the top and a circle. A correct program names
// another order with probability .01 at most; the seed is fixed.
func TestDuelRank(t *testing.T) {
	dir := t.TempDir()
	order := clitest.WriteFile(t, dir, "order.csv", []byte(orderMatrix))
	r := duelRank(t, "", "--matrix", order, "--delta", ".01")
	r.WantCode(t, cli.ExitOK)
	wantAll(t, r.Out, "places decided", "no arm is beaten by a later one, wrong with probability at most 0.01", "in order   a, b, c\n", "a    1 ", "b    2 ", "c    3 ")
	again := duelRank(t, "", "--matrix", order, "--delta", ".01")
	if again.WantCode(t, cli.ExitOK); again.Out != r.Out {
		t.Errorf("continued:\n%s\nwas\n%s", again.Out, r.Out)
	}
	r = duelRank(t, "", "--matrix", order, "--delta", ".01", "--top", "1", "--state", filepath.Join(dir, "top.duel"))
	r.WantCode(t, cli.ExitOK)
	wantAll(t, r.Out, "of the first 1 no arm is beaten by one that is not among them", "first 1    a\n", "\na ")
	circle := clitest.WriteFile(t, dir, "circle.csv", []byte(circleMatrix))
	r = duelRank(t, "", "--matrix", circle, "--delta", ".01", "--copeland")
	r.WantCode(t, cli.ExitOK)
	wantAll(t, r.Out, "beat the most  r, p, s", "every arm is beaten by another, wrong with probability at most 0.01")
}

// Typed judgments are kept, and the same command goes on.
func TestDuelRankTyped(t *testing.T) {
	arms := armsFile(t, t.TempDir(), "x", "y", "z")
	r := duelRank(t, "1\n2\nq\n", "--arms", arms, "--delta", ".05")
	r.WantCode(t, cli.ExitOK)
	wantAll(t, r.Out, "so far", "kept in", "0 of 3 pairs", "1-3")
	if r = duelRank(t, "1\nq\n", "--state", arms+".duel"); restored(t, arms+".duel").State().Duels != 3 {
		t.Error(r.Out)
	}
}

func TestDuelRankRefuses(t *testing.T) {
	dir := t.TempDir()
	order := clitest.WriteFile(t, dir, "order.csv", []byte(orderMatrix))
	anytime := filepath.Join(dir, "anytime.duel")
	duelRun(t, "", "--matrix", order, "--delta", ".1", "--state", anytime).WantCode(t, cli.ExitOK)
	for want, args := range map[string][]string{
		"--delta":                                 {"--matrix", order},
		"top 3 of 3 arms is not in [1, 2]":        {"--matrix", order, "--delta", ".1", "--top", "3"},
		"--horizon 9 without --delta":             {"--matrix", order, "--horizon", "9"},
		"which duel run continues":                {"--state", anytime},
		"epsilon 0.7 is not in [0, 1/2)":          {"--matrix", order, "--delta", ".1", "--epsilon", ".7"},
		"--top and --copeland exclude each other": {"--matrix", order, "--delta", ".1", "--top", "1", "--copeland"},
		"testing \"slow\" is neither strict":      {"--matrix", order, "--delta", ".1", "--testing", "slow"},
		"delta 1e-200 is not in [1e-100, 1)":      {"--matrix", order, "--delta", "1e-200"},
	} {
		r := duelRank(t, "", args...)
		if r.WantCode(t, cli.ExitInput); !strings.Contains(r.Err, want) {
			t.Errorf("%v: %s, want %q", args, r.Err, want)
		}
	}
}

func TestDuelReport(t *testing.T) {
	dir := t.TempDir()
	counts := clitest.WriteFile(t, dir, "counts.csv", []byte(",a,b,c\na,0,2,1\nb,8,0,3\nc,9,7,0\n"))
	picture := filepath.Join(dir, "who.svg")
	report := func(args ...string) clitest.Result {
		return thresherWith(t, t.Context(), "", append([]string{"duel", "report"}, args...)...)
	}
	r := report("--wins", counts, "--json", "--out", picture)
	r.WantCode(t, cli.ExitOK)
	var c comparisons
	if err := json.Unmarshal([]byte(r.Out), &c); err != nil || strings.Join(c.Arms, "") != "cba" || c.Wins[0][2] != 9 || c.Separated || !(c.Strengths[0].Low < c.Strengths[0].Estimate) {
		t.Errorf("%v: %s", err, r.Out)
	}
	drawn, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, string(drawn), ">0.90<", ">10<", ">a<")
	report("--wins", counts, "--out", picture).WantCode(t, cli.ExitInput) // it exists
	separated := clitest.WriteFile(t, dir, "separated.json", []byte(`{"arms":["a","b"],"wins":[[0,3],[0,0]]}`))
	r = report("--wins", separated)
	r.WantCode(t, cli.ExitOK)
	wantAll(t, r.Out, "half a win and half a loss")
	for want, args := range map[string][]string{
		"give one of --state and --wins":        {},
		"row \"a\", column \"b\": 1.5 is not a": {"--wins", clitest.WriteFile(t, dir, "half.csv", []byte(",a,b\na,0,1.5\nb,1,0\n"))},
		"row \"b\", column \"b\": 2 wins":       {"--wins", clitest.WriteFile(t, dir, "self.csv", []byte(",a,b\na,0,1\nb,1,2\n"))},
		"no duels":                              {"--wins", clitest.WriteFile(t, dir, "none.csv", []byte(",a,b\na,0,0\nb,0,0\n"))},
		"pictures end in .png or .svg":          {"--wins", counts, "--out", filepath.Join(dir, "x.pdf")},
		"name ends in none of .csv, .json":      {"--wins", picture},
	} {
		if r := report(args...); !strings.Contains(r.Err, want) || r.Code == cli.ExitOK {
			t.Errorf("%v: %d, %s, want %q", args, r.Code, r.Err, want)
		}
	}
}

func TestDuelTable(t *testing.T) {
	r := thresherWith(t, t.Context(), "", "duel", "simulate", "--table", "1", "--trials", "3")
	r.WantCode(t, cli.ExitOK)
	wantAll(t, r.Out, "gamma = 1.5, by A, B and D", "does not hold; closest or worst are A, D and F", "beat-the-mean")
	for _, a := range append(duel.Algorithms(), duel.Rank, duel.Copeland) {
		wantAll(t, r.Out, "\n"+string(a)+" ")
	}
}
