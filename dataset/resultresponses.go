package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"thresher/dataset/jsonscan"
)

// responseShape says where a response, one JSON document, has the hits of its queries.
type responseShape struct {
	program string
	// telling is the field of the document by which the shape is known, path what follows it down to the hits of a
	// query: names of fields, "*" for the only field, "[]" for each element of a list, which are the queries. A name
	// that ends with "?" may be missing where there are no hits.
	telling, path string
	// counts is the field of the document with the number of hits of each query, by which a list without lists is
	// divided; without the field the list is the answer to one query.
	counts string
	// documents says that ids are those of Vespa's documents, id:NAMESPACE:TYPE:KEY:ID, of which the last part counts.
	documents bool
	// ids says that the hits are lists of ids, with lists of the same form in the field ids names beside them.
	ids string
}

// responseShapes are the shapes of responses that are documents, but those of a "result", which jsonHits streams.
// internal/shapes has an example of each.
var responseShapes = []responseShape{
	{program: "Elasticsearch, OpenSearch (_msearch)", telling: "responses", path: "[] hits hits"},
	{program: "Elasticsearch, OpenSearch (_search)", telling: "hits", path: "hits"},
	{program: "Milvus", telling: "data", path: "", counts: "topks"},
	{program: "Weaviate", telling: "data", path: "Get *"},
	{program: "Pinecone", telling: "matches", path: ""},
	{program: "turbopuffer", telling: "rows", path: ""},
	{program: "Vespa", telling: "root", path: "children?", documents: true},
	{program: "Chroma", telling: "ids", path: "[]", ids: "distances"},
}

// shapeOf returns the shape that a field with this value tells of, nil for none.
func shapeOf(field string, value []byte) *responseShape {
	for i := range responseShapes {
		if s := &responseShapes[i]; s.telling == field && s.likely(value) {
			return s
		}
	}
	return nil
}

// likely reports whether a value is an object, a list of objects or one of lists, whichever the shape has; thresher's
// own lines have lists of numbers and texts under the same names.
func (s *responseShape) likely(value []byte) bool {
	switch {
	case s.ids != "":
		return startsWith(value, "[[")
	case s.counts != "":
		return startsWith(value, "[")
	case s.path == "" || s.path[0] == '[':
		return startsWith(value, "[{") || startsWith(value, "[]")
	}
	return startsWith(value, "{")
}

// responses reads documents of one of the shapes, one after the other. It holds one document and its answers.
type responses struct {
	*source
	guard  byteGuard
	tokens *json.Decoder
	shape  *responseShape
	list   hitList
	found  []Result // of the document that are not handed on
	next   int64
	err    error
}

func openResponses(src *source, shape *responseShape) *responses {
	r := &responses{source: src, guard: byteGuard{r: src.r, budget: src.budget}, shape: shape, list: hitList{budget: src.budget}}
	src.skipMark()
	r.tokens = json.NewDecoder(&r.guard)
	return r
}

func (r *responses) Len() int64 { return -1 }

func (r *responses) Next() (Result, error) {
	for len(r.found) == 0 && r.err == nil {
		if r.err = r.document(); r.err != nil && r.err != io.EOF {
			at := int64(-1)
			var element *jsonscan.ElementError
			if errors.As(r.err, &element) {
				at = int64(element.Index)
			}
			r.err = failAt(r.name, r.next+int64(len(r.found)), at, "%w", cutShort(r.err))
			r.found = nil
		}
	}
	if len(r.found) == 0 {
		return Result{}, r.err
	}
	first := r.found[0]
	first.Query, r.found = r.next, r.found[1:]
	r.next++
	return first, nil
}

// document reads the next document; io.EOF after the last.
func (r *responses) document() error {
	r.guard.left = r.budget.Row
	if !r.tokens.More() {
		_, err := r.tokens.Token()
		return err
	}
	var b json.RawMessage
	if err := r.tokens.Decode(&b); err != nil {
		return inDocument(err)
	}
	value, err := fieldOf(b, r.shape.telling)
	if err == nil {
		err = r.answers(b, value)
	}
	if err != nil {
		return fmt.Errorf("response of %s: %w", r.shape.program, err)
	}
	return nil
}

// answers appends the answers in a document, of which value is the field that tells the shape.
func (r *responses) answers(document, value []byte) error {
	switch {
	case r.shape.ids != "":
		return r.columns(document, value)
	case r.shape.counts != "" && !startsWith(value, "[["):
		return r.counted(document, value)
	case r.shape.counts != "":
		return r.walk(value, []string{"[]"})
	}
	return r.walk(value, strings.Fields(r.shape.path))
}

// walk follows a path from a value to the lists of hits, and appends the answers.
func (r *responses) walk(value []byte, path []string) error {
	if len(path) == 0 {
		return r.hits(value)
	}
	switch name := path[0]; name {
	case "[]":
		_, err := jsonscan.Elements(value, 0, func(_, at int) (int, error) {
			end, err := jsonscan.Value(value, at)
			if err == nil {
				err = r.walk(value[at:end], path[1:])
			}
			return end, err
		})
		return err
	case "*":
		inside, err := onlyField(value)
		if err != nil {
			return err
		}
		return r.walk(inside, path[1:])
	default:
		called, optional := strings.CutSuffix(name, "?")
		inside, err := fieldOf(value, called)
		if optional && errors.Is(err, errNoField) {
			inside, err = []byte("[]"), lacksHits(value)
		}
		if err != nil {
			return err
		}
		return r.walk(inside, path[1:])
	}
}

