package main

import (
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// TestFilterOfJoins: graph and pairs compare the vectors that an expression allows, under their row numbers among all, from a
// file and a prepared collection, and --resume finds the same filter.
func TestFilterOfJoins(t *testing.T) {
	race.Skip(t, "one goroutine")
	dir := t.TempDir()
	films := clitest.WriteFile(t, dir, "films.csv", []byte(filmsCSV))
	prepared, out := filepath.Join(dir, "films.thresher"), filepath.Join(dir, "out.csv")
	thresher(t, "build", "--vectors", films, "--vectors-column", "d0,d1", "--metric", "l2", "--columns", "year,lang", "--out", prepared).WantCode(t, cli.ExitOK)
	for _, in := range [][]string{{"--vectors", films, "--vectors-column", "d0,d1", "--metric", "l2"}, {"--vectors", prepared}} {
		r := thresher(t, append([]string{"graph", "-k", "2", "--filter", "lang = 'go'", "--out", out, "--overwrite"}, in...)...)
		r.WantCode(t, cli.ExitOK)
		if got, want := columnsOfCSV(string(read(t, out)), 2), "source,target 0,3 0,2 2,3 2,0 3,2 3,0"; got != want {
			t.Errorf("%v: graph has %s, want %s", in, got, want)
		}
		if !strings.Contains(r.Err, "allows 3 of the vectors") {
			t.Error(r.Err)
		}
		r = thresher(t, append([]string{"pairs", "--max-distance", "4", "--filter", "lang = 'go'", "--out", out, "--overwrite"}, in...)...)
		r.WantCode(t, cli.ExitOK)
		if got, want := columnsOfCSV(string(read(t, out)), 2), "a,b 2,3"; got != want {
			t.Errorf("%v: pairs has %s, want %s", in, got, want)
		}
		if !strings.Contains(r.Err, "allows 3 of the vectors") {
			t.Error(r.Err)
		}
		for _, verb := range [][]string{{"graph", "-k", "1"}, {"pairs", "--max-distance", "4"}} {
			for filter, want := range map[string]string{"year >": "--filter: filter, character 7", "year > 3000": "--filter: no vector of"} {
				r := thresher(t, append(append(verb, "--filter", filter, "--out", out, "--overwrite"), in...)...)
				r.WantCode(t, cli.ExitInput)
				if !strings.Contains(r.Err, want) {
					t.Errorf("%v %s: %s", verb, filter, r.Err)
				}
			}
		}
		r = thresher(t, append([]string{"graph", "-k", "1", "--filter", "year = 1998", "--out", out, "--overwrite"}, in...)...)
		r.WantCode(t, cli.ExitInput)
		if !strings.Contains(r.Err, "--filter: allows 1 of the vectors, and at least 2 are compared") {
			t.Error(r.Err)
		}
	}
}

// columnsOfCSV are the first columns of each line, separated by blanks.
func columnsOfCSV(text string, n int) string {
	var all []string
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		all = append(all, strings.Join(fields[:min(n, len(fields))], ","))
	}
	return strings.Join(all, " ")
}
