package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/backup"
	"thresher/service/catalog"
	"thresher/service/extension"
	"thresher/service/jsonbody"
	"thresher/service/problem"
	"thresher/store"
)

// notes is an extension for tests: texts in the service's database, each with a file of its own. They have idempotency
// keys and expire.
type notes struct {
	keep   time.Duration
	memory int64 // of the share; 0 means 256 MiB
	db     *bbolt.DB
	dir    string
}

// note is the record of a note.
type note struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	Made time.Time `json:"made"`
}

var notesSchema = store.Schema{Root: "notes", Buckets: []store.Entries{
	{Name: "texts", Check: func(id, text []byte) error {
		n, err := readNote(text)
		if err == nil && n.ID != string(id) {
			err = errors.New("it has another id")
		}
		return err
	}},
	{Name: "keys", Check: store.CheckKey},
}}

func readNote(text []byte) (n note, err error) {
	err = store.Unseal(text, &n)
	return n, err
}

func notesIn(tx *bbolt.Tx, bucket string) *bbolt.Bucket {
	if root := tx.Bucket([]byte("notes")); root != nil {
		return root.Bucket([]byte(bucket))
	}
	return nil
}

func (n *notes) Data() extension.Data {
	known := func(tx *bbolt.Tx) (func(string) bool, error) {
		is := map[string]bool{}
		for one, err := range store.Each(notesIn(tx, "texts"), func(_, text []byte) (note, error) { return readNote(text) }) {
			if err == nil {
				is[one.ID] = true
			}
		}
		return func(name string) bool { return is[name] }, nil
	}
	return extension.Data{Records: notesSchema.CheckRecord, Lost: "notes", Folder: backup.Folder{Name: "notes", Known: known}}
}

func (n *notes) Share() extension.Share {
	return extension.Share{Name: "notes", Limit: cmp.Or(n.memory, 256<<20)}
}

func (n *notes) Used() int64 { return 0 }

func (n *notes) Open(_ context.Context, h *extension.Host) error {
	n.db, n.dir = h.Meta, filepath.Join(h.Dir, "notes")
	return errors.Join(os.MkdirAll(n.dir, 0o700), n.db.Update(notesSchema.Create))
}

func (n *notes) Close(context.Context) error { return nil }

func (n *notes) Database() *bbolt.DB { return nil }

func (n *notes) Check(_ context.Context, meta, _ *bbolt.DB, tell func(store.Item)) error {
	if meta == nil {
		return nil
	}
	return meta.View(func(tx *bbolt.Tx) error {
		for one, err := range store.Each(notesIn(tx, "texts"), func(_, text []byte) (note, error) { return readNote(text) }) {
			if err == nil { // else the database is damaged, which the check says
				tell(store.Item{Kind: "note", Name: one.ID, Verdict: store.Intact})
			}
		}
		return nil
	})
}

func (n *notes) Repair(meta *bbolt.DB) error { return meta.Update(notesSchema.Create) }

func (n *notes) Pages() fs.FS { return nil }

func (n *notes) Keep() time.Duration { return n.keep }

func (n *notes) Kind() string { return "notes" }

func (n *notes) Expire(_ context.Context, before time.Time, tell func(id string)) error {
	var old []string
	err := n.db.View(func(tx *bbolt.Tx) error {
		for one, err := range store.Each(notesIn(tx, "texts"), func(_, text []byte) (note, error) { return readNote(text) }) {
			if err == nil && one.Made.Before(before) {
				old = append(old, one.ID)
			}
		}
		return nil
	})
	for _, id := range old {
		if err == nil {
			err = n.remove(id)
			tell(id)
		}
	}
	return err
}

func (n *notes) remove(id string) error {
	err := n.db.Update(func(tx *bbolt.Tx) error { return notesIn(tx, "texts").Delete([]byte(id)) })
	return errors.Join(err, os.Remove(filepath.Join(n.dir, id)))
}

