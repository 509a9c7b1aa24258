package command

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

func TestDuelBadInput(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b")
	one := clitest.WriteFile(t, dir, "one.txt", []byte("a\n"))
	twice := clitest.WriteFile(t, dir, "twice.txt", []byte("a\nb\na\n"))
	latin := clitest.WriteFile(t, dir, "latin.txt", []byte("a\n\nAm\xe9lie\n"))
	binary := clitest.WriteFile(t, dir, "binary.txt", append([]byte("\x7fELF\xff"), make([]byte, 5000)...))
	slates := clitest.WriteFile(t, dir, "ann.json", []byte(`{"version":1,"topics":["x"],"last":0}`))
	broken := clitest.WriteFile(t, dir, "broken.duel", []byte("{}"))
	later := clitest.WriteFile(t, dir, "later.duel", []byte("thresher duel 3\n..."))
	for _, c := range []struct {
		args string
		want string
	}{
		{"duel rum", "did you mean run?"},
		{"duel run", "--arms: no file named"},
		{"duel run --arms " + arms, "--delta (with or without --epsilon), or --horizon, is required"},
		{"duel run --arms " + dir + "/none.txt --horizon 100", "none.txt"},
		{"duel run --arms " + one + " --horizon 100", "one.txt: 1 arms; a tournament has 2 to 2048"},
		{"duel run --arms " + latin + " --horizon 100", `line 3: "Am\xe9lie" is not UTF-8`},
		{"duel run --arms " + twice + " --horizon 100", `line 3: "a" is listed twice; first in line 1`},
		{"duel run --arms " + arms + " --horizon 1.5", "--horizon 1.5 is not a whole number"},
		{"duel run --arms " + arms + " --horizon 1e19", "--horizon 1e+19 is above 2^53"},
		{"duel run --arms " + arms + " --horizon NaN", "--horizon NaN is not a whole number"},
		{"duel run --arms " + arms + " --horizon 1", "horizon 1 is not in [2, 2^53]"},
		{"duel run --arms " + arms + " --horizon 100 --gamma .5", "gamma 0.5 is not in [1, 1e6]"},
		{"duel run --arms " + arms + " --epsilon .4 --delta 5e-324 --algorithm knockout", "delta 5e-324 is not in [2^-1022, 1)"},
		{"duel run --arms " + arms + " --horizon 100 --gamma 0", "--gamma 0"},
		{"duel run --arms " + arms + " --horizon 100 --epsilon .1", "--epsilon 0.1 without --delta: give both"},
		{"duel run --arms " + arms + " --horizon 100 --epsilon .1 --delta .1 --algorithm knockout", "give one of both"},
		{"duel run --arms " + arms + " --delta .1 --algorithm knockout", "epsilon 0 is not in (0, 1/2)"},
		{"duel run --arms " + arms + " --delta 1e-101", "delta 1e-101 is not in [1e-100, 1)"},
		{"duel run --arms " + arms + " --delta .1 --radius wide", "one radius only"},
		{"duel run --arms " + arms + " --epsilon .1 --delta 2", "2 is not in (0, 1)"},
		{"duel run --arms " + arms + " --epsilon .1 --delta 0", "--epsilon 0.1 without --delta: give both, epsilon in (0, 1/2) and delta in (0, 1)"},
		{"duel run --arms " + arms + " --epsilon .1", "--epsilon 0.1 without --delta: give both"},
		{"duel run --arms " + binary + " --horizon 100", `binary.txt, line 1: "\x7fELF\xff`},
		{"duel run --arms " + arms + " --horizon 100 --state " + arms, "arms.txt: is not a tournament; name another file with --state"},
		{"duel run --arms " + arms + " --horizon 100 --overwrite --state " + arms, "arms.txt: is not a tournament, and --overwrite overwrites tournaments only"},
		{"duel run --arms " + arms + " --horizon 100 --overwrite --state " + slates, "ann.json: is not a tournament"},
		{"duel run --horizon x", `duel run: --horizon "x" is not a number, such as 0.05`},
		{"duel run --arms " + arms + " --epsilon .5 --delta .1", "epsilon 0.5 is not in [0, 1/2)"},
		{"duel run --arms " + arms + " --horizon 100 --algorithm borda", `"borda"`},
		{"duel run --arms " + arms + " --horizon 100 --batch -1", "--batch -1"},
		{"duel run --arms " + arms + " --horizon 100 --ratings " + dir, "neither movies.csv nor movies.dat"},
		{"duel run --arms " + arms + " --horizon 100 --ratings " + dir + " --jsonl", "--ratings and --jsonl"},
		{"duel run --horizon 100 --most 10", "--most needs --ratings"},
		{"duel run --horizon 100 --most 10 --ratings " + dir, "--state: no file named"},
		{"duel run --state " + broken, "broken.duel"},
		{"duel run --state " + arms, "is not a tournament; name another file"},
		{"duel run --horizon 100 --arms " + arms + " --epsilon -1 --delta .1", "epsilon -1 is not in [0, 1/2)"},
		{"duel run --arms " + arms + " --delta 5%", `--delta "5%" is not a number, such as 0.05`},
		{"duel run --horizon 100 --most x --ratings " + dir, `--most "x" is not a whole number`},
		{"duel run --arms " + arms + " --delta .1 --judge-timeout 5", `--judge-timeout "5" is not a time, such as 90s or 2m`},
		{"duel run --state " + later, `of version "3", not 1 or 2`},
		{"duel run --state " + dir + "/missing.duel", "--arms starts a tournament there"},
		{"duel run --state " + dir + "/none/new.duel --horizon 100 --arms " + arms, "none/new.duel: no such file"},
		{"duel plan --horizon 100", "--arms 0"},
		{"duel plan --horizon 100 --arms 3", "--gap 0 is not in (0, 1/2]"},
		{"duel plan --horizon 100 --arms 3 --gap .1 --shape round", `--shape "round"`},
		{"duel plan --horizon 100 --arms 3 --gap .1 --shape logistic", "logistic preferences have none"},
		{"duel plan --horizon 100 --arms 3 --gap .4 --gamma 1.5", "above 1/2"},
		{"duel plan --horizon 100 --arms 3 --gap .4 --trials 0", "0 trials"},
		{"duel plan --horizon 100 --arms 3 --gap .4 --trials 9223372036854775807", "are not in [1, 10000000]"},
		{"duel simulate --figure 3", "duel simulate: --figure 3 is neither 1 nor 2"},
		{"duel simulate --figure 2 --gammas .5", "gamma 0.5"},
		{"duel simulate --arms 1", "1 arms"},
		{"duel simulate --arms 3 --out " + dir + "/a.csv --out " + dir + "/./a.csv", "a.csv is given twice"},
		{"duel simulate --arms 3 --out " + dir + "/a.pdf", "figures end in .png or .svg, not in .pdf"},
		{"duel simulate --arms 3 --filter-radius narrow", `radius "narrow" of the filter is neither tight nor wide`},
		{"duel simulate --arms 3 --filter-radius tight,tight", "radius tight of the filter is there twice"},
		{"duel simulate --fixed-arms 20", "apply to figure 2 only"},
		{"duel simulate --out " + arms, "--overwrite"},
		{"duel simulate --out " + dir + " --overwrite", "is a directory"},
		{"duel simulate --out figure.csv --out " + dir + "/none/figure.png", "there is no folder"},
	} {
		thresher(t, strings.Fields(c.args)...).WantError(t, c.want)
	}
	if got := string(clitest.ReadFile(t, arms)); got != "a\nb\n\n" {
		t.Errorf("the arms are now %q", got)
	}
	if clitest.Exists(arms + ".duel") {
		t.Error("a refused tournament left a state")
	}
}

