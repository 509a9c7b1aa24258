package offline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"thresher/service/problem"
)

func TestSpecs(t *testing.T) {
	l := newLab(t, Options{Window: time.Hour})
	lines, matrix := l.upload("a.jsonl", manyLines(1)), l.upload("a.fvecs", fvecs(gaussian(1, 2)))
	zipped, nameless := l.upload("a.jsonl.gz", "x"), l.upload("a", manyLines(1))
	long := strings.Repeat("é", 65)
	spec := func(file, rest string) string {
		return fmt.Sprintf(`{"input_file_id":%q,"endpoint":%q%s}`, file, films, rest)
	}
	for _, c := range []struct {
		body, field string
		kind        problem.Kind // "" if valid
	}{
		{spec(lines, ""), "", ""},
		{spec(nameless, `,"completion_window":"59m","metadata":{"a":"b"}`), "", ""},
		{spec(lines, `,"search":null`), "", ""},
		{spec(matrix, `,"search":{"k":2},"output_format":"npz"`), "", ""},
		{spec(matrix, `,"search":{"min_score":2}`), "", ""},
		{spec(matrix, ""), "", ""},
		{"", "", problem.Malformed},
		{"[]", "", problem.Malformed},
		{spec(lines, "") + "x", "", problem.Malformed},
		{spec(lines, `,"else":1`), "else", problem.UnknownField},
		{spec(lines, `,"completion_window":24`), "completion_window", problem.InvalidValue},
		{spec(lines, `,"metadata":{"a":1}`), "metadata", problem.InvalidValue},
		{spec("", ""), "input_file_id", problem.InvalidValue},
		{spec("file-none", ""), "input_file_id", problem.UnknownFile},
		{`{"input_file_id":"` + lines + `"}`, "endpoint", problem.InvalidValue},
		{`{"input_file_id":"` + lines + `","endpoint":"/v1/chat/completions"}`, "endpoint", problem.InvalidValue},
		{`{"input_file_id":"` + lines + `","endpoint":"/v1/collections/a/b/search"}`, "endpoint", problem.InvalidValue},
		{`{"input_file_id":"` + lines + `","endpoint":"/v1/collections/%zz/search"}`, "endpoint", problem.InvalidValue},
		{`{"input_file_id":"` + lines + `","endpoint":"/v1/collections/none/search"}`, "", problem.UnknownCollection},
		{spec(lines, `,"completion_window":"soon"`), "completion_window", problem.InvalidValue},
		{spec(lines, `,"completion_window":"61m"`), "completion_window", problem.OverLimit},
		{spec(lines, `,"completion_window":"-1h"`), "completion_window", problem.InvalidValue},
		{spec(lines, `,"output_format":"tsv"`), "output_format", problem.InvalidValue},
		{spec(lines, `,"search":[]`), "search", problem.InvalidValue},
		{spec(lines, `,"metadata":{"`+long+`":"b"}`), "metadata", problem.OverLimit},
		{spec(lines, `,"metadata":{"a":"`+strings.Repeat("é", 513)+`"}`), "metadata", problem.OverLimit},
		{spec(lines, `,"metadata":{`+manyMembers(17)+`}`), "metadata", problem.OverLimit},
		{spec(lines, `,"metadata":{`+manyMembers(16)+`}`), "", ""},
		{spec(zipped, ""), "input_file_id", problem.UnsupportedMedia},
		{spec(matrix, `,"search":{"k":0}`), "search.k", problem.InvalidValue},
		{spec(matrix, `,"search":{"k":201}`), "search.k", problem.OverLimit},
		{spec(matrix, `,"search":{"queries":[[1]]}`), "search.queries", problem.UnknownField},
		{spec(matrix, `,"search":{"goals":[{}]}`), "search.goals", problem.UnknownField},
		{spec(matrix, `,"search":{"speed":1}`), "search.speed", problem.UnknownField},
		{spec(matrix, `,"search":{"min_score":2},"output_format":"npz"`), "output_format", problem.InvalidValue},
		{strings.Replace(spec(matrix, `,"search":{"k":2},"output_format":"npz"`), "films", "names", 1), "", ""},
	} {
		s, err := DecodeSpec([]byte(c.body))
		var b Batch
		if err == nil {
			b, err = l.m.Create(context.Background(), s, "", "")
		}
		var p *problem.Problem
		switch {
		case c.kind == "" && err != nil:
			t.Errorf("%s: %v", c.body, err)
		case c.kind == "":
			if l.wait(b.ID).Status != Completed {
				t.Errorf("%s: %+v", c.body, l.get(b.ID))
			}
		case !errors.As(err, &p) || p.Kind != c.kind || p.Field != c.field && c.field != "input_file_id":
			t.Errorf("%s: error %v, want %s in %q", c.body, err, c.kind, c.field)
		}
	}
	if len(l.atlas.pins) > 0 {
		t.Errorf("refused batches have left pins: %v", l.atlas.pins)
	}
	if holders, err := l.files.Owners(idPrefix); err != nil || len(holders) > 0 {
		t.Errorf("refused batches have left holds: %v, %v", holders, err)
	}
}