// lacksHits refuses an object without hits that states an error in their place.
func lacksHits(value []byte) error {
	if said, err := fieldOf(value, "errors"); err == nil {
		return fmt.Errorf("no answers, but errors: %.200s", said)
	}
	return nil
}

// hits appends the answer of a list.
func (r *responses) hits(list []byte) error {
	if err := r.list.parse(list); err != nil {
		return err
	}
	found := r.list.take(0)
	if r.shape.documents {
		for i, id := range found.IDs {
			if parts := strings.SplitN(id, ":", 5); len(parts) == 5 && parts[0] == "id" {
				found.IDs[i] = parts[4]
			}
		}
	}
	r.found = append(r.found, found)
	return nil
}

// counted appends the answers of one list, which a field of the document divides.
func (r *responses) counted(document, list []byte) error {
	raw, err := fieldOf(document, r.shape.counts)
	if errors.Is(err, errNoField) {
		return r.hits(list)
	}
	var counts []int
	if err == nil {
		err = json.Unmarshal(raw, &counts)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.shape.counts, err)
	}
	query, seen := 0, 0
	flush := func() {
		for query < len(counts) && seen >= counts[query] {
			r.found = append(r.found, r.list.take(0))
			query, seen = query+1, 0
		}
	}
	n := 0
	_, err = jsonscan.Elements(list, 0, func(_, at int) (int, error) {
		flush()
		if query == len(counts) {
			return at, fmt.Errorf("more hits than the %d that %s counts", n, r.shape.counts)
		}
		end, err := jsonscan.Value(list, at)
		if err == nil {
			err = r.list.hit(list[at:end])
		}
		if err != nil {
			return end, &jsonscan.ElementError{Index: n, Err: err}
		}
		seen, n = seen+1, n+1
		return end, nil
	})
	if err != nil {
		return err
	}
	if flush(); query < len(counts) {
		return fmt.Errorf("%d hits, fewer than %s counts: query %d of the document has %d of %d", n, r.shape.counts, query, seen, counts[query])
	}
	return nil
}

// columns appends the answers of lists of ids, beside which there may be as many lists of scores.
func (r *responses) columns(document, ids []byte) error {
	var scores [][]json.Number
	raw, err := fieldOf(document, r.shape.ids)
	if err == nil {
		err = json.Unmarshal(raw, &scores)
	}
	if err != nil && !errors.Is(err, errNoField) {
		return fmt.Errorf("%s: %w", r.shape.ids, err)
	}
	query := 0
	_, err = jsonscan.Elements(ids, 0, func(_, at int) (int, error) {
		if scores != nil && query >= len(scores) {
			return at, fmt.Errorf("%d lists of %s, and more of ids", len(scores), r.shape.ids)
		}
		end, err := jsonscan.Elements(ids, at, func(n, at int) (int, error) {
			var h hit
			end, err := h.parseID(ids, at)
			if err == nil && scores != nil {
				err = h.scoreFrom(scores[query], n, r.shape.ids)
			}
			if err == nil {
				err = r.list.add(h, scores != nil)
			}
			if err != nil {
				err = &jsonscan.ElementError{Index: n, Err: err}
			}
			return end, err
		})
		if err == nil && scores != nil && len(scores[query]) > len(r.list.hits) {
			err = fmt.Errorf("%d of %s for %d ids", len(scores[query]), r.shape.ids, len(r.list.hits))
		}
		if err != nil {
			return end, err
		}
		query++
		r.found = append(r.found, r.list.take(0))
		return end, nil
	})
	if err == nil && scores != nil && query < len(scores) {
		err = fmt.Errorf("%d lists of %s for %d of ids", len(scores), r.shape.ids, query)
	}
	return err
}

// scoreFrom takes the score of hit n from a list called name.
func (h *hit) scoreFrom(scores []json.Number, n int, name string) (err error) {
	if n >= len(scores) {
		return fmt.Errorf("%d of %s, and more ids", len(scores), name)
	}
	h.score, err = number(scores[n].String())
	return err
}

// errNoField is that of an object that lacks a field.
var errNoField = errors.New("is missing")

// fieldOf returns the value of a field of an object.
func fieldOf(b []byte, name string) (value []byte, err error) {
	var names []string
	_, err = jsonscan.Fields(b, 0, func(key []byte, at int) (int, error) {
		end, err := jsonscan.Value(b, at)
		if string(key) == name && err == nil {
			if value != nil {
				return at, fmt.Errorf("field %q appears twice", key)
			}
			value = b[at:end]
		}
		names = append(names, string(key))
		return end, err
	})
	if err == nil && value == nil {
		err = fmt.Errorf("field %q %w; there are %s", name, errNoField, listed(names))
	}
	return value, err
}

// onlyField returns the value of the one field of an object.
func onlyField(b []byte) (value []byte, err error) {
	var names []string
	_, err = jsonscan.Fields(b, 0, func(key []byte, at int) (int, error) {
		end, err := jsonscan.Value(b, at)
		names, value = append(names, string(key)), b[at:min(max(end, at), len(b))]
		return end, err
	})
	if err == nil && len(names) != 1 {
		err = fmt.Errorf("one field is wanted, the class of the hits; there are %s", listed(names))
	}
	return value, err
}

// startsWith reports whether b begins with text, apart from space.
func startsWith(b []byte, text string) bool {
	at := 0
	for i := range len(text) {
		if at = jsonscan.Space(b, at); at >= len(b) || b[at] != text[i] {
			return false
		}
		at++
	}
	return true
}
