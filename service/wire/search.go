package wire

import (
	"encoding/json"
	"time"

	"thresher/batch"
	"thresher/columns"
	"thresher/dataset"
	"thresher/dataset/jsonscan"
	"thresher/service/problem"
	"thresher/tasks"
)

// Limits are what a body may ask for; 0 sets no limit.
type Limits struct {
	Queries int // most queries of a body
	K       int // most atoms of an answer
	Listed  int // most ids in the goals of a body
	IDs     int // most ids of another list
	// Origin is what the rows of the collection are relative to, and its queries are taken relative
	// to, in float64; nil is zero.
	Origin []float64
	// Float64 says that queries are kept as they are given, in Search.Queries64; Origin is nil then.
	Float64 bool
	// Budget limits what matrices of bodies claim; nil is the default.
	Budget *dataset.Budget
	// Covers makes the search have a Digest, as if the body included covers.
	Covers bool
}

// Search is the content of a body, checked as far as is possible without the collection: k is
// at least 1 but may exceed the number of atoms, and ids may not exist.
type Search struct {
	// Queries holds M rows of Dim finite values, row-major, relative to Limits.Origin.
	Queries []float32
	// Queries64 are such in float64, relative to nothing, in place of Queries by Limits.Float64.
	Queries64 []float64
	M, Dim    int
	// Changes are the largest changes that rounding to float32 made to a coordinate of each query;
	// nil if it made none.
	Changes []float64
	// K is 0 only if MinScore asks for all atoms that reach it and k is not limited. CutK
	// says that a K above the number of atoms is reduced rather than refused: the body says
	// so, or names no k.
	K    int
	CutK bool
	// Delta in (0, 1); 0 if the body names none.
	Delta    float64
	Epsilon  float64
	Relative bool         // Epsilon is a multiple of |q| max|v|
	Method   batch.Method // one of batch.Methods; "" if the body names none
	Plan     string
	// Published are the options of a published method, each valid by itself.
	Published batch.Published
	// MinScore and MaxScore are the least and the greatest score wanted; nil: any.
	MinScore, MaxScore *float64
	// ScoreLimit and DistanceLimit are the first fields that limit scores by a name of scores, and by one of
	// distances; "" if there are none. CheckLimits compares them with the metric.
	ScoreLimit, DistanceLimit string
	Deadline                  time.Duration // after which the search ends; 0: none
	// Goals, one a query, are nil if the body has none. Then K and CutK hold for all.
	Goals []QueryGoal
	// Filter and Exclude are nil if the body has none.
	Filter, Exclude *IDList
	// Former lists the fields that were given by a name that they had before, in order.
	Former []Former
	// Certificate, Rounds, Rows and Scores64 say what the answer includes.
	Certificate, Rounds, Rows, Scores64 bool
	// Digest is that of the queries as the body gives them, nil if the answer does not state what it covers.
	Digest *tasks.QueryDigest
	// Covers is what the answer states that it covers, as one JSON object (Coverage). Whoever knows the
	// collection sets it; nil states nothing.
	Covers json.RawMessage
}

// IDList is a list of ids in a body. In JSON it has numbers, which are Ints, or strings,
// which are Names; the other is nil. Numbers of which one is 2^63 or more are Names too, their digits.
// Query parameters do not distinguish them: Names has all
// ids, and Ints too if all are integers. In an empty list both are empty.
type IDList struct {
	Ints  []int64
	Names []string
	// Mask, if not nil, has true for each atom that is listed, in place of ids.
	Mask []bool
	// Where, if not nil, is true for each atom that is listed, in place of ids.
	Where *columns.Expr
}

// Len is the number of ids, or of the atoms of a mask.
func (l *IDList) Len() int { return max(len(l.Ints), len(l.Names), len(l.Mask)) }

// Rows returns the rows that a mask of n atoms lists; ok is false for ids. Integers that can be
// a mask as well as ids are refused: as many as there are atoms, and all of them 0 or 1.
func (l *IDList) Rows(n int, field string) (rows []int64, ok bool, err error) {
	if l.Mask == nil {
		return nil, false, l.refuseMask(n, field)
	}
	if len(l.Mask) != n {
		return nil, false, problem.New(problem.InvalidValue, "%s is a mask of %d, one of the %d vectors is wanted", field, len(l.Mask), n).In(field).Within(n)
	}
	rows = []int64{}
	for row, listed := range l.Mask {
		if listed {
			rows = append(rows, int64(row))
		}
	}
	return rows, true, nil
}

func (l *IDList) refuseMask(n int, field string) error {
	if n < 2 || len(l.Ints) != n {
		return nil
	}
	for _, id := range l.Ints {
		if id != 0 && id != 1 {
			return nil
		}
	}
	return problem.New(problem.InvalidValue, "%s has %d integers that are all 0 or 1, which can be a mask of the %d vectors, or the ids 0 and 1, repeated; a mask is of true and false, and ids are listed once each", field, n, n).In(field)
}

// Request returns s for an engine, without the goals, Filter and Exclude, whose rows only the
// collection knows. It shares Queries and Queries64.
func (s *Search) Request() batch.Request {
	k := s.K
	if s.Goals != nil {
		k = 0 // the goals have it
	}
	return batch.Request{
		Queries: s.Queries, Queries64: s.Queries64, Changes: s.Changes, Stored: s.Queries64 == nil, K: k, Delta: s.Delta, Epsilon: s.Epsilon, Relative: s.Relative,
		Method: s.Method, Plan: s.Plan, Published: s.Published, MinScore: s.MinScore, MaxScore: s.MaxScore, Deadline: s.Deadline, SearchScores: s.Scores64,
	}
}

// DecodeSearch reads the JSON body of a search in a collection of dimension dim. The result
// does not share body's memory. Errors are of type *problem.Problem.
func DecodeSearch(body []byte, dim int, l Limits) (*Search, error) {
	return DecodeSearchOrTexts(body, dim, l, nil)
}

// DecodeSearchOrTexts is DecodeSearch of a body that may have texts in place of queries;
// encode makes their vectors, and nil refuses texts.
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

// nothingBehind refuses bytes after the value that ends at b[end].
func nothingBehind(b []byte, end int) error {
	if end = jsonscan.Space(b, end); end < len(b) {
		return jsonscan.Wanted(b, end, "the end")
	}
	return nil
}
