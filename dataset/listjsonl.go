package dataset

import (
	"errors"
	"fmt"
	"strconv"

	"thresher/dataset/jsonscan"
)

// jsonlLists reads a list a line.
type jsonlLists struct {
	*source
	lines  jsonl // for its lines and places
	object int64 // query of the list held, -1 without
	begun  bool
	next   int64
	ids    []int64
	names  []string
	err    error
}

func openJSONLLists(src *source, _ ListOptions) (ListReader, error) {
	return &jsonlLists{source: src, lines: jsonl{name: src.name, lines: src.lines()}, object: -1}, nil
}

func (j *jsonlLists) Len() int64   { return -1 }
func (j *jsonlLists) Limit() int64 { return -1 }

func (j *jsonlLists) Next() (List, error) {
	if j.err == nil && j.object < j.next {
		j.err = j.read()
	}
	if j.err != nil {
		return List{}, j.err
	}
	j.next++
	if j.object >= j.next {
		return List{IDs: []int64{}}, nil // its query comes later
	}
	if len(j.names) > 0 {
		return List{Names: j.names}, nil
	}
	return List{IDs: j.ids}, nil
}

// read reads the next line into ids or names, and its query into object.
func (j *jsonlLists) read() error {
	if j.begun {
		j.lines.next++
	}
	j.begun = true
	line, err := j.lines.line()
	if err != nil {
		return err
	}
	query, end := int64(-1), 0
	if line[0] == '[' {
		query = j.next
		end, err = j.parseIDs(line, 0)
	} else {
		query, end, err = j.parse(line)
	}
	if err == nil && end != len(line) {
		err = jsonscan.Wanted(line, end, "the end of the line")
	}
	if err == nil && query < j.next {
		err = fmt.Errorf("query %d where one from %d on is wanted: sort the lines by query", query, j.next)
	}
	if err != nil {
		return j.lines.place(err)
	}
	j.object = query
	return nil
}

func (j *jsonlLists) parse(line []byte) (query int64, end int, err error) {
	query = -1
	listed := false
	end, err = jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) {
		var err error
		switch string(key) {
		case "query":
			if query >= 0 {
				return at, fmt.Errorf("field %q appears twice", key)
			}
			query, at, err = parseInteger(line, at)
			if err == nil && query < 0 {
				err = fmt.Errorf("query %d is negative", query)
			}
			return at, err
		case idsName:
			if listed {
				return at, fmt.Errorf("field %q appears twice", key)
			}
			listed = true
			return j.parseIDs(line, at)
		}
		return jsonscan.Value(line, at)
	})
	if err == nil && (query < 0 || !listed) {
		err = errors.New("a list is an array of ids, or an object with query and ids")
	}
	return query, end, err
}

// parseIDs parses the array at b[i]: integers, or texts.
func (j *jsonlLists) parseIDs(b []byte, i int) (int, error) {
	j.ids, j.names = j.ids[:0], j.names[:0]
	return jsonscan.Elements(b, i, func(n, at int) (int, error) {
		at, err := j.parseID(b, at, n)
		if err != nil {
			err = &jsonscan.ElementError{Index: n, Err: err}
		}
		return at, err
	})
}

// parseID parses id n at b[i].
func (j *jsonlLists) parseID(b []byte, i, n int) (int, error) {
	end := jsonscan.Number(b, i)
	switch {
	case end >= 0 && n == len(j.ids):
		id, err := strconv.ParseInt(string(b[i:end]), 10, 64)
		if err != nil {
			return i, fmt.Errorf("id %.40s is no integer of int64", b[i:end])
		}
		j.ids = append(j.ids, id)
		return end, nil
	case end < 0 && i < len(b) && b[i] == '"' && n == len(j.names):
		text, end, err := jsonscan.Name(b, i)
		j.names = append(j.names, string(text))
		return end, err
	case n > 0 && (end >= 0 || i < len(b) && b[i] == '"'):
		return i, errors.New("a list has integers or texts, not both")
	}
	return i, jsonscan.Wanted(b, i, "an id, an integer or a text,")
}
