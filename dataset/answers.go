package dataset

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// checkResult rejects lists of different lengths.
func checkResult(r *Result) error {
	switch n := r.Found(); {
	case r.Scores != nil && len(r.Scores) != n:
		return fmt.Errorf("%d scores for %d ids", len(r.Scores), n)
	case r.Scores64 != nil && len(r.Scores64) != n:
		return fmt.Errorf("%d scores64 for %d ids", len(r.Scores64), n)
	case len(r.IDs) > 0 && len(r.Rows) > 0 && len(r.IDs) != len(r.Rows):
		return fmt.Errorf("%d ids for %d rows", len(r.IDs), len(r.Rows))
	}
	if !(r.Delta >= 0 && r.Delta < 1) || !(r.Epsilon >= 0) {
		return fmt.Errorf("delta %g or epsilon %g is out of range", r.Delta, r.Epsilon)
	}
	return checkGuarantee(r.Guarantee)
}

// maxGuarantee is the number of ASCII characters that the name of a guarantee has at most.
const maxGuarantee = 13

// checkGuarantee refuses what is no name of a guarantee.
func checkGuarantee(name string) error {
	if len(name) > maxGuarantee {
		return fmt.Errorf("guarantee %.40q is longer than %d characters", name, maxGuarantee)
	}
	for _, r := range name {
		if r < ' ' || r > '~' {
			return fmt.Errorf("guarantee %q is not ASCII", name)
		}
	}
	return nil
}

// inOrder rejects a result that is not that of query i, or has more than k ids.
func inOrder(i int64, r *Result, k int) error {
	if r.Query != i {
		return fmt.Errorf("record %d (0-based) should be query %d: the output has no query numbers", i, i)
	}
	if n := r.Found(); n > k {
		return fmt.Errorf("%d ids where the output has k = %d columns", n, k)
	}
	return nil
}

// EachResult calls do with every result and its index, and returns its first error. Whenever it is
// called, it passes on the same results. A result is valid during the call.
type EachResult func(do func(i int64, r *Result) error) error

// Covering passes on the records of a spool, the first of them with covers, which may be nil.
func Covering(spool io.ReadSeeker, covers json.RawMessage) EachResult {
	return func(do func(i int64, r *Result) error) error {
		return EachRecord(spool, func(i int64, r *Result) error {
			if r.Covers = nil; i == 0 {
				r.Covers = covers
			}
			return do(i, r)
		})
	}
}

// WriteResultsNPZ writes results in memory as WriteNPZ does.
func WriteResultsNPZ(results []Result, k int, out io.Writer) error {
	return WriteNPZ(func(do func(i int64, r *Result) error) error {
		for i := range results {
			r := &results[i]
			if err := checkResult(r); err != nil {
				return fmt.Errorf("query %d: %w", r.Query, err)
			}
			if err := do(int64(i), r); err != nil {
				return fmt.Errorf("query %d: %w", r.Query, err)
			}
		}
		return nil
	}, k, out)
}

// WriteNPZ writes results as an uncompressed npz with answers_version, ids [m,k], rows int64 [m,k], scores float32
// [m,k], scores64 float64 [m,k], pulls int64 [m], exact bool [m], complete bool [m], guarantee, texts [m], delta
// and epsilon float64 [m], and query_ids [m] where queries have ids. ids and query_ids are int64 while all are whole
// numbers and fit, else uint64, with counts int64 [m] of the ids, else texts; without ids they are the rows, and
// id_kind is "row". Rows of fewer than k answers are padded with id -1, 2^64-1 or the empty text, row -1 and score
// -Inf. rows and scores64 are omitted if they are not known. Records must be in the order of their queries, from 0
// without gaps. Certificates are omitted.
// The array covers, bytes of JSON, is there if the first result has it.
func WriteNPZ(each EachResult, k int, out io.Writer) error {
	return writeAnswerArrays(NPZ, each, k, out)
}

// writeAnswerArrays writes results as the columns of WriteNPZ.
func writeAnswerArrays(format Format, each EachResult, k int, out io.Writer) error {
	if k < 1 {
		return fmt.Errorf("k = %d is below 1", k)
	}
	rows := int64(0)
	var form answersForm
	err := each(func(i int64, r *Result) error {
		rows++
		form.see(r)
		return inOrder(i, r, k)
	})
	if err != nil {
		return err
	}
	t := form.table(each, form.arrays())
	t.rows, t.width = rows, int64(k)
	t.facts = append(form.covering(), t.facts...)
	return writeTable(out, format, "answers", t)
}

// writeAnswerRows writes results as the columns query int64, ids and rows list<int64>, scores list<float>, scores64
// list<double>, pulls int64, exact bool, complete bool, guarantee string, delta and epsilon double, and query_id
// where queries have ids, compressed with snappy. ids and query_id are int64 while all are whole numbers and fit,
// else uint64, else strings. rows and scores64 are omitted if they are not known. The metadata state answers_version
// and, if ids are row numbers, id_kind. Records may be in any order. Certificates are omitted.
// Those of the first result's covers are there if it has them.
func writeAnswerRows(format Format, each EachResult, out io.Writer) error {
	var form answersForm
	err := each(func(_ int64, r *Result) error {
		form.see(r)
		return nil
	})
	if err != nil {
		return err
	}
	t := form.table(each, form.rowColumns())
	t.facts = append(t.facts, form.covering()...)
	return writeTable(out, format, "answers", t)
}

// idForm is how a column of ids is stored: as int64 while all are whole numbers and fit, else as uint64 while
// all fit that, else as texts.
type idForm struct {
	some, texts, wide bool
	length            int // code points of the longest
}

