package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/dataset"
	"thresher/internal/cli"
)

// resultsIn reads a file of answers.
func resultsIn(t *testing.T, path string) (all []dataset.Result) {
	t.Helper()
	r, err := dataset.OpenResults(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		x, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
}

// TestFilesSayWhatIsComplete: every form that answers are written in says of each whether it is
// complete and what it is promised, with a deadline or without; the other forms are refused.
func TestFilesSayWhatIsComplete(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 300, 32), vectorFile(t, dir, "q.npy", 2, 40, 32)
	for _, form := range []string{"jsonl", "npz", "parquet"} {
		for deadline, code := range map[string]int{"1ns": cli.ExitDeadline, "10m": cli.ExitOK} {
			out := filepath.Join(dir, deadline+"."+form)
			r := thresher(t, "search", "--metric", "ip", "--vectors", atoms, "--queries", queries, "--chunk", "16", "--deadline", deadline, "--method", "exact", "--out", out)
			r.WantCode(t, code)
			if says := strings.Contains(r.Err, "none wrong"); says != (code == cli.ExitOK) || strings.Contains(r.Err, "bound: stopped early") == says {
				t.Errorf("%s %s: the summary says\n%s", form, deadline, r.Err)
			}
			got := resultsIn(t, out)
			if len(got) != 40 {
				t.Fatalf("%s %s: %d answers", form, deadline, len(got))
			}
			for _, a := range got {
				want := batch.GuaranteeExact
				if code == cli.ExitDeadline {
					want = batch.GuaranteeBound
				}
				if a.Partial != (code == cli.ExitDeadline) || a.Guarantee != string(want) || a.Exact == a.Partial {
					t.Fatalf("%s %s, query %d: partial %v, guarantee %q, exact %v", form, deadline, a.Query, a.Partial, a.Guarantee, a.Exact)
				}
			}
		}
	}
	for _, name := range []string{"r.ivecs", "r.ibin", "r.neighbors.ibin"} {
		r := thresher(t, "search", "--metric", "ip", "--vectors", atoms, "--queries", queries, "--deadline", "10m", "--out", filepath.Join(dir, name))
		r.WantCode(t, cli.ExitInput)
		if !strings.Contains(r.Err, "cannot say which; write .npz, .csv, .parquet or .jsonl") {
			t.Error(r.Err)
		}
	}
}

// TestCertifyKeepsUnfinished: where the deadline stopped a search, certify keeps the answer as it was.
func TestCertifyKeepsUnfinished(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 300, 32), vectorFile(t, dir, "q.npy", 2, 40, 32)
	right := filepath.Join(dir, "right.npz")
	thresher(t, "search", "--metric", "ip", "--vectors", atoms, "--queries", queries, "-k3", "--method", "exact", "--out", right).WantCode(t, cli.ExitOK)
	for _, form := range []string{"jsonl", "npz"} {
		out := filepath.Join(dir, "proven."+form)
		r := thresher(t, "certify", "--metric", "ip", "--vectors", atoms, "--queries", queries, "--answers", right, "--deadline", "1ns", "--out", out)
		r.WantCode(t, cli.ExitDeadline)
		for _, text := range []string{"40 answers are kept as they were", "unknown, as no search was finished in time", "40 of 40 answers unproven", "bound: stopped early"} {
			if !strings.Contains(r.Err, text) {
				t.Errorf("the summary lacks %q:\n%s", text, r.Err)
			}
		}
		want, got := resultsIn(t, right), resultsIn(t, out)
		for j := range want {
			if !slices.Equal(got[j].Rows, want[j].Rows) || !slices.Equal(got[j].Scores, want[j].Scores) || !got[j].Partial || got[j].Guarantee != "bound" {
				t.Fatalf("query %d: %+v, given %+v", j, got[j], want[j])
			}
		}
	}
	// What is kept breaks no promise: its bound holds for it.
	thresher(t, "verify", "--metric", "ip", "--vectors", atoms, "--queries", queries, "-k3", "--answers", filepath.Join(dir, "proven.jsonl")).WantCode(t, cli.ExitOK)
}

// TestResumeOfUnmarkedAnswers: answers that an earlier version stopped, and wrote without a mark, are not
// taken over; complete ones are.
func TestResumeOfUnmarkedAnswers(t *testing.T) {
	const former = `{"queries":8,"partial":%d,"methods":{"exact":8},"guarantees":{"exact":8}}`
	if _, err := readTotals(fmt.Appendf(nil, former, 3)); err == nil || !strings.Contains(err.Error(), "stopped 3 of the answers") {
		t.Errorf("error %v", err)
	}
	if _, err := readTotals(fmt.Appendf(nil, former, 0)); err != nil {
		t.Error(err)
	}
	if _, err := readTotals([]byte(`{"queries":8,"partial":3,"guarantees":{"exact":5,"bound":3}}`)); err != nil {
		t.Error(err)
	}
}
