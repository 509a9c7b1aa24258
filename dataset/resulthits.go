package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"thresher/dataset/jsonscan"
)

// hit is one atom of an answer, as another program names it.
type hit struct {
	id    int64
	name  string // used if named
	named bool
	score float32
	rank  int64
}

// hitList collects the hits of one query. Lists of one file share the kind of ids.
type hitList struct {
	hits   []hit
	scored bool
	kind   idKind
	budget *Budget
	size   int64 // of the memory of hits
}

// hitMemory is what a hit takes beside its name: in hits, and as a Result.
const hitMemory = 64

type idKind int

const (
	idsUnknown idKind = iota
	idsIntegers
	idsTexts
)

// add appends a hit.
func (l *hitList) add(h hit, scored bool) error {
	if len(l.hits) > 0 && scored != l.scored {
		return errors.New("some vectors of the query have scores and others none")
	}
	kind := idsIntegers
	if h.named {
		kind = idsTexts
	}
	if l.kind != idsUnknown && l.kind != kind {
		return errors.New("some ids of the file are integers and others texts; write all of them as texts")
	}
	if l.size += hitMemory + int64(len(h.name)); l.size > l.budget.Block {
		return l.budget.exceeds(l.budget.Block, "the vectors of one query take more than %d bytes", l.budget.Block)
	}
	l.kind, l.scored = kind, scored
	l.hits = append(l.hits, h)
	return nil
}

// take returns the hits as the result of a query and empties the list.
func (l *hitList) take(query int64) Result {
	r := Result{Query: query}
	if l.kind != idsTexts || len(l.hits) == 0 {
		r.Rows = make([]int64, 0, len(l.hits))
	}
	if l.scored && len(l.hits) > 0 {
		r.Scores = make([]float32, 0, len(l.hits))
	}
	for _, h := range l.hits {
		if h.named {
			r.IDs = append(r.IDs, h.name)
		} else {
			r.Rows = append(r.Rows, h.id)
		}
		if l.scored {
			r.Scores = append(r.Scores, h.score)
		}
	}
	l.hits, l.size = l.hits[:0], 0
	return r
}

// jsonHits reads the answers of vector databases: documents {"result": ..} of Qdrant, or
// arrays with a list of hits a query. It holds the hits of one query.
//
//	{"result":[[{"id":7,"score":.9},..],..]}             search/batch
//	{"result":[{"points":[{"id":7,"score":.9},..]},..]}  query/batch
//	{"result":{"points":[..]}}, {"result":[{"id":7,..}]} one query
//	{"result":{"hits":[{"_id":"7","_score":.9},..]}}      one query, of Pinecone with a model
//	[[{"id":7,"distance":.1},..],..]                     such as pymilvus' hits
//	[[7,3],[],[1,..],..]                                 ids alone
type jsonHits struct {
	*source
	guard  byteGuard
	limit  int64 // of the bytes between two answers
	tokens *json.Decoder
	inside hitPlace
	list   hitList
	next   int64
	err    error
}

// hitPlace is where a jsonHits stands between two queries.
type hitPlace int

const (
	outside   hitPlace = iota
	inResult           // among the elements of "result"
	inArray            // among those of a document that is an array
	afterward          // among the fields after "result"
)

func openHits(src *source) *jsonHits {
	j := &jsonHits{source: src, guard: byteGuard{r: src.r, budget: src.budget}, limit: src.budget.Row, list: hitList{budget: src.budget}}
	src.skipMark()
	j.tokens = json.NewDecoder(&j.guard)
	return j
}

func (j *jsonHits) Len() int64 { return -1 }

func (j *jsonHits) Next() (Result, error) {
	if j.err != nil {
		return Result{}, j.err
	}
	if j.err = j.query(); j.err != nil {
		if j.err != io.EOF {
			j.err = j.place(j.err)
		}
		return Result{}, j.err
	}
	j.next++
	return j.list.take(j.next - 1), nil
}

// place adds the query and the position in the file to an error.
func (j *jsonHits) place(err error) error {
	column := int64(-1)
	var c *jsonscan.ElementError
	if errors.As(err, &c) {
		column, err = int64(c.Index), c.Err
	}
	return failAt(j.name, j.next, column, "near byte %d: %w", j.tokens.InputOffset(), cutShort(err))
}

