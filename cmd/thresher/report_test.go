package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/tasks/report"
)

// reportOf runs report with --json.
func reportOf(t *testing.T, args ...string) (f report.Figures) {
	t.Helper()
	out := thresher(t, append([]string{"report", "--json"}, args...)...)
	out.WantCode(t, cli.ExitOK)
	if err := json.Unmarshal([]byte(out.Out), &f); err != nil {
		t.Fatalf("%v: %s", err, out.Out)
	}
	return f
}

// TestReport: the figures of answers are those of recall, whole and of the same sample, and groups by hardness have all
// queries.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	worse := worsen(t, atoms, queries, answers, filepath.Join(dir, "worse.jsonl"), 4)
	files := []string{"--vectors", atoms, "--metric", "ip", "--queries", queries}
	out := filepath.Join(dir, "r.html")
	f := reportOf(t, append(files, "--answers", answers+","+worse, "--seconds", "0,3", "--out", out)...)
	if len(f.Answers) != 2 || f.Answers[0].Recall != 1 || f.Answers[0].Missed != nil || f.Answers[0].Seconds != 0 || f.Answers[1].Seconds != 3./200 {
		t.Fatalf("%+v", f.Answers)
	}
	want := recallOf(t, append(files, "--answers", worse)...)
	a := f.Answers[1]
	if a.Recall != want.Recall || a.Low != want.Low || a.High != want.High || a.Complete != want.Complete || a.K != want.K {
		t.Errorf("report %+v\nrecall %+v", a.RecallReport, want.RecallReport)
	}
	var in int64
	for _, g := range a.Hardness {
		in += g.Queries
	}
	if a.Hardness != nil && in != want.Queries {
		t.Errorf("groups of %d queries: %+v", in, a.Hardness)
	}
	if len(a.Missed) != 5 || a.Missed[0].Recall >= 1 || len(a.Missed[0].Lacked) == 0 || a.Missed[0].Lacked[0].Rank != 1 || len(a.Missed[0].Instead) == 0 {
		t.Errorf("missed: %+v", a.Missed)
	}
	if f.Search.Guarantees["certain"]+f.Search.Guarantees["exact"] != 200 || f.Search.Read <= 0 || f.Search.Seconds <= 0 {
		t.Errorf("%+v", f.Search)
	}
	page, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(page), "<svg") || !strings.Contains(string(page), "worse.jsonl") {
		t.Errorf("%d bytes, %v", len(page), err)
	}
	thresher(t, append([]string{"report", "--out", out}, files...)...).WantError(t, out, "exists")
	sampled := recallOf(t, append(files, "--answers", worse, "--sample", "50")...)
	if f := reportOf(t, append(files, "--answers", worse, "--sample", "50")...); f.Sampled != 50 || f.Answers[0].Recall != sampled.Recall {
		t.Errorf("of 50: %+v, recall %v", f.Answers[0].RecallReport, sampled.Recall)
	}
}

// TestReportFiguresAreThePage: a page made of the figures that --json prints is the page, so that neither says what the other
// does not.
func TestReportFiguresAreThePage(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	worse := worsen(t, atoms, queries, answers, filepath.Join(dir, "worse.jsonl"), 4)
	out := filepath.Join(dir, "r.html")
	for _, method := range []string{"certain", "exact", "auto"} {
		f := reportOf(t, "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers+","+worse, "--seconds", ".5,2", "--method", method, "--out", out, "--overwrite")
		var page bytes.Buffer
		if err := report.Write(&page, &f); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(clitest.ReadFile(t, out)), page.String()); diff != "" {
			t.Errorf("%s (-page +of its figures):\n%s", method, diff)
		}
	}
}

