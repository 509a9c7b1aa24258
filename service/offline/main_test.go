package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/crashtest"
	"thresher/internal/vectors"
	"thresher/service/files"
	"thresher/service/problem"
	"thresher/service/wire"
	"thresher/tasks"
)

func TestMain(m *testing.M) {
	crashtest.Main(childhood)
	goleak.VerifyTestMain(m)
}

const dim = 8

// gaussian returns n rows of dimension dim.
func gaussian(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(7, seed))
	return vectors.Gaussian(r, n, dim)
}

// atlas is a library of small collections that are always loaded.
type atlas struct {
	mu      sync.Mutex
	shelf   map[string]*atlasShelf
	pins    map[string][]string // collections by owner
	broken  error               // error of pin
	loading string              // a collection that is not ready until wait is called
}

// atlasShelf is one of its collections; before, if not nil, is called by each search.
type atlasShelf struct {
	name    string
	version int64
	engine  *batch.Engine
	ids     wire.Naming
	before  func(ctx context.Context, req batch.Request) error
	uses    sync.WaitGroup
}

// newAtlas returns an atlas with the collections films (row numbers), numbers (integer ids)
// and names (string ids).
func newAtlas(t testing.TB) *atlas {
	t.Helper()
	a, end, err := buildAtlas()
	t.Cleanup(end)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// buildAtlas is newAtlas without a test; the caller calls end.
func buildAtlas() (a *atlas, end func(), err error) {
	a = &atlas{shelf: map[string]*atlasShelf{}, pins: map[string][]string{}}
	var engines []*batch.Engine
	end = func() {
		for _, e := range engines {
			e.Close() // the process's end frees the memory
		}
	}
	for i, x := range []struct {
		name  string
		atoms int
		ids   wire.Naming
	}{
		{"films", 200, wire.Naming{}},
		{"numbers", 50, wire.Naming{Int: func(row int64) int64 { return 1000 + row }}},
		{"names", 50, wire.Naming{Name: func(row int64) string { return fmt.Sprintf("n%d", row) }}},
	} {
		c, err := collection.Build(context.Background(), gaussian(uint64(i), x.atoms), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
		if err != nil {
			return a, end, err
		}
		e, err := batch.Open(context.Background(), c, cpu.New(cpu.Options{Threads: 1}), nil)
		if err != nil {
			return a, end, err
		}
		engines = append(engines, e)
		a.shelf[x.name] = &atlasShelf{name: x.name, version: int64(10 + i), engine: e, ids: x.ids}
	}
	return a, end, nil
}

func (a *atlas) pin(_ context.Context, name, owner string) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.shelf[name]
	switch {
	case a.broken != nil:
		return 0, a.broken
	case name == a.loading:
		return 0, problem.New(problem.NotReady, "collection %s is being loaded", name)
	case s == nil:
		return 0, problem.New(problem.UnknownCollection, "there is no collection %q", name)
	}
	a.pins[owner] = append(a.pins[owner], name)
	return s.version, nil
}

func (a *atlas) pinAgain(name string, version int64, owner string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.shelf[name]; s == nil || s.version != version {
		return problem.New(problem.UnknownCollection, "there is no version %d of %q", version, name)
	}
	a.pins[owner] = append(a.pins[owner], name)
	return nil
}

func (a *atlas) wait(_ context.Context, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loading == name {
		a.loading = ""
	}
	return nil
}

func (a *atlas) unpin(owner string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pins, owner)
	return nil
}

func (a *atlas) owners(string) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for owner := range a.pins {
		all = append(all, owner)
	}
	return all, nil
}

func (a *atlas) use(_ context.Context, name string, version int64) (shelf, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.shelf[name]; s != nil && s.version == version {
		s.uses.Add(1)
		return s, nil
	}
	return nil, problem.New(problem.UnknownCollection, "there is no version %d of %q", version, name)
}

