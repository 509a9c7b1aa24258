package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"thresher/batch"
	"thresher/service/api"
	"thresher/service/backup"
	"thresher/service/catalog"
	"thresher/service/extension"
	"thresher/service/fair"
	"thresher/service/files"
	"thresher/service/metrics"
	"thresher/service/offline"
	"thresher/service/oip"
	"thresher/service/problem"
	"thresher/service/web"
	"thresher/store"
)

// Server serves one data folder. It is an http.Handler, safe for concurrent use.
type Server struct {
	o         Options
	pace      pace
	slots     *fair.Queue  // for concurrent searches
	turns     *fair.Turns  // at the processor
	bodies    *fair.Memory // of searches as they arrive
	answers   *fair.Memory // of searches until they are sent
	computing *fair.Memory // of the runs of searches
	limits    *fair.Limits // of each client
	mux       *http.ServeMux
	encoders  encoders
	shards    shards
	zip       http.Handler // mux with compression
	page      http.Handler
	crossSite *http.CrossOriginProtection
	allowed   atomic.Pointer[[]Token]
	admitted  admissions
	guesses   *fair.Guesses // of tokens
	buffers   buffers

	connections connections

	statistics oip.Statistics // of searches, for the statistics extension

	db      *bbolt.DB
	files   *files.Store
	catalog *catalog.Catalog
	batches *offline.Manager

	backups     *backup.Runner
	description []byte // of the API

	// draining ends when the server begins to shut down, stopped when running requests must
	// stop.
	draining, stopped context.Context
	drain, stop       context.CancelFunc
	entering          sync.Mutex // no request begins while draining ends
	underWay          sync.WaitGroup
	running           atomic.Int64   // how many are under way
	tasks             sync.WaitGroup // that go on until the server drains

	strangers, broken sparseLog // requests without a token, and connections without a request

	watching sync.WaitGroup // what goes on until stopped ends

	damaged int            // parts of the databases, set by Open, as is
	found   map[string]int // what countFound counts
	coming  sync.Mutex
	serves  map[string]string // the versions of Serves, by the names of collections
	toCome  []*func() string  // what the server awaits before it is ready
}

// Open opens the data folder, loads its contents in the background, and continues unfinished
// batches. It fails if another server has the folder open.
func Open(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	s := &Server{
		o: o, pace: pace{o.Timeouts.Body, o.Limits.Rate}, page: web.Handler(o.Extensions.pages()...),
		slots:  fair.NewQueue(fair.QueueOptions{Capacity: int64(o.Limits.Searches), Floor: 1, MaxWaiting: o.Limits.Waiting}),
		turns:  fair.NewTurns(o.Turn, o.observeTurns()),
		bodies: o.memory(o.Limits.Bodies + minBuffer), answers: o.memory(o.Limits.Answers), computing: o.memory(o.shares.Computing),
		limits:    fair.NewLimits(fair.LimitsOptions{Rate: o.Limits.ClientRate, Burst: o.Limits.ClientBurst, Searches: o.Limits.ClientSearches}),
		crossSite: http.NewCrossOriginProtection(),
		guesses:   fair.NewGuesses(*o.guesses),
	}
	s.connections.most, s.connections.log, s.connections.reach, s.connections.rejected = int64(o.Limits.Connections), o.Log, anyFile, func() {}
	if m := o.Metrics; m != nil {
		s.connections.rejected = func() { m.Rejected(string(problem.Crowded)) }
		m.Expect(string(problem.Internal), string(problem.OutOfMemory), string(problem.DiskFull)) // of deploy/prometheus
	}
	s.allowed.Store(&o.Tokens)
	s.strangers = sparseLog{log: o.Log, what: "requests came without a token", now: time.Now}
	s.broken = sparseLog{log: o.Log, what: "connections failed without a request", now: time.Now}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.stopped, s.stop = context.WithCancel(context.Background())
	var err error
	if s.description, err = o.Extensions.describe(); err != nil {
		return nil, err
	}
	s.mux = s.newMux(s.routes())
	if s.zip, err = zipped(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) })); err != nil {
		return nil, err
	}
	if err := s.openParts(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	if o.Memory > 0 {
		o.Log.Info("memory", "bytes", o.Memory, "shares", o.shares)
		s.watching.Go(func() { newHeap(s.holds).watch(s.stopped) })
	}
	s.beginRetention()
	return s, nil
}

