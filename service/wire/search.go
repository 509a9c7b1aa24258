package wire

import (
	"time"

	"thresher/batch"
	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// Limits are what a body may ask for; 0 sets no limit.
type Limits struct {
	Queries int // most queries of a body
	K       int // most atoms of an answer
}

// defaultK is the k of a search that names none.
const defaultK = 10

// Search is what a body asks for, checked as far as it can be without the
// collection: k is at least 1 but may be above the number of atoms, ids may not
// exist.
type Search struct {
	// Queries holds M rows of Dim finite values, row-major.
	Queries []float32
	M, Dim  int
	// K is 0 only where MinScore asks for all that reach it and there is no
	// limit on k. CutK says that a K above the number of atoms is to be cut to it
	// rather than refused: the body says so, or names no k.
	K    int
	CutK bool
	// Delta in (0, 1); 0 if the body names none.
	Delta    float64
	Epsilon  float64
	Relative bool         // Epsilon is a multiple of |q| max|v|
	Method   batch.Method // one of batch.Methods; "" if the body names none
	Plan     string
	MinScore *float64
	Timeout  time.Duration // 0: none
	// Allow and Deny are nil if the body has none.
	Allow, Deny *IDList
	// Certificate and Rounds are what the answer is to include.
	Certificate, Rounds bool
}

// IDList is a list of ids as a body gives it. JSON gives numbers, which are
// Ints, or strings, which are Names; the other is nil. Query parameters do not
// tell them apart: Names has them all, and Ints too if all are whole numbers.
// An empty list has both empty.
type IDList struct {
	Ints  []int64
	Names []string
}

// Len is the number of ids.
func (l *IDList) Len() int { return max(len(l.Ints), len(l.Names)) }

// Request is s for an engine, but for Allow and Deny, whose rows only the
// collection knows. It shares Queries.
func (s *Search) Request() batch.Request {
	return batch.Request{
		Queries: s.Queries, K: s.K, Delta: s.Delta, Epsilon: s.Epsilon, Relative: s.Relative,
		Method: s.Method, Plan: s.Plan, MinScore: s.MinScore, Timeout: s.Timeout,
	}
}

// DecodeSearch reads the JSON body of a search in a collection of dimension
// dim. The result does not share body's memory. Errors are of type
// *problem.Problem.
func DecodeSearch(body []byte, dim int, l Limits) (*Search, error) {
	return DecodeSearchOrTexts(body, dim, l, nil)
}

// DecodeSearchOrTexts is DecodeSearch of a body that may have texts in place of queries,
// whose vectors encode makes; nil refuses them.
func DecodeSearchOrTexts(body []byte, dim int, l Limits, encode Encoder) (*Search, error) {
	d := NewDraft(dim, l)
	end, err := jsonscan.Fields(body, jsonscan.Space(body, 0), func(key []byte, at int) (int, error) {
		switch string(key) {
		case fieldQueries:
			return d.Matrix(body, at)
		case fieldTexts:
			return d.texts(body, at, encode)
		}
		return d.Option(string(key), body, at)
	})
	if err == nil {
		err = nothingBehind(body, end)
	}
	if err != nil {
		return nil, problem.Unreadable(err)
	}
	return d.Search()
}

// nothingBehind refuses what follows the value that ends at b[end].
func nothingBehind(b []byte, end int) error {
	if end = jsonscan.Space(b, end); end < len(b) {
		return jsonscan.Wanted(b, end, "the end")
	}
	return nil
}
