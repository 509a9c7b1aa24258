package extension

import (
	"context"
	"net/http"
	"time"
)

// Route is one method of one path.
type Route struct {
	Method, Pattern string
	// Write says that it needs the scope write; others need the scope read.
	Write  bool
	Params []string // permitted query parameters
	Handle func(r Call, w http.ResponseWriter) error
}

// DeprecatedSince is the header Deprecation (RFC 9745) of answers to requests that use former names: the time from
// which on these names are former ones.
const DeprecatedSince = "@1795910400"

// Call is a request that was admitted. Errors of its methods are problems, to be returned by the handler.
type Call interface {
	Context() context.Context
	PathValue(name string) string

	// Key identifies the Idempotency-Key of the request among those of its client and path, "" if it has
	// none.
	Key() (string, error)
	// Page returns the parameters of a page of a list, after and limit. Bool returns a boolean parameter.
	Page() (after string, limit int, err error)
	Bool(name string) (bool, error)

	// Decode reads a JSON body of at most 1 MiB and calls decode, which must not keep text.
	Decode(decode func(text []byte) error) error
	// InTurn reads a JSON body of at most the size of a search, and calls do when it is the client's turn.
	// body is valid until do returns; queued is how long the request has waited.
	InTurn(do func(body []byte, queued time.Duration) error) error
	// Bounded calls do when it is the client's turn, within the timeout of searches, for an answer that
	// takes room bytes of memory.
	Bounded(room int64, do func(context.Context) error) error
	// Within calls do within the timeout of searches.
	Within(do func(context.Context) error) error

	// Answer sends v as JSON. AnswerText sends a JSON text, which its reader must take at rate bytes a
	// second, if it is long, while others wait for its memory.
	Answer(status int, v any) error
	AnswerText(text []byte, rate int64) error
}