// observeTurns returns a function that records how long work waited for its turn; nil without
// metrics.
func (o *Options) observeTurns() func(fair.Class, time.Duration) {
	m := o.Metrics
	if m == nil {
		return nil
	}
	return func(c fair.Class, d time.Duration) { m.Waited(string(c), d) }
}

// memory returns the memory of bodies or answers, with a floor for each client.
func (o *Options) memory(total int64) *fair.Memory {
	const floor, grace = 1 << 20, 500 * time.Millisecond
	return fair.NewMemory(fair.MemoryOptions{Total: total, Floor: min(floor, total/16), Rate: o.Limits.GiveWay, Grace: grace, Large: total / 8})
}

// openParts opens the database and the stores on it, in the order of their dependencies.
func (s *Server) openParts(ctx context.Context) error {
	o := &s.o
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	s.warnOfExposed()
	_, err := checkFormat(o.Dir)
	if err != nil {
		return err
	}
	fresh := false
	if err := s.mending(metaName, func() (err error) {
		s.db, fresh, err = store.Open(filepath.Join(o.Dir, metaName), &store.Options{Checks: o.Extensions.checksOf(metaName)})
		return err
	}); err != nil {
		return err
	}
	if err := stateFormat(o.Dir, o.Release); store.IsFull(err) {
		o.Log.Warn("the format of the data folder is not stated yet: no space left", "file", formatName)
	} else if err != nil {
		return err
	}
	if entries, err := os.ReadDir(filepath.Join(o.Dir, collectionsName)); fresh && err == nil && len(entries) > 0 {
		o.Log.Error("the database is missing: it is rebuilt from the files' descriptions"+o.Extensions.lost(), "database", metaName)
	}
	fo := &files.Options{MaxBytes: o.Limits.Upload, Total: o.Limits.Files, Log: o.Log}
	if s.files, err = files.Open(filepath.Join(o.Dir, filesName), s.db, fo); err != nil {
		return err
	}
	co := &catalog.Options{
		Open: o.Open, Place: o.Place, Files: s.files, Roots: o.Roots, Linked: o.Linked, Memory: o.Limits.Memory, MaxCollections: o.Limits.Collections,
		Threads: o.Threads, Coalesce: o.Coalesce, Runs: s.observeRuns, OnRemoved: s.forgetCollection, Log: o.Log,
		Patience: o.Timeouts.Search, DenseLimit: o.Limits.Dense, Budget: o.Limits.reading(), LostOwner: offline.LostOwner, Now: o.Now,
	}
	if co.Patience == 0 { // searches have no timeout
		co.Patience = math.MaxInt64
	}
	if s.catalog, err = catalog.Open(ctx, filepath.Join(o.Dir, collectionsName), s.db, co); err != nil {
		return err
	}
	if err := s.openExtensions(ctx); err != nil {
		return err
	}
	if s.batches, err = offline.Open(filepath.Join(o.Dir, batchesName), s.db, s.batchOptions()); err != nil {
		return err
	}
	s.countFound()
	source := o.Extensions.backupSource(o.Dir, o.Release)
	source.Meta = s.db
	for i := range source.Folders {
		if f := &source.Folders[i]; f.Name == collectionsName {
			f.Copy = s.catalog.CopyFolder
		}
	}
	for _, one := range o.Extensions {
		if own := one.Database(); own != nil {
			source.Others = append(source.Others, own)
		}
	}
	s.backups, err = backup.NewRunner(source, backup.Options{Folder: o.Backups.Folder, Keep: o.Backups.Keep, Check: o.Extensions.Check}, o.Log)
	return err
}

// mending opens a database by open, and mends it if it is damaged.
func (s *Server) mending(name string, open func() error) error {
	m, err := s.o.Extensions.mending(s.o.Dir, name, s.o.Log, open)
	if m != nil {
		s.damaged += len(m.Lost)
	}
	return err
}

// The contents of the data folder.
const (
	metaName        = extension.MetaName
	collectionsName = "collections"
	filesName       = "files"
	batchesName     = "batches"
)

func (s *Server) batchOptions() *offline.Options {
	o := &offline.Options{
		Catalog: s.catalog, Files: s.files, Limits: s.limitsOf(nil),
		DenseLimit: s.o.Limits.Dense, Budget: s.o.Limits.reading(), Concurrency: s.o.BatchConcurrency, Chunk: s.o.BatchChunk, Log: s.o.Log, Now: s.o.Now,
		Withhold: func() bool {
			return slices.ContainsFunc(s.tokens(), func(t Token) bool { return t.permits(read) && !t.Write })
		},
		Turns: s.batchTurns,
	}
	if s.o.Metrics != nil {
		o.Answered = s.o.Metrics.Answered
	}
	return o
}

