package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
)

// TestAnswers compares every answer of a batch with that of a single search.
func TestAnswers(t *testing.T) {
	l := newLab(t, Options{Chunk: 16, Slice: 5})
	const n = 60
	b := l.wait(l.submit("in.jsonl", manyLines(n), Spec{}).ID)
	if b.Status != Completed || b.RequestCounts != (Counts{Total: n, Completed: n, Failed: 0}) || b.ErrorFileID != nil || b.Errors != nil {
		t.Fatalf("%+v", b)
	}
	want := []Pinned{{Name: "films", Version: 10}, {Name: "numbers", Version: 11}, {Name: "names", Version: 12}}
	if d := cmp.Diff(want, b.Collections); d != "" {
		t.Error(d)
	}
	answers := answersOf(t, l.content(b.OutputFileID))
	if len(answers) != n {
		t.Fatalf("%d answers", len(answers))
	}
	seen := map[string]bool{}
	for i, a := range answers {
		if a.CustomID != fmt.Sprint("id-", i) || a.Response == nil || a.Response.Status != 200 || a.Error != nil || seen[a.ID] {
			t.Fatalf("answer %d: %+v", i, a)
		}
		seen[a.ID] = true
		name, m, req := "films", 1+i%3, batch.Request{K: 4}
		switch i % 5 {
		case 1:
			name, m, req = "numbers", 2, batch.Request{K: 3, Method: batch.Exact}
		case 3:
			name, m, req = "names", 1, batch.Request{K: 2}
		}
		req.Queries = gaussian(99, i+m)[i*dim:]
		resp, err := l.atlas.shelf[name].engine.Search(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Response.Body.Results) != m {
			t.Fatalf("answer %d has %d results, want %d", i, len(a.Response.Body.Results), m)
		}
		for q, r := range a.Response.Body.Results {
			var ids []any
			for _, row := range resp.Answers[q].IDs {
				switch name {
				case "films":
					ids = append(ids, json.Number(fmt.Sprint(row)))
				case "numbers":
					ids = append(ids, json.Number(fmt.Sprint(1000+row)))
				case "names":
					ids = append(ids, fmt.Sprintf("n%d", row))
				}
			}
			if d := cmp.Diff(ids, r.IDs); d != "" {
				t.Errorf("answer %d, query %d: ids (-want +got)\n%s", i, q, d)
			}
			if d := cmp.Diff(resp.Answers[q].Scores, r.Scores); d != "" || !r.Complete {
				t.Errorf("answer %d, query %d: scores (-want +got)\n%s", i, q, d)
			}
			if (name == "names") != (r.Certificate != nil) {
				t.Errorf("answer %d: certificate %s", i, r.Certificate)
			}
		}
	}
	if p := b.Progress; p.Queries != 108 || p.Pulls < 1 || p.DensePulls < p.Pulls/4 || p.QueriesPerSecond <= 0 || p.Saving <= 0 || p.SecondsLeft != nil {
		t.Errorf("progress %+v", p)
	}
}

