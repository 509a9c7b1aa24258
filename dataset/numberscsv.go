package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// numbersCSV reads columns of comma-separated values under a header.
type numbersCSV struct {
	*csvRows
	at   []int    // the columns
	held []string // row 0, until it is returned
	list []float64
}

func openNumbersCSV(src *source, columns []string) (NumberReader, error) {
	n := &numbersCSV{csvRows: newCSVRows(src)}
	record, err := n.readHeader("", "", true)
	if err != nil {
		return nil, err
	}
	if n.columns == nil {
		return nil, fail(n.name, "column %s: the file has no header that names columns", quoted(columns))
	}
	for _, name := range columns {
		at := slices.Index(n.columns, name)
		if at < 0 {
			return nil, fail(n.name, "no column %q; the file has %s", name, listed(slices.Clone(n.columns)))
		}
		n.at = append(n.at, at)
	}
	n.held = slices.Clone(record)
	return n, nil
}

func (n *numbersCSV) Next() ([]float64, error) {
	if n.err != nil {
		return nil, n.err
	}
	if n.err = n.read(); n.err != nil {
		return nil, n.err
	}
	n.next++
	return n.list, nil
}

func (n *numbersCSV) read() error {
	record := n.held
	if n.held = nil; record == nil {
		var err error
		if record, err = n.record(); err != nil {
			return err
		}
	}
	if len(record) != len(n.columns) {
		return n.place(fmt.Errorf("row has %d fields, the header has %d", len(record), len(n.columns)), -1)
	}
	n.list = n.list[:0]
	for _, at := range n.at {
		v, err := parseNumber(record[at])
		if err != nil {
			return n.place(fmt.Errorf("column %q: %w", n.columns[at], err), -1)
		}
		n.list = append(n.list, v)
	}
	return nil
}

// parseNumber parses a field as a finite number, or as NaN if it is empty.
func parseNumber(field string) (float64, error) {
	text := strings.TrimSpace(field)
	if text == "" {
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	if err != nil {
		return 0, fmt.Errorf("value %.40s is beyond the range of float64", text)
	}
	if v, err = finiteNumber(v); err != nil {
		return 0, err
	}
	return writtenNumber(text, v)
}
