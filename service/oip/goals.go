package oip

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"thresher/dataset/jsonscan"
	"thresher/service/oip/inferencepb"
	"thresher/service/problem"
	"thresher/service/wire"
)

// The inputs that have an entry for each query: its k, its least and greatest score (an
// infinite value, or null in JSON, sets no limit), and its lists of ids, which rows of equal
// length hold: shorter lists end in -1 or, of text, in empty strings.
const (
	inputKs         = "ks"
	inputFloors     = "floors"
	inputCeilings   = "ceilings"
	inputExclude    = "exclude"
	inputCandidates = "candidates"
)

// perQuery reports whether the input has an entry for each query.
func (t *input) perQuery() bool {
	return t.name == inputKs || t.limits() || t.lists()
}

// limits reports whether the input has limits of scores.
func (t *input) limits() bool { return t.name == inputFloors || t.name == inputCeilings }

// lists reports whether the input has lists of ids.
func (t *input) lists() bool { return t.name == inputExclude || t.name == inputCandidates }

// entries are the values of an input with an entry for each query, row-major, in the slice of
// their type.
type entries struct {
	whole  []int64
	floats []float64
	texts  []string
	row    int // values of each row of nested JSON; -1 before the first, 0 for flat JSON
}

func (e *entries) len() int { return len(e.whole) + len(e.floats) + len(e.texts) }

// checkPerQuery checks the shape of an input with an entry for each query.
func (t *input) checkPerQuery() error {
	if t.lists() {
		if len(t.shape) != 2 || t.shape[1] < 1 {
			return problem.New(problem.InvalidValue, "shape is %v, [m, c] is wanted: lists of at most c ids, c at least 1", t.shape).In(t.name).Within([]int{-1, -1})
		}
		return nil
	}
	if len(t.shape) != 1 {
		return problem.New(problem.InvalidValue, "shape is %v, [m] is wanted", t.shape).In(t.name).Within([]int{-1})
	}
	return nil
}

// readEntries reads the values of t as JSON at b[at]: a flat array or an array for each query.
func (t *input) readEntries(b []byte, at int) (int, error) {
	e := &t.entries
	e.row = -1
	next, err := jsonscan.Elements(b, at, func(n, at int) (int, error) {
		if !t.lists() || !starts(b, at, '[') {
			if e.row > 0 {
				return at, problem.New(problem.InvalidValue, "data mixes arrays and values").At(t.name, n)
			}
			e.row = 0
			return t.readEntry(n, b, at)
		}
		before := e.len()
		next, err := jsonscan.Elements(b, at, func(_, at int) (int, error) { return t.readEntry(n, b, at) })
		have := e.len() - before
		if err == nil && (e.row == 0 || e.row > 0 && have != e.row) {
			err = problem.New(problem.InvalidValue, "row %d has %d ids, those before it %d; shorter lists end in -1, or in empty strings", n, have, e.row).At(t.name, n).Within(e.row)
		}
		e.row = have
		return next, err
	})
	return next, inField(err, t.name)
}

// readEntry reads a value, of query n if rows are nested, at b[at].
func (t *input) readEntry(n int, b []byte, at int) (next int, err error) {
	e := &t.entries
	switch {
	case t.limits():
		x := math.Inf(1)
		if jsonscan.Literal(b, at, "null") {
			next = at + len("null")
		} else if next = jsonscan.Number(b, at); next < 0 {
			return at, mistyped(fmt.Sprintf("%s[%d]", t.name, n), b, at, "a number, or null for no limit,")
		} else if x, err = strconv.ParseFloat(string(b[at:next]), 64); err != nil {
			return at, problem.New(problem.InvalidValue, "%s[%d] is %s, beyond the range of float64", t.name, n, cut(b[at:next])).At(t.name, n)
		}
		e.floats = append(e.floats, x)
		return next, nil
	case t.lists() && starts(b, at, '"'):
		var s string
		s, next, err = text(t.name, b, at)
		e.texts = append(e.texts, s)
		return next, err
	}
	var x int64
	x, next, err = parseInt(fmt.Sprintf("%s[%d]", t.name, n), b, at)
	e.whole = append(e.whole, x)
	return next, err
}

