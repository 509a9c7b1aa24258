package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"thresher/batch"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/tasks"
)

func TestConfigShow(t *testing.T) {
	file := clitest.WriteFile(t, t.TempDir(), "c.yaml", []byte("delta: 0.2\nseed: 9\n"))
	t.Setenv("THRESHER_CONFIG", file)
	t.Setenv("THRESHER_SEED", "8")

	r := thresher(t, "config", "show", "-k", "3")
	r.WantCode(t, cli.ExitOK)
	for _, want := range [][]string{
		{"delta", "0.2", "file " + file},
		{"seed", "8", "environment THRESHER_SEED"},
		{"k", "3", "flag --k"},
		{"method", "auto", "default"},
	} {
		found := false
		for line := range strings.Lines(r.Out) {
			f := strings.Fields(line)
			found = found || len(f) > 2 && f[0] == want[0] && f[1] == want[1] && strings.Join(f[2:], " ") == want[2]
		}
		if !found {
			t.Errorf("no line %v in\n%s", want, r.Out)
		}
	}

	r = thresher(t, "config", "show", "--json")
	r.WantCode(t, cli.ExitOK)
	var got struct {
		File     string
		Settings []struct {
			Key    string
			Value  any
			Origin struct{ Kind, Name string }
		}
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil {
		t.Fatal(err)
	}
	if got.File != file || len(got.Settings) < 10 {
		t.Errorf("%+v", got)
	}
}

func TestVersion(t *testing.T) {
	// An invalid configuration must not prevent reporting the version.
	t.Setenv("THRESHER_CONFIG", "/nothing/c.yaml")
	r := thresher(t, "version", "--json")
	r.WantCode(t, cli.ExitOK)
	var b buildInfo
	if err := json.Unmarshal([]byte(r.Out), &b); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.Go, "go") || b.Platform == "" || b.Version == "" || b.Kernels == "" {
		t.Errorf("%+v", b)
	}
	r = thresher(t, "version")
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, b.Go) {
		t.Error(r.Out)
	}
}

func TestNamesByFrequency(t *testing.T) {
	got := names(map[string]int64{"exact": 1, "adaptive": 5, "certain": 1}, "auto")
	if got != "adaptive, certain, exact" {
		t.Error(got)
	}
	if names(map[string]int64{}, "auto") != "auto" {
		t.Error("nothing counted is not the other name")
	}
}

// TestSummaryOfPartialAnswers: coordinates left unread because of a deadline are not a
// saving, and the guarantee of complete answers does not cover partial ones.
func TestSummaryOfPartialAnswers(t *testing.T) {
	answer := func(stop batch.Stop, pulls int64) batch.Answer {
		return batch.Answer{Certificate: batch.Certificate{
			Method: batch.Exact, Guarantee: batch.GuaranteeExact, StoppedBy: stop, Pulls: pulls, DensePulls: 100,
		}}
	}
	total, err := readTotals(nil)
	if err != nil {
		t.Fatal(err)
	}
	total.Add(&batch.Response{
		Answers: []batch.Answer{answer(batch.Done, 50), answer(batch.Deadline, 1), answer(batch.Deadline, 0), answer(batch.Done, 30)},
		Stats:   batch.Stats{Pulls: 81, DensePulls: 400, Unfinished: 2},
		Took:    2 * time.Second,
	})
	var s summary
	s.setTotals(total)
	if s.Queries != 4 || s.Complete != 2 || s.QueriesPerSecond != 1 || s.Saving != 2.5 || s.Pulls != 81 {
		t.Errorf("summary %+v", s)
	}
	if want := "bound (2 of 4): stopped early, no vector left out scores above the open bound; exact (2 of 4): none wrong"; s.Promise != want {
		t.Errorf("promise %q, want %q", s.Promise, want)
	}
}