// query reads the hits of the next query; io.EOF after the last document.
func (j *jsonHits) query() error {
	for {
		j.guard.left = j.limit
		switch j.inside {
		case inResult, inArray:
			if j.tokens.More() {
				return j.element()
			}
			if _, err := j.tokens.Token(); err != nil { // the bracket
				return inDocument(err)
			}
			if j.inside == inArray {
				j.inside = outside
			} else {
				j.inside = afterward
			}
		case afterward:
			if err := j.skipFields(); err != nil {
				return err
			}
		default:
			token, err := j.tokens.Token()
			if err != nil {
				return err
			}
			switch token {
			case json.Delim('['):
				j.inside = inArray
			case json.Delim('{'):
				if done, err := j.result(); done || err != nil {
					return err
				}
			default:
				return fmt.Errorf("%v where an object or an array is wanted", token)
			}
		}
	}
}

// inDocument turns the end of the input into an error.
func inDocument(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// result goes to the field "result" of a document. done means that it was the answer to one
// query, which the list now holds.
func (j *jsonHits) result() (done bool, err error) {
	for j.tokens.More() {
		key, err := j.tokens.Token()
		if err != nil {
			return false, inDocument(err)
		}
		var raw json.RawMessage
		if key != "result" {
			if err := j.tokens.Decode(&raw); err != nil {
				return false, inDocument(err)
			}
			continue
		}
		token, err := j.tokens.Token()
		if err != nil {
			return false, inDocument(err)
		}
		switch token {
		case json.Delim('['):
			j.inside = inResult
			if !j.tokens.More() {
				return false, errors.New(`"result" is empty, which is one query without a vector or no query; write {"result":[[]]} for one query`)
			}
			return false, nil
		case json.Delim('{'):
			j.inside = afterward
			return true, j.points()
		}
		return false, fmt.Errorf(`"result" is %v, not the answers; is the response an error?`, token)
	}
	return false, errors.New(`the document has no field "result"`)
}

// skipFields reads a document to its end.
func (j *jsonHits) skipFields() error {
	for j.tokens.More() {
		key, err := j.tokens.Token()
		if err != nil {
			return inDocument(err)
		}
		if key == "result" {
			return errors.New(`field "result" appears twice`)
		}
		var raw json.RawMessage
		if err := j.tokens.Decode(&raw); err != nil {
			return inDocument(err)
		}
	}
	j.inside = outside
	_, err := j.tokens.Token()
	return inDocument(err)
}

// points reads the fields of an object that is one query's answer, up to its end.
func (j *jsonHits) points() error {
	found := false
	for j.tokens.More() {
		key, err := j.tokens.Token()
		if err != nil {
			return inDocument(err)
		}
		var raw json.RawMessage
		if err := j.tokens.Decode(&raw); err != nil {
			return inDocument(err)
		}
		if key != "points" && key != "hits" {
			continue
		}
		if found {
			return fmt.Errorf("field %q appears twice", key)
		}
		found = true
		if err := j.list.parse(raw); err != nil {
			return err
		}
	}
	if !found {
		return errors.New(`"result" is an object without "points" or "hits"`)
	}
	_, err := j.tokens.Token()
	return inDocument(err)
}

// element reads one query from the elements of an array. In "result", hits instead of lists
// are all elements the answer to one query.
func (j *jsonHits) element() error {
	var raw json.RawMessage
	if err := j.tokens.Decode(&raw); err != nil {
		return inDocument(err)
	}
	if raw[0] == '[' {
		return j.list.parse(raw)
	}
	if raw[0] != '{' || j.inside == inArray {
		return fmt.Errorf(`%.40q where the list of a query's hits is wanted: [{"id":..,"score":..},..]`, raw)
	}
	points := -1
	_, err := jsonscan.Fields(raw, 0, func(key []byte, at int) (int, error) {
		if string(key) == "points" {
			if points >= 0 {
				return at, errors.New(`field "points" appears twice`)
			}
			points = at
		}
		return jsonscan.Value(raw, at)
	})
	if err != nil {
		return err
	}
	if points >= 0 {
		return j.list.parse(raw[points:])
	}
	for {
		if err := j.list.hit(raw); err != nil {
			return &jsonscan.ElementError{Index: len(j.list.hits), Err: err}
		}
		if !j.tokens.More() {
			return nil
		}
		j.guard.left = j.limit
		if err := j.tokens.Decode(&raw); err != nil {
			return inDocument(err)
		}
	}
}

// parse parses the list that b begins with.
func (l *hitList) parse(b []byte) error {
	_, err := jsonscan.Elements(b, 0, func(n, at int) (int, error) {
		end, err := jsonscan.Value(b, at)
		if err == nil {
			err = l.hit(b[at:end])
		}
		if err != nil {
			err = &jsonscan.ElementError{Index: n, Err: err}
		}
		return end, err
	})
	return err
}

// hitFields are the names of the fields of a hit: of its id, and of its score or distance.
func hitFields() (id, score []string) {
	return []string{"id", "_id", "corpus_id", "key", "uuid"},
		[]string{"score", "distance", "_score", "_distance", "$dist", "dist", "relevance", "similarity"}
}

// hit parses an object with an id and perhaps a score, or an id alone, and adds it to the list.
func (l *hitList) hit(b []byte) error {
	if b[0] != '{' {
		var h hit
		if _, err := h.parseID(b, 0); err != nil {
			return err
		}
		return l.add(h, false)
	}
	var h hit
	f := hitFound{hit: &h}
	if err := f.fields(b); err != nil {
		return err
	}
	if f.id == "" {
		return fmt.Errorf(`hit has no field "id" (or %s); it has %s`, quoted(f.idNames()[1:]), listed(f.others))
	}
	return l.add(h, f.score != "" && !f.unscored)
}

// hitFound is what is read of the fields of a hit.
type hitFound struct {
	*hit
	id, score string // the fields that have them
	unscored  bool   // the score is null
	others    []string
}

func (f *hitFound) idNames() []string { id, _ := hitFields(); return id }

// fields reads those of an object; under _additional Weaviate has what it says of the hit.
func (f *hitFound) fields(b []byte) error {
	ids, scores := hitFields()
	_, err := jsonscan.Fields(b, 0, func(key []byte, at int) (int, error) {
		name := string(key)
		switch {
		case slices.Contains(ids, name):
			return f.takeID(name, b, at)
		case slices.Contains(scores, name):
			return f.takeScore(name, b, at)
		case name == "_additional" && at < len(b) && b[at] == '{':
			end, err := jsonscan.Value(b, at)
			if err == nil {
				err = f.fields(b[at:end])
			}
			return end, err
		}
		f.others = append(f.others, name)
		return jsonscan.Value(b, at)
	})
	return err
}

func (f *hitFound) takeID(name string, b []byte, at int) (int, error) {
	switch f.id {
	case "":
	case name:
		return at, fmt.Errorf("field %q appears twice", name)
	default:
		return at, fmt.Errorf("hit has both %s and %s, each of which may be its id", f.id, name)
	}
	f.id = name
	return f.parseID(b, at)
}

func (f *hitFound) takeScore(name string, b []byte, at int) (end int, err error) {
	switch f.score {
	case "":
	case name:
		return at, fmt.Errorf("field %q appears twice", name)
	default:
		return at, fmt.Errorf("hit has both %s and %s", f.score, name)
	}
	if f.score = name; name == "_score" && jsonscan.Literal(b, at, "null") { // of hits that are sorted by a field
		f.unscored = true
		return at + len("null"), nil
	}
	f.hit.score, end, err = parseScore(b, at)
	return end, err
}

// parseID parses the id at b[i], an integer or a string.
func (h *hit) parseID(b []byte, i int) (int, error) {
	text, end, err := parseID(b, i)
	if err != nil {
		return end, err
	}
	if b[i] == '"' {
		h.name, h.named = text, true
		return end, nil
	}
	if h.id, err = strconv.ParseInt(text, 10, 64); err != nil {
		return end, fmt.Errorf("id %.40s does not fit int64", text)
	}
	return end, nil
}

// parseScore parses the finite float32 at b[i].
func parseScore(b []byte, i int) (float32, int, error) {
	end := jsonscan.Number(b, i)
	if end < 0 {
		return 0, i, jsonscan.Wanted(b, i, "a score, a finite number,")
	}
	v, err := number(string(b[i:end]))
	return v, end, err
}
