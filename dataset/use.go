package dataset

import (
	"encoding/json"
	"fmt"
	"io"
)

// Use is what files of a format are read or written for.
type Use int

// The uses.
const (
	ColumnsRead    Use = iota // columns of numbers by name, as OpenNumbers has them
	AnswersRead               // OpenResults
	ListsRead                 // OpenLists
	AnswersWritten            // AnswersForm
	WholeWritten              // answers with their promises, and which of them are complete
	ScoresWritten             // AssembleScores
	EdgesWritten              // WriteEdges
	RowsWritten               // WritePairs, WriteTerms
	LabelsWritten             // WriteComponents
	ValuesWritten             // WriteValues
)

// FormatsFor returns the formats with a use, in the order of the list of formats.
func FormatsFor(u Use) (all []Format) {
	for i := range codecs {
		if u.has(&codecs[i]) {
			all = append(all, codecs[i].format)
		}
	}
	return all
}

// has reports whether files of c's format are for the use.
func (u Use) has(c *codec) bool {
	switch u {
	case ColumnsRead:
		return c.hasColumns()
	case AnswersRead:
		return c.answers != nil || c.table != nil && !c.numbers
	case ListsRead:
		return c.lists != nil
	case AnswersWritten:
		return c.bare != nil || u.written(c) >= flatColumns
	case WholeWritten:
		return u.written(c) >= flatColumns
	case ScoresWritten:
		return c.scores != nil
	case EdgesWritten:
		return c.graph != nil || u.written(c) >= flatColumns
	case RowsWritten:
		return u.written(c) >= flatColumns
	}
	if u == ValuesWritten {
		return c.write != nil && c.names == namedColumns
	}
	return c.write != nil && !c.valuesOnly
}

// written is the most that tables of c's format hold; oneColumn for none.
func (Use) written(c *codec) shape {
	if c.write == nil || c.valuesOnly {
		return oneColumn
	}
	return c.writes
}

// Extension returns the ending of the names of files of a format, with the dot; "" for Unknown.
func (f Format) Extension() string {
	if c := codecOf(f); len(c.extensions) > 0 {
		return "." + c.extensions[0]
	}
	return ""
}

// AnswersForm is what a file of answers holds.
type AnswersForm struct {
	Format Format
	Lines  bool                                                  // a line a query, so that answers can be appended
	Matrix bool                                                  // the same number of ids of every query, padded
	Bare   bool                                                  // row numbers or ids below 2^31, and perhaps scores: no promises, and not which answers are complete
	write  func(spool io.ReadSeeker, k int, out io.Writer) error // of bare ones
}

// AnswersFormOf returns the form of the file of answers of this name; ok is false if its format has none.
func AnswersFormOf(path string) (form AnswersForm, ok bool) {
	format, _ := FormatOf(path)
	c := codecOf(format)
	switch {
	case !AnswersWritten.has(c):
		return AnswersForm{}, false
	case c.bare != nil:
		form = c.bare(path)
	default:
		form = AnswersForm{Lines: c.writes >= jsonColumns, Matrix: c.names != namedColumns}
	}
	form.Format = format
	return form, true
}

// Assemble writes a file of answers from the records of a spool, the first of them with covers, which may be nil. k is
// the number of ids of every row of a matrix; 0 is any number. Lines are not assembled but appended, by AppendJSONL.
func (f *AnswersForm) Assemble(spool io.ReadSeeker, covers json.RawMessage, k int, out io.Writer) error {
	switch each := Covering(spool, covers); {
	case f.Lines:
		return fmt.Errorf("answers as %s are appended line by line", f.Format)
	case f.write != nil:
		return f.write(spool, k, out)
	case f.Matrix:
		return writeAnswerArrays(f.Format, each, k, out)
	case codecOf(f.Format).writes < listColumns:
		return writeAnswersLong(f.Format, each, out)
	default:
		return writeAnswerRows(f.Format, each, out)
	}
}

// AssembleScores writes the scores of the records of a spool, k of each, padded with -Inf, in one of
// FormatsFor(ScoresWritten). Records must be in the order of their queries, from 0 without gaps.
func AssembleScores(spool io.ReadSeeker, k int, format Format, out io.Writer) error {
	c := codecOf(format)
	if c.scores == nil {
		return fmt.Errorf("scores are not written as %s; formats that are: %s", format, formatsThat(ScoresWritten.has))
	}
	return c.scores(spool, k, out)
}

// ivecsForm is that of .ivecs.
func ivecsForm(string) AnswersForm {
	return AnswersForm{Bare: true, Matrix: true, write: AssembleIVecs}
}

// ibinForm is that of ground truth, by name with scores or without.
func ibinForm(name string) AnswersForm {
	if IsIDsOnly(name) {
		return AnswersForm{Bare: true, Matrix: true, write: AssembleTruthIDs}
	}
	return AnswersForm{Bare: true, write: AssembleTruth}
}
