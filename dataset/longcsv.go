package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// longCSV is a table of comma-separated values under a header. An id is an integer if it is
// written like one, else a text.
type longCSV struct {
	*csvRows
	said                   longSchema
	query, id, score, rank int // columns, -1 without
	begun                  bool
}

func openLongCSV(src *source) (ResultReader, error) {
	t := &longCSV{csvRows: newCSVRows(src)}
	record, err := t.record()
	if err == io.EOF {
		return nil, fail(src.name, "%w: the file holds only blank lines", ErrNoRows)
	}
	if err != nil {
		return nil, err
	}
	t.columns = slices.Clone(record)
	for i := range t.columns {
		t.columns[i] = strings.TrimSpace(t.columns[i])
	}
	if t.said, err = chooseLong(t.columns); err != nil {
		return nil, fail(src.name, "%w", err)
	}
	t.query, t.id = slices.Index(t.columns, t.said.query), slices.Index(t.columns, t.said.id)
	t.score, t.rank = -1, -1
	if t.said.score != "" {
		t.score = slices.Index(t.columns, t.said.score)
	}
	if t.said.rank != "" {
		t.rank = slices.Index(t.columns, t.said.rank)
	}
	return &longResults{longTable: t, list: hitList{budget: src.budget}}, nil
}

func (t *longCSV) schema() *longSchema    { return &t.said }
func (t *longCSV) path() string           { return t.name }
func (t *longCSV) locate(err error) error { return t.place(err, -1) }
func (t *longCSV) Close() error           { return t.shut.Close() }

func (t *longCSV) row() (longRow, error) {
	if t.begun {
		t.next++
	}
	t.begun = true
	record, err := t.record()
	if err != nil {
		return longRow{}, err
	}
	if len(record) != len(t.columns) {
		return longRow{}, t.locate(fmt.Errorf("row has %d fields, the header has %d", len(record), len(t.columns)))
	}
	r, column, err := t.parseRow(record)
	if err != nil {
		return r, t.place(fmt.Errorf("%s: %w", t.columns[column], err), int64(column))
	}
	return r, nil
}

// parseRow parses the fields that are used; column is that of the error.
func (t *longCSV) parseRow(record []string) (r longRow, column int, err error) {
	if r.query, err = parseField(record[t.query]); err == nil && r.query < 0 {
		err = fmt.Errorf("query %d is negative", r.query)
	}
	if err != nil {
		return r, t.query, err
	}
	text := strings.TrimSpace(record[t.id])
	if text == "" {
		return r, t.id, errors.New("the id is empty")
	}
	id, e := strconv.ParseInt(text, 10, 64)
	if r.id = id; e != nil || strconv.FormatInt(id, 10) != text {
		r.name, r.named = strings.Clone(text), true
	}
	if t.score >= 0 {
		if r.score, err = number(record[t.score]); err != nil {
			return r, t.score, err
		}
	}
	if t.rank >= 0 {
		if r.rank, err = parseField(record[t.rank]); err != nil {
			return r, t.rank, err
		}
	}
	return r, 0, nil
}

// parseField parses an integer.
func parseField(field string) (int64, error) {
	text := strings.TrimSpace(field)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no integer of int64", text)
	}
	return v, nil
}
