package command

import (
	"bytes"
	"context"
	"encoding/csv"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// little makes a simulation of seconds one of milliseconds.
func little(args ...string) []string {
	all := []string{"slate", "simulate", "--users", "2", "--rounds", "6"}
	if !slices.Contains(args, "--data") {
		all = append(all, "--news-items", "20", "--news-topics", "4")
	}
	return append(all, args...)
}

func TestSlateSimulate(t *testing.T) {
	dir := t.TempDir()
	file, picture := filepath.Join(dir, "a.csv"), filepath.Join(dir, "a.svg")
	thresher(t, little("--figure", "reward", "--out", file, "--out", picture, "--threads", "1")...).WantCode(t, cli.ExitOK)
	rows, err := csv.NewReader(bytes.NewReader(clitest.ReadFile(t, file))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(rows[0], ","), "data,figure,x,algorithm,length,budget,round,users,repeats,reward,reward_sd,reward_se,value,value_sd,value_se,known_value,evaluations"; got != want {
		t.Errorf("%s", got)
	}
	if len(rows) != 1+6*6 || strings.Join(rows[1][:9], ",") != "news,reward,1,afsm,8,1,1,2,1" || strings.Join(rows[36][:9], ",") != "news,reward,6,random,8,1,6,2,1" {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
	svg := string(clitest.ReadFile(t, picture))
	for _, want := range []string{"<svg", "AFSM-UCB", "LSBGreedy", "MCSGreedy", "news: up to 8 items, budget 1"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	r := thresher(t, little("--figure", "reward", "--threads", "3")...)
	r.WantCode(t, cli.ExitOK)
	if r.Out != string(clitest.ReadFile(t, file)) {
		t.Error("3 threads, other outcomes than 1")
	}
}

func TestSlateSimulateAxes(t *testing.T) {
	dir := t.TempDir()
	films := clitest.WriteFile(t, dir, "films.csv", []byte("id,groups,cost\na,X|Y,1\nb,Y,2\nc,Z,3\n"))
	clitest.WriteFile(t, dir, "u.genre", []byte("unknown|0\nDrama|1\nWar|2\n"))
	clitest.WriteFile(t, dir, "u.item", []byte("1|One|||x|0|1|0\n2|Two|||x|0|1|1\n"))
	clitest.WriteFile(t, dir, "u.data", []byte("1\t1\t3\t0\n1\t2\t2\t0\n2\t2\t1\t0\n"))
	for _, c := range []struct {
		args []string
		want []string // x,algorithm,length,budget,round of the first rows
	}{
		{little("--figure", "budget", "--budgets", ".5,2", "--algorithms", "lsb"), []string{"0.5,lsb,8,0.5,6", "2,lsb,8,2,6"}},
		{little("--figure", "cardinality", "--lengths", "1,4", "--algorithms", "random,afsm"), []string{"1,random,1,1,6", "1,afsm,1,1,6", "4,random,4,1,6", "4,afsm,4,1,6"}},
		{little("--data", "ml-100k", "--folder", dir, "--rounds", "1", "--algorithms", "lsb"), []string{"1,lsb,8,0.2,1"}},
		{little("--data", films, "--figure", "cardinality", "--lengths", "2", "--algorithms", "afsm"), []string{"2,afsm,2,0,6"}},
		{little("--data", "songs", "--rounds", "1", "--algorithms", "lsb"), []string{"1,lsb,8,1200,1"}},
		{little("--data", "songs", "--figure", "budget", "--budgets", "400", "--rounds", "1", "--algorithms", "random"), []string{"400,random,8,400,1"}},
		{little("--data", films, "--budget", "3", "--figure", "reward", "--rounds", "1", "--algorithms", "afsm"), []string{"1,afsm,10,3,1"}},
	} {
		r := thresher(t, c.args...)
		r.WantCode(t, cli.ExitOK)
		rows, err := csv.NewReader(strings.NewReader(r.Out)).ReadAll()
		if err != nil || len(rows) != 1+len(c.want) {
			t.Fatalf("%v: %v, %d rows", c.args, err, len(rows))
		}
		for i, want := range c.want {
			if got := strings.Join(rows[i+1][2:7], ","); got != want {
				t.Errorf("%v: row %d is %s, want %s", c.args, i+1, got, want)
			}
		}
	}
}

func TestSlateSimulateBadInput(t *testing.T) {
	dir := t.TempDir()
	two := clitest.WriteFile(t, dir, "two.csv", []byte("id,groups,cost.a,cost.b\na,X|Y,1,2\n"))
	there := clitest.WriteFile(t, dir, "there.csv", nil)
	for _, c := range []struct{ args, want string }{
		{"--figure pie", `--figure "pie" is none of reward, budget, cardinality`},
		{"--data ml-100k --folder " + dir, "--folder: open " + dir + "/u.genre: no such file or directory; MovieLens 100K (ml-100k.zip"},
		{"--data " + dir + "/none.csv", "--data: stat " + dir + "/none.csv"},
		{"--data " + two + " --figure budget", `items have the costs ["a" "b"]`},
		{"--news-items 0", "--news-items 0 is below 1"},
		{"--users 0", "--users 0 is below 1"},
		{"--data songs --users 101", "--users 101: --data songs has 100 listeners"},
		{"--data songs --news-items 5", "--data songs does not use --news-items"},
		{"--rounds -1", "--rounds -1 is below 0"},
		{"--algorithms ucb", `"ucb"`},
		{"--algorithms mcs --news-items 100", "mcs"},
		{"--budgets 1", "--figure reward does not use --budgets"},
		{"--figure budget --lengths 3", "--figure budget does not use --lengths"},
		{"--figure budget --budget 3", "--figure budget does not use --budget"},
		{"--figure cardinality -k 3", "--figure cardinality does not use --length"},
		{"--figure budget --budgets 0", `budget of "cost": 0 is not above 0`},
		{"--figure cardinality --lengths 0", "--lengths: 0 is below 1"},
		{"--data ml-100k --folder " + dir + " --news-items 5", "--data ml-100k does not use --news-items"},
		{"--data " + two + " --news-topics 5", "does not use --news-topics"},
		{"--data " + two + " --folder " + dir, "does not use --folder"},
		{"--folder " + dir, "--data news does not use --folder"},
		{"--out " + there, "there.csv"},
		{"--out " + dir + "/none/x.png", "there is no folder"},
	} {
		thresher(t, little(strings.Fields(c.args)...)...).WantError(t, c.want)
	}
}

func TestSlateSimulateIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := thresherWith(t, ctx, "", little("--rounds", "1000000")...)
	r.WantCode(t, cli.ExitInterrupted)
}
