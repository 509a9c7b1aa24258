package dataset

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// The columns of answers with a row for each query and vector, beside those of answers with a row for each query.
const (
	longQueryName = "query"
	longIDName    = "id"
	longRowName   = "row"
	longRankName  = "rank"
	longScoreName = "score"
	longCountName = "count" // of the rows of the query that hold a vector
)

// foundVector is a vector of an answer: place 0 is the best one. An answer without vectors has one of place -1.
type foundVector struct {
	of    *Result
	place int
	first bool // of all answers
}

// writeAnswersLong writes results with a row for each query and vector, for formats without lists: query, query_id where
// queries have ids, rank from 1, id, row where ids are not the row numbers and these are known, score in float32, score64
// where scores are known in float64, count (of the query's vectors), pulls, exact, complete, guarantee, delta, epsilon and
// answers_version; id_kind, which is "row", if ids are the row numbers; and covers in the first row, if the first result
// has it. Ranks, ids, rows and scores are empty in the one row of a query without vectors. Certificates are omitted.
func writeAnswersLong(format Format, each EachResult, out io.Writer) error {
	var form answersForm
	err := each(func(_ int64, r *Result) error {
		form.see(r)
		return foldsNot(r)
	})
	if err != nil {
		return err
	}
	t := tableOf(form.longColumns(), func(do func(v *foundVector) error) error {
		v := foundVector{first: true}
		return each(func(_ int64, r *Result) error {
			v.of, v.place = r, 0
			if r.Found() == 0 {
				v.place = -1
			}
			for {
				if err := do(&v); err != nil {
					return err
				}
				v.first = false
				if v.place++; v.place >= r.Found() {
					return nil
				}
			}
		})
	})
	return writeTable(out, format, "answers", t)
}

// foldsNot refuses ids that readers of lines change.
func foldsNot(r *Result) error {
	for _, id := range append(r.IDs[:len(r.IDs):len(r.IDs)], r.QueryID) {
		if strings.Contains(id, "\r\n") {
			return fmt.Errorf("id %.60q holds the end of a line, CR LF, which readers make LF: write another format", id)
		}
	}
	return nil
}

// longColumns are the columns of a table with a row for each query and vector.
func (f *answersForm) longColumns() []field[foundVector] {
	fields := []field[foundVector]{ofAnswer(queryField())}
	if f.queryIDs.some {
		fields = append(fields, ofAnswer(f.queryIDField(queryIDName)))
	}
	fields = append(fields,
		field[foundVector]{Column{Name: longRankName, Optional: true}, func(c *tableCell, v *foundVector) {
			c.missing, c.integer = v.place < 0, int64(v.place)+1
		}},
		f.longID())
	if f.ids.some && !f.rowsUnknown {
		fields = append(fields, field[foundVector]{Column{Name: longRowName, Optional: true}, setRow})
	}
	fields = append(fields, field[foundVector]{Column{Name: longScoreName, Type: Float32, Optional: true}, func(c *tableCell, v *foundVector) {
		c.setScore(v.place >= 0 && len(v.of.Scores) > 0, func() float64 { return float64(v.of.Scores[v.place]) })
	}})
	if f.exact {
		fields = append(fields, field[foundVector]{Column{Name: score64Name, Type: Float64, Optional: true}, func(c *tableCell, v *foundVector) {
			c.setScore(v.place >= 0 && len(v.of.Scores64) > 0, func() float64 { return v.of.Scores64[v.place] })
		}})
	}
	fields = append(fields, field[foundVector]{Column{Name: longCountName}, func(c *tableCell, v *foundVector) { c.integer = int64(v.of.Found()) }})
	for _, work := range workFields() {
		fields = append(fields, ofAnswer(work))
	}
	fields = append(fields, field[foundVector]{Column{Name: versionName}, func(c *tableCell, _ *foundVector) { c.integer = AnswersVersion }})
	if !f.ids.some {
		fields = append(fields, field[foundVector]{Column{Name: idKindName, Type: Text}, func(c *tableCell, _ *foundVector) { c.text = rowKind }})
	}
	if len(f.covers) > 0 {
		fields = append(fields, field[foundVector]{Column{Name: coversName, Type: Text}, func(c *tableCell, v *foundVector) {
			if c.text = ""; v.first {
				c.text = string(f.covers)
			}
		}})
	}
	return fields
}

// longID is the column of the id of a vector, which is its row number if there are no ids.
func (f *answersForm) longID() field[foundVector] {
	if !f.ids.some {
		return field[foundVector]{Column{Name: longIDName, Optional: true}, setRow}
	}
	column := f.ids.column(longIDName, false)
	column.Optional = true
	return field[foundVector]{column, func(c *tableCell, v *foundVector) {
		if c.missing, c.text = v.place < 0, ""; !c.missing {
			c.text = v.of.ID(v.place)
		}
	}}
}

// setRow sets the row number of a vector.
func setRow(c *tableCell, v *foundVector) {
	if c.missing, c.integer = v.place < 0 || len(v.of.Rows) == 0, 0; !c.missing {
		c.integer = v.of.Rows[v.place]
	}
}

// setScore sets a score, which is missing if there is none: -Inf is none.
func (c *tableCell) setScore(there bool, score func() float64) {
	c.float = math.Inf(-1)
	if there {
		c.float = score()
	}
	c.missing = math.IsInf(c.float, -1)
}

// ofAnswer is a column of an answer as one of each of its vectors.
func ofAnswer(f field[Result]) field[foundVector] {
	return field[foundVector]{f.Column, func(c *tableCell, v *foundVector) { f.set(c, v.of) }}
}

// isOwnLong reports whether columns are those of writeAnswersLong, in any order.
func isOwnLong(all []Column) bool {
	needed := map[string]bool{longQueryName: true, longIDName: true, longRankName: true, longCountName: true, versionName: true}
	for _, c := range all {
		delete(needed, c.Name)
	}
	return len(needed) == 0
}

// longCovers returns what the cell of covers says, as coversOf.
func longCovers(c *readCell) json.RawMessage {
	if c.missing {
		return nil
	}
	return coversOf([]byte(c.text))
}
