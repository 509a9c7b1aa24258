package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thresher/dataset/jsonscan"
)

// The columns of answers.
const (
	ofIDs = iota
	ofRows
	ofCounts
	ofScores
	ofScores64
	ofNames
	ofQuery
	ofQueryID
	ofPulls
	ofExact
	ofComplete
	ofGuarantee
	ofDelta
	ofEpsilon
	ofVersion // of lines, which say themselves what else the file does
	ofKind
	ofCovers
	ofCertificate
	answersColumns
)

// tableIDNames are the accepted names of the ids: thresher's own, and in arrays what users of FAISS,
// hnswlib, cuVS, scikit-learn and usearch save, and VectorDBBench.
func tableIDNames() []string {
	return []string{idsName, "I", "labels", "neighbors", "indices", "keys", "neighbors_id"}
}

// queryNumberName is a column with the number of the query, beside a list of ids that is not called ids, as VectorDBBench
// writes it.
const queryNumberName = "id"

func tableScoreNames() []string { return []string{"scores", "D", "distances"} }

// answers are read from a table with a row for each query. In a table of arrays, which have a width, lists are padded.
type answers struct {
	tableReader
	file   string
	arrays bool
	lines  bool // every row says what it has, and its version
	// version is that of the file or of the line, 0 if it states none.
	version int64
	own     bool // ids are those that users gave the vectors
	wide    bool // ids are uint64
	covers  json.RawMessage
	wants   []want
	row     []readCell
	at      [answersColumns]int       // the columns in row, -1 for those that the file has not
	cells   [answersColumns]*readCell // of row, or without value
	query   int64                     // of the next row
	err     error
}

// openAnswers opens answers of a table with a row for each query.
func openAnswers(t tableReader, src *source, arrays bool) (ResultReader, error) {
	a := &answers{tableReader: t, file: src.name, arrays: arrays}
	if err := a.facts(); err != nil {
		return nil, err
	}
	all, err := t.columns()
	if err != nil {
		return nil, err
	}
	if err := a.find(all); err != nil {
		return nil, err
	}
	return a, t.choose(a.wants)
}

// facts reads what the file says of all answers.
func (a *answers) facts() error {
	said, err := a.fact(versionName)
	if err != nil {
		return err
	}
	if said != "" {
		if a.version, err = strconv.ParseInt(said, 10, 64); err == nil {
			err = checkVersion(a.version)
		}
		if err != nil {
			return fail(a.file, "%s %q: %w", versionName, said, err)
		}
	}
	kind, err := a.fact(idKindName)
	if err != nil {
		return err
	}
	a.own = a.version == AnswersVersion && kind != rowKind
	covers, err := a.fact(coversName)
	if err != nil && !errors.Is(err, errNoText) { // what is no text is somebody's own
		return err
	}
	a.covers = coversOf([]byte(covers))
	return nil
}

// find looks for the columns of answers among all.
func (a *answers) find(all []Column) error {
	stated := slices.ContainsFunc(all, func(c Column) bool { return c.Name == "guarantee" })
	ids, queryID := asInteger, queryIDName
	if a.own || !a.arrays {
		ids = asID
	}
	if a.arrays {
		queryID = queryIDsName
	}
	a.row = make([]readCell, answersColumns) // of which wants has the first
	for column, c := range [answersColumns]struct {
		names []string
		want  want
		has   bool // whether files of the version have it; a column of the name may else be anything
	}{
		ofIDs:         {tableIDNames(), want{as: ids, list: true}, true},
		ofRows:        {[]string{rowsName}, want{as: asInteger, list: true}, a.own},
		ofCounts:      {[]string{countsName}, want{as: asInteger}, a.arrays && (a.own || hasKeys(all))},
		ofScores:      {tableScoreNames(), want{as: asFloat32, list: true}, true},
		ofScores64:    {[]string{scores64Name}, want{as: asFloat64, list: true}, a.version == AnswersVersion},
		ofNames:       {[]string{namesName}, want{as: asText, list: true, spare: true}, a.version < AnswersVersion},
		ofQuery:       {queryNames(all), want{as: asInteger}, !a.arrays},
		ofQueryID:     {[]string{queryID}, want{as: asName}, a.version == AnswersVersion},
		ofPulls:       {[]string{"pulls"}, want{as: asInteger}, true},
		ofExact:       {[]string{"exact"}, want{as: asBool}, true},
		ofComplete:    {[]string{"complete"}, want{as: asBool}, true},
		ofGuarantee:   {[]string{"guarantee"}, want{as: asText}, true},
		ofDelta:       {[]string{"delta"}, want{as: asFloat64}, stated},
		ofEpsilon:     {[]string{"epsilon"}, want{as: asFloat64}, stated},
		ofVersion:     {[]string{versionName}, want{as: asInteger}, false},
		ofKind:        {[]string{idKindName}, want{as: asText}, false},
		ofCovers:      {[]string{coversName}, want{as: asJSON}, false},
		ofCertificate: {[]string{"certificate"}, want{as: asJSON}, false},
	} {
		if a.at[column], a.cells[column] = -1, new(readCell); a.lines {
			c.want.optional = true
			a.take(column, c.want, c.names[0])
			continue
		}
		at, err := a.choice(all, c.names)
		if err != nil {
			return err
		}
		if at < 0 || !c.has {
			continue
		}
		a.take(column, c.want, all[at].Name)
		a.wide = a.wide || column == ofIDs && all[at].Type == Uint64
		if column == ofNames && all[a.at[ofIDs]].Type == Text {
			return fail(a.file, "column ids holds no row numbers, and there are names beside it")
		}
	}
	if !a.has(ofIDs) {
		return fail(a.file, "npz holds no array ids or %s; it holds %s", strings.Join(tableIDNames()[1:], ", "), listed(slices.Concat(columnNames(all, false), columnNames(all, true))))
	}
	return nil
}

