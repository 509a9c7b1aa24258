package report

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/tasks"
	"thresher/verify"
)

// certificatesOf are certificates of one look each that left so many vectors.
func certificatesOf(left ...int) []batch.Certificate {
	all := make([]batch.Certificate, len(left))
	for j, n := range left {
		all[j] = batch.Certificate{Looks: []batch.LookRecord{{Width: 64, Survivors: n}}, RowsScored: n / 2}
	}
	return all
}

// TestHardness: a fifth of the queries each, by what the first look left; nothing if that is the same of all.
func TestHardness(t *testing.T) {
	groups := hardness(certificatesOf(9, 1, 8, 2, 7, 3, 6, 4, 5, 10))
	want := [][]int{{1, 3}, {5, 7}, {8, 6}, {4, 2}, {0, 9}}
	if len(groups) != len(want) {
		t.Fatalf("%v, want %v", groups, want)
	}
	for g := range want {
		if groups[g][0] != want[g][0] || groups[g][1] != want[g][1] {
			t.Errorf("group %d: %v, want %v", g, groups[g], want[g])
		}
	}
	for name, c := range map[string][]batch.Certificate{
		"all the same": certificatesOf(5, 5, 5, 5, 5, 5, 5, 5, 5, 5), "few": certificatesOf(1, 2, 3), "no looks": make([]batch.Certificate, 20),
	} {
		if got := hardness(c); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestFunnel: medians and deciles of what steps read, no look that most queries did not have, and no more coordinates than
// there are.
func TestFunnel(t *testing.T) {
	c := certificatesOf(10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110)
	c[0].Looks = append(c[0].Looks, batch.LookRecord{Width: 128, Survivors: 3})
	got := funnelOf(c, Spread{1000, 1000, 1000}, 96, Spread{10, 10, 10})
	want := []Stage{
		{"first look", 64, Spread{1000, 1000, 1000}}, {"scored exactly", 96, Spread{10, 30, 50}}, {"the answer", 96, Spread{10, 10, 10}},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("stage %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// TestWords: no share below all is written as all, and numbers are readable.
func TestWords(t *testing.T) {
	for share, want := range map[float64]string{1: "100%", .9999996: "99.99999%", .99951: "99.951%", .5: "50%", .123456: "12.3%", .0123456: "1.2%", 0: "0%"} {
		got := percent(share)
		if got != want && !(share == .9999996 && got != "100%" && strings.HasPrefix(got, "99.9999")) {
			t.Errorf("percent(%v) = %s, want %s", share, got, want)
		}
	}
	for n, want := range map[int64]string{1: "1", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s", n, got)
		}
	}
}

// figures are those of a comparison, with a name that is markup.
func figures() *Figures {
	return &Figures{
		Vectors: Set{Name: "a.npy", Rows: 1000, Dim: 96}, Queries: Set{Name: "q.npy", Rows: 20}, Sampled: 20, Metric: "l2", K: 10,
		Search: Search{
			Method: batch.Certain, Promise: "certain: none wrong", Guarantees: map[batch.Guarantee]int64{batch.GuaranteeCertain: 20},
			Read: .25, Seconds: 1e-4, DenseSeconds: 3e-4, Part: 20, Funnel: funnelOf(certificatesOf(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), Spread{1000, 1000, 1000}, 96, Spread{10, 10, 10}),
		},
		Answers: []Answers{{
			Name: `<b>"&.npz`, Seconds: 2e-5,
			RecallSummary: &tasks.RecallSummary{RecallReport: &verify.RecallReport{
				Queries: 20, Complete: 15, K: 10, Recall: .9, Low: .8, High: .95, Ranks: []verify.RankBand{{From: 1, To: 1, Wanted: 20, Missed: 1}, {From: 2, To: 5, Wanted: 80, Missed: 9}},
			}},
			Hardness: []Group{{From: 1, To: 3, Queries: 4, Recall: .95, Low: .9, High: 1}, {From: 4, To: 9, Queries: 4, Recall: .8, Low: .7, High: .9}},
			Missed: []Miss{{
				Query: 3, Recall: .5, Shown: Shown{Text: "<script>alert(1)</script>"},
				Lacked: []Neighbour{{ID: "7", Rank: 1, Score: 2.5, Shown: Shown{Text: "a & b", Image: "data:image/png;base64,AAAA"}}},
			}},
		}},
		Program: "thresher",
	}
}

// TestWrite: the page has what the figures say, escaped, needs nothing from elsewhere, and its plots are well-formed.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, figures()); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"has 90% of the true 10 nearest neighbours of 20 queries against 1,000 vectors of 96 dimensions by Euclidean distance", "certain: none wrong",
		"25% of the bytes", "3 times faster", "80% to 95%", "15 of 20", "20 µs", "&lt;script&gt;alert(1)", "a &amp; b", "data:image/png;base64,AAAA", "nothing: the answer is short",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{"<b>", "<script", "src=\"http", "href=", "@import", "url("} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %q", not)
		}
	}
	plots := 0
	for rest := text; ; plots++ {
		from := strings.Index(rest, "<svg")
		if from < 0 {
			break
		}
		to := strings.Index(rest, "</svg>") + len("</svg>")
		d := xml.NewDecoder(strings.NewReader(rest[from:to]))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("plot %d: %v", plots, err)
			}
		}
		rest = rest[to:]
	}
	if plots != 4 {
		t.Errorf("%d plots, want 4", plots)
	}
}