func (s *atlasShelf) dim() int { return dim }
func (s *atlasShelf) len() int { return s.engine.Collection().N }

func (s *atlasShelf) coordinates() []string   { return nil }
func (s *atlasShelf) naming() wire.Naming     { return s.ids }
func (s *atlasShelf) state() (int64, *uint64) { return 0, nil }
func (s *atlasShelf) release()                { s.uses.Done() }

func (s *atlasShelf) Search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	if s.before != nil {
		if err := s.before(ctx, req); err != nil {
			return nil, err
		}
	}
	return s.engine.Search(ctx, req)
}

func (s *atlasShelf) metric() collection.Metric { return collection.InnerProduct }

func (s *atlasShelf) origin() []float64 { return nil }
func (s *atlasShelf) float64s() bool    { return false }

func (s *atlasShelf) shard() tasks.Shard {
	return tasks.ShardOf(s.engine.Collection(), func(row int) string { return s.id(int64(row)) })
}

func (s *atlasShelf) rows(l *wire.IDList, field string) ([]int64, error) {
	if l == nil {
		return nil, nil
	}
	if l.Where != nil { // of a column that counts the vectors
		numbers := make([]int64, s.len())
		for i := range numbers {
			numbers[i] = int64(i)
		}
		c, err := columns.New(columns.Of("number", numbers))
		if err != nil {
			return nil, err
		}
		rows, err := c.RowsFor(l.Where)
		if err != nil {
			return nil, problem.OfFilter(err, field)
		}
		return rows, nil
	}
	rows := []int64{}
	for i := range l.Len() {
		id := "of another kind"
		switch {
		case s.ids.Textual() && i < len(l.Names):
			id = l.Names[i]
		case !s.ids.Textual() && i < len(l.Ints):
			id = fmt.Sprint(l.Ints[i])
		}
		row := int64(0)
		for row < int64(s.len()) && s.id(row) != id {
			row++
		}
		if row == int64(s.len()) {
			return nil, problem.New(problem.UnknownID, "there is no vector %s", id).At(field, i)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (s *atlasShelf) id(row int64) string {
	if s.ids.Textual() {
		return s.ids.Name(row)
	}
	return fmt.Sprint(s.ids.ID(row))
}

// lab is a Manager with its dependencies, in a folder.
type lab struct {
	t     testing.TB
	dir   string
	db    *bbolt.DB
	files *files.Store
	atlas *atlas
	m     *Manager
	o     Options

	mu    sync.Mutex
	ended map[string]chan struct{}
}

// newLab opens a Manager in a new folder.
func newLab(t testing.TB, o Options) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir(), atlas: newAtlas(t), o: o, ended: map[string]chan struct{}{}}
	l.open()
	t.Cleanup(l.close)
	return l
}

func (l *lab) open() {
	l.t.Helper()
	var err error
	if l.db, err = bbolt.Open(filepath.Join(l.dir, "meta.db"), 0o600, &bbolt.Options{NoSync: true}); err != nil {
		l.t.Fatal(err)
	}
	if l.files, err = files.Open(filepath.Join(l.dir, "files"), l.db, nil); err != nil {
		l.t.Fatal(err)
	}
	l.manage()
}

// manage opens the Manager alone.
func (l *lab) manage() {
	l.t.Helper()
	o := l.o
	o.ended = func(id string) { close(l.end(id)) }
	var err error
	if l.m, err = open(filepath.Join(l.dir, "batches"), l.db, l.atlas, l.files, o); err != nil {
		l.t.Fatal(err)
	}
}

// end returns a channel that is closed when the batch is final.
func (l *lab) end(id string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended[id] == nil {
		l.ended[id] = make(chan struct{})
	}
	return l.ended[id]
}

func (l *lab) close() {
	if l.db == nil {
		return
	}
	if err := errors.Join(l.m.Close(context.Background()), l.db.Close()); err != nil {
		l.t.Error(err)
	}
	l.db = nil
	for _, s := range l.atlas.shelf {
		s.uses.Wait() // every use is released
	}
}

// reopen closes everything and opens it again, as a server that is restarted.
func (l *lab) reopen() {
	l.t.Helper()
	l.close()
	l.open()
}

func (l *lab) upload(name, content string) string {
	l.t.Helper()
	f, err := l.files.Create(context.Background(), name, "batch", "", strings.NewReader(content))
	if err != nil {
		l.t.Fatal(err)
	}
	return f.ID
}

const films = "/v1/collections/films/search"

// submit uploads a file and creates a batch of it.
func (l *lab) submit(name, content string, spec Spec) Batch {
	l.t.Helper()
	spec.InputFileID = l.upload(name, content)
	if spec.Endpoint == "" {
		spec.Endpoint = films
	}
	b, err := l.m.Create(context.Background(), spec, "", "")
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// wait returns the batch once it is final.
func (l *lab) wait(id string) Batch {
	l.t.Helper()
	select {
	case <-l.end(id):
	case <-time.After(5 * time.Minute):
		l.t.Fatalf("batch %s does not end: %+v", id, l.get(id))
	}
	return l.get(id)
}

func (l *lab) get(id string) Batch {
	l.t.Helper()
	b, err := l.m.Get(id)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// content returns the content of a file, "" for none.
func (l *lab) content(id *string) string {
	l.t.Helper()
	if id == nil {
		return ""
	}
	path, _, err := l.files.Path(*id)
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

// body returns a search for m queries, from query first on.
func body(first, m int, options string) string {
	queries := gaussian(99, first+m)[first*dim:]
	var b strings.Builder
	b.WriteString(`{"queries":[`)
	for i := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		row, err := json.Marshal(queries[i*dim : (i+1)*dim])
		if err != nil {
			panic(err)
		}
		b.Write(row)
	}
	return b.String() + "]" + options + "}"
}

// line returns a line of a file of requests.
func line(id, collection, body string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/collections/%s/search","body":%s}`+"\n", id, collection, body)
}

// manyLines returns n valid requests of various options and collections.
func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		switch i % 5 {
		case 1:
			b.WriteString(line(fmt.Sprint("id-", i), "numbers", body(i, 2, `,"k":3,"method":"exact"`)))
		case 3:
			b.WriteString(line(fmt.Sprint("id-", i), "names", body(i, 1, `,"k":2,"include":["certificate"]`)))
		default:
			b.WriteString(line(fmt.Sprint("id-", i), "films", body(i, 1+i%3, `,"k":4`)))
		}
	}
	return b.String()
}

// answer is a line of an output or error file.
type answer struct {
	ID       string `json:"id"`
	CustomID string `json:"custom_id"`
	Response *struct {
		Status    int    `json:"status_code"`
		RequestID string `json:"request_id"`
		Body      struct {
			Version int64 `json:"version"`
			Results []struct {
				IDs         []any           `json:"ids"`
				Scores      []float32       `json:"scores"`
				Complete    bool            `json:"complete"`
				Certificate json.RawMessage `json:"certificate"`
			} `json:"results"`
			Type  string `json:"type"`
			Field string `json:"field"`
			Index *int   `json:"index"`
		} `json:"body"`
	} `json:"response"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Line int64 `json:"line"`
}

func answersOf(t testing.TB, text string) []answer {
	t.Helper()
	var all []answer
	for l := range strings.Lines(text) {
		d := json.NewDecoder(strings.NewReader(l))
		d.UseNumber()
		var a answer
		if err := d.Decode(&a); err != nil {
			t.Fatalf("%v in %q", err, l)
		}
		all = append(all, a)
	}
	return all
}

// fvecs returns v as a file of that format.
func fvecs(v []float32) string {
	var b bytes.Buffer
	if err := dataset.WriteFVecs(&b, len(v)/dim, dim, v); err != nil {
		panic(err) // a buffer accepts everything
	}
	return b.String()
}
