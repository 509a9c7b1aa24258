package dataset

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readBody reads all answers of a file part.json of that text.
func readBody(t *testing.T, text string) ([]Result, error) {
	t.Helper()
	r, err := OpenResults(writeTemp(t, "part.json", text), nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []Result
	for {
		one, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
}

// TestBodyAnswers: bodies of the service are read, in one line or indented, with ids of texts, of numbers up to 2^64-1, and
// without.
func TestBodyAnswers(t *testing.T) {
	const covers = `{"queries":"ab","shards":[{"digest":"c","rows":3}]}`
	text := `{"answers_version":2,"version":3,"took_ms":1.25,"covers":` + covers + `,"results":[` +
		`{"ids":["ü",18446744073709551615],"rows":[6,0],"scores":[2.5,0.1],"scores64":[2.5,0.10000000149],"complete":true,"guarantee":"certain","delta":0,"certificate":{"pulls":7,"exact":false,"epsilon":0.5}},` +
		`{"ids":[],"scores":[],"complete":false,"guarantee":"bound","delta":0.25,"open_bound":17.25}],"warnings":["w"]}`
	want := []Result{
		{IDs: []string{"ü", "18446744073709551615"}, Rows: []int64{6, 0}, Scores: []float32{2.5, .1}, Scores64: []float64{2.5, .10000000149}, Pulls: 7, Epsilon: .5,
			Guarantee: "certain", Certificate: json.RawMessage(`{"pulls":7,"exact":false,"epsilon":0.5}`), Covers: json.RawMessage(covers)},
		{Query: 1, Pulls: -1, Partial: true, Guarantee: "bound", Delta: .25},
	}
	for _, form := range []string{text, "\ufeff" + text + "\n", strings.NewReplacer(`,"`, ",\n  \"", `{"ids`, "{\n\"ids").Replace(text)} {
		got, err := readBody(t, form)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", form, diff)
		}
	}
	rows, err := readBody(t, `{"answers_version":2,"took_ms":1,"covers":{"a":1},"id_kind":"row","results":[{"ids":[4,2],"scores":[1,null],"complete":true}]}`)
	if err != nil || len(rows) != 1 || rows[0].IDs != nil || !cmp.Equal(rows[0].Rows, []int64{4, 2}) || rows[0].Scores[1] > -1e38 {
		t.Errorf("row numbers: %+v, %v", rows, err)
	}
}

// TestBadBodies: what is no answer is refused with the file's name and what is wrong.
func TestBadBodies(t *testing.T) {
	const head = `{"answers_version":2,"version":3,"took_ms":1,"results":[`
	const one = `{"ids":[1],"scores":[2],"complete":true}`
	for name, x := range map[string]struct{ text, says string }{
		"problem":        {`{"type":"about:blank","title":"Not Found","status":404,"detail":"there is no collection a"}`, "no answers, but a problem that the service stated: 404 Not Found: there is no collection a"},
		"cut in a list":  {head + `{"ids":[1`, "row 0 (0-based): near byte 56: data is truncated"},
		"cut afterwards": {head + one, "data is truncated"},
		"no version":     {`{"version":3,"took_ms":1,"results":[` + one + `]}`, "states no answers_version"},
		"former":         {`{"answers_version":1,"took_ms":1,"results":[` + one + `]}`, "answers_version 1 is a former one"},
		"later":          {`{"answers_version":3,"took_ms":1,"results":[` + one + `]}`, "a later program wrote this"},
		"no results":     {`{"answers_version":2,"took_ms":1}`, "the body has no results"},
		"no array":       {`{"answers_version":2,"took_ms":1,"results":{}}`, "results is no array"},
		"twice":          {head + one + `],"results":[]}`, "results appears twice"},
		"two":            {head + one + `]}{}`, "follows the answer; a file has one"},
		"no ids":         {head + `{"scores":[1],"complete":true}]}`, "a result has ids and complete"},
		"negative":       {head + `{"ids":[-1],"scores":[1],"complete":true}]}`, "id -1 is neither a text nor a whole number"},
		"scores":         {head + `{"ids":[1],"scores":[1,2],"complete":true}]}`, "2 scores for 1 ids"},
		"a text for row": {`{"answers_version":2,"took_ms":1,"id_kind":"row","results":[{"ids":["a"],"complete":true}]}`, "is no row number"},
		"certificate":    {head + `{"ids":[1],"complete":true,"certificate":[]}]}`, "certificate: "},
	} {
		_, err := readBody(t, x.text)
		var at *Error
		if err == nil || !strings.Contains(err.Error(), x.says) || !errors.As(err, &at) || !strings.Contains(at.File, "part.json") {
			t.Errorf("%s: %v, want the file's name and %q", name, err, x.says)
		}
	}
	long := head + `{"ids":[` + strings.Repeat("1,", 4000) + `1],"complete":true}]}`
	r, err := OpenResults(writeTemp(t, "long.json", long), &Budget{Row: 1000, Word: "--read-limit"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(); err == nil || !strings.Contains(err.Error(), "an answer is longer than 1000 bytes") {
		t.Errorf("a long answer: %v", err)
	}
}
