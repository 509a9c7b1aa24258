package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// Naming says what answers call the rows of a collection. At most one of Int and Name is set;
// without either, row numbers are the ids.
type Naming struct {
	Int  func(row int64) int64
	Name func(row int64) string
	// Digits reports whether the texts of Name are whole numbers from 0 to 2^64-1 throughout; nil: they are not.
	Digits func() bool
	// Metric is that of the collection, whose scores answers state.
	Metric collection.Metric
}

// Whole reports whether ids are whole numbers in files.
func (n Naming) Whole() bool { return n.Name == nil || n.Digits != nil && n.Digits() }

// Textual reports whether ids are strings.
func (n Naming) Textual() bool { return n.Name != nil }

// ID returns the id of a row if ids are not strings.
func (n Naming) ID(row int64) int64 {
	if n.Int != nil {
		return n.Int(row)
	}
	return row
}

// AppendAnswer appends the JSON answer to s to dst:
//
//	{"answers_version":2,"version":3,"took_ms":1.25,"results":[
//	  {"ids":[7,1],"rows":[6,0],"scores":[2.5,0.1],"scores64":[2.5,0.1000000001],
//	   "complete":true,"guarantee":"certain","delta":0,"certificate":{..},"rounds":[..]},
//	  {"ids":[],"scores":[],"complete":false,"guarantee":"bound","delta":0,"open_bound":17.25}],
//	 "warnings":["k 10 cut to the 2 vectors there are"]}
//
// Optional members: writes after version, if it changes by rows; covers before results, if s has it, and with it "id_kind":"row" if ids are row numbers; rows, scores64, certificate and rounds if s includes them, open_bound if an
// answer is not complete and a bound is known, warnings if there are any. If the metric is l2,
// scores are squared distances and open_bound is half of one, negated. Numbers have the fewest
// digits that determine the float32, of scores64 the float64; those that are not finite are null.
func AppendAnswer(dst []byte, version int64, writes *uint64, took time.Duration, resp *batch.Response, s *Search, ids Naming) []byte {
	dst = AppendOpening(dst, version, writes, took, s.Covers, ids)
	for j := range resp.Answers {
		dst = AppendResult(dst, j, &resp.Answers[j], s, ids)
	}
	return AppendClosing(dst, resp.Warnings)
}

// AppendOpening appends the part of an answer before its results; covers is what it states that it covers, one
// JSON object, or nil. writes is how many a version had seen that changes by rows, else nil. With covers id_kind is "row" if ids are row numbers, which answers over other vectors have too.
func AppendOpening(dst []byte, version int64, writes *uint64, took time.Duration, covers json.RawMessage, ids Naming) []byte {
	dst = AppendVersion(append(dst, '{'))
	dst = append(dst, `,"version":`...)
	dst = strconv.AppendInt(dst, version, 10)
	if writes != nil {
		dst = strconv.AppendUint(append(dst, `,"writes":`...), *writes, 10)
	}
	dst = append(dst, `,"took_ms":`...)
	dst = AppendDouble(dst, float64(took)/float64(time.Millisecond))
	dst = appendCovers(append(dst, ','), covers)
	if covers != nil && ids.Int == nil && ids.Name == nil {
		dst = append(dst, `"id_kind":"row",`...)
	}
	return append(dst, `"results":[`...)
}

// AppendVersion appends the member answers_version.
func AppendVersion(dst []byte) []byte {
	return strconv.AppendInt(append(dst, `"answers_version":`...), dataset.AnswersVersion, 10)
}

// AppendResult appends the answer to query j; results are appended in order.
func AppendResult(dst []byte, j int, a *batch.Answer, s *Search, ids Naming) []byte {
	if j > 0 {
		dst = append(dst, ',')
	}
	return append(appendResult(dst, a, s, ids), '}')
}

