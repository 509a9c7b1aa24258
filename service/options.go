package service

import (
	"cmp"
	"crypto/sha256"
	"log/slog"
	"net/netip"
	"time"

	"thresher/batch"
	"thresher/service/catalog"
	"thresher/service/fair"
	"thresher/service/metrics"
	"thresher/service/trace"
)

// Options configure a Server. Dir and Open are required; zero members of Limits and Timeouts
// mean defaults.
type Options struct {
	// Dir is the data folder; it is created if missing.
	Dir string
	// Open makes engines; the caller chooses the backend.
	Open catalog.Opener
	// Place is asked for the backend of each collection that changes by rows; nil: none can.
	Place catalog.Placer
	// ReadOnly refuses every request to change something: the collections are made by the caller, through Catalog.
	ReadOnly bool
	// Linked says that prepared collections, which the caller makes, are not changed by anybody else: they are not copied but get
	// a second name in Dir, where the file system has them.
	Linked bool
	// Extensions are what else is served; nil for nothing.
	Extensions Extensions
	// Backups says where backups are written to; without a folder they are refused.
	Backups Backups
	// Roots are the folders of files from which collections may be made.
	Roots []string
	// Tokens grant access; without any, everything is permitted to everybody.
	Tokens []Token
	// AnyHost accepts requests for any host. Without it and without tokens, hosts other than
	// addresses and localhost are refused, because a web page could reach a server on
	// loopback under a name of its own.
	AnyHost bool
	// Origins are the web origins from which browsers may send requests; "*" means all.
	Origins []string
	// Proxies are the trusted proxies, whose X-Forwarded-For identifies clients without
	// tokens.
	Proxies []netip.Prefix
	// OpenMetrics permits reading /metrics without a token, as much of it as readers see.
	OpenMetrics bool

	// Memory is what the process may take, in bytes; Divide says how it is divided. 0 means that
	// only the limits bound what is taken.
	Memory   int64
	Limits   Limits
	Timeouts Timeouts
	// Coalesce configures dynamic batching; nil means the defaults.
	Coalesce *batch.CoalescerOptions
	// BatchConcurrency is the number of batches answered at once, BatchChunk the number of
	// their queries that become durable together.
	BatchConcurrency, BatchChunk int
	// Retention is how long files and batches are kept.
	Retention Retention
	// Turn is about how long searches use the machine before others get their turn.
	Turn time.Duration
	// Threads of a build; 0 means GOMAXPROCS.
	Threads int

	// Version describes the build, Backend and Device the backend.
	Version         any // sent as the JSON of /v1/version
	Release         string
	Revision        string // of the source, "" if unknown
	Backend, Device string
	// Unused says, in a sentence of each, why GPUs that are there do not search, and what to do about it.
	// instead are the reasons for which other backends search collections in their place. nil for none.
	Unused func(instead []error) []string
	// Metrics count the server's work, Scrape answers /metrics; nil for none.
	Metrics *metrics.Metrics
	Scrape  *metrics.Pages
	// Traces record what requests spend their time on; nil for none.
	Traces *trace.Tracer
	Log    *slog.Logger // nil discards records
	// Now returns the time by which idempotency keys, files and batches are forgotten; nil means time.Now.
	Now func() time.Time
	// Audit, if not nil, gets a record for each request to change something and for each change
	// of the tokens, if there are tokens; else they go to Log.
	Audit *slog.Logger

	shares   Shares               // of Memory
	given    Limits               // before they were kept within the shares
	guesses  *fair.GuessesOptions // of tokens; nil means the constants. For tests
	lameDuck <-chan struct{}      // for tests: its end replaces that of Timeouts.LameDuck
	// lastAnswers is how long requests may take to end after their work was stopped; 0 means 5 s.
	lastAnswers time.Duration
	// Once the context of Close has ended, requests may take lastStore more, and other work on collections lastWork; 0 means 1 s and 10 s.
	lastStore, lastWork time.Duration
}

// Backups are the settings of backups.
type Backups struct {
	Folder string // "" for none
	Keep   int    // how many without damage stay; 0 keeps all
}

