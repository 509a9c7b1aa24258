package service

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
	"thresher/service/metrics"
	"thresher/service/servicetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		whole := true
		for _, part := range []string{"run", "bench", "fuzz", "list"} {
			whole = whole && flag.Lookup("test."+part).Value.String() == ""
		}
		if whole && code == 0 {
			code = everyRouteAnswered()
		}
		os.Exit(code)
	}))
}

// extensions are those of the tests, with their default limits.
func extensions() Extensions { return Extensions{&notes{}, &tallies{}} }

// answered holds the routes, as method and pattern, that some test got a successful answer
// from.
var answered sync.Map

// everyRouteAnswered is the exit code of the whole suite: 1 if a route was never answered
// successfully.
func everyRouteAnswered() int {
	code := 0
	for _, rt := range (&Server{o: Options{Extensions: extensions()}}).routes() {
		if _, ok := answered.Load(rt.method + " " + rt.pattern); !ok {
			fmt.Fprintf(os.Stderr, "no test has a good answer of %s %s\n", rt.method, rt.pattern)
			code = 1
		}
	}
	return code
}

// site is a listening server, and a client of it.
type site struct {
	*Server
	t      testing.TB
	url    string
	grpc   string // address of gRPC
	client *http.Client
	hooks  *hooks
	log    *logged
	scrape *prometheus.Registry
	token  string // sent with every request

	opened atomic.Int64       // accepted connections
	shut   context.CancelFunc // acts as SIGTERM
	ended  chan error         // the result of Serve
}

// start runs a server on a new folder; change may change its options.
func start(t testing.TB, change func(*Options)) *site { return startIn(t, t.TempDir(), change) }

func startIn(t testing.TB, dir string, change func(*Options)) *site {
	t.Helper()
	b := cpu.New(cpu.Options{Threads: 2})
	t.Cleanup(func() { b.Close() })
	s := &site{t: t, hooks: &hooks{}, log: &logged{}, scrape: metrics.NewRegistry(), ended: make(chan error, 1)}
	counted, err := metrics.New(s.scrape)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Dir: dir, Backend: "cpu", Device: "test", Extensions: extensions(), Metrics: counted, Scrape: metrics.NewPages(s.scrape),
		Version: map[string]string{"version": "(test)"}, Release: "(test)", Threads: 2, Timeouts: noHurry, lastAnswers: time.Hour,
		Log: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Open: func(ctx context.Context, _ string, c *collection.Collection) (*batch.Engine, error) {
			return batch.Open(ctx, c, hooked{b, s.hooks}, nil)
		},
		Place: func(string) (backend.Backend, *batch.Options, error) {
			return hooked{b, s.hooks}, &batch.Options{}, nil
		},
	}
	if change != nil {
		change(&o)
	}
	if s.Server, err = Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := metrics.Watch(s.scrape, s.State()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	ctx, shut := context.WithCancel(context.Background())
	s.shut = shut
	grpc, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.grpc = "http://" + grpc.Addr().String()
	go func() { s.ended <- s.Serve(ctx, counting{l, &s.opened}, grpc, nil) }()
	t.Cleanup(s.stopAll)
	<-s.catalog.Ready()
	return s
}

// counting is a listener that counts connections.
type counting struct {
	net.Listener
	n *atomic.Int64
}

func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// stopAll shuts the server down as a signal does, once.
func (s *site) stopAll() {
	if s.shut == nil {
		return
	}
	s.client.CloseIdleConnections()
	s.shut()
	s.shut = nil
	if err := <-s.ended; err != nil {
		s.t.Errorf("Serve: %v", err)
	}
	if err := s.Close(context.Background()); err != nil {
		s.t.Errorf("Close: %v", err)
	}
}

// in reports failures to a subtest until it ends.
func (s *site) in(t *testing.T) {
	outer := s.t
	s.t = t
	t.Cleanup(func() { s.t = outer })
}

// logged keeps the log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// answer is a response; its methods are those of servicetest.Answer.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// do sends a request as servicetest.Caller.Do does.
func (s *site) do(method, path string, body any, h ...string) *answer {
	s.t.Helper()
	c := &servicetest.Caller{T: s.t, URL: s.url, HTTP: s.client, Token: s.token, Description: described(s.t)}
	a := c.Do(method, path, body, h...)
	if r, err := http.NewRequest(method, s.url+path, nil); err == nil && a.Status < 300 {
		_, pattern := s.mux.Handler(r)
		answered.Store(method+" "+pattern, true)
	}
	return &answer{s.t, a.Status, a.Header, a.Body}
}

