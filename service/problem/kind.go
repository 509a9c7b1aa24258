package problem

import "net/http"

// Kind is the stable name of what went wrong. Its type URI is
// TypePrefix + string(kind).
type Kind string

// TypePrefix begins the type of every problem; the path is served, and tells
// what the kind means.
const TypePrefix = "/problems/"

// The kinds.
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
	UnknownCollection Kind = "unknown-collection"
	UnknownFile       Kind = "unknown-file"
	UnknownBatch      Kind = "unknown-batch"
	UnknownTournament Kind = "unknown-tournament"
	UnknownDuel       Kind = "unknown-duel"
	UnknownSlate      Kind = "unknown-slate"
	UnknownRow        Kind = "unknown-row"
	UnknownPath       Kind = "unknown-path"
	MethodNotAllowed  Kind = "method-not-allowed"
	NotAcceptable     Kind = "not-acceptable"
	NameTaken         Kind = "name-taken"
	Conflict          Kind = "conflict"
	DuelWithdrawn     Kind = "duel-withdrawn"
	TournamentEnded   Kind = "tournament-ended"
	BodyTooLarge      Kind = "body-too-large"
	UnsupportedMedia  Kind = "unsupported-media"
	KeyReused         Kind = "idempotency-key-reused"
	QueueFull         Kind = "queue-full"
	RateLimited       Kind = "rate-limited"
	Slow              Kind = "request-timeout"
	Internal          Kind = "internal"
	Unplayable        Kind = "tournament-unplayable"
	NotReady          Kind = "not-ready"
	Draining          Kind = "draining"
	NoBackend         Kind = "backend-unavailable"
	Deadline          Kind = "deadline"
	OutOfMemory       Kind = "memory-budget"
	DiskFull          Kind = "disk-full"
)

// meaning is what one kind stands for.
type meaning struct {
	kind   Kind
	status int
	title  string
}

// meanings is the table of all kinds.
func meanings() []meaning {
	return []meaning{
		{Malformed, http.StatusBadRequest, "The body cannot be read"},
		{WrongDimension, http.StatusBadRequest, "A vector has another dimension than the collection"},
		{NotFinite, http.StatusBadRequest, "A vector holds a value that is no finite float32"},
		{NoQueries, http.StatusBadRequest, "There are no queries"},
		{InvalidValue, http.StatusBadRequest, "A value is out of its range"},
		{UnknownField, http.StatusBadRequest, "There is no such field"},
		{UnknownMethod, http.StatusBadRequest, "There is no such search method"},
		{UnknownWords, http.StatusBadRequest, "The collection has none of these words"},
		{UnknownID, http.StatusBadRequest, "The collection has no atom of this id"},
		{OverLimit, http.StatusBadRequest, "More is asked for than the server allows"},
		{Unauthorized, http.StatusUnauthorized, "A bearer token is needed"},
		{Forbidden, http.StatusForbidden, "This is not permitted"},
		{UnknownCollection, http.StatusNotFound, "There is no such collection"},
		{UnknownFile, http.StatusNotFound, "There is no such file"},
		{UnknownBatch, http.StatusNotFound, "There is no such batch"},
		{UnknownTournament, http.StatusNotFound, "There is no such tournament"},
		{UnknownDuel, http.StatusNotFound, "No such duel was handed out"},
		{UnknownSlate, http.StatusNotFound, "There is no such slate, or no longer"},
		{UnknownRow, http.StatusNotFound, "The collection has no row of this id"},
		{UnknownPath, http.StatusNotFound, "There is nothing at this path"},
		{MethodNotAllowed, http.StatusMethodNotAllowed, "The path does not take this method"},
		{NotAcceptable, http.StatusNotAcceptable, "The answer cannot have that media type"},
		{NameTaken, http.StatusConflict, "The name is taken"},
		{Conflict, http.StatusConflict, "The state does not permit this"},
		{DuelWithdrawn, http.StatusConflict, "The duel ended with the elimination of an arm"},
		{TournamentEnded, http.StatusConflict, "The tournament has ended"},
		{BodyTooLarge, http.StatusRequestEntityTooLarge, "The body is too large"},
		{UnsupportedMedia, http.StatusUnsupportedMediaType, "The body's media type cannot be read here"},
		{KeyReused, http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request"},
		{QueueFull, http.StatusTooManyRequests, "Too many searches are waiting"},
		{RateLimited, http.StatusTooManyRequests, "The client asks for more than it may"},
		{Slow, http.StatusRequestTimeout, "The body came too slowly"},
		{Internal, http.StatusInternalServerError, "The server failed"},
		{Unplayable, http.StatusInternalServerError, "What is recorded of the tournament cannot be played again"},
		{NotReady, http.StatusServiceUnavailable, "Not ready yet"},
		{Draining, http.StatusServiceUnavailable, "The server is shutting down"},
		{NoBackend, http.StatusServiceUnavailable, "The backend is unavailable"},
		{Deadline, http.StatusGatewayTimeout, "The deadline passed before there was an answer"},
		{OutOfMemory, http.StatusInsufficientStorage, "The collection does not fit into the memory budget"},
		{DiskFull, http.StatusInsufficientStorage, "The disk is full"},
	}
}

// lookup returns what k stands for; kinds that do not exist are internal.
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

// Title says what the kind means, in a few words.
func (k Kind) Title() string { return lookup(k).title }
