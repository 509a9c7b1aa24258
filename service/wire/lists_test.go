package wire

import (
	"errors"
	"strings"
	"testing"

	"thresher/service/problem"
)

// TestLongLists: a list is refused at the first id that is too many, not once all are kept.
func TestLongLists(t *testing.T) {
	l := Limits{Queries: 1, K: 9, Listed: 3, IDs: 4}
	stated := func(body string) error {
		_, err := DecodeStated([]byte(body), 1, l, nil, nil)
		return err
	}
	search := func(body string) error {
		_, err := DecodeSearch([]byte(body), 1, l)
		return err
	}
	for _, c := range []struct {
		decode func(string) error
		body   string // where it is too long a question mark
		says   string
	}{
		{search, `{"queries":[[1]],"allow":[1,2,3,4?]}`, "allow lists more than 4 ids"},
		{search, `{"queries":[[1]],"deny":["a","b","c","d"?]}`, "deny lists more than 4 ids"},
		{search, `{"queries":[[1]],"goals":[{"exclude":[1,2,3?]}]}`, "goals[0]: exclude lists more than 3 ids"},
		{stated, `{"queries":[[1]],"answers":[[1,2,3?]]}`, "lists more than 3 ids"},
		{stated, `{"queries":[[1]],"answers":[{"ids":[1,2,3],"scores":[1,2,3?]}]}`, "scores has more than 3 numbers"},
	} {
		if err := c.decode(strings.ReplaceAll(c.body, "?", "")); err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
		more := ",1,1"
		if strings.Contains(c.body, `"a"`) {
			more = `,"e","f"`
		}
		err := c.decode(strings.ReplaceAll(c.body, "?", more))
		var p *problem.Problem
		if !errors.As(err, &p) || p.Kind != problem.OverLimit || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s: %v, want %q", c.body, err, c.says)
		}
	}
}
