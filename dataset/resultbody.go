package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// bodyAnswers reads what the service answers to a search, one JSON document, as a client saves it:
//
//	{"answers_version":2,"version":3,"took_ms":1.25,"covers":{..},"id_kind":"row",
//	 "results":[{"ids":[7,1],"rows":[6,0],"scores":[2.5,.1],"scores64":[2.5,.1],"complete":true,
//	   "guarantee":"certain","delta":0,"certificate":{..}},..],"warnings":[..]}
//
// It holds one result. Members that it does not know are skipped.
type bodyAnswers struct {
	*source
	guard  byteGuard
	limit  int64 // of the bytes between two results
	tokens *json.Decoder
	begun  bool // what is before the results was read
	head   bodyHead
	next   int64
	err    error
}

// bodyHead is what a body says of all its answers, before them.
type bodyHead struct {
	version int64
	covers  json.RawMessage
	own     bool // ids are those that users gave the vectors
}

// bodyResult is one answer of a body.
type bodyResult struct {
	IDs         []bodyID        `json:"ids"`
	Rows        []int64         `json:"rows"`
	Scores      []bodyScore     `json:"scores"`
	Scores64    []bodyScore     `json:"scores64"`
	Complete    *bool           `json:"complete"`
	Guarantee   string          `json:"guarantee"`
	Delta       float64         `json:"delta"`
	Certificate json.RawMessage `json:"certificate"`
}

// bodyID is an id, a text or a whole number, as text.
type bodyID string

// UnmarshalJSON reads an id.
func (id *bodyID) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(id))
	}
	if !isWhole(string(b)) {
		return fmt.Errorf("id %.40s is neither a text nor a whole number from 0 to 2^64-1", b)
	}
	*id = bodyID(b)
	return nil
}

// bodyScore is a score; null, which is one that JSON does not have, is -Inf.
type bodyScore float64

// UnmarshalJSON reads a score.
func (s *bodyScore) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*s = bodyScore(math.Inf(-1))
		return nil
	}
	return json.Unmarshal(b, (*float64)(s))
}

func openBody(src *source) *bodyAnswers {
	a := &bodyAnswers{source: src, guard: byteGuard{r: src.r, budget: src.budget}, limit: src.budget.Row}
	src.skipMark()
	a.tokens = json.NewDecoder(&a.guard)
	return a
}

func (a *bodyAnswers) Len() int64 { return -1 }

func (a *bodyAnswers) Next() (Result, error) {
	if a.err != nil {
		return Result{}, a.err
	}
	r, err := a.result()
	if err == nil {
		err = checkResult(&r)
	}
	if err == nil {
		a.next++
		return r, nil
	}
	if a.err = err; err != io.EOF {
		row := a.next
		if !a.begun {
			row = -1
		}
		a.err = failAt(a.name, row, -1, "near byte %d: %w", a.tokens.InputOffset(), cutShort(err))
	}
	return Result{}, a.err
}

// result reads the next answer; io.EOF after the document.
func (a *bodyAnswers) result() (Result, error) {
	a.guard.left = a.limit
	if !a.begun {
		if err := a.begin(); err != nil {
			return Result{}, inDocument(err)
		}
		a.begun = true
	}
	if !a.tokens.More() {
		return Result{}, a.end()
	}
	var b bodyResult
	if err := a.tokens.Decode(&b); err != nil {
		return Result{}, inDocument(err)
	}
	if b.IDs == nil || b.Complete == nil {
		return Result{}, errors.New("a result has ids and complete, and this one lacks them")
	}
	r := Result{Query: a.next, Rows: b.Rows, Pulls: -1, Partial: !*b.Complete, Guarantee: b.Guarantee, Delta: b.Delta, Scores64: b.scores64(), Scores: b.scores()}
	if a.next == 0 {
		r.Covers = a.head.covers
	}
	if err := r.readCertificate(b.Certificate); err != nil {
		return r, err
	}
	return r, a.identify(&r, b.IDs)
}

// scores64 are the scores in float64, nil if there are none.
func (b *bodyResult) scores64() []float64 {
	var scores []float64
	for _, s := range b.Scores64 {
		scores = append(scores, float64(s))
	}
	return scores
}