// TestBadLines has every kind of invalid line among valid ones.
func TestBadLines(t *testing.T) {
	good := body(0, 1, "")
	long := line("long", "films", body(0, 40, ""))
	bad := []struct{ text, id, code, field string }{
		{`{"custom_id":"cut","method":"POST","url":"` + films + `","body":{"queries":[[1`, "cut", "error:malformed-body", ""},
		{"garbage", "", "error:malformed-body", ""},
		{"\xff\xfe\x00", "", "error:malformed-body", ""},
		{"[1,2]", "", "error:malformed-body", ""},
		{"null", "", "error:malformed-body", ""},
		{`{"method":"POST","url":"` + films + `","body":` + good + `}`, "", "error:invalid-value", ""},
		{`{"custom_id":"get","method":"GET","url":"` + films + `","body":` + good + `}`, "get", "error:invalid-value", ""},
		{`{"custom_id":"more","method":"POST","url":"` + films + `","body":` + good + `,"else":1}`, "more", "error:unknown-field", ""},
		{`{"custom_id":"nobody","method":"POST","url":"` + films + `"}`, "nobody", "error:invalid-value", ""},
		{`{"custom_id":"list","method":"POST","url":"` + films + `","body":[]}`, "list", "error:invalid-value", ""},
		{`{"custom_id":"url","method":"POST","url":"/v1/embeddings","body":` + good + `}`, "url", "error:invalid-value", ""},
		{`{"custom_id":"host","method":"POST","url":"http://h` + films + `","body":` + good + `}`, "host", "error:invalid-value", ""},
		{strings.TrimSpace(long), "", "error:over-limit", ""},
		{strings.TrimSpace(line("none", "nowhere", good)), "none", "404:unknown-collection", "url"},
		{strings.TrimSpace(line("dim", "films", `{"queries":[[1,2]]}`)), "dim", "400:wrong-dimension", "queries"},
		{strings.TrimSpace(line("zero", "films", `{"queries":[]}`)), "zero", "400:no-queries", "queries"},
		{strings.TrimSpace(line("nan", "films", `{"queries":[[1,2,3,4,5,6,7,1e99]]}`)), "nan", "400:not-finite", "queries"},
		{strings.TrimSpace(line("k", "films", body(0, 1, `,"k":0`))), "k", "400:invalid-value", "k"},
		{strings.TrimSpace(line("big k", "films", body(0, 1, `,"k":1000000000`))), "big k", "400:over-limit", "k"},
		{strings.TrimSpace(line("delta", "films", body(0, 1, `,"delta":2`))), "delta", "400:invalid-value", "delta"},
		{strings.TrimSpace(line("method", "films", body(0, 1, `,"method":"guess"`))), "method", "400:unknown-method", "method"},
		{strings.TrimSpace(line("field", "films", body(0, 1, `,"kk":1`))), "field", "400:unknown-field", "kk"},
		{strings.TrimSpace(line("allow", "films", body(0, 1, `,"allow":[7,900]`))), "allow", "400:unknown-id", "allow"},
		// found by the engine, among others of the same options
		{strings.TrimSpace(line("norm", "films", `{"queries":[[1,2,3,4,5,6,7,8],[3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38]]}`)), "norm", "400:invalid-value", "queries"},
		{strings.TrimSpace(line("plan", "films", body(0, 1, `,"plan":"nonsense"`))), "plan", "400:invalid-value", "plan"},
	}
	var in strings.Builder
	in.WriteString("\xef\xbb\xbf")
	for i, c := range bad {
		in.WriteString(line(fmt.Sprint("good-", i), "films", body(i, 1, "")))
		in.WriteString(c.text + "\r\n\n") // blank lines count as lines
	}
	l := newLab(t, Options{Chunk: 7, Slice: 3, LineBytes: len(long) - 2})
	b := l.wait(l.submit("in.jsonl", in.String(), Spec{}).ID)
	n := int64(len(bad))
	if b.Status != Completed || b.RequestCounts != (Counts{Total: 2 * n, Completed: n, Failed: n}) {
		t.Fatalf("%+v", b)
	}
	for i, a := range answersOf(t, l.content(b.OutputFileID)) {
		if a.CustomID != fmt.Sprint("good-", i) {
			t.Errorf("answer %d is %q", i, a.CustomID)
		}
	}
	errors := answersOf(t, l.content(b.ErrorFileID))
	if len(errors) != len(bad) {
		t.Fatalf("%d errors, want %d", len(errors), n)
	}
	for i, a := range errors {
		var code, field string
		switch {
		case a.Response != nil && a.Error == nil:
			code, field = fmt.Sprintf("%d:%s", a.Response.Status, strings.TrimPrefix(a.Response.Body.Type, "/problems/")), a.Response.Body.Field
		case a.Response == nil && a.Error != nil && a.Error.Message != "":
			code = "error:" + a.Error.Code
		}
		c := bad[i]
		if a.CustomID != c.id || code != c.code || field != c.field || a.Line != int64(3*i+2) {
			t.Errorf("error %d: %q at line %d is %q in %q, want %q %q in %q; %+v", i, a.CustomID, a.Line, code, field, c.id, c.code, c.field, a.Error)
		}
		if c.id == "norm" && (a.Response.Body.Index == nil || *a.Response.Body.Index != 1) {
			t.Errorf("index of the query: %v", a.Response.Body.Index)
		}
	}
}

