package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestJoinEmpty: a table that has columns and no rows joins with nothing; --how left keeps the rows of the left one.
func TestJoinEmpty(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, rows int) string {
		format, _ := dataset.FormatOf(name)
		var b strings.Builder
		columns := []dataset.ValueColumn{{Name: "n", Kind: dataset.IntegerValue}, {Name: "d0", Kind: dataset.FloatValue}, {Name: "d1", Kind: dataset.FloatValue}}
		err := dataset.WriteValues(&b, format, columns, nil, func(do func([]dataset.Value) error) error {
			for i := range rows {
				float := dataset.Value{Kind: dataset.FloatValue, Float: float64(i + 1)}
				if err := do([]dataset.Value{{Kind: dataset.IntegerValue, Integer: int64(i)}, float, float}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return clitest.WriteFile(t, dir, name, []byte(b.String()))
	}
	full, none, vectors := write("full.csv", 2), write("none.csv", 0), clitest.WriteFile(t, dir, "vectors.csv", []byte("d0,d1\n"))
	blank := clitest.WriteFile(t, dir, "blank.csv", []byte("\n\n"))
	for _, c := range []struct {
		left, right, how string
		rows, dim        int
		want             string
	}{
		{full, none, "inner", 2, 2, "n,n_right,rank,score\n"},
		{full, none, "left", 2, 2, "n,n_right,rank,score\n0,,,\n1,,,\n"},
		{full, vectors, "left", 2, 2, "n,rank,score\n0,,\n1,,\n"},
		{none, full, "left", 0, 2, "n,n_right,rank,score\n"},
		{none, none, "inner", 0, 0, "n,n_right,rank,score\n"},
	} {
		out := filepath.Join(dir, "out.csv")
		args := []string{"join", "--left", c.left, "--right", c.right, "--on", "d*", "--metric", "ip", "--how", c.how, "--out", out, "--overwrite"}
		var s joinSummary
		r := thresher(t, append(args, "--json")...)
		if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
			t.Fatal(r, err)
		}
		if got := string(clitest.ReadFile(t, out)); got != c.want || s.Rows != int64(c.rows) || s.Dimension != c.dim || s.Pairs != 0 || s.Matched != 0 || s.Promise != "exact: none wrong" {
			t.Errorf("%s with %s, %s: %q and %+v, want %q", c.left, c.right, c.how, got, s, c.want)
		}
	}
	keyed := []string{"join", "--left", full, "--right", none, "--on", "d0,d1", "--by", "n", "--metric", "ip", "--how", "left", "--out", filepath.Join(dir, "keyed.csv"), "--resume"}
	for range 2 {
		thresher(t, keyed...).WantCode(t, cli.ExitOK)
	}
	if got := string(clitest.ReadFile(t, filepath.Join(dir, "keyed.csv"))); got != "n,rank,score\n0,,\n1,,\n" {
		t.Errorf("by a key: %q", got)
	}
	for _, c := range [][3]string{{none, "v", "none.csv: no such column"}, {blank, "d*", "blank.csv: no rows"}} {
		r := thresher(t, "join", "--left", c[0], "--right", full, "--left-on", c[1], "--right-on", "d*", "--metric", "ip", "--out", filepath.Join(dir, "x.csv"))
		r.WantError(t, c[2])
	}
}