// hasKeys reports whether the ids are called keys, as in arrays of usearch.
func hasKeys(all []Column) bool {
	return slices.ContainsFunc(all, func(c Column) bool { return c.Name == "keys" }) && !slices.ContainsFunc(all, func(c Column) bool { return c.Name == idsName })
}

// queryNames are the names of the column with the number of the query.
func queryNames(all []Column) []string {
	lists := slices.ContainsFunc(all, func(c Column) bool { return c.List && c.Name != idsName && slices.Contains(tableIDNames(), c.Name) })
	if lists && !slices.ContainsFunc(all, func(c Column) bool { return c.Name == idsName || c.Name == "query" }) {
		return []string{queryNumberName}
	}
	return []string{"query"}
}

// listsIDs reports whether one of the columns is a list of ids of the vectors found.
func listsIDs(all []Column) bool {
	return slices.ContainsFunc(all, func(c Column) bool {
		return c.Name == idsName || c.List && slices.Contains(tableIDNames(), c.Name)
	})
}

// take makes a column of that name one that is read.
func (a *answers) take(column int, w want, name string) {
	a.at[column], a.cells[column] = len(a.wants), &a.row[len(a.wants)]
	w.name = name
	a.wants = append(a.wants, w)
}

// choice returns the column with the first name, or in arrays else the only one with another of the names, or -1. A
// column without a name, which is the only one, holds ids.
func (a *answers) choice(all []Column, names []string) (int, error) {
	found := -1
	var called []string
	for i, c := range all {
		if c.Name == names[0] || c.Name == "" && names[0] == idsName {
			return i, nil
		}
		if (a.arrays || c.List) && slices.Contains(names, c.Name) {
			found, called = i, append(called, c.Name)
		}
	}
	if len(called) > 1 {
		return -1, severalArrays(a.file, names[0], called)
	}
	return found, nil
}

// has reports whether the file has a column.
func (a *answers) has(column int) bool { return a.at[column] >= 0 && !a.cells[column].missing }

func (a *answers) Next() (Result, error) {
	if a.err == nil {
		a.err = a.next(a.row[:len(a.wants)])
	}
	if a.err != nil {
		said := "column %q: %w"
		if a.lines {
			said = "field %q: %w"
		}
		a.err = placed(a, a.wants, said, true, a.err)
		return Result{}, a.err
	}
	r, err := a.result()
	if err == nil {
		err = checkResult(&r)
	}
	if err != nil {
		a.err = a.locate(-1, err)
		return Result{}, a.err
	}
	a.query++
	return r, nil
}

