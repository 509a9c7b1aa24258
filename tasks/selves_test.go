package tasks

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheckSelves names the first query that is not its atom, of queries from any atom on.
func TestCheckSelves(t *testing.T) {
	atoms := []float32{1, 2, 3, 4, 5, 6, 5, 6}
	for _, c := range []struct {
		name    string
		queries []float32
		first   int64
		number  int64
		want    *SelfError
		says    string
	}{
		{"all", atoms, 0, 0, nil, ""},
		{"none", nil, 0, 0, nil, ""},
		{"some", atoms[2:6], 1, 0, nil, ""},
		{"another", []float32{3, 4, 5, 7}, 1, 0, &SelfError{1, 2, 4}, "query 1 is not vector 2"},
		{"numbered", []float32{3, 4, 6, 5}, 1, 10, &SelfError{11, 2, 4}, "query 11 is not vector 2"},
		{"too many", []float32{5, 6, 5, 6}, 3, 3, &SelfError{4, 4, 4}, "query 4 stands for vector 4, and there are 4"},
		{"far out", []float32{5, 6}, math.MaxInt64, 0, &SelfError{0, math.MaxInt64, 4}, "query 0 stands for vector 9223372036854775807, and there are 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got *SelfError
			err := CheckSelves(c.queries, atoms, 2, c.first, c.number)
			if errors.As(err, &got); cmp.Diff(c.want, got) != "" || err != nil && err.Error() != c.says {
				t.Errorf("%v, %v is wanted", err, c.want)
			}
		})
	}
}
