package api

import (
	"encoding/json"
	"time"
)

// CollectionState is the state of a version.
type CollectionState string

const (
	Building CollectionState = "building" // its rows are durable, and the collection is being built from them
	Loading  CollectionState = "loading"  // the server has started and is going to open it
	Ready    CollectionState = "ready"
	Failed   CollectionState = "failed"
)

// IDKind is the kind of the atoms' ids.
type IDKind string

const (
	RowNumbers IDKind = "row"
	Integers   IDKind = "int"
	Strings    IDKind = "string"
)

// Collection describes a version of a collection.
type Collection struct {
	Name      string          `json:"name"`
	Version   int64           `json:"version"`
	State     CollectionState `json:"state"`
	Count     int64           `json:"count"` // atoms; 0 until the rows have been read
	Dim       int             `json:"dim"`
	Dimension int             `json:"dimension"`       // Deprecated: Dim, by its former name
	DType     string          `json:"dtype,omitempty"` // in which the vectors are kept, such as float16; "" before it is ready
	Metric    string          `json:"metric"`
	Basis     string          `json:"basis"`
	IDs       IDKind          `json:"ids,omitempty"` // "" until the rows have been read
	Bytes     int64           `json:"bytes"`         // of memory, mapped or not; 0 before it is ready
	Backend   string          `json:"backend,omitempty"`
	// Methods are those by which it can be searched; nil before it is ready.
	Methods []string `json:"methods,omitempty"`
	// Rounded is what rounding the rows given to float32 changed, nil if nothing.
	Rounded   *Rounding `json:"rounded,omitempty"`
	CreatedAt time.Time `json:"created_at"` // when the change was acknowledged
	// Next, if not 0, is the version that is being built while this one answers searches.
	Next int64 `json:"next_version,omitempty"`
	// Progress in [0, 1] is that of the version being built: this one, or Next.
	Progress float64 `json:"progress,omitempty"`
	// VectorColumns says which columns, field or array of the newest rows' source made the
	// vectors; "" for a source without names.
	VectorColumns string `json:"vector_columns,omitempty"`
	// Columns are those by which filters select.
	Columns []Column `json:"columns,omitempty"`
	// Warnings name the columns of the newest rows' source that were ignored.
	Warnings []string `json:"warnings,omitempty"`
	// Error is why this version failed or, for a ready one, why the following change failed;
	// it is cleared by the next change.
	Error string `json:"error,omitempty"`
	// Adopted says how a version was recovered from its own files because the database was
	// lost or older.
	Adopted string `json:"adopted,omitempty"`
	// Writes, if not nil, says that the collection changes by rows, and how many writes of rows the version has seen. Count, Bytes and
	// the following are those of that state.
	Writes *uint64 `json:"writes,omitempty"`
	// Segments are those with codes, and Unsealed the rows that wait for becoming one.
	Segments int   `json:"segments,omitempty"`
	Unsealed int64 `json:"unsealed,omitempty"`
	// Change is what the request did that this answers.
	Change *RowChange `json:"change,omitempty"`
	// Texts says that searches may contain texts in place of vectors.
	Texts bool `json:"texts,omitempty"`
}

// RowChange says what a change by rows did.
type RowChange struct {
	Written  int `json:"written"`  // rows
	Replaced int `json:"replaced"` // of them, those of ids that were there
	Deleted  int `json:"deleted"`
}

// Column is a column by which filters select.
type Column struct {
	Name string `json:"name"`
	Type string `json:"dtype"` // int64, float64, float32, text, bool, timestamp, list of texts
}

// Rounding says what rounding to float32 changed: what certificates promise is so of the rounded.
type Rounding struct {
	Values  int64   `json:"values"`  // how many float32 does not hold
	Largest float64 `json:"largest"` // change of one
}

// Collections is the list of collections.
type Collections struct {
	Object string       `json:"object"` // "list"
	Data   []Collection `json:"data"`
}

// Row is a row of a collection, without its vector.
type Row struct {
	ID ID `json:"id"`
	// Columns has the row's values of the columns of the collection that are not null: integers, floats, texts, booleans,
	// RFC 3339 times or lists of texts.
	Columns map[string]any `json:"columns,omitempty"`
	// Vector has the row's values as they were sent, in a list of named rows that was asked for them.
	Vector []float64 `json:"vector,omitempty"`
}

