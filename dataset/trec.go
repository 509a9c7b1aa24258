package dataset

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// trecRun is a run of TREC as a table: lines of query, iteration, document, rank, score and the run's name, or, as
// judgements (qrels), of query, iteration, document and relevance. Fields are between blanks, and there is no header.
// The rank is not read: as in trec_eval the score decides.
type trecRun struct {
	*source
	reader lineReader
	wants  []want
	fields int // of a line, by the first
	row    int64
}

// trecColumns are the columns, by their places in a line.
var trecColumns = []string{queryIDName, "", "docno", "", "score"}

func openTREC(src *source, _ string) (tableReader, error) {
	return &trecRun{source: src, reader: src.lines(), row: -1}, nil
}

func (t *trecRun) columns() (all []Column, err error) {
	for _, name := range trecColumns {
		if name != "" {
			all = append(all, Column{Name: name, Type: Text})
		}
	}
	return all, nil
}

func (t *trecRun) fact(string) (string, error) { return "", nil }
func (t *trecRun) choose(wants []want) error   { t.wants = wants; return nil }
func (t *trecRun) Len() int64                  { return -1 }
func (t *trecRun) locate(_ int, err error) error {
	if t.row < 0 {
		return located(t.name, -1, err)
	}
	return failAt(t.name, t.row, -1, "line %d: %w", t.reader.number, err)
}

func (t *trecRun) next(row []readCell) error {
	fields, err := t.line()
	if err != nil {
		return err
	}
	for i, w := range t.wants {
		at := slices.Index(trecColumns, w.name)
		if t.fields == 4 && w.name == "score" { // the relevance
			at = 3
		}
		if err := row[i].parseField(string(fields[at]), w.as); err != nil {
			return &cellError{i, err}
		}
	}
	return nil
}

// line returns the fields of the next line that is not blank.
func (t *trecRun) line() ([][]byte, error) {
	for {
		line, err := t.reader.next()
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, located(t.name, -1, err)
		}
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if t.row++; t.fields == 0 {
			t.fields = len(fields)
		}
		if len(fields) != t.fields || t.fields != 6 && t.fields != 4 {
			return nil, t.locate(-1, fmt.Errorf("%d fields, where a run has 6 (query Q0 document rank score name), and judgements have 4 (query 0 document relevance), in all lines", len(fields)))
		}
		return fields, nil
	}
}
