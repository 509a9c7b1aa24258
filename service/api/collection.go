package api

import (
	"encoding/json"
	"time"
)

// CollectionState is how far a version has come.
type CollectionState string

const (
	Building CollectionState = "building" // its rows are durable, and it is being made of them
	Loading  CollectionState = "loading"  // the server has just started and is about to open it
	Ready    CollectionState = "ready"
	Failed   CollectionState = "failed"
)

// IDKind is what the atoms of a collection are called by.
type IDKind string

const (
	RowNumbers IDKind = "row"
	Integers   IDKind = "int"
	Strings    IDKind = "string"
)

// Collection describes a version, and by it a collection.
type Collection struct {
	Name      string          `json:"name"`
	Version   int64           `json:"version"`
	State     CollectionState `json:"state"`
	Count     int64           `json:"count"` // atoms; 0 until reading them has told
	Dimension int             `json:"dimension"`
	Metric    string          `json:"metric"`
	Basis     string          `json:"basis"`
	IDs       IDKind          `json:"ids,omitempty"` // "" until reading them has told
	Bytes     int64           `json:"bytes"`         // of memory, mapped or not; 0 before it is ready
	Backend   string          `json:"backend,omitempty"`
	CreatedAt time.Time       `json:"created_at"` // when the change was acknowledged
	// Next, if not 0, is the version that is being built while this one answers.
	Next int64 `json:"next_version,omitempty"`
	// Progress in [0, 1] is that of the version being built, this or the next.
	Progress float64 `json:"progress,omitempty"`
	// Warnings name the columns of the newest rows' source that were left out.
	Warnings []string `json:"warnings,omitempty"`
	// Error is why this version failed or, of a ready one, why the change after it did,
	// until another change is asked for.
	Error string `json:"error,omitempty"`
	// Adopted says how a version was found that the database did not know: by its own
	// files, because the database was lost or is an older one.
	Adopted string `json:"adopted,omitempty"`
	// Texts says that a search may have texts in the place of vectors.
	Texts bool `json:"texts,omitempty"`
}

// Collections is the list of collections.
type Collections struct {
	Object string       `json:"object"` // "list"
	Data   []Collection `json:"data"`
}

// Search asks a collection; members that are zero take the server's defaults.
type Search struct {
	Queries   [][]float32 `json:"queries"`
	K         int         `json:"k,omitempty"`
	Delta     float64     `json:"delta,omitempty"`
	Epsilon   float64     `json:"epsilon,omitempty"`
	Method    string      `json:"method,omitempty"`
	TimeoutMS float64     `json:"timeout_ms,omitempty"`
	Allow     []ID        `json:"allow,omitempty"`
	Deny      []ID        `json:"deny,omitempty"`
	Include   []string    `json:"include,omitempty"` // "certificate", "rounds"
}

// Found answers a Search.
type Found struct {
	Version int64    `json:"version"`
	Results []Result `json:"results"`
	TookMS  float64  `json:"took_ms"`
}

// Result is the answer to one query, best first.
type Result struct {
	IDs         []ID            `json:"ids"`
	Scores      []float32       `json:"scores"`
	Complete    bool            `json:"complete"`
	Certificate json.RawMessage `json:"certificate"` // a batch.Certificate without looks
}
