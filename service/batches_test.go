package service

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"thresher/service/extension"
)

// job is a batch as clients see it.
type job struct {
	ID, Status string
	Counts     struct{ Total, Completed, Failed int } `json:"request_counts"`
	Output     *string                                `json:"output_file_id"`
	Error      *string                                `json:"error_file_id"`
}

func (j *job) final() bool {
	return strings.Contains("completed failed expired cancelled", j.Status)
}

// over polls a batch until its status is final.
func (s *site) over(id string) job {
	s.t.Helper()
	for begun := time.Now(); time.Since(begun) < soon; runtime.Gosched() {
		var j job
		s.do("GET", "/v1/batches/"+id, nil).want(200).into(&j)
		if j.final() {
			return j
		}
	}
	s.t.Fatal("the batch does not end")
	return job{}
}

// requests returns lines of requests for the collection films; those whose index is in bad
// are invalid.
func requests(n int, bad map[int]bool) []byte {
	var b bytes.Buffer
	for i := range n {
		q, _ := json.Marshal([][]float32{gaussian(uint64(i), dim)})
		if bad[i] {
			q = []byte(`[[1,2]]`)
		}
		fmt.Fprintf(&b, `{"custom_id":"c%d","method":"POST","url":"/v1/collections/films/search","body":{"queries":%s,"k":2,"method":"exact"}}`+"\n", i, q)
	}
	return b.Bytes()
}

func TestBatch(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	file := s.upload("in.jsonl", requests(20, map[int]bool{4: true}), "batch")
	spec := map[string]any{"input_file_id": file, "endpoint": "/v1/collections/films/search", "completion_window": "24h", "metadata": map[string]string{"who": "me"}}
	var made job
	a := s.do("POST", "/v1/batches", spec).want(200)
	a.into(&made)
	if a.header.Get("Location") != "/v1/batches/"+made.ID {
		t.Errorf("at %s", a.header.Get("Location"))
	}
	j := s.over(made.ID)
	if j.Status != "completed" || j.Counts.Total != 20 || j.Counts.Completed != 19 || j.Counts.Failed != 1 || j.Output == nil || j.Error == nil {
		t.Fatalf("%+v", j)
	}
	out := bufio.NewScanner(bytes.NewReader(s.do("GET", "/v1/files/"+*j.Output+"/content", nil).want(200).body))
	i := 0
	for ; out.Scan(); i++ {
		if i == 4 {
			i++
		}
		var line struct {
			CustomID string `json:"custom_id"`
			Response struct {
				Body results
			}
		}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.CustomID != fmt.Sprint("c", i) || line.Response.Body.Results[0].IDs[0].String() != itoa(best(rows, gaussian(uint64(i), dim))) {
			t.Errorf("line %d: %s", i, out.Bytes())
		}
	}
	if i != 20 {
		t.Errorf("%d lines", i)
	}
	if text := s.do("GET", "/v1/files/"+*j.Error+"/content", nil).want(200).body; !bytes.Contains(text, []byte(`"c4"`)) || bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("errors: %s", text)
	}
	if text := string(s.do("GET", "/metrics", nil).body); !strings.Contains(text, `thresher_queries_total{collection="films",guarantee="exact",method="exact"} 19`) || !strings.Contains(text, `thresher_jobs{status="completed"} 1`) {
		t.Error("metrics lack the batch's queries")
	}
	var page struct{ Data []job }
	s.do("GET", "/v1/batches?limit=1", nil).want(200).into(&page)
	if len(page.Data) != 1 || page.Data[0].ID != made.ID {
		t.Errorf("%+v", page)
	}
	s.do("POST", "/v1/batches/"+made.ID+"/cancel", nil).problem(409, "conflict")
	s.do("DELETE", "/v1/batches/"+made.ID, nil).want(200)
	s.do("GET", "/v1/batches/"+made.ID, nil).problem(404, "unknown-batch")
	s.do("DELETE", "/v1/files/"+file, nil).want(200) // no batch holds it any more
}

// stuckBatch starts a batch of n requests whose searches do not end until they are stopped, and
// returns once one has begun.
func (s *site) stuckBatch(n int) (file string, made job) {
	s.t.Helper()
	file = s.upload("in.jsonl", requests(n, nil), "batch")
	begun := make(chan struct{}, 100)
	s.hooks.set(func(ctx context.Context) {
		begun <- struct{}{}
		<-ctx.Done()
	}, nil)
	s.do("POST", "/v1/batches", map[string]any{"input_file_id": file, "endpoint": "/v1/collections/films/search"}).want(200).into(&made)
	<-begun
	return file, made
}

// TestCancelAndHold: a running batch keeps its input, and stops when it is cancelled.
func TestCancelAndHold(t *testing.T) {
	s := start(t, nil)
	s.fill()
	file, made := s.stuckBatch(50)
	s.do("DELETE", "/v1/files/"+file, nil).problem(409, "conflict")
	s.do("DELETE", "/v1/batches/"+made.ID, nil).problem(409, "conflict")
	s.do("POST", "/v1/batches/"+made.ID+"/cancel", `{}`).want(200)
	s.hooks.set(nil, nil)
	if j := s.over(made.ID); j.Status != "cancelled" {
		t.Errorf("%+v", j)
	}
}