// TestSummaryNamesTheLaw: a summary names the basis of a probability; progress recorded
// without one is accepted, and the summary then omits it.
func TestSummaryNamesTheLaw(t *testing.T) {
	answers := &batch.Response{Answers: []batch.Answer{
		{Certificate: batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawCalibrated, Delta: .25, StoppedBy: batch.Done}},
		{Certificate: batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawCalibrated, Delta: .25, StoppedBy: batch.Done}},
		{Certificate: batch.Certificate{Guarantee: batch.GuaranteeExact, StoppedBy: batch.Done}},
	}}
	former := []byte(`{"queries":2,"allowed":0.5,"guarantees":{"probabilistic":2}}`)
	for _, c := range []struct {
		totals []byte
		added  *batch.Response
		want   string
	}{
		{nil, answers, "probabilistic (calibrated) (2 of 3): each wrong with probability at most 0.25, so up to 0.5 of 2 on average; exact (1 of 3): none wrong"},
		{former, &batch.Response{}, "probabilistic: each wrong with probability at most 0.25, so up to 0.5 of 2 on average"},
		{former, answers, "probabilistic (calibrated) (4 of 5): each wrong with probability at most 0.25, so up to 1 of 4 on average; exact (1 of 5): none wrong"},
	} {
		total, err := readTotals(c.totals)
		if err != nil {
			t.Fatal(err)
		}
		total.Add(c.added)
		text, err := json.Marshal(total)
		if err != nil {
			t.Fatal(err)
		}
		if total, err = readTotals(text); err != nil { // as a resumed run does
			t.Fatal(err)
		}
		s := summary{Delta: .25}
		s.setTotals(total)
		if s.Promise != c.want {
			t.Errorf("promise %q, want %q", s.Promise, c.want)
		}
	}
}

func TestComputingInWords(t *testing.T) {
	for threads, want := range map[int]string{0: "cuda", 1: "cuda, 1 thread", 2: "cuda, 2 threads"} {
		if got := (&summary{Backend: "cuda", Threads: threads}).computing(); got != want {
			t.Errorf("%d threads: %q, want %q", threads, got, want)
		}
	}
}

func TestReadInWords(t *testing.T) {
	const moreThanAll = " (more than all: rows are read in blocks, and those kept again)"
	for _, c := range []struct {
		s    summary
		want string
	}{
		{summary{SearchSummary: tasks.SearchSummary{Queries: 3, Complete: 3, Saving: 14.46}}, "6.9% of the data"},
		{summary{SearchSummary: tasks.SearchSummary{Queries: 3, Complete: 3, Saving: 238}}, "0.42% of the data"},
		{summary{SearchSummary: tasks.SearchSummary{Queries: 3, Complete: 3, Saving: 1.1}}, "91% of the data"},
		{summary{SearchSummary: tasks.SearchSummary{Queries: 3, Complete: 3, Saving: 1}}, "100% of the data"},
		{summary{SearchSummary: tasks.SearchSummary{Queries: 3, Complete: 3, Saving: .5}}, "200% of the data" + moreThanAll},
		{summary{SearchSummary: tasks.SearchSummary{Queries: 3, Complete: 3, Saving: .975}}, "103% of the data" + moreThanAll},
		{summary{SearchSummary: tasks.SearchSummary{Queries: 3, Saving: 1}}, "unknown, as no answer was finished"},
	} {
		if got := c.s.read(); got != c.want {
			t.Errorf("saving %g, %d complete: %q, want %q", c.s.Saving, c.s.Complete, got, c.want)
		}
	}
}

// TestMoreThanAll: a share above 100% is explained, and one that is printed as 100% is not.
func TestMoreThanAll(t *testing.T) {
	for percent, want := range map[float64]string{6.84: "6.8% of it", 99.6: "100% of it", 100.4: "100% of it", 101: "101% of it (more than all: rows are read in blocks, and those kept again)"} {
		if got := describeRead(100/percent, "it"); got != want {
			t.Errorf("%g: %s, want %s", percent, got, want)
		}
	}
}