// tensorEntries reads the values of t from little-endian binary data.
func (t *input) tensorEntries(b []byte) error {
	e := &t.entries
	switch t.datatype {
	case "FP32":
		for ; len(b) > 0; b = b[4:] {
			e.floats = append(e.floats, widen(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}
	case "FP64":
		for ; len(b) > 0; b = b[8:] {
			e.floats = append(e.floats, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case "INT32":
		for ; len(b) > 0; b = b[4:] {
			e.whole = append(e.whole, int64(int32(binary.LittleEndian.Uint32(b))))
		}
	case "INT64":
		e.whole = make([]int64, 0, len(b)/8)
		for ; len(b) > 0; b = b[8:] {
			e.whole = append(e.whole, int64(binary.LittleEndian.Uint64(b)))
		}
	default: // BYTES: each with its length before it
		for n := 0; len(b) > 0; n++ {
			if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
				return problem.New(problem.Malformed, "the data end within text %d", n).In(t.name)
			}
			size := 4 + int(binary.LittleEndian.Uint32(b))
			e.texts = append(e.texts, string(b[4:size]))
			b = b[size:]
		}
	}
	return nil
}

// contentEntries takes the values of t from a message.
func (t *input) contentEntries(c *inferencepb.InferTensorContents) {
	e := &t.entries
	switch t.datatype {
	case "FP32":
		for _, x := range c.GetFp32Contents() {
			e.floats = append(e.floats, widen(x))
		}
	case "FP64":
		e.floats = slices.Clone(c.GetFp64Contents())
	case "INT32":
		for _, x := range c.GetIntContents() {
			e.whole = append(e.whole, int64(x))
		}
	case "INT64":
		e.whole = slices.Clone(c.GetInt64Contents())
	default:
		for _, text := range c.GetBytesContents() {
			e.texts = append(e.texts, string(text))
		}
	}
}

// setEntries sets the goals from the values of t.
func (d *decoder) setEntries(t *input) error {
	e := &t.entries
	if n, ok := product(t.shape); !ok || n != int64(e.len()) {
		return problem.New(problem.InvalidValue, "shape %v takes %s values, data has %d", t.shape, figure(n, ok), e.len()).In(t.name).Within(figure(n, ok))
	}
	if t.lists() && e.len() > 0 && (t.datatype == "BYTES") != (len(e.texts) > 0) || len(e.texts) > 0 && len(e.whole) > 0 {
		return problem.New(problem.InvalidValue, "data of %s are whole numbers as INT64 and strings as BYTES; they are not all of %s", t.name, t.datatype).In(t.name).Within(t.datatype)
	}
	if t.lists() && e.row > 0 && int64(e.row) != t.shape[1] {
		return problem.New(problem.InvalidValue, "shape is %v, and rows have %d ids", t.shape, e.row).In(t.name).Within(t.shape[1])
	}
	m := int(t.shape[0])
	return d.draft.PerQuery(t.name, m, func(j int, g *wire.QueryGoal) error {
		switch t.name {
		case inputKs:
			return atQuery(g.SetK(e.whole[j], d.limits), t.name, j)
		case inputFloors:
			return t.limit(&g.MinScore, j)
		case inputCeilings:
			return t.limit(&g.MaxScore, j)
		case inputExclude:
			g.Exclude = t.list(j)
		default:
			g.Candidates = t.list(j)
		}
		return nil
	})
}

// limit sets a limit to the value of query j.
func (t *input) limit(to **float64, j int) error {
	switch x := t.entries.floats[j]; {
	case math.IsNaN(x):
		return problem.New(problem.InvalidValue, "%s[%d] is NaN; an infinite value sets no limit", t.name, j).At(t.name, j)
	case !math.IsInf(x, 0):
		*to = &x
	}
	return nil
}

// list returns the ids of query j, nil if there are none.
func (t *input) list(j int) *wire.IDList {
	e, c := &t.entries, int(t.shape[1])
	l := &wire.IDList{}
	if len(e.texts) > 0 {
		l.Names = slices.DeleteFunc(e.texts[j*c:(j+1)*c:(j+1)*c], func(s string) bool { return s == "" })
	} else {
		l.Ints = slices.DeleteFunc(e.whole[j*c:(j+1)*c:(j+1)*c], func(id int64) bool { return id == -1 })
	}
	if l.Len() == 0 {
		return nil
	}
	return l
}

// atQuery adds the number of the query to an error of its entry.
func atQuery(err error, field string, j int) error {
	if err == nil {
		return nil
	}
	p := problem.Unreadable(err)
	p.Detail = fmt.Sprintf("%s[%d]: %s", field, j, p.Detail)
	return p.At(field, j)
}

func starts(b []byte, at int, c byte) bool { return at < len(b) && b[at] == c }