// Limits bound requests; sizes are in bytes.
type Limits struct {
	Body        int64 // of a search, or of other JSON
	Bodies      int64 // of all concurrent searches, in memory
	Answers     int64 // of all concurrent searches, in memory
	GiveWay     int64 // bytes a second below which a body or answer may lose its memory to others that wait
	Upload      int64 // of a file, or of a collection's rows
	Files       int64 // of all files together; 0 means no limit
	Dense       int64 // of a sparse matrix written out; 0 means dataset.DefaultDenseLimit
	Read        int64 // about how much of a file is decoded as a whole; 0 means a quarter of Memory
	Memory      int64 // of all collections together; 0 means no limit
	Queries     int   // of one search
	K           int
	Results     int // of one search: queries times k
	Listed      int // ids in the goals of one search
	Collections int
	Connections int   // open ones, of all addresses; 0 means 4096
	Searches    int   // concurrent ones
	Waiting     int   // searches waiting for a slot; below 0 means none
	Rate        int64 // least bytes a second of a body

	ClientRate     float64 // queries a second of one client; 0 means no limit
	ClientBurst    int     // queries that a client may send at once, if there is a rate; 0 means Queries
	ClientSearches int     // concurrent searches of one client; 0 means no limit
}

// Timeouts of the server; below 0 means none where that is said.
type Timeouts struct {
	Header time.Duration // of a request's header
	Body   time.Duration // of a body that does not arrive, or of an answer that is not read
	Idle   time.Duration // of a connection
	Search time.Duration // of any search; below 0 means none
	Drain  time.Duration // of running requests when the server shuts down; below 0 means none
	// LameDuck is how long a server that shuts down still listens, in order to refuse
	// requests.
	LameDuck time.Duration
}

// Token grants access to clients that know the secret.
type Token struct {
	Name  string // in logs
	Write bool   // permits reading, writing, and all of /metrics
	// Metrics, without Write, permits all of /metrics and nothing else; a token with neither
	// permits reading.
	Metrics bool
	Hash    [sha256.Size]byte
}

// permits reports whether the token permits what needs a scope.
func (t *Token) permits(need scope) bool {
	switch need {
	case read:
		return t.Write || !t.Metrics
	case write:
		return t.Write
	case wholeMetrics:
		return t.Write || t.Metrics
	}
	return true
}

// only says what a token permits that does not permit writing.
func (t *Token) only() string {
	if t.Metrics {
		return "read /metrics only"
	}
	return "read only"
}

// withDefaults returns o with zero values replaced by defaults.
func (o Options) withDefaults() Options {
	l, t := &o.Limits, &o.Timeouts
	l.Body = cmp.Or(l.Body, 64<<20)
	l.Bodies = max(l.Body, cmp.Or(l.Bodies, 512<<20))
	l.Answers = cmp.Or(l.Answers, 256<<20)
	o.shares = Divide(o.Memory, *l, o.Extensions)
	o.given, *l = *l, o.shares.within(*l)
	l.GiveWay = cmp.Or(l.GiveWay, 256<<10)
	l.Upload = cmp.Or(l.Upload, 64<<30)
	l.Queries = cmp.Or(l.Queries, 4096)
	l.K = cmp.Or(l.K, 10_000)
	l.Results = cmp.Or(l.Results, 1<<22)
	l.Listed = cmp.Or(l.Listed, 1<<22)
	l.Collections = cmp.Or(l.Collections, 1024)
	l.Connections = cmp.Or(l.Connections, 4096)
	l.Searches = cmp.Or(l.Searches, 1024)
	l.Waiting = max(0, cmp.Or(l.Waiting, 1024))
	l.Rate = cmp.Or(l.Rate, 16<<10)
	l.ClientBurst = cmp.Or(l.ClientBurst, l.Queries)
	t.Header = cmp.Or(t.Header, 10*time.Second)
	t.Body = cmp.Or(t.Body, 15*time.Second)
	t.Idle = cmp.Or(t.Idle, 2*time.Minute)
	t.Search = max(0, cmp.Or(t.Search, time.Minute))
	t.Drain = max(0, cmp.Or(t.Drain, 30*time.Second))
	if o.guesses == nil {
		o.guesses = &fair.GuessesOptions{Rate: wrongRate, Burst: wrongBurst, Clients: wrongAddresses, Uses: rightUses}
	}
	o.Turn = cmp.Or(o.Turn, 20*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