// see takes an id into account.
func (f *idForm) see(id string) {
	f.some = true
	if len(id) > f.length {
		f.length = max(f.length, utf8.RuneCountInString(id))
	}
	if f.texts {
		return
	}
	x, ok := parseWhole(id)
	f.texts = !ok
	f.wide = f.wide || x > math.MaxInt64
}

// column is the column of ids of this form.
func (f *idForm) column(name string, list bool) Column {
	c := Column{Name: name, Type: Int64, List: list, Digits: true}
	switch {
	case f.texts:
		c.Type, c.Digits, c.Length = Text, false, f.length
	case f.wide:
		c.Type = Uint64
	}
	return c
}

// answersForm is how the columns of some results are stored.
type answersForm struct {
	ids, queryIDs idForm
	rowsUnknown   bool // of a vector
	exact         bool // some have scores in float64
	covers        json.RawMessage
}

// see takes a result into account.
func (f *answersForm) see(r *Result) {
	for _, id := range r.IDs {
		f.ids.see(id)
	}
	if r.QueryID != "" {
		f.queryIDs.see(r.QueryID)
	}
	f.rowsUnknown = f.rowsUnknown || len(r.Rows) < len(r.IDs)
	f.exact = f.exact || len(r.Scores64) > 0
	if f.covers == nil {
		f.covers = r.Covers
	}
}

// table is that of results, which states the version of answers, and whether ids are row numbers.
func (f *answersForm) table(each EachResult, fields []field[Result]) *table {
	t := tableOf(fields, func(do func(r *Result) error) error {
		return each(func(_ int64, r *Result) error { return do(r) })
	})
	t.name = "answers"
	t.facts = []fact{{versionName, Int64, strconv.Itoa(AnswersVersion)}}
	if !f.ids.some {
		t.facts = append(t.facts, fact{idKindName, Text, rowKind})
	}
	return t
}

// covering states what answers cover, if that is known.
func (f *answersForm) covering() []fact {
	if len(f.covers) == 0 {
		return nil
	}
	return []fact{{coversName, JSON, string(f.covers)}}
}

// rowColumns are the columns of a table that has rows in any order.
func (f *answersForm) rowColumns() []field[Result] {
	fields := []field[Result]{queryField()}
	if f.queryIDs.some {
		fields = append(fields, f.queryIDField(queryIDName))
	}
	fields = append(fields, f.idsField())
	if !f.rowsUnknown {
		fields = append(fields, rowsField(rowsName))
	}
	return append(fields, f.answerFields()...)
}

// arrays are the columns of a table whose rows are the queries, in order.
func (f *answersForm) arrays() []field[Result] {
	fields := []field[Result]{f.idsField()}
	if f.ids.wide && !f.ids.texts { // there is no number that pads, and is no id
		fields = append(fields, field[Result]{Column{Name: countsName}, func(c *tableCell, r *Result) { c.integer = int64(r.Found()) }})
	}
	if !f.rowsUnknown {
		fields = append(fields, rowsField(rowsName))
	}
	if f.queryIDs.some {
		fields = append(fields, f.queryIDField(queryIDsName))
	}
	return append(fields, f.answerFields()...)
}

// answerFields are the columns of an answer but its ids.
func (f *answersForm) answerFields() []field[Result] {
	fields := []field[Result]{scoresField()}
	if f.exact {
		fields = append(fields, scores64Field())
	}
	return append(fields, workFields()...)
}

func (f *answersForm) queryIDField(name string) field[Result] {
	return field[Result]{f.queryIDs.column(name, false), func(c *tableCell, r *Result) { c.text = r.QueryID }}
}

// idsField is the column of the ids, which are the row numbers if there are none.
func (f *answersForm) idsField() field[Result] {
	if !f.ids.some {
		return rowsField(idsName)
	}
	return field[Result]{f.ids.column(idsName, true), func(c *tableCell, r *Result) {
		if c.texts = r.IDs; len(r.IDs) > 0 {
			return
		}
		for i := range r.Rows { // of results without ids among others that have some
			c.texts = append(c.texts, r.ID(i))
		}
	}}
}

func queryField() field[Result] {
	return field[Result]{Column{Name: "query"}, func(c *tableCell, r *Result) { c.integer = r.Query }}
}

func rowsField(name string) field[Result] {
	return field[Result]{Column{Name: name, List: true}, func(c *tableCell, r *Result) { c.integers = r.Rows }}
}

func scoresField() field[Result] {
	return field[Result]{Column{Name: "scores", Type: Float32, List: true}, func(c *tableCell, r *Result) { c.floats = r.Scores }}
}

func scores64Field() field[Result] {
	return field[Result]{Column{Name: scores64Name, Type: Float64, List: true}, func(c *tableCell, r *Result) { c.doubles = r.Scores64 }}
}

// workFields say what an answer took, and what holds for it.
func workFields() []field[Result] {
	return []field[Result]{
		{Column{Name: "pulls"}, func(c *tableCell, r *Result) { c.integer = r.Pulls }},
		{Column{Name: "exact", Type: Bool}, func(c *tableCell, r *Result) { c.setBool(r.Exact) }},
		{Column{Name: "complete", Type: Bool}, func(c *tableCell, r *Result) { c.setBool(!r.Partial) }},
		{Column{Name: guaranteeName, Type: Text, Repeats: true, Length: maxGuarantee}, func(c *tableCell, r *Result) { c.text = r.Guarantee }},
		{Column{Name: deltaName, Type: Float64}, func(c *tableCell, r *Result) { c.float = r.Delta }},
		{Column{Name: epsilonName, Type: Float64}, func(c *tableCell, r *Result) { c.float = r.Epsilon }},
	}
}
