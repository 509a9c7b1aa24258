// Package corpus converts the doc comments of Go's standard library to texts and vectors: the
// data of the demo. They are read from the Go tree of the machine, or else from an embedded
// extract.
//
// The extract holds comments of the Go standard library, copyright the Go Authors, under the
// BSD licence in LICENSE-go.
package corpus

//go:generate go run ./gen -out extract.jsonl.gz