// TestBatchGoesOn: a server that stops in the middle of a batch answers the rest after its
// restart.
func TestBatchGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, func(o *Options) { o.BatchChunk = 8 })
	s.fill()
	_, made := s.stuckBatch(64)
	s.stopAll()

	again := startIn(t, dir, nil)
	if j := again.over(made.ID); j.Status != "completed" || j.Counts.Completed != 64 {
		t.Errorf("%+v", j)
	}
}

// TestIdempotency: a request that is repeated under its key is executed once, also across
// restarts; another request under the key is refused, and clients do not see each other's
// keys.
func TestIdempotency(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, guarded)
	s.token = "w-secret"
	s.fill()
	content := requests(3, nil)
	body, kind := form(t, [2]string{"file:a.jsonl", string(content)})
	upload := func(s *site) string {
		var f struct{ ID string }
		s.do("POST", "/v1/files", body, "Content-Type", kind, "Idempotency-Key", "k1").want(200).into(&f)
		return f.ID
	}
	file := upload(s)
	if again := upload(s); again != file {
		t.Errorf("files %s and %s", file, again)
	}
	other, kind2 := form(t, [2]string{"file:a.jsonl", "other"})
	s.do("POST", "/v1/files", other, "Content-Type", kind2, "Idempotency-Key", "k1").problem(422, "idempotency-key-reused")
	s.do("POST", "/v1/files", other, "Content-Type", kind2, "Idempotency-Key", "k2").want(200)
	s.token = "a-secret"
	s.do("POST", "/v1/files", other, "Content-Type", kind2, "Idempotency-Key", "k1").want(200)
	s.token = "w-secret"

	spec := map[string]any{"input_file_id": file, "endpoint": "/v1/collections/films/search"}
	var first, second job
	s.do("POST", "/v1/batches", spec, "Idempotency-Key", "k1").want(200).into(&first)
	s.do("POST", "/v1/batches", spec, "Idempotency-Key", "k1").want(200).into(&second)
	if first.ID != second.ID {
		t.Errorf("batches %s and %s", first.ID, second.ID)
	}
	var rows struct{ Version, Next int64 }
	add := func(s *site, seed uint64) *answer {
		return s.do("POST", "/v1/collections/films/rows?wait", npy(gaussian(seed, dim), dim), "Content-Type", npyType, "Idempotency-Key", "k1")
	}
	add(s, 1).want(200).into(&rows)
	version := rows.Version
	add(s, 1).want(200).into(&rows)
	if rows.Version != version {
		t.Errorf("versions %d and %d", version, rows.Version)
	}
	add(s, 2).problem(422, "idempotency-key-reused")
	s.over(first.ID)
	s.stopAll()

	s = startIn(t, dir, guarded)
	s.token = "w-secret"
	if again := upload(s); again != file {
		t.Errorf("after a restart: files %s and %s", file, again)
	}
	add(s, 1).want(200).into(&rows)
	if rows.Version != version {
		t.Errorf("after a restart: versions %d and %d", version, rows.Version)
	}
}

// TestKeysAreScoped: keys are scoped by client, method and path.
func TestKeysAreScoped(t *testing.T) {
	seen := map[string]string{}
	for _, parts := range [][]string{{"a", "POST", "/p", "k"}, {"b", "POST", "/p", "k"}, {"a", "PUT", "/p", "k"}, {"a", "POST", "/q", "k"}, {"a", "POST", "/p", "l"}, {"aPOST", "", "/p", "k"}, {"a", "POST", "/p4:k", ""}} {
		h := extension.Hash(parts...)
		if seen[h] != "" {
			t.Errorf("%v has the key of %s", parts, seen[h])
		}
		seen[h] = fmt.Sprint(parts)
	}
}

// TestSeriesOfDeletedCollection: a batch continues in a deleted collection and is counted;
// when it ends, the collection's series are removed.
func TestSeriesOfDeletedCollection(t *testing.T) {
	s := start(t, func(o *Options) { o.BatchChunk = 8 })
	s.fill()
	file := s.upload("in.jsonl", requests(64, nil), "batch")
	begun, release := s.held()
	defer release()
	var made job
	s.do("POST", "/v1/batches", map[string]any{"input_file_id": file, "endpoint": "/v1/collections/films/search"}).want(200).into(&made)
	<-begun
	s.do("DELETE", "/v1/collections/films", nil).want(204)
	release()
	if j := s.over(made.ID); j.Counts.Completed != 64 {
		t.Errorf("%+v", j)
	}
	const series = `{collection="films"`
	for begun := time.Now(); time.Since(begun) < soon; runtime.Gosched() { // the pin is removed last
		if !strings.Contains(string(s.do("GET", "/metrics", nil).body), series) {
			return
		}
	}
	t.Error("series of the collection are left")
}
