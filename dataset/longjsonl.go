package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"thresher/dataset/jsonscan"
)

// longJSONL is a table of JSON objects, one a line.
type longJSONL struct {
	*source
	lines jsonl // for its lines and places
	said  longSchema
	begun bool
}

func openLongJSONL(src *source) ResultReader {
	t := &longJSONL{source: src, lines: jsonl{name: src.name, lines: src.lines(), meter: idMeter{budget: src.budget}}}
	return &longResults{longTable: t, list: hitList{budget: src.budget}}
}

func (t *longJSONL) schema() *longSchema    { return &t.said }
func (t *longJSONL) path() string           { return t.name }
func (t *longJSONL) locate(err error) error { return t.lines.place(err) }

func (t *longJSONL) row() (longRow, error) {
	if t.begun {
		t.lines.next++
	}
	line, err := t.lines.line()
	if err != nil {
		return longRow{}, err
	}
	if !t.begun {
		if err := t.choose(line); err != nil {
			return longRow{}, t.locate(err)
		}
		t.begun = true
	}
	r, err := t.parse(line)
	if err != nil {
		return longRow{}, t.locate(err)
	}
	return r, nil
}

// choose finds the columns in the first object.
func (t *longJSONL) choose(line []byte) error {
	var names []string
	_, err := jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) {
		names = append(names, string(key))
		return jsonscan.Value(line, at)
	})
	if err != nil {
		return err
	}
	t.said, err = chooseLong(names)
	return err
}

func (t *longJSONL) parse(line []byte) (r longRow, err error) {
	var seen []string
	end, err := jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) {
		name := string(key)
		if name == "" || name != t.said.query && name != t.said.id && name != t.said.score && name != t.said.rank {
			return jsonscan.Value(line, at)
		}
		if slices.Contains(seen, name) {
			return at, fmt.Errorf("field %q appears twice", name)
		}
		seen = append(seen, name)
		var err error
		switch name {
		case t.said.query:
			r.query, at, err = parseInteger(line, at)
			if err == nil && r.query < 0 {
				err = fmt.Errorf("query %d is negative", r.query)
			}
		case t.said.id:
			at, err = r.parseID(line, at)
		case t.said.score:
			r.score, at, err = parseScore(line, at)
		case t.said.rank:
			r.rank, at, err = parseInteger(line, at)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return at, err
	})
	if err == nil && end != len(line) {
		err = jsonscan.Wanted(line, end, "the end of the line")
	}
	if err != nil {
		return r, err
	}
	for _, name := range []string{t.said.query, t.said.id, t.said.score, t.said.rank} {
		if name != "" && !slices.Contains(seen, name) {
			return r, fmt.Errorf("object has no field %q", name)
		}
	}
	return r, nil
}

// parseInteger parses the integer at b[i].
func parseInteger(b []byte, i int) (int64, int, error) {
	end := jsonscan.Number(b, i)
	if end < 0 {
		return 0, i, jsonscan.Wanted(b, i, "an integer")
	}
	digits, ok := jsonscan.Integer(b[i:end])
	if !ok {
		return 0, end, errors.New("not an integer")
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, end, fmt.Errorf("%.40s does not fit int64", digits)
	}
	return v, end, nil
}