// batchTurns returns the turns of a search of batches, which count as one client.
func (s *Server) batchTurns() (turns batch.Turns, end func()) {
	t := s.turns.Of("batches")
	return t, t.End
}

// Catalog returns the catalog of the collections.
func (s *Server) Catalog() *catalog.Catalog { return s.catalog }

// State returns the functions that metrics call at a scrape.
func (s *Server) State() metrics.ServerState {
	state := metrics.ServerState{
		Memory: s.Memory, Jobs: s.Jobs, Collections: s.Collections, Found: s.Found, Waiting: s.Waiting,
		Backend: s.o.Backend, Device: s.o.Device, Version: s.o.Release, Revision: s.o.Revision, Go: runtime.Version(),
	}
	if s.o.Metrics != nil {
		state.Label = s.o.Metrics.Label
	}
	if s.o.Backups.Folder != "" {
		state.Backups = s.backups.Counts
	}
	return state
}

// Jobs counts batches by status; for metrics.
func (s *Server) Jobs() map[string]int {
	counts := map[string]int{}
	for _, status := range api.BatchStatuses() {
		counts[string(status)] = 0
	}
	for status, n := range s.batches.Counts() {
		counts[string(status)] = n
	}
	return counts
}

// Collections returns the state of each collection, by name; for metrics.
func (s *Server) Collections() map[string]metrics.Collection {
	all := map[string]metrics.Collection{}
	for _, info := range s.catalog.List() {
		state := string(info.State)
		switch {
		case info.State == catalog.Ready && info.Next != 0:
			state = "updating"
		case info.State == catalog.Ready && info.Error != "":
			state = "stale"
		}
		all[info.Name] = metrics.Collection{Bytes: info.Bytes, State: state}
	}
	return all
}

// Memory returns the shares of the memory, in bytes, and what of each is in use; for metrics.
func (s *Server) Memory() (limits, used map[string]int64) {
	used = map[string]int64{
		"collections": s.catalog.Memory(), "bodies": s.bodies.Used(), "answers": s.answers.Used(), "computing": s.computing.Used(),
	}
	for _, one := range s.o.Extensions {
		used[one.Share().Name] = one.Used()
	}
	return s.o.shares.Names(), used
}

// holds reports whether searches hold memory.
func (s *Server) holds() bool { return s.bodies.Used()+s.answers.Used()+s.computing.Used() > 0 }

// Waiting counts waiting requests, by what they wait for; for metrics.
func (s *Server) Waiting() map[string]int {
	return map[string]int{
		"place": s.slots.Waiting(), "processor": s.turns.Waiting(fair.Small) + s.turns.Waiting(fair.Large),
		"body memory": s.bodies.Waiting(), "answer memory": s.answers.Waiting(),
		"computing memory": s.computing.Waiting(),
	}
}

// ErrRunning says that requests which ignore that they were stopped are still running.
var ErrRunning = errors.New("requests or other work on collections go on although they were stopped")

// Close stops batches at their next chunk and closes the stores in reverse order. If ctx ends before
// that is done it returns an error, ErrRunning if work on the collections goes on: what was
// acknowledged is durable, and the process can end. What only has to be written is waited for.
func (s *Server) Close(ctx context.Context) error {
	s.drain()
	s.stop()
	closed := make(chan error, 1)
	go func() { closed <- s.closeStores(ctx) }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	for late := time.Now(); ; {
		select {
		case err := <-closed: // it has noticed ctx too
			return err
		case <-time.After(cmp.Or(s.o.lastStore, time.Second)):
		}
		works := s.catalog == nil || !s.catalog.Ended()
		if s.running.Load() > 0 || works && time.Since(late) >= cmp.Or(s.o.lastWork, 10*time.Second) {
			return fmt.Errorf("%w: %w", ErrRunning, context.Cause(ctx))
		}
	}
}

func (s *Server) closeStores(ctx context.Context) error {
	s.watching.Wait()
	var err error
	s.tasks.Wait()
	s.strangers.flush()
	s.broken.flush()
	if s.backups != nil {
		s.backups.Close()
	}
	if s.batches != nil {
		err = s.batches.Close(ctx)
	}
	for _, one := range s.o.Extensions {
		err = errors.Join(err, one.Close(ctx))
	}
	if s.catalog != nil {
		err = errors.Join(err, s.catalog.Close())
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	return err
}