func (n *notes) Routes() []extension.Route {
	return []extension.Route{
		{Method: http.MethodPost, Pattern: "/v1/notes", Write: true, Handle: n.create},
		{Method: http.MethodGet, Pattern: "/v1/notes/{id}", Handle: n.get},
		{Method: http.MethodDelete, Pattern: "/v1/notes/{id}", Write: true, Handle: n.delete},
	}
}

func (n *notes) create(r extension.Call, w http.ResponseWriter) error {
	key, err := r.Key()
	if err != nil {
		return err
	}
	one := note{Made: time.Now()}
	if err := r.Decode(func(text []byte) error {
		return jsonbody.Decode(text, jsonbody.Members{"text": jsonbody.Text("text", &one.Text)})
	}); err != nil {
		return err
	}
	if one.Text == "" {
		return problem.New(problem.InvalidValue, "a note has a text").In("text")
	}
	err = n.db.Update(func(tx *bbolt.Tx) error {
		id, found, err := store.FindKey(notesIn(tx, "keys"), key, one.Text, one.Made)
		if err != nil || found {
			one.ID = string(id)
			return err
		}
		texts := notesIn(tx, "texts")
		number, err := texts.NextSequence()
		if err != nil {
			return err
		}
		one.ID = fmt.Sprintf("note_%08d", number)
		text, err := store.Seal(one)
		if err != nil {
			return err
		}
		return errors.Join(texts.Put([]byte(one.ID), text), store.PutKey(notesIn(tx, "keys"), key, one.Text, []byte(one.ID), one.Made),
			os.WriteFile(filepath.Join(n.dir, one.ID), []byte(one.Text), 0o600))
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/notes/"+one.ID)
	return r.Answer(http.StatusCreated, one)
}

// find returns a note.
func (n *notes) find(id string) (one note, err error) {
	err = n.db.View(func(tx *bbolt.Tx) (err error) {
		text := notesIn(tx, "texts").Get([]byte(id))
		if text == nil {
			return problem.New(problem.UnknownPath, "there is no note %s", id)
		}
		one, err = readNote(text)
		return err
	})
	return one, err
}

func (n *notes) get(r extension.Call, _ http.ResponseWriter) error {
	one, err := n.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	return r.Bounded(int64(len(one.Text)), func(context.Context) error { return r.Answer(http.StatusOK, one) })
}

func (n *notes) delete(r extension.Call, _ http.ResponseWriter) error {
	one, err := n.find(r.PathValue("id"))
	if err == nil {
		err = n.remove(one.ID)
	}
	if err != nil {
		return err
	}
	return r.Answer(http.StatusOK, one)
}

func (n *notes) Description() []byte { return []byte(notesPart) }

// answersOfNotes are the answers that any operation can have.
const answersOfNotes = `
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': {$ref: '#/components/responses/NotFound'}
        default: {$ref: '#/components/responses/Problem'}`

const notesPart = `
paths:
  /v1/notes:
    post:
      operationId: createNote
      summary: Keep a text
      requestBody: {content: {application/json: {schema: {type: object, properties: {text: {type: string}}}}}}
      responses:
        '201': {description: The note, content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}` + answersOfNotes + `
  /v1/notes/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
    get:
      operationId: getNote
      summary: A text
      responses:
        '200': {description: The note, content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}` + answersOfNotes + `
    delete:
      operationId: deleteNote
      summary: Delete a text
      responses:
        '200': {description: What was deleted, content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}` + answersOfNotes + `
components:
  schemas:
    Note:
      type: object
      required: [id, text, made]
      properties: {id: {type: string}, text: {type: string}, made: {type: string}}
`

// tallies is an extension for tests: a number for each collection, in a database of its own.
type tallies struct {
	memory  int64 // of the share; 0 means 512 MiB
	db      *bbolt.DB
	catalog *catalog.Catalog
}

// talliesName is the database of tallies in the data folder.
const talliesName = "tallies.db"

var talliesSchema = store.Schema{Root: "tallies", Buckets: []store.Entries{{Name: "counts", Check: func(_, value []byte) error {
	var t tally
	return store.Unseal(value, &t)
}}}}

// tally is a record of a tally, and the answer about it.
type tally struct {
	Count int `json:"count"`
}

func (a *tallies) Data() extension.Data {
	return extension.Data{Name: talliesName, Of: talliesSchema.CheckRecord}
}

func (a *tallies) Share() extension.Share {
	return extension.Share{Name: "tallies", Limit: cmp.Or(a.memory, 512<<20)}
}

func (a *tallies) Used() int64 { return 0 }

func (a *tallies) Open(_ context.Context, h *extension.Host) error {
	a.catalog = h.Catalog
	return h.Mending(talliesName, func() (err error) {
		a.db, _, err = store.Open(filepath.Join(h.Dir, talliesName), &store.Options{Checks: []store.CheckRecord{topLevel, talliesSchema.CheckRecord}})
		if err != nil {
			return err
		}
		return a.db.Update(talliesSchema.Create)
	})
}

func (a *tallies) Close(context.Context) error {
	if a.db == nil {
		return nil
	}
	return a.db.Close()
}

func (a *tallies) Database() *bbolt.DB { return a.db }

func (a *tallies) Check(_ context.Context, _, own *bbolt.DB, tell func(store.Item)) error {
	if own != nil {
		tell(store.Item{Kind: "tallies", Name: talliesName, Verdict: store.Intact})
	}
	return nil
}

func (a *tallies) Repair(*bbolt.DB) error { return nil }

func (a *tallies) Pages() fs.FS { return nil }

func (a *tallies) Drop(_ context.Context, collection string, first func() error) error {
	if err := first(); err != nil {
		return err
	}
	return a.db.Update(func(tx *bbolt.Tx) error { return counts(tx).Delete([]byte(collection)) })
}

func counts(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket([]byte("tallies")).Bucket([]byte("counts")) }

func (a *tallies) Routes() []extension.Route {
	return []extension.Route{
		{Method: http.MethodGet, Pattern: "/v1/collections/{name}/tally", Handle: func(r extension.Call, _ http.ResponseWriter) error { return a.add(r, 0) }},
		{Method: http.MethodPost, Pattern: "/v1/collections/{name}/tally", Write: true, Params: []string{"twice"}, Handle: func(r extension.Call, _ http.ResponseWriter) error {
			twice, err := r.Bool("twice")
			if err != nil {
				return err
			}
			return r.InTurn(func([]byte, time.Duration) error {
				if twice {
					return a.add(r, 2)
				}
				return a.add(r, 1)
			})
		}},
	}
}

// add adds n to the tally of a collection and answers with it.
func (a *tallies) add(r extension.Call, n int) error {
	name := r.PathValue("name")
	if _, err := a.catalog.Get(name); err != nil {
		return err
	}
	var t tally
	if err := a.db.Update(func(tx *bbolt.Tx) error {
		if old := counts(tx).Get([]byte(name)); old != nil {
			if err := store.Unseal(old, &t); err != nil {
				return err
			}
		}
		if n == 0 {
			return nil
		}
		t.Count += n
		text, err := store.Seal(t)
		return errors.Join(err, counts(tx).Put([]byte(name), text))
	}); err != nil {
		return err
	}
	return r.Answer(http.StatusOK, t)
}

func (a *tallies) Description() []byte {
	operation := func(method, id, more string) string {
		return "    " + method + ":\n      operationId: " + id + "\n      summary: The tally\n" + more +
			"      responses:\n        '200': {description: The tally, content: {application/json: {schema: {$ref: '#/components/schemas/Tally'}}}}" + answersOfNotes + "\n"
	}
	return []byte("paths:\n  /v1/collections/{name}/tally:\n    parameters:\n      - {$ref: '#/components/parameters/name'}\n" +
		operation("get", "getTally", "") +
		operation("post", "addTally", "      parameters:\n        - {name: twice, in: query, schema: {type: boolean}}\n      requestBody: {content: {application/json: {schema: {type: object}}}}\n") +
		"components:\n  schemas:\n    Tally: {type: object, required: [count], properties: {count: {type: integer}}}\n")
}

// write keeps a note and returns its id.
func (s *site) write(text string) string {
	s.t.Helper()
	var made note
	s.do("POST", "/v1/notes", map[string]string{"text": text}).want(201).into(&made)
	return made.ID
}

// written returns the notes that the database has, by id.
func (s *site) written() map[string]string {
	s.t.Helper()
	got := map[string]string{}
	_ = s.db.View(func(tx *bbolt.Tx) error {
		for one, err := range store.Each(notesIn(tx, "texts"), func(id, _ []byte) (string, error) { return string(id), nil }) {
			if err == nil {
				got["note "+one] = ""
			}
		}
		return nil
	})
	for name := range got {
		id := strings.TrimPrefix(name, "note ")
		var one note
		s.do("GET", "/v1/notes/"+id, nil).want(200).into(&one)
		text, err := os.ReadFile(filepath.Join(s.o.Dir, "notes", id))
		if err != nil || string(text) != one.Text {
			s.t.Errorf("the file of %s: %s, %v", id, text, err)
		}
		got[name] = one.Text
	}
	return got
}

// TestTalliesOfCollections: what an extension keeps of a collection goes with it, and one of the same name has none.
func TestTalliesOfCollections(t *testing.T) {
	s := start(t, nil)
	s.fill()
	const tallyOf = "/v1/collections/films/tally"
	var got tally
	s.do("POST", tallyOf+"?twice", `{}`).want(200)
	if s.do("POST", tallyOf, `{}`).want(200).into(&got); got.Count != 3 {
		t.Errorf("%+v", got)
	}
	if p := s.do("POST", tallyOf+"?twice=perhaps", `{}`).problem(400, "invalid-value"); p.Field != "twice" {
		t.Errorf("%+v", p)
	}
	s.do("DELETE", "/v1/collections/films", nil).want(204)
	s.do("GET", tallyOf, nil).problem(404, "unknown-collection")
	s.fill()
	if s.do("GET", tallyOf, nil).want(200).into(&got); got.Count != 0 {
		t.Errorf("%+v", got)
	}
}

// TestTurnsOfExtensions: what an extension has bounded takes its turn among searches, and waits no longer than any
// search may take.
func TestTurnsOfExtensions(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Searches = 1 })
	at := "/v1/notes/" + s.write("short")
	s.o.Timeouts.Search = 100 * time.Millisecond
	held, err := s.turnOf(context.Background(), "address 127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	s.do("GET", at, nil).problem(504, "deadline")
	held.end()
	s.o.Timeouts.Search = noHurry.Search
	s.do("GET", at, nil).want(200)
}

// TestRoomOfExtensions: a large answer of an extension waits for memory, a small one does not.
func TestRoomOfExtensions(t *testing.T) {
	s := start(t, nil)
	small, large := "/v1/notes/"+s.write("short"), "/v1/notes/"+s.write(strings.Repeat("x", 2*smallBody))
	defer s.fullOfAnswers()()
	s.do("GET", small, nil).want(200)
	s.o.Timeouts.Search = 50 * time.Millisecond
	s.do("GET", large, nil).problem(504, "deadline")
}

// fullOfAnswers takes all memory of answers, and the floor of the test's client, until it is
// released.
func (s *site) fullOfAnswers() (release func()) {
	h := s.answers.Hold("address 127.0.0.1", s.o.Limits.Answers, nil)
	for _, n := range []int64{1 << 20, s.o.Limits.Answers} {
		if err := h.Grow(s.t.Context(), n); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := h.Settle(); err != nil {
		s.t.Fatal(err)
	}
	return h.Release
}
