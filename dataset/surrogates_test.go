package dataset

import (
	"context"
	"strings"
	"testing"
)

// TestHalvesOfCharacters: ids with half of a pair of surrogates, of which several would be one, are refused by every
// reader of JSON.
func TestHalvesOfCharacters(t *testing.T) {
	const want = `\ud801 is half of a pair of surrogates and no character`
	for _, c := range []struct {
		name, text string
		read       func(path string) error
	}{
		{"v.jsonl", `{"id":"\ud83d\ude00","v":[1,2]}` + "\n" + `{"id":"\ud801","v":[1,2]}` + "\n", func(path string) error {
			_, err := ReadAll(context.Background(), path, &Options{FindIDs: true})
			return err
		}},
		{"l.jsonl", `["a","\ud801"]` + "\n", func(path string) error {
			r, err := OpenLists(path, nil)
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = r.Next()
			return err
		}},
		{"r.jsonl", `{"query":0,"ids":[1],"names":["\ud801"]}` + "\n", firstResult},
		{"r.json", `[[{"id":"\ud801","score":1}]]`, firstResult},
	} {
		if err := c.read(writeTemp(t, c.name, c.text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c.name, err, want)
		}
	}
}

func firstResult(path string) error {
	r, err := OpenResults(path, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = r.Next()
	return err
}
