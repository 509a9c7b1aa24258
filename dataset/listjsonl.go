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
	list   []int64
	err    error
}

func (j *jsonlLists) Len() int64 { return -1 }

func (j *jsonlLists) Next() ([]int64, error) {
	if j.err == nil && j.object < j.next {
		j.err = j.read()
	}
	if j.err != nil {
		return nil, j.err
	}
	j.next++
	if j.object >= j.next {
		return []int64{}, nil // its query comes later
	}
	return j.list, nil
}

// read reads the next line into list, and its query into object.
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
		end, err = j.ids(line, 0)
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
			return j.ids(line, at)
		}
		return jsonscan.Value(line, at)
	})
	if err == nil && (query < 0 || !listed) {
		err = errors.New("a list is an array of ids, or an object with query and ids")
	}
	return query, end, err
}

// ids parses the array at b[i].
func (j *jsonlLists) ids(b []byte, i int) (int, error) {
	j.list = j.list[:0]
	return jsonscan.Elements(b, i, func(n, at int) (int, error) {
		end := jsonscan.Number(b, at)
		if end < 0 {
			return at, &jsonscan.ElementError{Index: n, Err: jsonscan.Wanted(b, at, "an id, an integer,")}
		}
		id, err := strconv.ParseInt(string(b[at:end]), 10, 64)
		if err != nil {
			return at, &jsonscan.ElementError{Index: n, Err: fmt.Errorf("id %.40s is no integer of int64", b[at:end])}
		}
		j.list = append(j.list, id)
		return end, nil
	})
}
