package problem

import "net/http"

// Kind is the stable name of a kind of problem. Its type URI is TypePrefix + string(kind).
type Kind string

// TypePrefix begins the type URI of every problem. The server explains the kind at
// that path.
const TypePrefix = "/problems/"

// The kinds of what every server has. Extensions declare theirs.
const (
	Malformed         Kind = "malformed-body"
	WrongDimension    Kind = "wrong-dimension"
	NotFinite         Kind = "not-finite"
	NoQueries         Kind = "no-queries"
	InvalidValue      Kind = "invalid-value"
	UnknownField      Kind = "unknown-field"
	UnknownMethod     Kind = "unknown-method"
	UnknownWords      Kind = "unknown-words"
	UnknownID         Kind = "unknown-id"
	OverLimit         Kind = "over-limit"
	Unauthorized      Kind = "unauthorized"
	Forbidden         Kind = "forbidden"
	ReadOnly          Kind = "read-only"
	UnknownCollection Kind = "unknown-collection"
	UnknownFile       Kind = "unknown-file"
	UnknownBatch      Kind = "unknown-batch"
	UnknownRow        Kind = "unknown-row"
	UnknownPath       Kind = "unknown-path"
	MethodNotAllowed  Kind = "method-not-allowed"
	NotAcceptable     Kind = "not-acceptable"
	NameTaken         Kind = "name-taken"
	Conflict          Kind = "conflict"
	BodyTooLarge      Kind = "body-too-large"
	UnsupportedMedia  Kind = "unsupported-media"
	KeyReused         Kind = "idempotency-key-reused"
	QueueFull         Kind = "queue-full"
	RateLimited       Kind = "rate-limited"
	Slow              Kind = "request-timeout"
	Internal          Kind = "internal"
	NotReady          Kind = "not-ready"
	Draining          Kind = "draining"
	Crowded           Kind = "too-many-connections"
	NoBackend         Kind = "backend-unavailable"
	Deadline          Kind = "deadline"
	OutOfMemory       Kind = "memory-budget"
	DiskFull          Kind = "disk-full"
)

// meaning is the HTTP status and title of a kind.
type meaning struct {
	kind   Kind
	status int
	title  string
}

// declared are the kinds of extensions.
var declared []meaning

// Declare adds a kind: its name, HTTP status and title. It is called where variables of packages are initialised.
func Declare(name string, status int, title string) Kind {
	declared = append(declared, meaning{Kind(name), status, title})
	return Kind(name)
}

// meanings is the table of all kinds, those that were declared last.
func meanings() []meaning {
	return append([]meaning{
		{Malformed, http.StatusBadRequest, "The body is malformed"},
		{WrongDimension, http.StatusBadRequest, "A vector has the wrong dimension"},
		{NotFinite, http.StatusBadRequest, "A vector has a value that is not a finite float32"},
		{NoQueries, http.StatusBadRequest, "The request has no queries"},
		{InvalidValue, http.StatusBadRequest, "A value is out of its range"},
		{UnknownField, http.StatusBadRequest, "Unknown field"},
		{UnknownMethod, http.StatusBadRequest, "Unknown search method"},
		{UnknownWords, http.StatusBadRequest, "No word of the text occurs in the collection"},
		{UnknownID, http.StatusBadRequest, "No vector has this id"},
		{OverLimit, http.StatusBadRequest, "A limit of the server is exceeded"},
		{Unauthorized, http.StatusUnauthorized, "A valid bearer token is required"},
		{Forbidden, http.StatusForbidden, "This is not permitted"},
		{ReadOnly, http.StatusForbidden, "The server is read-only"},
		{UnknownCollection, http.StatusNotFound, "Unknown collection"},
		{UnknownFile, http.StatusNotFound, "Unknown file"},
		{UnknownBatch, http.StatusNotFound, "Unknown batch"},
		{UnknownRow, http.StatusNotFound, "No row has this id"},
		{UnknownPath, http.StatusNotFound, "Unknown path"},
		{MethodNotAllowed, http.StatusMethodNotAllowed, "The path does not support this method"},
		{NotAcceptable, http.StatusNotAcceptable, "None of the accepted media types is available"},
		{NameTaken, http.StatusConflict, "The name is taken"},
		{Conflict, http.StatusConflict, "The request conflicts with the current state"},
		{BodyTooLarge, http.StatusRequestEntityTooLarge, "The body is too large"},
		{UnsupportedMedia, http.StatusUnsupportedMediaType, "The body's media type is not supported here"},
		{KeyReused, http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request"},
		{QueueFull, http.StatusTooManyRequests, "Too many searches are waiting"},
		{RateLimited, http.StatusTooManyRequests, "The client exceeded its rate limit"},
		{Slow, http.StatusRequestTimeout, "The body arrived too slowly"},
		{Internal, http.StatusInternalServerError, "Internal server error"},
		{NotReady, http.StatusServiceUnavailable, "Not ready yet"},
		{Draining, http.StatusServiceUnavailable, "The server is shutting down"},
		{Crowded, http.StatusServiceUnavailable, "The server has too many connections or files open"},
		{NoBackend, http.StatusServiceUnavailable, "The backend is unavailable"},
		{Deadline, http.StatusGatewayTimeout, "The deadline passed before there was an answer"},
		{OutOfMemory, http.StatusInsufficientStorage, "The collection does not fit into the memory budget"},
		{DiskFull, http.StatusInsufficientStorage, "The disk is full"},
	}, declared...)
}

// lookup returns the meaning of k, or of Internal if k is unknown.
func lookup(k Kind) meaning {
	var internal meaning
	for _, m := range meanings() {
		if m.kind == k {
			return m
		}
		if m.kind == Internal {
			internal = m
		}
	}
	return internal
}

// Kinds lists every kind.
func Kinds() []Kind {
	var all []Kind
	for _, m := range meanings() {
		all = append(all, m.kind)
	}
	return all
}

// Status is the HTTP status of problems of this kind.
func (k Kind) Status() int { return lookup(k).status }

// Title describes the kind in a few words.
func (k Kind) Title() string { return lookup(k).title }