// scores are the scores in float32, nil if there are none.
func (b *bodyResult) scores() []float32 {
	var scores []float32
	for _, s := range b.Scores {
		scores = append(scores, float32(s))
	}
	return scores
}

// readCertificate fills in what a certificate says of the work, if there is one.
func (r *Result) readCertificate(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var c struct {
		Pulls   int64   `json:"pulls"`
		Exact   bool    `json:"exact"`
		Epsilon float64 `json:"epsilon"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	r.Certificate, r.Pulls, r.Exact, r.Epsilon = oneLine(raw), c.Pulls, c.Exact, c.Epsilon
	return nil
}

// oneLine returns valid JSON without space, as a line of JSON can hold it.
func oneLine(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// identify fills in ids, or row numbers in their place.
func (a *bodyAnswers) identify(r *Result, ids []bodyID) error {
	if a.head.own {
		for _, id := range ids {
			r.IDs = append(r.IDs, string(id))
		}
		return nil
	}
	r.Rows = make([]int64, 0, len(ids))
	for i, id := range ids {
		row, ok := parseWhole(string(id))
		if !ok || row > math.MaxInt64 {
			return fmt.Errorf("id %d, %.40q, is no row number, as id_kind says", i, id)
		}
		r.Rows = append(r.Rows, int64(row))
	}
	return nil
}

// begin reads what is before the first result.
func (a *bodyAnswers) begin() error {
	if token, err := a.tokens.Token(); err != nil || token != json.Delim('{') {
		return orError(err, "an object is wanted, the body of an answer")
	}
	var kind, title, detail string
	var status int
	for a.tokens.More() {
		key, err := a.tokens.Token()
		if err != nil {
			return err
		}
		if key == "results" {
			token, err := a.tokens.Token()
			if err != nil || token != json.Delim('[') {
				return orError(err, "results is no array")
			}
			a.head.own = kind != rowKind
			return a.head.check()
		}
		var raw json.RawMessage
		if err := a.tokens.Decode(&raw); err != nil {
			return err
		}
		var into any
		switch key {
		case versionName:
			into = &a.head.version
		case idKindName:
			into = &kind
		case coversName:
			a.head.covers = coversOf(oneLine(raw))
		case "title":
			into = &title
		case "detail":
			into = &detail
		case "status":
			into = &status
		}
		if into != nil {
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	if _, err := a.tokens.Token(); err != nil {
		return err
	}
	if status != 0 || title != "" || detail != "" {
		said := strings.Trim(fmt.Sprintf("%d %s: %s", status, title, detail), " :")
		return fmt.Errorf("no answers, but a problem that the service stated: %s", said)
	}
	return errors.New("the body has no results")
}

// orError returns err, or an error of that text if it is nil.
func orError(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}

// check refuses bodies of another version, which had other ids.
func (h *bodyHead) check() error {
	if h.version == 0 {
		return fmt.Errorf("the body states no %s before its results; a former version of the service answered, whose ids may be row numbers: search again", versionName)
	}
	if h.version < AnswersVersion {
		return fmt.Errorf("%s %d is a former one, %d is read: search again", versionName, h.version, AnswersVersion)
	}
	return checkVersion(h.version)
}

// end reads what follows the results; io.EOF if there is no more.
func (a *bodyAnswers) end() error {
	if _, err := a.tokens.Token(); err != nil { // the bracket
		return inDocument(err)
	}
	for a.tokens.More() {
		key, err := a.tokens.Token()
		if err != nil {
			return inDocument(err)
		}
		if key == "results" {
			return errors.New("results appears twice")
		}
		var raw json.RawMessage
		if err := a.tokens.Decode(&raw); err != nil {
			return inDocument(err)
		}
	}
	if _, err := a.tokens.Token(); err != nil {
		return inDocument(err)
	}
	if token, err := a.tokens.Token(); err != io.EOF {
		return orError(err, fmt.Sprintf("%v follows the answer; a file has one", token))
	}
	return io.EOF
}
