// Package corpus turns the doc comments of Go's standard library into texts
// and vectors: the data of the demo, found on any machine that has Go, with an
// embedded extract for machines that have not.
//
// The extract holds comments of the Go standard library, copyright the Go
// Authors, under the BSD licence in LICENSE-go.
package corpus

//go:generate go run ./gen -out extract.jsonl.gz