// result makes a result of the row.
func (a *answers) result() (Result, error) {
	r := Result{
		Query: a.query, QueryID: a.cells[ofQueryID].text, Pulls: a.cells[ofPulls].integer, Exact: a.cells[ofExact].integer != 0,
		Partial: a.has(ofComplete) && a.cells[ofComplete].integer == 0, Guarantee: a.cells[ofGuarantee].text, Delta: a.cells[ofDelta].float, Epsilon: a.cells[ofEpsilon].float,
	}
	if a.lines {
		if err := a.readLine(&r); err != nil {
			return r, err
		}
	} else if a.query == 0 {
		r.Covers = a.covers
	}
	if a.has(ofQuery) {
		r.Query = a.cells[ofQuery].integer
	}
	n, err := a.found()
	if err != nil {
		return r, err
	}
	a.readIDs(&r, n)
	if a.has(ofScores) {
		if r.Scores, err = scoresOfRow(a, a.cells[ofScores].floats, n); err != nil {
			return r, a.locate(a.at[ofScores], err)
		}
	}
	if a.has(ofScores64) {
		if r.Scores64, err = scoresOfRow(a, a.cells[ofScores64].doubles, n); err != nil {
			return r, a.locate(a.at[ofScores64], err)
		}
	}
	return r, nil
}

// found returns how many ids the row has, without padding.
func (a *answers) found() (n int, err error) {
	ids := a.cells[ofIDs]
	padded, column, wide := ids.integers, ofIDs, a.wide
	if a.has(ofRows) {
		padded, column, wide = a.cells[ofRows].integers, ofRows, false
	}
	width := max(len(ids.integers), len(ids.texts))
	switch {
	case !a.arrays:
		return width, nil
	case a.has(ofCounts):
		if n = int(a.cells[ofCounts].integer); n < 0 || n > width {
			return 0, a.locate(a.at[ofCounts], fmt.Errorf("%d ids of the %d columns", n, width))
		}
		return n, nil
	case len(padded) == 0:
		for n = width; n > 0 && ids.texts[n-1] == ""; {
			n--
		}
		return n, nil
	}
	for n < len(padded) && (padded[n] >= 0 || wide && padded[n] < -1) {
		n++
	}
	if err := onlyPadding(func(j int) int64 { return padded[j] }, n, len(padded)); err != nil {
		return 0, a.locate(a.at[column], &jsonscan.ElementError{Index: n, Err: err})
	}
	return n, nil
}

// readIDs fills in the row numbers and the ids of the n vectors found.
func (a *answers) readIDs(r *Result, n int) {
	ids := a.cells[ofIDs]
	switch {
	case len(ids.texts) > 0:
		r.IDs = slices.Clone(ids.texts[:n])
	case a.own || a.wide && slices.ContainsFunc(ids.integers[:n], func(id int64) bool { return id < 0 }):
		r.IDs = a.digits(ids.integers[:n])
	default:
		r.Rows = append(make([]int64, 0, n), ids.integers[:n]...)
	}
	if rows := a.cells[ofRows].integers; a.has(ofRows) && a.own {
		r.Rows = append(make([]int64, 0, n), rows[:a.length(len(rows), n)]...)
	}
	if names := a.cells[ofNames].texts; a.has(ofNames) && a.version < AnswersVersion {
		r.IDs = slices.Clone(names[:a.length(len(names), n)])
	}
	if len(r.IDs) == 0 {
		r.IDs = nil
	}
}

// length returns how many of the values of a list are not padding, where n vectors were found.
func (a *answers) length(values, n int) int {
	if a.arrays {
		return n
	}
	return values
}

// digits returns ids as texts.
func (a *answers) digits(ids []int64) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		if texts[i] = strconv.FormatInt(id, 10); a.wide {
			texts[i] = strconv.FormatUint(uint64(id), 10)
		}
	}
	return texts
}

// scoresOfRow returns the scores of n vectors from a list; nil if the list of a row without padding has none.
func scoresOfRow[F float32 | float64](a *answers, list []F, n int) ([]F, error) {
	list = list[:a.length(len(list), n)]
	if len(list) == 0 && n > 0 && !a.lines {
		return nil, nil
	}
	for j, s := range list {
		if s != s {
			return nil, &jsonscan.ElementError{Index: j, Err: errors.New("score is NaN")}
		}
	}
	return append(make([]F, 0, n), list...), nil
}

// onlyPadding rejects ids after the first negative one.
func onlyPadding(id func(int) int64, from, to int) error {
	for j := from; j < to; j++ {
		if id(j) != -1 {
			return fmt.Errorf("id %d where only the padding -1 is expected", id(j))
		}
	}
	return nil
}
