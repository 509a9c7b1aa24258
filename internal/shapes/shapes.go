// Package shapes is the table of all shapes of answers of other programs that are read, each with a file, for the
// documentation and for tests of every door.
//
// The files answer two queries with three vectors each, of those that testdata/make.py describes.
package shapes

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Shape is a row of the table, which is shapes.json.
type Shape struct {
	Program string `json:"program"`
	Call    string `json:"call"` // what returns or writes it
	Form    string `json:"form"` // what the file holds
	File    string `json:"file"` // an example in testdata
	Made    string `json:"made"` // by which client; "": by hand, as the program's documents say
	Metric  string `json:"metric"`
	Scores  string `json:"scores"`  // on which scale, as verify calls it; "": none
	IDs     Called `json:"ids"`     // what the vectors are called
	Queries Called `json:"queries"` // what the queries are called; "": nothing, they are in order, or by row
	Lacks   int    `json:"lacks"`   // vectors that the second answer lacks
	Object  bool   `json:"object"`  // the client's own value has this shape, which Python takes as it is
}

// Called says what ids are.
type Called string

// The kinds of ids.
const (
	Rows   Called = "rows"   // row numbers
	Digits Called = "digits" // row numbers as texts
	Texts  Called = "texts"  // those of Vectors and Queries
)

// The vectors are the rows of the identity, with the ids of Names in a column; Best are the three best of each query
// by every metric, the last of which tie with others.
var (
	Dim     = 8
	Names   = []string{"e", "a", "bé", "c", "d"}
	Asked   = []string{"first", "second"}
	Queries = [][]float32{{0, 1, .25, 2.5, 0, 0, 0, 0}, {-1, 0, 0, 0, 7, 0, 0, 0}}
	Best    = [][]int64{{3, 1, 2}, {4, 1, 2}}
)

//go:embed shapes.json testdata
var files embed.FS

// All returns the table.
func All() (all []Shape) {
	b, err := files.ReadFile("shapes.json")
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err = d.Decode(&all)
	}
	if err != nil {
		panic(fmt.Sprintf("shapes.json: %v", err)) // a mistake in this package
	}
	return all
}

// Data returns the example's bytes.
func (s *Shape) Data() []byte {
	b, err := files.ReadFile(path.Join("testdata", s.File))
	if err != nil {
		panic(fmt.Sprintf("the table names %s, which is not there", s.File)) // a mistake in this package
	}
	return b
}

// Text is the table for the documentation.
func Text() string {
	var b strings.Builder
	b.WriteString("| from | what returns or writes it | what the file holds | ids and scores of the example | example, tested | made by |\n|---|---|---|---|---|---|\n")
	for _, s := range All() {
		form, made := s.Form, s.Made
		if strings.HasPrefix(form, "{") || strings.HasPrefix(form, "[") {
			parts := strings.Split(form, "}, {") // documents
			form = "`" + strings.Join(parts, "}`, `{") + "`"
			form = strings.Replace(form, ", or a list of lists`", "`, or a list of lists", 1)
		}
		if made == "" {
			made = "hand, after its documents"
		}
		holds := map[Called]string{Rows: "row numbers", Digits: "row numbers as texts", Texts: "ids"}[s.IDs]
		if s.Queries != "" {
			holds += " of vectors and queries"
		}
		if s.Scores != "" {
			holds += "; " + s.Scores
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | [%s](../internal/shapes/testdata/%[5]s) | %s |\n", s.Program, s.Call, form, holds, s.File, made)
	}
	return b.String()
}