// A refused judgment names its line and the error, and changes nothing.
func TestDuelBadJudgments(t *testing.T) {
	dir := t.TempDir()
	arms := armsFile(t, dir, "a", "b", "c")
	args := []string{"--jsonl", "--arms", arms, quickly}
	duelRun(t, "", args...).WantCode(t, cli.ExitOK)
	before := restored(t, arms+".duel").State()
	id := openDuel(t, arms+".duel")
	for line, want := range map[string]string{
		`{`:                              "line 1:",
		` `:                              "line 1: is empty",
		strings.Repeat("x", 2<<20):       "line 1: has more than 1048576 bytes",
		`{"duel":` + id + `}`:            "give one of winner and a_won",
		`{"duel":999,"winner":"a"}`:      "duel 999: no such duel was issued",
		`{"duel":999,"a_won":true}`:      "duel 999: no such duel was issued",
		`{"duel":` + id + `,"vote":"a"}`: "unknown field",
		`{"duel":0,"a_won":true}`:        "duel 0",
		`{"duel":` + id + `,"a_won":1}`:  "line 1:",
		`{"duel":` + id + `,"winner":"a","a_won":true}`:  "give one of winner and a_won",
		`{"duel":` + id + `,"winner":"z"}`:               `"z" does not take part`,
		`{"duel":` + id + `,"a_won":true} {"duel":999}`:  "extra data after the judgment of duel " + id,
		`{"duel":` + id + `,"a_won":true} and some more`: "extra data after the judgment of duel " + id,
	} {
		r := duelRun(t, line+"\n", args...)
		r.WantCode(t, cli.ExitInput)
		if !strings.Contains(r.Err, want) || strings.Count(r.Err, "\n") != 1 {
			t.Errorf("%s: %s; want %q", line, r.Err, want)
		}
		if diff := cmp.Diff(before, restored(t, arms+".duel").State(), cmpopts.IgnoreFields(duel.State{}, "Open")); diff != "" {
			t.Errorf("%s: state (-before +after)\n%s", line, diff)
		}
	}
}

