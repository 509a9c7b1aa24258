package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/internal/cli/clitest"
)

// TestOverwriteThatFails: a run that starts over and fails before anything is durable leaves no progress and no spool, whatever its verb and its
// output, and what was there before is there whole or not at all.
func TestOverwriteThatFails(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 60, 8)
	good, bad := vectorFile(t, dir, "good.npy", 2, 3, 8), filepath.Join(dir, "bad.npy")
	broken := clitest.ReadFile(t, good)
	copy(broken[len(broken)-4:], "\x00\x00\xc0\x7f") // the last value is NaN
	clitest.WriteFile(t, dir, "bad.npy", broken)
	row := `{"id":"x","lang":"a","v":[1,2,3,4,5,6,7,8]}` + "\n"
	right := clitest.WriteFile(t, dir, "right.jsonl", []byte(row))
	left := clitest.WriteFile(t, dir, "left.jsonl", []byte(row))
	lame := clitest.WriteFile(t, dir, "lame.jsonl", []byte(strings.Replace(row, "8]", "1e400]", 1)))
	search := []string{"search", "--vectors", atoms, "--metric", "ip", "-k", "2", "--queries"}
	truth := []string{"truth", "--vectors", atoms, "--metric", "ip", "-k", "2", "--queries"}
	pursuit := []string{"pursuit", "--vectors", atoms, "--terms", "2", "--signals"}
	for _, x := range []struct {
		args       []string
		fine, fail string
		out        string
	}{
		{search, good, bad, "o.npz"},
		{search, good, bad, "o.parquet"},
		{search, good, bad, "o.jsonl"},
		{truth, good, bad, "o.ivecs"},
		{truth, good, bad, "o.ibin"},
		{truth, good, bad, "o.npz"},
		{pursuit, good, bad, "o.csv"},
		{pursuit, good, bad, "o.npz"},
		{pursuit, good, bad, "o.jsonl"},
		{[]string{"join", "--right", right, "--on", "v", "-k", "1", "--metric", "ip", "--left"}, left, lame, "o.parquet"},
		{[]string{"join", "--right", right, "--on", "v", "-k", "1", "--metric", "ip", "--left"}, left, lame, "o.csv"},
	} {
		t.Run(x.args[0]+" "+x.out, func(t *testing.T) {
			to := t.TempDir()
			out := filepath.Join(to, x.out)
			thresher(t, append(slices.Clone(x.args), x.fine, "--out", out)...).WantCode(t, 0)
			whole := clitest.ReadFile(t, out)
			if r := thresher(t, append(slices.Clone(x.args), x.fail, "--out", out, "--overwrite")...); r.Code == 0 {
				t.Fatalf("the failure did not happen\n%s", r.Err)
			}
			left, err := os.ReadDir(to)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range left {
				switch text := clitest.ReadFile(t, filepath.Join(to, f.Name())); {
				case f.Name() == x.out && string(text) == string(whole):
				case f.Name() == x.out+".progress" && len(left) == 2: // of the complete run before, which was not begun again
				default:
					t.Errorf("left %s of %d bytes", f.Name(), len(text))
				}
			}
		})
	}
}
