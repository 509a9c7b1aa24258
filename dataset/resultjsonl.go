package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"thresher/dataset/jsonscan"
)

// AppendJSONL appends r as one JSON object and a newline:
//
//	{"query":0,"ids":[3,1],"names":["c","a"],"scores":[2.5,1],"pulls":77,"exact":false,
//	"complete":true,"guarantee":"certain","certificate":{}}
//
// names, guarantee and certificate are omitted if empty; scores that are not finite become null.
// Scores have the fewest digits that parse to the same float32. r.Certificate is copied
// verbatim and must be JSON without newlines.
func AppendJSONL(dst []byte, r *Result) []byte {
	dst = append(dst, `{"query":`...)
	dst = strconv.AppendInt(dst, r.Query, 10)
	dst = append(dst, `,"ids":[`...)
	for i, id := range r.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, id, 10)
	}
	dst = append(dst, ']')
	if len(r.IDs) > 0 {
		dst = append(dst, `,"names":[`...)
		for i, name := range r.IDs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, name)
		}
		dst = append(dst, ']')
	}
	if r.Scores != nil {
		dst = append(dst, `,"scores":[`...)
		for i, s := range r.Scores {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendFloat(dst, s)
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"pulls":`...)
	dst = strconv.AppendInt(dst, r.Pulls, 10)
	dst = append(dst, `,"exact":`...)
	dst = strconv.AppendBool(dst, r.Exact)
	dst = append(dst, `,"complete":`...)
	dst = strconv.AppendBool(dst, !r.Partial)
	if r.Guarantee != "" {
		dst = append(dst, `,"guarantee":`...)
		dst = appendString(dst, r.Guarantee)
	}
	if len(r.Certificate) > 0 {
		dst = append(dst, `,"certificate":`...)
		dst = append(dst, r.Certificate...)
	}
	return append(dst, '}', '\n')
}

// appendFloat appends v as JSON, null if it is not finite. Very large and very small values
// have an exponent, so that no number has 39 digits.
func appendFloat(dst []byte, v float32) []byte {
	if v-v != 0 {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(float64(v)); a != 0 && (a < 1e-5 || a >= 1e15) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, float64(v), format, -1, 32)
}

// appendString quotes s. Bytes that are not UTF-8 become U+FFFD, as in encoding/json.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i += n
	}
	return append(dst, '"')
}

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
	Query       *int64          `json:"query"`
	IDs         *[]int64        `json:"ids"`
	Names       []string        `json:"names"`
	Scores      []*float32      `json:"scores"`
	Pulls       int64           `json:"pulls"`
	Exact       bool            `json:"exact"`
	Complete    *bool           `json:"complete"`
	Guarantee   string          `json:"guarantee"`
	Certificate json.RawMessage `json:"certificate"`
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
	if raw.Query == nil || raw.IDs == nil || *raw.Query < 0 || raw.Pulls < 0 {
		return Result{}, failAt(j.name, j.next, -1, `line %d: a result has query (not negative) and ids; of vector databases, {"result":[..]} as Qdrant answers, [[{"id":..,"score":..},..],..] and rows with query, id and score are read`, j.lines.number)
	}
	r := Result{
		Query: *raw.Query, Rows: *raw.IDs, IDs: raw.Names, Pulls: raw.Pulls,
		Exact: raw.Exact, Partial: raw.Complete != nil && !*raw.Complete, Guarantee: raw.Guarantee, Certificate: raw.Certificate,
	}
	if raw.Scores != nil {
		r.Scores = make([]float32, len(raw.Scores))
	}
	for i, s := range raw.Scores {
		r.Scores[i] = float32(math.Inf(-1))
		if s != nil {
			r.Scores[i] = *s
		}
	}
	if err := checkResult(&r); err != nil {
		return Result{}, failAt(j.name, j.next, -1, "line %d: %w", j.lines.number, err)
	}
	return r, nil
}

// inWords says what encoding/json says in terms of Go.
func inWords(err error) error {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return err
	}
	wanted := map[reflect.Kind]string{reflect.Int64: "an integer", reflect.Float32: "a number of float32", reflect.Bool: "true or false", reflect.String: "a text"}[t.Type.Kind()]
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