// TestWriteSearchAlone: without answers there is the search.
func TestWriteSearchAlone(t *testing.T) {
	f := figures()
	f.Answers, f.Search.DenseSeconds = nil, 0
	var out bytes.Buffer
	if err := Write(&out, f); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "The true 10 nearest neighbours of 20 queries") || strings.Count(text, "<svg") != 1 {
		t.Errorf("%d plots in\n%s", strings.Count(text, "<svg"), text[:2000])
	}
}

// dense answers requests with an answer of one vector a query, and notes how it was asked.
type dense struct{ asked []batch.Method }

func (d *dense) Search(_ context.Context, req batch.Request) (*batch.Response, error) {
	d.asked = append(d.asked, req.Method)
	resp := &batch.Response{Took: time.Millisecond}
	for range len(req.Queries) / 2 {
		resp.Answers = append(resp.Answers, batch.Answer{IDs: []int64{0}, Certificate: batch.Certificate{Guarantee: batch.GuaranteeExact, StoppedBy: batch.Done, RowsScored: 3}})
	}
	if len(req.Queries) == 2 && req.Queries[0] == 7 {
		return nil, &batch.RequestError{Field: "queries", Query: 0, Err: errors.New("is odd")}
	}
	return resp, nil
}

// sampleOf are queries of two values over three atoms.
func sampleOf(n int) *Sample {
	s := &Sample{Atoms: &collection.Collection{N: 3, Dim: 2}, Request: batch.Request{K: 1, Method: batch.Certain}}
	for j := range n {
		s.Add(&batch.Request{Queries: []float32{float32(j % 5), 1}}, []int64{int64(2 * j)}, nil)
	}
	return s
}

// TestSearchOfScans: a search that is itself a dense scan is not compared with another, parts are of one size but the last,
// and an error names the query by its place in the sample.
func TestSearchOfScans(t *testing.T) {
	e, done := &dense{}, []int{}
	s := sampleOf(maxPart + 1)
	found, err := s.Search(t.Context(), e, func(n int) { done = append(done, n) })
	if err != nil {
		t.Fatal(err)
	}
	if found.DenseSeconds != 0 || found.Read != 1 || found.looked() || found.Part != maxPart || found.Seconds != 1e-3/maxPart {
		t.Errorf("%+v", found)
	}
	if len(done) != 2 || done[1] != maxPart+1 || len(e.asked) != 3 { // two parts, of which one is timed beside a scan
		t.Errorf("done %v, asked %v", done, e.asked)
	}
	s.Request.Queries[2*maxPart] = 7
	var named *batch.RequestError
	if _, err := s.Search(t.Context(), e, func(int) {}); !errors.As(err, &named) || named.Query != maxPart {
		t.Errorf("%v", err)
	}
}

// TestOneColourForAFile: answers have the colour that they have by rank also where they stand beside others that state no time.
func TestOneColourForAFile(t *testing.T) {
	f := figures()
	f.Answers = append(f.Answers, f.Answers[0])
	f.Answers[0].Seconds, f.Answers[1].Name = 0, "other.npz"
	ranks, err := f.byRank()
	if err != nil {
		t.Fatal(err)
	}
	times, err := f.byTime()
	if err != nil {
		t.Fatal(err)
	}
	const first, second, third = "#0072B2", "#D55E00", "#009E73" // blue, orange, green
	if text := string(ranks.SVG); !strings.Contains(text, first) || !strings.Contains(text, second) {
		t.Errorf("by rank no %s or %s:\n%s", first, second, text)
	}
	if text := string(times.SVG); strings.Contains(text, first) || !strings.Contains(text, second) || !strings.Contains(text, third) {
		t.Errorf("by time %s, or no %s or %s:\n%s", first, second, third, text)
	}
}

// TestFilterIsSaid: a page about some of the vectors says so where it begins and where it says what is certain.
func TestFilterIsSaid(t *testing.T) {
	for _, test := range []struct {
		of   tasks.Filtered
		want []string
	}{
		{tasks.Filtered{Filter: "year < 1999", Allowed: 120}, []string{
			"by Euclidean distance, with the filter year &lt; 1999.", "best of the 120 vectors, of 1,000, that the filter allows: year &lt; 1999.", "compares a query with every vector that the filter allows.",
		}},
		{tasks.Filtered{FilterColumn: "only"}, []string{
			"by Euclidean distance, each with the filter in its column &#34;only&#34;.", "the expression in its column &#34;only&#34;", "compares a query with every vector that its filter allows.",
		}},
	} {
		f := figures()
		f.Filtered = test.of
		var out bytes.Buffer
		if err := Write(&out, f); err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%+v: the page lacks %q", test.of, want)
			}
		}
	}
}

// TestAllowed: the elimination of a query begins with the vectors that its own filter allows, or else that of all queries.
func TestAllowed(t *testing.T) {
	s := &Sample{Atoms: &collection.Collection{N: 9}}
	for want, part := range map[int]batch.Request{
		9: {Goals: make([]batch.QueryGoal, 1)}, 2: {Filter: []int64{1, 4}}, 0: {Goals: []batch.QueryGoal{{Filter: []int64{}}}}, 1: {Filter: []int64{1, 4}, Goals: []batch.QueryGoal{{Filter: []int64{3}}}},
	} {
		if got := s.allowed(&part, 0); got != want {
			t.Errorf("%+v: %d vectors, want %d", part, got, want)
		}
	}
}
