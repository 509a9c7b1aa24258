package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
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
func OpenResults(path string, b *Budget) (ResultReader, error) { return OpenResultsOf(path, b, nil) }

// OpenResultsOf is OpenResults of answers to known queries: a table with a row for each query and vector may then call
// the queries by their ids, have its rows in any order, and lack those of queries without hits.
func OpenResultsOf(path string, b *Budget, q *Queries) (ResultReader, error) {
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
	if l, ok := r.(*longResults); ok {
		l.ask(q)
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
		for i := range codecs {
			if like := codecs[i].like; like != nil && like(head, src.size) {
				content = codecs[i].format
			}
		}
	}
	format, err := src.decide(ext, content)
	if err != nil {
		return nil, err
	}
	c := codecOf(format)
	switch {
	case c.answers != nil:
		return c.answers(src)
	case AnswersRead.has(c):
		return openTableResults(src, c)
	}
	return nil, fail(src.name, "format %s does not hold results; formats that do: %s", format, formatsThat(AnswersRead.has))
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
	if c.header && isOwnLong(all) {
		return openOwnLong(t, src, all)
	}
	if arrays || listsIDs(all) {
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
	telling, shape := tellingField(text)
	if shape != nil {
		return openResponses(src, shape), nil
	}
	switch telling {
	case "result":
		return openHits(src), nil
	case "results", "took_ms", "title", "status", "detail":
		return openBody(src), nil
	case "id":
		t, err := openJSONLRows(src, "")
		if err != nil {
			return nil, err
		}
		return openLong(t, src, "")
	}
	return openAnswerLines(src)
}

// tellingField returns the first field of a document that tells whose it is, else the first of those that a body of the
// service begins with; and the shape of responses that it tells of, nil if of none.
func tellingField(text []byte) (telling string, shape *responseShape) {
	own := false // a line of answers of thresher has begun
	_, _ = jsonscan.Fields(text, 0, func(key []byte, at int) (int, error) {
		name := string(key)
		if shape = shapeOf(name, text[min(at, len(text)):]); shape != nil && !own {
			return at, io.EOF
		}
		switch name {
		case "result", "id", "ids", "results":
			telling = name
			return at, io.EOF
		case "took_ms", "title", "status", "detail":
			telling = cmp.Or(telling, name)
		case "query":
			own = true
		}
		return jsonscan.Value(text, at)
	})
	if own {
		shape = nil
	}
	return telling, shape
}
