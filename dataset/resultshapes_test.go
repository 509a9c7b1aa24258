package dataset

import (
	"io"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/internal/shapes"
)

// TestAnswersOfClients: a file of every shape that is read has the answers that its client gave.
func TestAnswersOfClients(t *testing.T) {
	read := map[string]bool{}
	for _, shape := range shapes.All() {
		r, err := OpenResultsOf("../internal/shapes/testdata/"+shape.File, nil, askedBy(&shape))
		if err != nil {
			t.Errorf("%s: %v", shape.File, err)
			continue
		}
		for q, best := range shapes.Best {
			got, err := r.Next()
			if err != nil {
				t.Errorf("%s: query %d: %v", shape.File, q, err)
				break
			}
			ids := make([]string, len(best))
			for i, row := range best {
				ids[i] = strconv.FormatInt(row, 10)
				if shape.IDs == shapes.Texts {
					ids[i] = shapes.Names[row]
				}
			}
			same := len(best)
			if q == 1 {
				same = 1 // the others tie with more
			}
			for i := range same {
				if got.Query != int64(q) || got.ID(i) != ids[i] || (got.IDs == nil) != (shape.IDs == shapes.Rows) {
					t.Errorf("%s: query %d: %+v", shape.File, q, got)
				}
			}
			if (got.Scores != nil) != (shape.Scores != "") {
				t.Errorf("%s: query %d has scores %v", shape.File, q, got.Scores)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: after the last %v", shape.File, err)
		}
		r.Close()
		if _, shape := tellingField(shape.Data()); shape != nil {
			read[shape.program] = true
		}
	}
	for _, s := range responseShapes {
		if !read[s.program] {
			t.Errorf("internal/shapes has no response of %s", s.program)
		}
	}
}

// askedBy are the queries of a shape.
func askedBy(s *shapes.Shape) *Queries {
	q := &Queries{Len: func() (int64, error) { return int64(len(shapes.Asked)), nil }, IDs: func() (*IDs, error) { return nil, nil }}
	if s.Queries != "" {
		q.IDs = func() (*IDs, error) { return IDsOf(shapes.Asked), nil }
	}
	return q
}

// TestRuns: runs of TREC and judgements are answers in the order of their scores.
func TestRuns(t *testing.T) {
	both := bareResults(true)
	named := namedResults()
	for name, c := range map[string]struct {
		text string
		want []Result
	}{
		"a.trec":   {"0 Q0 1 2 1.0 run\n0 Q0 3 1 2.5 run\n\n1 Q0 4 1 7 run\n0\tQ0\t2\t3\t.25\trun\n1 Q0 0 2 -1 run", both},
		"b.run":    {"0 Q0 c 1 2.5 run\n0 Q0 a 2 1 run\n0 Q0 bé 3 .25 run\n1 Q0 d 1 7 run\n1 Q0 e 2 -1 run\n", named},
		"c.qrels":  {"0 0 3 2.5\n0 0 1 1\n0 0 2 .25\n1 0 4 7\n1 0 0 -1\n", both},
		"beir.tsv": {"query-id\tcorpus-id\tscore\n0\t3\t2.5\n0\t1\t1\n0\t2\t.25\n1\t4\t7\n1\t0\t-1\n", both},
	} {
		got, _, err := readResults(writeTemp(t, name, c.text))
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", name, err, d)
		}
	}
	for name, c := range map[string]struct {
		text string
		row  int64
		want string
	}{
		"a.trec": {"0 Q0 1 2 1.0 run\n0 Q0 1 1.0\n", 1, "line 2: 4 fields, where a run has 6"},
		"b.trec": {"0 1\n", 0, "line 1: 2 fields, where a run has 6"},
		"c.trec": {"0 Q0 1 2 x run\n", 0, "score"},
		"d.trec": {"q0 Q0 1 2 1 run\n", -1, `query "q0" is no row number, and the queries have no ids`},
	} {
		path := writeTemp(t, name, c.text)
		_, _, err := readResults(path)
		checkError(t, nil, err, path, c.row, -1, c.want)
	}
	path := writeTemp(t, "v.trec", "0 Q0 1 2 1 run\n")
	_, err := Open(path, nil)
	checkError(t, nil, err, path, -1, -1, "format trec holds answers, and no vectors")
}
