package dataset

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"thresher/dataset/jsonscan"
)

// Result is the answer to one query.
type Result struct {
	Query       int64           // row of the query, 0-based
	QueryID     string          // the query's own id; "" if the queries have none
	Rows        []int64         // row numbers of the vectors found, best first; nil if the file has only IDs
	IDs         []string        // their own ids, as text; nil if the vectors have none
	Scores      []float32       // one a vector found; nil if the file has none. -Inf is no score
	Scores64    []float64       // the same scores unrounded, for l2 the squared distances; nil if the file has none
	Pulls       int64           // coordinates read; -1 if the file withholds it
	Exact       bool            // whether the answer is exact, not only correct with high probability
	Partial     bool            // the search was stopped before the answer was complete; false if the file does not say
	Guarantee   string          // the kind of guarantee that the answer has, by its name; "" if the file does not say
	Delta       float64         // failure probability that the guarantee allows; 0 for none, or if the file does not say
	Epsilon     float64         // gap that it allows, in score units; 0 for none, or if the file does not say
	Certificate json.RawMessage // one JSON object, or nil
	// Covers says what all answers of the file are for, as one JSON object (tasks.Coverage). The first
	// answer has it; nil if the file does not say.
	Covers json.RawMessage
}

// Found returns the number of vectors found.
func (r *Result) Found() int { return max(len(r.Rows), len(r.IDs)) }

// ID returns the id of the vector found at i, which is its row number if the vectors have no ids.
func (r *Result) ID(i int) string {
	if len(r.IDs) > 0 {
		return r.IDs[i]
	}
	return strconv.FormatInt(r.Rows[i], 10)
}

// ResultReader streams results. It is not safe for concurrent use.
type ResultReader interface {
	// Next returns the next result, whose slices the caller owns; io.EOF after the last. Other
	// errors are of type *Error, and final.
	Next() (Result, error)
	// Len returns the number of results, -1 if only reading tells.
	Len() int64
	// Close releases the file.
	Close() error
}

// OpenResults opens results in any of the forms that the package comment lists. Padding (id -1)
// is removed. Files of other programs may lack scores, pulls and exact, and may have ids
// instead of row numbers; without query numbers the rows are numbered as queries. The budget limits the memory
// that reading takes; nil is the default.
func OpenResults(path string, b *Budget) (ResultReader, error) {
	format, gzipped := FormatOf(path)
	src, err := openSource(path, gzipped)
	if err != nil {
		return nil, err
	}
	src.limit(b)
	r, err := openResultsAs(src, format)
	if err != nil {
		src.Close()
		return nil, located(src.name, -1, err)
	}
	return r, nil
}

func openResultsAs(src *source, ext Format) (ResultReader, error) {
	head, err := src.head()
	if err != nil {
		return nil, err
	}
	content := Sniff(head)
	if ext == Unknown && isWeak(content) {
		if _, _, forms := truthOf(head, src.size); forms != nil {
			content = IBin
		}
	}
	format, err := src.decide(ext, content)
	if err != nil {
		return nil, err
	}
	switch format {
	case JSONL:
		return openJSONResults(src)
	case IVecs:
		return openIVecsResults(src)
	case IBin:
		return openTruth(src)
	}
	if c := codecOf(format); c.table != nil && !c.numbers {
		return openTableResults(src, c)
	}
	return nil, fail(src.name, "format %s does not hold results (npz, npy, jsonl, json, csv, parquet, ivecs and ibin do)", format)
}

// openTableResults opens answers with a row for each query, if the table has lists of ids, or else a row for each
// query and vector.
func openTableResults(src *source, c *codec) (ResultReader, error) {
	t, err := c.table(src, HeaderYes)
	if err != nil {
		return nil, err
	}
	arrays := c.names != namedColumns
	all, err := t.columns()
	if err != nil {
		return nil, err
	}
	if arrays || slices.ContainsFunc(all, func(c Column) bool { return c.Name == idsName }) {
		return openAnswers(t, src, arrays)
	}
	lacks := ""
	if !c.header { // a format that has lists
		lacks = "no column ids, and "
	}
	return openLong(t, src, lacks)
}

// openJSONResults chooses between the forms of answers in JSON by the first field that differs.
func openJSONResults(src *source) (ResultReader, error) {
	text, _ := src.r.Peek(src.r.Size()) // fewer if the input ends
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte(byteOrderMark)))
	if len(text) > 0 && text[0] == '[' {
		return openHits(src), nil
	}
	telling := ""
	_, _ = jsonscan.Fields(text, 0, func(key []byte, at int) (int, error) {
		switch string(key) {
		case "result", "id", "ids":
			telling = string(key)
			return at, io.EOF
		}
		return jsonscan.Value(text, at)
	})
	switch telling {
	case "result":
		return openHits(src), nil
	case "id":
		t, err := openJSONLRows(src, "")
		if err != nil {
			return nil, err
		}
		return openLong(t, src, "")
	}
	return openAnswerLines(src)
}