// TestReportRefuses: what does not fit together is named, before a page is written.
func TestReportRefuses(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	outside := rewrite(t, answers, filepath.Join(dir, "outside.jsonl"), func(j int, r *dataset.Result) {
		if j == 17 {
			r.Rows[2] = 60
		}
	})
	empty := clitest.WriteFile(t, dir, "empty.jsonl", nil)
	gaps := clitest.WriteFile(t, dir, "gaps.jsonl", []byte(`{"query":0,"ids":[1]}`+"\n"+`{"query":2,"ids":[1]}`+"\n"))
	header := clitest.WriteFile(t, dir, "header.csv", []byte("x0,x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,x11\n"))
	out := filepath.Join(dir, "r.html")
	for _, c := range []struct {
		name                    string
		vectors, queries, given string
		more                    []string
		want                    []string
	}{
		{"no file of answers", atoms, queries, filepath.Join(dir, "none.npz"), nil, []string{"none.npz", "no such file"}},
		{"an empty file of answers", atoms, queries, empty, nil, []string{"empty.jsonl", "empty"}},
		{"answers with gaps", atoms, queries, gaps, nil, []string{"gaps.jsonl", "answer 1", "query 2"}},
		{"another k", atoms, queries, answers, []string{"-k", "4"}, []string{"-k 4", "r.jsonl", "3 vectors"}},
		{"another metric", atoms, queries, answers, []string{"--metric", "l2"}, []string{"r.jsonl", "inner products", "l2", "--metric"}},
		{"rows of another file", atoms, queries, outside, nil, []string{"outside.jsonl", "query 17", "rank 3", "[0, 60)"}},
		{"fewer queries", atoms, vectorFile(t, dir, "fewer.npy", 2, 199, 12), answers, nil, []string{"200 answers", "199 queries", "fewer.npy"}},
		{"another dimension", atoms, vectorFile(t, dir, "wide.npy", 2, 200, 13), answers, nil, []string{"12", "13", "wide.npy"}},
		{"no queries", atoms, header, answers, nil, []string{"header.csv"}},
		{"an empty file of queries", atoms, empty, answers, nil, []string{"empty.jsonl", "empty"}},
		{"no such column", atoms, queries, answers, []string{"--show", "title"}, []string{"--show", "columns"}},
		{"no metric", atoms, queries, answers, []string{"--metric", ""}, []string{"--metric"}},
		{"an id column that there is not", atoms, queries, answers, []string{"--ids", "sku"}, []string{"sku"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"report", "--vectors", c.vectors, "--queries", c.queries, "--answers", c.given, "--metric", "ip", "--out", out}, c.more...)
			thresher(t, args...).WantError(t, c.want...)
			if _, err := os.Stat(out); err == nil {
				t.Error("a page was written")
			}
		})
	}
}