// AppendCertified is AppendResult with the certificate and, if recall is not nil, the recall of
// the answer that was stated and the rows that it lacks.
func AppendCertified(dst []byte, j int, a *batch.Answer, s *Search, ids Naming, recall *float64, missed []int64) []byte {
	if j > 0 {
		dst = append(dst, ',')
	}
	with := *s
	with.Certificate = true
	dst = appendResult(dst, a, &with, ids)
	if recall != nil {
		dst = appendRecall(append(dst, ','), *recall, missed, ids)
	}
	return append(dst, '}')
}

// AppendMiss appends the answer to query j, of this recall, and the rows that it lacks.
func AppendMiss(dst []byte, j int, recall float64, missed []int64, ids Naming) []byte {
	dst = append(dst, `{"query":`...)
	dst = strconv.AppendInt(dst, int64(j), 10)
	return append(appendRecall(append(dst, ','), recall, missed, ids), '}')
}

func appendRecall(dst []byte, recall float64, missed []int64, ids Naming) []byte {
	dst = append(dst, `"recall":`...)
	dst = AppendDouble(dst, recall)
	dst = append(dst, `,"missed":[`...)
	return append(appendIDs(dst, missed, ids), ']')
}

// AppendClosing appends the part of an answer after its results.
func AppendClosing(dst []byte, warnings []string) []byte {
	dst = append(dst, ']')
	if len(warnings) > 0 {
		dst = append(dst, `,"warnings":[`...)
		for i, w := range warnings {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendString(dst, w)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendIDs appends the ids of rows, separated by commas.
func appendIDs(dst []byte, rows []int64, ids Naming) []byte {
	for i, row := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		if ids.Textual() {
			dst = AppendString(dst, ids.Name(row))
		} else {
			dst = strconv.AppendInt(dst, ids.ID(row), 10)
		}
	}
	return dst
}

// appendResult appends an answer without its closing brace.
func appendResult(dst []byte, a *batch.Answer, s *Search, ids Naming) []byte {
	dst = append(dst, `{"ids":[`...)
	dst = append(appendIDs(dst, a.IDs, ids), ']')
	if s.Rows {
		dst = append(dst, `,"rows":[`...)
		dst = append(appendIDs(dst, a.IDs, Naming{}), ']')
	}
	dst = append(dst, `,"scores":[`...)
	for i, v := range a.Scores {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendFloat(dst, v)
	}
	dst = append(dst, ']')
	if s.Scores64 {
		dst = append(dst, `,"scores64":[`...)
		for i, v := range a.SearchScores {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendDouble(dst, ids.Metric.Shown(v))
		}
		dst = append(dst, ']')
	}
	c := &a.Certificate
	dst = append(dst, `,"complete":`...)
	dst = strconv.AppendBool(dst, c.StoppedBy == batch.Done)
	dst = append(dst, `,"guarantee":`...)
	dst = AppendString(dst, string(c.Guarantee))
	dst = append(dst, `,"delta":`...)
	dst = AppendDouble(dst, c.Delta)
	if c.OpenBound != nil {
		dst = append(dst, `,"open_bound":`...)
		dst = AppendDouble(dst, *c.OpenBound)
	}
	if s.Certificate {
		dst = append(dst, `,"certificate":`...)
		dst = AppendCertificate(dst, c)
	}
	if s.Rounds {
		dst = append(dst, `,"rounds":`...)
		dst = appendRounds(dst, c.Looks)
	}
	return dst
}

// AppendFloat appends v as JSON with the fewest digits that determine the float32, and null
// if it is not finite.
func AppendFloat(dst []byte, v float32) []byte { return appendNumber(dst, float64(v), 32) }

// AppendDouble is AppendFloat of a float64.
func AppendDouble(dst []byte, v float64) []byte { return appendNumber(dst, v, 64) }

// appendNumber appends null for numbers that JSON cannot express. Very large and very small
// ones get an exponent, and so do float64 from 2^53 on, whose digits could be read as another integer.
func appendNumber(dst []byte, v float64, bits int) []byte {
	if v-v != 0 {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21 || bits == 64 && a >= 1<<53) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}