func (a *answer) checked() *servicetest.Answer {
	return &servicetest.Answer{T: a.t, Status: a.status, Header: a.header, Body: a.body}
}

func (a *answer) want(status int) *answer {
	a.t.Helper()
	a.checked().Want(status)
	return a
}

func (a *answer) into(v any) {
	a.t.Helper()
	a.checked().Into(v)
}

// refused is a problem as clients see it.
type refused = servicetest.Refused

func (a *answer) problem(status int, kind string) refused {
	a.t.Helper()
	return a.checked().Problem(status, kind)
}

// npy encodes a float32 matrix as npy.
func npy(rows []float32, dim int) []byte { return servicetest.NPY(rows, dim) }

// floats returns the bytes of float32 values, little-endian.
func floats(x []float32) []byte { return servicetest.Floats(x) }

func gaussian(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	return vectors.Gaussian(r, n, 1)
}

// The number of atoms of the collection that most tests search, and their dimension.
const (
	atoms = 300
	dim   = 8
)

// fill makes the collection films of gaussian rows.
func (s *site) fill() []float32 {
	s.t.Helper()
	rows := gaussian(1, atoms*dim)
	s.do("PUT", "/v1/collections/films?metric=ip&wait=true", npy(rows, dim), "Content-Type", npyType).want(http.StatusCreated)
	return rows
}

// best returns the row of the largest inner product.
func best(rows, q []float32) int64 {
	at, most := int64(-1), math.Inf(-1)
	for i := 0; i < len(rows); i += len(q) {
		var sum float64
		for j, v := range q {
			sum += float64(v) * float64(rows[i+j])
		}
		if sum > most {
			at, most = int64(i/len(q)), sum
		}
	}
	return at
}

// hooks let a test delay searches.
type hooks struct {
	mu sync.Mutex
	// before and after run before and after the work of each run's steps; nil does nothing.
	before, after func(context.Context)
	// half makes dense steps of at least so many queries answer half of them and then wait until they
	// are stopped; 0 none.
	half int
}

func (h *hooks) halve(least int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.half = least
}

func (h *hooks) halves(queries int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.half > 0 && queries >= h.half
}

func (h *hooks) set(before, after func(context.Context)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before, h.after = before, after
}

func (h *hooks) get() (before, after func(context.Context)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.before, h.after
}

// hooked is a backend whose runs call hooks.
type hooked struct {
	backend.Backend
	hooks *hooks
}

func (b hooked) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	r, err := b.Backend.Load(ctx, c)
	if err != nil {
		return nil, err
	}
	return hookedResident{r, b.hooks}, nil
}

type hookedResident struct {
	backend.Resident
	hooks *hooks
}

func (r hookedResident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	run, err := r.Resident.Begin(ctx, q, goals)
	if err != nil {
		return nil, err
	}
	return hookedRun{run.(backend.Leaver), r.hooks}, nil
}

type hookedRun struct {
	backend.Leaver
	hooks *hooks
}

func (r hookedRun) Pull(ctx context.Context, look backend.Look) (backend.Survivors, error) {
	before, after := r.hooks.get()
	if before != nil {
		before(ctx)
	}
	t, err := r.Leaver.Pull(ctx, look)
	if after != nil {
		after(ctx)
	}
	return t, err
}

func (r hookedRun) Dense(ctx context.Context, queries ...int) error {
	before, after := r.hooks.get()
	if before != nil {
		before(ctx)
	}
	if r.hooks.halves(len(queries)) {
		if err := r.Leaver.Dense(ctx, queries[:len(queries)/2]...); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	err := r.Leaver.Dense(ctx, queries...)
	if after != nil {
		after(ctx)
	}
	return err
}

// untilStopped waits until a search is stopped.
func untilStopped(ctx context.Context) { <-ctx.Done() }

// soon bounds the time that tests wait for an expected event.
const soon = 5 * time.Minute

// noHurry are the timeouts of servers in tests, none of which strikes on a machine that is slow or stands still for a while.
var noHurry = Timeouts{Header: time.Hour, Body: time.Hour, Idle: time.Hour, Search: time.Hour, Drain: time.Hour}

// inTime calls ask with a deadline, and again with ones four times as long while ask reports that it struck too early
// for what the test is about, as it does on a slow machine.
func inTime(t testing.TB, ask func(deadline time.Duration) (late bool)) {
	t.Helper()
	for deadline := 100 * time.Millisecond; ask(deadline); deadline *= 4 {
		if deadline > time.Minute {
			t.Fatalf("a deadline of %v strikes too early", deadline)
		}
	}
}