// Rows is a part of the list of a collection's rows.
type Rows struct {
	Version int64   `json:"version"`
	Writes  *uint64 `json:"writes,omitempty"` // that the version had seen, if it changes by rows
	Page[Row]
}

// Search is the body of a search; zero members take the server's defaults.
type Search struct {
	Queries [][]float32 `json:"queries"`
	K       int         `json:"k,omitempty"`
	// CutK reduces K to the number of atoms instead of refusing it.
	CutK    bool    `json:"cut_k,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Method  string  `json:"method,omitempty"`
	// Published are options of the published methods; nil: none.
	Published *Published `json:"published,omitempty"`
	// MinScore and MaxScore, if not nil, are the least and the greatest score wanted; of the
	// metric l2 MaxDistance and MinDistance the greatest and the least squared distance.
	MinScore    *float64 `json:"min_score,omitempty"`
	MaxScore    *float64 `json:"max_score,omitempty"`
	MaxDistance *float64 `json:"max_distance,omitempty"`
	MinDistance *float64 `json:"min_distance,omitempty"`
	DeadlineMS  float64  `json:"deadline_ms,omitempty"` // after which the best so far is the answer; 0: none
	// Filter says which vectors may be returned, nil all: those of ids ([]ID), a mask ([]bool), an expression over the
	// collection's columns (a string), or a filter in Qdrant's form (an object).
	Filter  any  `json:"filter,omitempty"`
	Exclude []ID `json:"exclude,omitempty"` // vectors that may not be returned
	// Goals, if not nil, says for each query what it asks for in addition.
	Goals   []QueryGoal `json:"goals,omitempty"`
	Include []string    `json:"include,omitempty"` // "certificate", "rounds", "rows", "scores64", "covers"
}

// Published are options of the published methods, by which a method can be run as its paper does; zero
// members take the method's defaults, and one that the method does not have is refused.
type Published struct {
	Sigma    any      `json:"sigma,omitempty"`    // a number above 0, "range", "data" or "bernstein"
	Beta     *float64 `json:"beta,omitempty"`     // of banditmips-beta: an exponent from 0 on
	Sampling string   `json:"sampling,omitempty"` // "with_replacement" or "without_replacement"
	Bins     int      `json:"bins,omitempty"`     // of bucket-ae: atoms a bin
	Union    string   `json:"union,omitempty"`    // of boundedme: "published" or "corrected"
	Warm     int      `json:"warm,omitempty"`     // of banditmips: coordinates read once for all queries
}

// QueryGoal is what one query of a Search asks for; zero members add nothing.
type QueryGoal struct {
	// K and the limits replace those of the Search.
	K           int      `json:"k,omitempty"`
	MinScore    *float64 `json:"min_score,omitempty"`
	MaxScore    *float64 `json:"max_score,omitempty"`
	MaxDistance *float64 `json:"max_distance,omitempty"`
	MinDistance *float64 `json:"min_distance,omitempty"`
	// Filter replaces that of the Search.
	Filter any `json:"filter,omitempty"`
	// Exclude lists atoms that may not be returned, in addition to Search.Exclude.
	Exclude []ID `json:"exclude,omitempty"`
	// Candidates lists atoms that are probably among the best, of any origin. They are scored
	// first, which saves work if they are good. They change no answer.
	Candidates []ID `json:"candidates,omitempty"`
}

// Found is the answer to a Search.
type Found struct {
	AnswersVersion int      `json:"answers_version"`  // of the form of answers; 0 is that of before version 2
	Version        int64    `json:"version"`          // of the collection
	Writes         *uint64  `json:"writes,omitempty"` // that the version had seen, if it changes by rows
	Results        []Result `json:"results"`
	TookMS         float64  `json:"took_ms"`
	// Covers is what the results are for, one JSON object (tasks.Coverage); nil unless included.
	Covers json.RawMessage `json:"covers"`
}

// Result is the answer to one query, best atom first.
type Result struct {
	IDs         []ID            `json:"ids"`
	Rows        []int64         `json:"rows"` // row numbers of the atoms; nil unless included
	Scores      []float32       `json:"scores"`
	Scores64    []float64       `json:"scores64"` // the same before they are rounded; nil unless included
	Complete    bool            `json:"complete"`
	Guarantee   string          `json:"guarantee"`
	Delta       float64         `json:"delta"`       // failure probability that the guarantee allows
	Certificate json.RawMessage `json:"certificate"` // a batch.Certificate without looks
}
