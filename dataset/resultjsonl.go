package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"thresher/dataset/jsonscan"
)

// jsonlResults reads what AppendJSONL writes.
type jsonlResults struct {
	*source
	lines lineReader
	next  int64
	err   error
}

func (j *jsonlResults) Len() int64 { return -1 }

// jsonResult is a line; a nil pointer is a missing field.
type jsonResult struct {
	Version     int64           `json:"answers_version"`
	Query       *int64          `json:"query"`
	QueryID     jsonID          `json:"query_id"`
	IDs         *jsonIDs        `json:"ids"`
	IDKind      string          `json:"id_kind"`
	Rows        []int64         `json:"rows"`
	Names       []string        `json:"names"`
	Scores      []*float32      `json:"scores"`
	Scores64    []*float64      `json:"scores64"`
	Pulls       int64           `json:"pulls"`
	Exact       bool            `json:"exact"`
	Complete    *bool           `json:"complete"`
	Guarantee   string          `json:"guarantee"`
	Delta       float64         `json:"delta"`
	Epsilon     float64         `json:"epsilon"`
	Certificate json.RawMessage `json:"certificate"`
	Covers      json.RawMessage `json:"covers"`
}

// jsonID is an id that is a whole number or a text.
type jsonID string

func (id *jsonID) UnmarshalJSON(b []byte) error {
	if jsonscan.Literal(b, 0, "null") {
		return nil
	}
	text, _, err := parseID(b, 0)
	*id = jsonID(text)
	return err
}

// jsonIDs are whole numbers or texts: numbers while all fit int64, else texts.
type jsonIDs struct {
	numbers []int64
	texts   []string // nil while all are numbers of int64
}

func (l *jsonIDs) UnmarshalJSON(b []byte) error {
	err := json.Unmarshal(b, &l.numbers)
	if err == nil && !bytes.Contains(b, []byte("null")) {
		return nil
	}
	l.numbers = nil
	texts := 0
	_, wrong := jsonscan.Elements(b, 0, func(n, at int) (int, error) {
		id, end, err := parseID(b, at)
		if err == nil && b[at] == '"' {
			texts++
		}
		if err == nil && texts > 0 && texts <= n {
			err = fmt.Errorf("field %q has numbers and texts", idsName)
		}
		l.texts = append(l.texts, id)
		return end, err
	})
	if wrong != nil && err != nil && !bytes.Contains(b, []byte{'"'}) {
		return err
	}
	return wrong
}

// result returns the fields of v but its scores.
func (v *jsonResult) result() (Result, error) {
	r := Result{
		Query: *v.Query, QueryID: string(v.QueryID), Rows: v.IDs.numbers, IDs: v.IDs.texts, Pulls: v.Pulls,
		Exact: v.Exact, Partial: v.Complete != nil && !*v.Complete, Guarantee: v.Guarantee,
		Delta: v.Delta, Epsilon: v.Epsilon, Certificate: v.Certificate, Covers: coversOf(v.Covers),
	}
	switch {
	case v.Version < AnswersVersion && v.Names != nil && v.IDs.texts != nil:
		return r, errors.New("the ids are no row numbers, and there are names beside them")
	case v.Version < AnswersVersion && v.Names != nil:
		r.IDs = v.Names
	case v.Version == AnswersVersion && v.IDKind != rowKind:
		if r.IDs == nil && len(r.Rows) > 0 {
			r.IDs = make([]string, len(r.Rows))
			for i, id := range r.Rows {
				r.IDs[i] = strconv.FormatInt(id, 10)
			}
		}
		r.Rows = v.Rows
	}
	return r, nil
}

func (j *jsonlResults) Next() (Result, error) {
	if j.err != nil {
		return Result{}, j.err
	}
	var r Result
	if r, j.err = j.read(); j.err != nil {
		return Result{}, j.err
	}
	j.next++
	return r, nil
}

func (j *jsonlResults) read() (Result, error) {
	v := jsonl{name: j.name, lines: j.lines, next: j.next}
	line, err := v.line()
	j.lines = v.lines
	if err != nil {
		return Result{}, err
	}
	var raw jsonResult
	if err := json.Unmarshal(line, &raw); err != nil {
		return Result{}, v.place(inWords(err))
	}
	if err := eachOnce(line); err != nil {
		return Result{}, v.place(err)
	}
	if err := checkVersion(raw.Version); err != nil {
		return Result{}, v.place(err)
	}
	if raw.Query == nil || raw.IDs == nil || *raw.Query < 0 || raw.Pulls < 0 {
		return Result{}, failAt(j.name, j.next, -1, `line %d: a result has query (not negative) and ids; of vector databases, {"result":[..]} as Qdrant answers, [[{"id":..,"score":..},..],..] and rows with query, id and score are read`, j.lines.number)
	}
	r, err := raw.result()
	if err != nil {
		return Result{}, v.place(err)
	}
	r.Scores, r.Scores64 = scoresOf(raw.Scores), scoresOf(raw.Scores64)
	if err := checkResult(&r); err != nil {
		return Result{}, failAt(j.name, j.next, -1, "line %d: %w", j.lines.number, err)
	}
	return r, nil
}

// scoresOf returns the scores of a line, of which those that are null are -Inf.
func scoresOf[F float32 | float64](given []*F) []F {
	if given == nil {
		return nil
	}
	scores := make([]F, len(given))
	for i, s := range given {
		scores[i] = F(math.Inf(-1))
		if s != nil {
			scores[i] = *s
		}
	}
	return scores
}

// inWords says what encoding/json says in terms of Go.
func inWords(err error) error {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return err
	}
	wanted := map[reflect.Kind]string{reflect.Int64: "an integer", reflect.Float32: "a number of float32", reflect.Float64: "a number of float64", reflect.Bool: "true or false", reflect.String: "a text"}[t.Type.Kind()]
	if wanted == "" {
		wanted = "an array"
	}
	return fmt.Errorf("field %q: %s, where %s is wanted", t.Field, t.Value, wanted)
}

// eachOnce refuses an object with a field that is there twice, in any case of letters: of these
// encoding/json takes the last. It refuses names with half a character as well, which encoding/json replaces.
func eachOnce(line []byte) error {
	seen := map[string]bool{}
	_, err := jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) {
		name := strings.ToLower(string(key))
		if seen[name] {
			return at, fmt.Errorf("field %q appears twice", key)
		}
		seen[name] = true
		if name == "names" && at < len(line) && line[at] == '[' {
			return jsonscan.Elements(line, at, func(_, i int) (int, error) {
				if i < len(line) && line[i] == '"' {
					_, end, err := jsonscan.Name(line, i)
					return end, err
				}
				return jsonscan.Value(line, i)
			})
		}
		return jsonscan.Value(line, at)
	})
	return err
}
