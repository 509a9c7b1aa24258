package extension

import (
	"strings"
	"testing"
)

// TestJoin: sections of parts come where the document has a place for them, in the order of the parts.
func TestJoin(t *testing.T) {
	const document = `tags:
  - {name: search}
  # extensions: tags
paths:
  /search:
    get: {summary: 'paths: many'}
  # extensions: paths
  /version: {}
components:
  schemas:
    A: {}
    # extensions: components/schemas
    Z: {}
`
	const first = `# Of duels.
tags:
  - {name: duels}
paths:
  /duels:
    get: {summary: "a: b"}
components:
  schemas:
    Duel:
      type: object
`
	const second = "paths:\n  /slates: {}\ncomponents:\n  schemas:\n    Slate: {}\n"
	const want = `tags:
  - {name: search}
  - {name: duels}
paths:
  /search:
    get: {summary: 'paths: many'}
  /duels:
    get: {summary: "a: b"}
  /slates: {}
  /version: {}
components:
  schemas:
    A: {}
    Duel:
      type: object
    Slate: {}
    Z: {}
`
	got, err := Join([]byte(document), []byte(first), []byte(second))
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%s", err, got)
	}
	if got, err := Join([]byte(document)); err != nil || strings.Contains(string(got), "extensions") {
		t.Errorf("without parts: %v\n%s", err, got)
	}
	if _, err := Join([]byte(document), []byte("components:\n  headers:\n    H: {}\n")); err == nil || !strings.Contains(err.Error(), "components/headers") {
		t.Errorf("a section without a place: %v", err)
	}
}

// TestHash: lists of texts that read the same when joined have different hashes.
func TestHash(t *testing.T) {
	first, again := Hash("a"), Hash("a")
	if Hash("ab", "c") == Hash("a", "bc") || first != again || Hash() == Hash("") {
		t.Error("hashes do not tell lists apart")
	}
}
