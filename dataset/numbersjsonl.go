package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"thresher/dataset/jsonscan"
)

// numbersJSONL reads fields of the objects of lines.
type numbersJSONL struct {
	*source
	lines   jsonl // for its lines and places
	columns []string
	seen    []bool // by column
	list    []float64
	err     error
}

func (j *numbersJSONL) Next() ([]float64, error) {
	if j.err != nil {
		return nil, j.err
	}
	if j.err = j.read(); j.err != nil {
		return nil, j.err
	}
	j.lines.next++
	return j.list, nil
}

func (j *numbersJSONL) read() error {
	line, err := j.lines.line()
	if err != nil {
		return err
	}
	if line[0] != '{' {
		return j.lines.place(fmt.Errorf("line is not an object, so it has no field %s", quoted(j.columns)))
	}
	j.list = slices.Grow(j.list[:0], len(j.columns))[:len(j.columns)]
	j.seen = slices.Grow(j.seen[:0], len(j.columns))[:len(j.columns)]
	clear(j.seen)
	end, err := jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) {
		for c, name := range j.columns {
			if name != string(key) {
				continue
			}
			if j.seen[c] {
				return at, fmt.Errorf("field %q appears twice", key)
			}
			j.seen[c] = true
			if j.list[c], err = parseJSONNumber(line, at); err != nil {
				return at, fmt.Errorf("column %q: %w", key, err)
			}
		}
		return jsonscan.Value(line, at)
	})
	if err == nil && end != len(line) {
		err = jsonscan.Wanted(line, end, "the end of the line")
	}
	if c := slices.Index(j.seen, false); err == nil && c >= 0 {
		err = fmt.Errorf("object has no field %q; null stands for no number", j.columns[c])
	}
	if err != nil {
		return j.lines.place(err)
	}
	return nil
}

// parseJSONNumber parses the number or null at b[i].
func parseJSONNumber(b []byte, i int) (float64, error) {
	if jsonscan.Literal(b, i, "null") {
		return math.NaN(), nil
	}
	end := jsonscan.Number(b, i)
	if end < 0 {
		return 0, jsonscan.Wanted(b, i, "a number or null")
	}
	v, err := strconv.ParseFloat(string(b[i:end]), 64)
	if errors.Is(err, strconv.ErrRange) && math.IsInf(v, 0) {
		return 0, fmt.Errorf("value %.40s is beyond the range of float64", b[i:end])
	}
	return writtenNumber(string(b[i:end]), v)
}