func TestInvalidFiles(t *testing.T) {
	twice := line("a", "films", body(0, 1, "")) + line("b", "films", body(0, 1, "")) + "\n" +
		line("a", "films", body(0, 1, "")) + "nonsense\n" + `{"custom_id":"b"}` + "\n" + line("a", "numbers", body(0, 1, ""))
	for _, c := range []struct {
		name, file, content string
		spec                Spec
		code                string
		lines               []int64
		says                string
	}{
		{"blank", "in.jsonl", " \n\r\n\n", Spec{}, "empty-file", nil, "in.jsonl"},
		{"UTF-16", "in.jsonl", "\xff\xfe{\x00}\x00\n\x00", Spec{}, "malformed-body", nil, "in.jsonl: is UTF-16; convert it to UTF-8"},
		{"lines that end with CR", "in.jsonl", strings.ReplaceAll(manyLines(3), "\n", "\r"), Spec{}, "malformed-body", nil, "in.jsonl: its lines end with a carriage return alone"},
		{"twice", "in.jsonl", twice, Spec{}, "duplicate-custom-id", []int64{4, 6, 7}, `"a" of line 1`},
		{"too many", "in.jsonl", strings.Repeat("x\n", 101), Spec{}, "over-limit", []int64{101}, "100"},
		{"too many rows", "in.fvecs", fvecs(gaussian(1, 101)), Spec{}, "over-limit", nil, "100"},
		{"cut matrix", "in.fvecs", fvecs(gaussian(1, 10))[:100], Spec{}, "malformed-body", nil, "in.fvecs: row 2"},
		{"another dimension", "in.fvecs", "\x01\x00\x00\x00\x00\x00\x00\x00", Spec{}, "wrong-dimension", nil, "dimension 1"},
		{"no matrix", "in.npy", "hello, this is no matrix", Spec{}, "malformed-body", nil, "in.npy"},
		{"not finite", "in.fvecs", fvecs([]float32{1, 2, 3, 4, 5, 6, 7, float32(math.NaN())}), Spec{}, "malformed-body", nil, "column 7"},
		{"requests as a matrix", "in.jsonl", manyLines(3), Spec{Search: json.RawMessage(`{"k":3}`)}, "malformed-body", nil, "in.jsonl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, Options{Requests: 100})
			b := l.wait(l.submit(c.file, c.content, c.spec).ID)
			if b.Status != Failed || b.FailedAt == nil || b.OutputFileID != nil || b.ErrorFileID != nil || b.Errors == nil {
				t.Fatalf("%+v", b)
			}
			var lines []int64
			for _, e := range b.Errors.Data {
				if e.Code != c.code {
					t.Errorf("code %q", e.Code)
				}
				if e.Line != nil {
					lines = append(lines, *e.Line)
				}
			}
			if d := cmp.Diff(c.lines, lines); d != "" {
				t.Error(d)
			}
			if m := b.Errors.Data[0].Message; !strings.Contains(m, c.says) || strings.Contains(m, l.dir) {
				t.Errorf("message %q, want %q in it", m, c.says)
			}
			if len(l.atlas.pins) > 0 {
				t.Errorf("pins are left: %v", l.atlas.pins)
			}
		})
	}
}

// TestGrouped checks which requests are searched together.
func TestGrouped(t *testing.T) {
	l := newLab(t, Options{Slice: 1000})
	var asked []int
	l.atlas.shelf["films"].before = func(_ context.Context, req batch.Request) error {
		asked = append(asked, len(req.Queries)/dim)
		return nil
	}
	var in strings.Builder
	for i, options := range []string{
		"", `,"k":3`, "", `,"k":3`, `,"delta":0.1`, `,"min_score":1`, `,"allow":[1,2]`, `,"allow":[2,1]`, `,"deny":[1,2]`,
		`,"allow":[1,2]`, `,"k":10`, `,"include":["rounds"]`, `,"method":"exact"`, `,"epsilon":0.5`, `,"timeout_ms":3`, `,"deny":[]`,
	} {
		in.WriteString(line(fmt.Sprint(i), "films", body(i, 1+i%2, options)))
	}
	b := l.wait(l.submit("in.jsonl", in.String(), Spec{}).ID)
	if b.Status != Completed || b.RequestCounts.Failed != 0 {
		t.Fatalf("%+v", b)
	}
	// "" with k 10 (the default), rounds and a timeout are one group; then k 3, delta, ..
	want := []int{6, 4, 1, 2, 3, 2, 1, 1, 2, 2}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("queries of each search (-want +got)\n%s", d)
	}
}