func manyMembers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"m%d":"v"`, i))
	}
	return strings.Join(all, ",")
}

// TestIdempotency: one key makes one batch, also after a restart and once it is final.
func TestIdempotency(t *testing.T) {
	l := newLab(t, Options{})
	g := block(l.atlas.shelf["films"])
	spec := Spec{InputFileID: l.upload("a.fvecs", fvecs(gaussian(1, 2))), Endpoint: films}
	create := func() Batch {
		t.Helper()
		b, err := l.m.Create(context.Background(), spec, "key", "")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() { ids[i] = create().ID })
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("batches %v", ids)
		}
	}
	l.reopen()
	if b := create(); b.ID != ids[0] {
		t.Errorf("batch %s after a restart", b.ID)
	}
	other := spec
	other.Metadata = map[string]string{"a": "b"}
	if _, err := l.m.Create(context.Background(), other, "key", ""); kindOf(err) != problem.KeyReused {
		t.Errorf("another request: %v", err)
	}
	g.pass(1)
	if b := l.wait(ids[0]); b.Status != Completed {
		t.Errorf("%+v", b)
	}
	if b := create(); b.ID != ids[0] || b.Status != Completed {
		t.Errorf("%+v", b)
	}
	if b, err := l.m.Create(context.Background(), spec, "other key", ""); err != nil || b.ID == ids[0] {
		t.Errorf("%+v, %v", b, err)
	}
	g.pass(1)
	if page, err := l.m.List("", 0, nil); err != nil || len(page.Data) != 2 {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestMadeAgain: a batch that was deleted and is created again under its key, so with the
// same id, is answered anew.
func TestMadeAgain(t *testing.T) {
	l := newLab(t, Options{})
	spec := Spec{InputFileID: l.upload("a.jsonl", manyFilms(2)), Endpoint: films}
	var outputs []string
	for range 2 {
		b, err := l.m.Create(context.Background(), spec, "key", "")
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, *l.wait(b.ID).OutputFileID)
		if err := l.m.Delete(b.ID); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		delete(l.ended, b.ID)
		l.mu.Unlock()
	}
	if outputs[0] == outputs[1] {
		t.Error("the output of a deleted batch is handed over again")
	}
}

func TestTooManyWait(t *testing.T) {
	l := newLab(t, Options{Waiting: 1})
	g := block(l.atlas.shelf["films"])
	spec := Spec{InputFileID: l.upload("a.fvecs", fvecs(gaussian(1, 1))), Endpoint: films}
	for i := range 3 {
		_, err := l.m.Create(context.Background(), spec, fmt.Sprint(i), "")
		var p *problem.Problem
		if i < 2 != (err == nil) || err != nil && (!errors.As(err, &p) || p.Kind != problem.QueueFull || p.RetryAfter == 0) {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	g.pass(2)
}

// TestPinsFail: a batch whose collections cannot be pinned is refused, or fails.
func TestPinsFail(t *testing.T) {
	l := newLab(t, Options{Retry: []time.Duration{}})
	file := l.upload("a.jsonl", manyLines(10))
	l.atlas.broken = errors.New("disk full")
	if _, err := l.m.Create(context.Background(), Spec{InputFileID: file, Endpoint: films}, "k", ""); !errors.Is(err, l.atlas.broken) {
		t.Errorf("error %v", err)
	}
	if err := l.files.Delete(file); err != nil {
		t.Errorf("still held: %v", err)
	}
}

// TestPinsWait: a batch that names a collection which is still loading waits for it.
func TestPinsWait(t *testing.T) {
	l := newLab(t, Options{Retry: []time.Duration{}})
	l.atlas.loading = "numbers"
	if b := l.wait(l.submit("a.jsonl", manyLines(10), Spec{}).ID); b.Status != Completed || b.RequestCounts.Failed != 0 {
		t.Errorf("%+v", b)
	}
}