// TestReportShows: texts and images of a column stand beside the neighbours, and vectors are drawn as pictures.
func TestReportShows(t *testing.T) {
	dir := t.TempDir()
	img := image.NewGray(image.Rect(0, 0, 1, 1))
	img.SetGray(0, 0, color.Gray{200})
	var file bytes.Buffer
	if err := png.Encode(&file, img); err != nil {
		t.Fatal(err)
	}
	clitest.WriteFile(t, dir, "b.png", file.Bytes())
	vectors := clitest.WriteFile(t, dir, "a.jsonl", []byte(`{"id":"x","vector":[1,0,0,0],"title":"the <first>"}
{"id":"y","vector":[0,1,0,0],"title":"b.png"}
{"id":"z","vector":[0,0,1,0],"title":null}
`))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte(`{"vector":[1,0,0,0],"title":"asked"}`+"\n"))
	answers := clitest.WriteFile(t, dir, "t.jsonl", []byte(`{"query":0,"ids":["y"]}`+"\n"))
	files := []string{"--vectors", vectors, "--metric", "ip", "--queries", queries, "--answers", answers}
	out := filepath.Join(dir, "r.html")
	f := reportOf(t, append(files, "--show", "title", "--out", out)...)
	m := f.Answers[0].Missed[0]
	if m.Shown.Text != "asked" || m.Lacked[0].ID != "x" || m.Lacked[0].Shown.Text != "the <first>" || m.Instead[0].Shown.Text != "b.png" {
		t.Errorf("%+v", m)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the &lt;first&gt;", "data:image/png;base64,", "asked"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	// a text that ends as names of images do, and can be the name of no file
	long := strings.Repeat("x", 5000) + ".png"
	titled := clitest.WriteFile(t, dir, "o.jsonl", []byte(`{"vector":[1,0],"title":"`+long+`"}`+"\n"+`{"vector":[0,1],"title":"a\u0000.png"}`+"\n"))
	f = reportOf(t, "--vectors", titled, "--metric", "ip", "--queries", titled, "--answers", clitest.WriteFile(t, dir, "o.json", []byte("[[1],[0]]")), "--show", "title")
	if m := f.Answers[0].Missed; len(m) != 2 || !strings.HasPrefix(m[0].Shown.Text, "xxx") && !strings.HasPrefix(m[1].Shown.Text, "xxx") {
		t.Errorf("%+v", m)
	}
	reportOf(t, append(files, "--pixels", "2x2", "--out", out, "--overwrite")...)
	if page, err = os.ReadFile(out); err != nil || strings.Count(string(page), "data:image/png") != 3 {
		t.Errorf("%d pictures, want one of the query, the vector missed and that in its place: %v", strings.Count(string(page), "data:image/png"), err)
	}
	for _, c := range []struct {
		more []string
		says []string
	}{
		{[]string{"--pixels", "3x2", "--out", "n.html"}, []string{"--pixels 3x2", "6 values", "have 4"}},
		{[]string{"--pixels", "2", "--out", "n.html"}, []string{"--pixels 2", "WIDTHxHEIGHT"}},
		{[]string{"--show", "nothing", "--out", "n.html"}, []string{"--show", "nothing"}},
		{[]string{"--out", "n.txt"}, []string{"n.txt", ".html"}},
		{nil, []string{"--out"}},
		{[]string{"--seconds", "1,2", "--out", "n.html"}, []string{"2 times for 1 file"}},
		{[]string{"--seconds=-1", "--out", "n.html"}, []string{"time 1 is -1"}},
		{[]string{"-k", "2", "--out", "n.html"}, []string{"-k 2", "has 1 vector"}},
	} {
		r := thresher(t, append(append([]string{"report"}, files...), c.more...)...)
		r.WantCode(t, cli.ExitInput)
		for _, want := range c.says {
			if !strings.Contains(r.Err, want) {
				t.Errorf("%q: %s, want %q", c.more, r.Err, want)
			}
		}
	}
	more := clitest.WriteFile(t, dir, "two.jsonl", []byte(`{"query":0,"ids":["y"]}`+"\n"+`{"query":1,"ids":["y"]}`+"\n"))
	thresher(t, "report", "--vectors", vectors, "--metric", "ip", "--queries", queries, "--answers", more, "--json").WantError(t, more, "2 answers for the 1 queries")
}

// TestReportWithoutAnswers: the page is about the search.
func TestReportWithoutAnswers(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, _ := searched(t, dir)
	f := reportOf(t, "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k", "3", "--method", "exact")
	if f.K != 3 || f.Answers != nil || f.Search.DenseSeconds != 0 || f.Sampled != 200 {
		t.Errorf("%+v", f)
	}
}

// TestStatedSeconds: the time that a file of answers states is that of the page.
func TestStatedSeconds(t *testing.T) {
	dir := t.TempDir()
	body := clitest.WriteFile(t, dir, "b.json", []byte(`{"answers_version":2,"version":1,"took_ms":1500,"id_kind":"row","results":[]}`))
	other := clitest.WriteFile(t, dir, "o.json", []byte(`[[1,2]]`))
	for path, want := range map[string]float64{body: 1.5, other: 0, filepath.Join(dir, "x.ivecs"): 0} {
		if got, err := dataset.StatedSeconds(path, 3, nil); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", path, got, err, want)
		}
	}
	if _, err := dataset.StatedSeconds(filepath.Join(dir, "none.npz"), 3, nil); err == nil || !strings.Contains(fmt.Sprint(err), "none.npz") {
		t.Errorf("no file: %v", err)
	}
}