// TestChunkBounds checks that chunks do not exceed the number of queries, and that longer
// requests are chunks by themselves.
func TestChunkBounds(t *testing.T) {
	l := newLab(t, Options{Chunk: 10, Slice: 4})
	var asked []int
	l.atlas.shelf["films"].before = func(_ context.Context, req batch.Request) error {
		asked = append(asked, len(req.Queries)/dim)
		return nil
	}
	var in strings.Builder
	for i, m := range []int{3, 3, 3, 3, 25, 1, 9, 1} {
		in.WriteString(line(fmt.Sprint(i), "films", body(0, m, "")))
	}
	if b := l.wait(l.submit("in.jsonl", in.String(), Spec{}).ID); b.Status != Completed || b.Progress.Queries != 48 {
		t.Fatalf("%+v", b)
	}
	want := []int{4, 4, 1, 3, 4, 4, 4, 4, 4, 4, 1, 4, 4, 2, 1}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("queries of each search (-want +got)\n%s", d)
	}
}

// TestListsCount: the lists of a request count once towards the atoms of a chunk.
func TestListsCount(t *testing.T) {
	l := newLab(t, Options{})
	r := &request{shelf: l.atlas.shelf["films"]}
	for _, c := range []struct {
		options string
		atoms   int
	}{
		{`,"k":3`, 6},
		{`,"k":3,"allow":[1,2,3,4,5]`, 11},
		{`,"k":3,"deny":[1,2]`, 8},
		{`,"min_score":1,"deny":[7]`, 401},
	} {
		if err := r.decode([]byte(body(0, 2, c.options)), l.m.o.Limits); err != nil {
			t.Fatal(err)
		}
		if queries, atoms := r.size(); queries != 2 || atoms != c.atoms {
			t.Errorf("%s: %d queries, %d vectors, want %d", c.options, queries, atoms, c.atoms)
		}
		if r.search.Filter != nil || r.search.Exclude != nil {
			t.Errorf("%s: its lists are kept beside their rows", c.options)
		}
	}
}

// TestGoals: lines with goals are answered like searches with them, and a bad goal fails its own
// line.
func TestGoals(t *testing.T) {
	l := newLab(t, Options{Chunk: 8, Slice: 3})
	goals := []string{
		"", `,"goals":[{"k":1},{"exclude":[0,1,2]}]`, `,"goals":[{"candidates":[5,6,7]},{"k":7}],"k":2`, `,"goals":[{},{"exclude":[5],"candidates":[5,9]}]`,
		`,"goals":[{},{"exclude":[900]}]`, `,"goals":[{}]`,
	}
	want := []batch.Request{
		{K: 10}, {Goals: []batch.QueryGoal{{K: 1}, {K: 10, Exclude: []int64{0, 1, 2}}}}, {Goals: []batch.QueryGoal{{K: 2, Candidates: []int64{5, 6, 7}}, {K: 7}}},
		{Goals: []batch.QueryGoal{{K: 10}, {K: 10, Exclude: []int64{5}, Candidates: []int64{5, 9}}}},
	}
	var in strings.Builder
	for i := range 24 {
		in.WriteString(line(fmt.Sprint(i), "films", body(i, 2, goals[i%6])))
	}
	b := l.wait(l.submit("in.jsonl", in.String(), Spec{}).ID)
	if b.Status != Completed || b.RequestCounts != (Counts{Total: 24, Completed: 16, Failed: 8}) {
		t.Fatalf("%+v", b)
	}
	for _, a := range answersOf(t, l.content(b.OutputFileID)) {
		i, err := strconv.Atoi(a.CustomID)
		if err != nil {
			t.Fatal(err)
		}
		req := want[i%6]
		req.Queries = gaussian(99, i+2)[i*dim:]
		resp, err := l.atlas.shelf["films"].engine.Search(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		for j, r := range a.Response.Body.Results {
			if got, want := fmt.Sprint(r.IDs), fmt.Sprint(resp.Answers[j].IDs); got != want {
				t.Errorf("line %d, query %d: %s, want %s", i, j, got, want)
			}
		}
	}
	if text := l.content(b.ErrorFileID); !strings.Contains(text, "goals[1].exclude") || !strings.Contains(text, "goals has 1 entries for 2 queries") {
		t.Error(text)
	}
}
