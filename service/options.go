package service

import (
	"cmp"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"thresher/batch"
	"thresher/service/catalog"
	"thresher/service/metrics"
	"thresher/service/trace"
)

// Options configure a Server. Dir and Open are needed, Limits and Timeouts have
// defaults where they are zero.
type Options struct {
	// Dir keeps everything; it is created if missing.
	Dir string
	// Open makes engines; only whoever chooses backends can.
	Open catalog.Opener
	// Roots are the folders that collections may be made of files in.
	Roots []string
	// Tokens are who may ask; none lets everybody.
	Tokens []Token
	// AnyHost answers whatever host a request names. Without it and without tokens,
	// hosts that are neither addresses nor localhost are refused: a web page must not
	// reach a server on loopback by giving it a name.
	AnyHost bool
	// Origins are the web origins that browsers may let ask; "*" is all.
	Origins []string
	// Proxies are whose X-Forwarded-For is believed: clients without tokens are told apart
	// by it.
	Proxies []netip.Prefix
	// OpenMetrics lets /metrics be read without a token.
	OpenMetrics bool

	Limits   Limits
	Timeouts Timeouts
	// Coalesce configures dynamic batching; nil means the defaults.
	Coalesce *batch.CoalescerOptions
	// BatchConcurrency is how many batches are answered at once, BatchChunk how many
	// of their queries become durable together.
	BatchConcurrency, BatchChunk int
	// SlateKeep is for how long a slate takes feedback.
	SlateKeep time.Duration
	// Turn is about how long searches have the machine before others have their turn.
	Turn time.Duration
	// Threads of a build; 0 means GOMAXPROCS.
	Threads int

	// Version is the build, Backend and Device what searches.
	Version         any // of the JSON at /v1/version
	Release         string
	Revision        string // of the source, "" if it is not known
	Backend, Device string
	// Metrics are told what happens, Scrape is what /metrics answers; nil for none.
	Metrics *metrics.Metrics
	Scrape  http.Handler
	// Traces are told what requests spend their time on; nil for none.
	Traces *trace.Tracer
	Log    *slog.Logger // nil discards

	lameDuck <-chan struct{} // for tests: ends that time instead of Timeouts.LameDuck
}

// Limits are what clients may ask for; sizes are in bytes.
type Limits struct {
	Body        int64 // of a search, or of any JSON
	Bodies      int64 // of all searches at once, in memory
	Answers     int64 // of all searches at once, in memory
	GiveWay     int64 // bytes a second of bodies and answers that keep memory while others wait for it
	Upload      int64 // of a file, or of a collection's rows
	Files       int64 // of all files together; 0 is no limit
	Memory      int64 // of all collections together; 0 is no limit
	Queries     int   // of one search
	K           int
	Results     int // of one search: queries times k
	Collections int
	Searches    int   // at once
	Waiting     int   // searches that wait to be among these; below 0 is none
	Rate        int64 // bytes a second that a body may not fall below

	ClientRate     float64 // queries a second of one client; 0 is no limit
	ClientBurst    int     // its queries at once, where there is a rate; 0 is Queries
	ClientSearches int     // its searches at once; 0 is no limit

	Tournaments      int
	Arms             int   // of one tournament
	Duels            int   // handed out, or reported, by one request
	TournamentMemory int64 // of tournaments in memory

	SlateUsers  int   // of one request
	SlateItems  int   // of one slate
	Slates      int   // that a collection remembers
	SlateMemory int64 // of users' states and of items made ready for slates
}

// Timeouts of the server.
type Timeouts struct {
	Header time.Duration // of a request's header
	Body   time.Duration // of a body that does not come, or of an answer that is not taken
	Idle   time.Duration // of a connection
	Search time.Duration // of any search; below 0 is none
	Drain  time.Duration // of requests under way when the server ends; below 0 is none
	// LameDuck is how long the server still listens, to refuse, once it shall end.
	LameDuck time.Duration
}

// Token lets whoever has the secret ask.
type Token struct {
	Name  string // in logs
	Write bool   // may change things; every token may read
	Hash  [sha256.Size]byte
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	l, t := &o.Limits, &o.Timeouts
	l.Body = cmp.Or(l.Body, 64<<20)
	l.Bodies = max(l.Body, cmp.Or(l.Bodies, 512<<20))
	l.Answers = cmp.Or(l.Answers, 256<<20)
	l.GiveWay = cmp.Or(l.GiveWay, 256<<10)
	l.Upload = cmp.Or(l.Upload, 64<<30)
	l.Queries = cmp.Or(l.Queries, 4096)
	l.K = cmp.Or(l.K, 10_000)
	l.Results = cmp.Or(l.Results, 1<<22)
	l.Collections = cmp.Or(l.Collections, 1024)
	l.Searches = cmp.Or(l.Searches, 1024)
	l.Waiting = max(0, cmp.Or(l.Waiting, 1024))
	l.Rate = cmp.Or(l.Rate, 16<<10)
	l.ClientBurst = cmp.Or(l.ClientBurst, l.Queries)
	l.SlateUsers = cmp.Or(l.SlateUsers, 1024)
	l.SlateItems = cmp.Or(l.SlateItems, 100)
	t.Header = cmp.Or(t.Header, 10*time.Second)
	t.Body = cmp.Or(t.Body, 15*time.Second)
	t.Idle = cmp.Or(t.Idle, 2*time.Minute)
	t.Search = max(0, cmp.Or(t.Search, time.Minute))
	t.Drain = max(0, cmp.Or(t.Drain, 30*time.Second))
	o.Turn = cmp.Or(o.Turn, 20*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