// openDuel returns the number of a duel whose result a tournament awaits.
func openDuel(t *testing.T, path string) string {
	t.Helper()
	tournament := restored(t, path)
	tournament.Recall()
	duels, err := tournament.Next(1)
	if err != nil || len(duels) != 1 {
		t.Fatal(duels, err)
	}
	return strconv.FormatUint(duels[0].ID, 10)
}

// A line that contradicts an earlier one of its duel is told, and changes nothing; one that repeats it is not.
func TestDuelContradicted(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--jsonl", "--arms", armsFile(t, dir, "a", "b", "c"), "--delta", ".1", "--batch", "1"}
	lines := func(second string) string {
		return `{"duel":1,"a_won":true}` + "\n" + `{"duel":1,` + second + "}\n" + `{"duel":2,"tie":true}` + "\n" + `{"duel":2,"winner":"tie"}` + "\n"
	}
	r := duelRun(t, lines(`"a_won":true`), append(args, "--state", filepath.Join(dir, "same"))...)
	if r.WantCode(t, cli.ExitOK); r.Err != "" {
		t.Error(r.Err)
	}
	r = duelRun(t, lines(`"a_won":false`), append(args, "--state", filepath.Join(dir, "other"))...)
	r.WantCode(t, cli.ExitOK)
	if want := "standard input, line 2: duel 1: a_won false, but line 1 said a_won true, which stands"; !strings.Contains(r.Err, want) || strings.Count(r.Err, "\n") != 1 {
		t.Errorf("%q, want %q", r.Err, want)
	}
	if diff := cmp.Diff(restored(t, filepath.Join(dir, "same")).State(), restored(t, filepath.Join(dir, "other")).State()); diff != "" {
		t.Error(diff)
	}
	// After an undo the duel may be judged otherwise.
	r = duelRun(t, `{"duel":1,"a_won":true}`+"\n"+`{"undo":true}`+"\n"+`{"duel":1,"a_won":false}`+"\n", append(args, "--state", filepath.Join(dir, "undone"))...)
	if r.WantCode(t, cli.ExitOK); strings.Contains(r.Err, "stands") {
		t.Error(r.Err)
	}
}
