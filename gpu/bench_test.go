//go:build cuda && cgo

package gpu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/gpu/device"
	"thresher/gpu/device/emulator"
	"thresher/kernels"
)

// serveVariable, if set, makes TestServe answer requests on standard input, from bench/gpu.
const serveVariable = "THRESHER_GPU_SERVE"

// TestServe is a benchmark's process: it answers requests, one JSON object a line, each with one
// line, until its input ends. While it works on one it may print others, which begin with no brace. What
// fails is printed on standard error, too.
func TestServe(t *testing.T) {
	if os.Getenv(serveVariable) == "" {
		t.Skip(serveVariable + " is not set: bench/gpu sets it")
	}
	if err := serve(t.Context(), os.Stdin, os.Stdout, os.Stderr); err != nil {
		t.Fatal(err)
	}
}

// server is the state that requests work on.
type server struct {
	cards map[int64]*Backend // by memory limit
	sets  map[string]*set
	clock *clock // of the card without a memory limit
	signs signs
	log   io.Writer
}

// set is a collection loaded on a card.
type set struct {
	card    *Backend
	c       *collection.Collection
	engine  *batch.Engine
	queries []float32
	owns    bool // c and its files are closed with the set
	maps    [][]byte
}

// request is a line of input: Do is the operation, the other fields are its arguments.
type request struct {
	Do string `json:"do"`

	// build prepares the atoms of a file, float32 rows, and loads them as Set; load loads the
	// collection of another set, Of, on a card that may use Memory bytes. close closes a set.
	Set     string         `json:"set"`
	Of      string         `json:"of"`
	Atoms   string         `json:"atoms"`
	Queries string         `json:"queries"`
	Dim     int            `json:"dim"`
	Seed    uint64         `json:"seed"`
	Memory  int64          `json:"memory"`
	Costs   *backend.Costs `json:"costs"`

	// plans lists the plans; search answers Count batches of M queries, starting with batch First of
	// the file and continuing cyclically; split does the same and measures each kernel's time.
	M      int     `json:"m"`
	K      int     `json:"k"`
	First  int     `json:"first"`
	Count  int     `json:"count"`
	Method string  `json:"method"`
	Plan   string  `json:"plan"`
	Delta  float64 `json:"delta"`
	// Dump, if given, is a file for the answers of search: for each query K ids as little-endian
	// int32, -1 if there are fewer, and then 1 if the certificate needs no probability, else 0.
	Dump string `json:"dump"`
	// Stall is the number of bytes that split copies on the device before other work, so that
	// kernels do not wait for the host between them.
	Stall int `json:"stall"`
	// device answers batches as search does, with two events around the kernels of each. callers has so many goroutines do what search
	// does, at once.
	Callers int `json:"callers"`

	// sweep answers a batch up to its first look, at To rest codes, with other shapes and chunks
	// than the program's, Count times each.
	To int `json:"to"`

	// costs measures the backend's costs, on Size atoms if given. ceilings measures each of these
	// Count times: a copy of Bytes, products, tests of bounds.
	Size   int `json:"size"`
	Bytes  int `json:"bytes"`
	Rounds int `json:"rounds"`
}

// failure is the answer to a failed request.
type failure struct {
	Error  string  `json:"error"`
	Driver *driver `json:"driver,omitempty"`
	Lost   bool    `json:"lost,omitempty"` // the device: the process ends
}

// driver is a failed call of the driver.
type driver struct {
	Call string `json:"call"`
	Code int    `json:"code"`
	Log  string `json:"log"` // the last kernels launched, if the device is lost
}

func failureOf(err error) *failure {
	f := &failure{Error: err.Error(), Lost: errors.Is(err, backend.ErrUnavailable)}
	if e := (*device.DriverError)(nil); errors.As(err, &e) {
		f.Driver = &driver{Call: e.Call, Code: e.Code, Log: e.Log}
	}
	return f
}

// signs tells whoever waits for an answer that it is worked on, because a process that prints nothing for long is
// taken for one whose driver hangs.
type signs struct {
	mu   sync.Mutex
	out  io.Writer
	last time.Time
}

// working prints what the process does, once a second at most. What a single call of the driver takes must not be
// followed by it, nor may it be called in such a call.
func (s *signs) working(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) >= time.Second {
		s.last = time.Now()
		fmt.Fprintf(s.out, "working: %s\n", what)
	}
}

// during prints it every second while f runs, which calls no driver.
func (s *signs) during(what string, f func()) {
	done := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.working(what)
			}
		}
	})
	f()
	close(done)
	waiting.Wait()
}

// telling is a context that says that work goes on whenever it is asked whether it may: between the pieces of a copy.
type telling struct {
	context.Context
	signs *signs
	what  string
}

func (t telling) Err() error {
	t.signs.working(t.what)
	return t.Context.Err()
}

// serve answers requests until in ends or the device is lost. A failed request is answered with a failure, which
// is written to log, too.
func serve(ctx context.Context, in io.Reader, out, log io.Writer) (err error) {
	s := &server{cards: map[int64]*Backend{}, sets: map[string]*set{}, signs: signs{out: out, last: time.Now()}, log: log}
	defer func() { err = errors.Join(err, s.close()) }()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r request
		var answer any
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil {
			answer, err = s.answer(ctx, &r)
		}
		var line []byte
		if err == nil {
			line, err = json.Marshal(answer) // JSON has no infinity
		}
		if err != nil {
			fmt.Fprintf(log, "failed: %s: %v\n", lines.Bytes(), err)
			line, _ = json.Marshal(failureOf(err))
		}
		if _, e := out.Write(append(line, '\n')); e != nil {
			return e
		}
		if errors.Is(err, backend.ErrUnavailable) {
			return err
		}
	}
	return lines.Err()
}

func (s *server) answer(ctx context.Context, r *request) (any, error) {
	switch r.Do {
	case "open":
		return s.open()
	case "build":
		return s.build(ctx, r)
	case "load":
		return s.load(ctx, r)
	case "close":
		x, err := s.set(r)
		if err != nil {
			return nil, err
		}
		delete(s.sets, r.Set)
		return struct{}{}, x.close()
	case "plans":
		return s.plans(r)
	case "search":
		return s.search(ctx, r)
	case "split":
		return s.split(ctx, r)
	case "device":
		return s.device(ctx, r)
	case "callers":
		return s.callers(ctx, r)
	case "sweep":
		return s.sweep(ctx, r)
	case "costs":
		return s.costs(ctx, r)
	case "ceilings":
		return s.ceilings(ctx, r)
	}
	return nil, fmt.Errorf("%q is not known", r.Do)
}

// close frees everything.
func (s *server) close() error {
	var errs []error
	for _, x := range s.sets { // those that own their collection last
		if !x.owns {
			errs = append(errs, x.close())
		}
	}
	for _, x := range s.sets {
		if x.owns {
			errs = append(errs, x.close())
		}
	}
	if s.clock != nil {
		errs = append(errs, s.clock.close())
	}
	for _, card := range s.cards {
		errs = append(errs, card.Close())
	}
	return errors.Join(errs...)
}

// card opens device 0 with a memory limit; 0 is no limit.
func (s *server) card(memory int64) (*Backend, error) {
	if b := s.cards[memory]; b != nil {
		return b, nil
	}
	b, err := Open(Options{Devices: []int{0}, Memory: memory, Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		return nil, err
	}
	card := b.(*Backend)
	card.machines[0].awaitMixed = func(ctx context.Context, done <-chan struct{}) (err error) {
		s.signs.during("mixed codes", func() { err = await(ctx, done) })
		return err
	}
	s.cards[memory] = card
	return card, nil
}

// opened describes the device, and how long it took to open it, including the compilation of
// kernels by the driver.
type opened struct {
	Device   device.Info                 `json:"device"`
	Driver   string                      `json:"driver"`
	Emulator bool                        `json:"emulator"`
	Seconds  float64                     `json:"seconds"`
	Kernels  map[string]device.Resources `json:"kernels"`
	Modules  map[string]bool             `json:"modules"` // whether it is assembled code, and not PTX that the driver compiled
	Threads  int                         `json:"threads"`
	Go       string                      `json:"go"`
}

func (s *server) open() (*opened, error) {
	began := time.Now()
	b, err := s.card(0)
	if err != nil {
		return nil, err
	}
	o := &opened{Device: b.Devices()[0], Emulator: emulator.Present(), Seconds: time.Since(began).Seconds(),
		Kernels: map[string]device.Resources{}, Modules: map[string]bool{}, Threads: runtime.GOMAXPROCS(0), Go: runtime.Version()}
	for name, f := range b.machines[0].functions {
		o.Kernels[name] = f.Resources
	}
	at := 0
	for _, name := range kernels.Names() { // in the order in which they were loaded
		if !slices.Contains(testModules[:], name) {
			o.Modules[name] = b.machines[0].modules[at].Assembled
			at++
		}
	}
	o.Driver, err = device.DriverVersion()
	return o, err
}

// priced is the backend's costs: its default figures, those measured now, and why these cannot be used.
type priced struct {
	Builtin  backend.Costs `json:"builtin"`
	Measured backend.Costs `json:"measured"`
	Unfit    string        `json:"unfit"`
}

func (s *server) costs(ctx context.Context, r *request) (*priced, error) {
	b, err := s.card(0)
	if err != nil {
		return nil, err
	}
	p := &priced{Builtin: b.Describe().Costs}
	if r.Size > 0 {
		p.Measured, err = b.machines[0].measure(ctx, trialSize{atoms: r.Size, near: 512, m: 8, rounds: 1})
	} else {
		p.Measured, err = b.Measure(ctx)
	}
	if e := (*device.DriverError)(nil); errors.As(err, &e) {
		return nil, err // a fault says nothing about costs
	}
	if err == nil {
		err = p.Measured.Check()
	}
	if err != nil {
		p.Unfit = err.Error()
	}
	return p, nil
}

// loaded is the cost of making a set ready for searches.
type loaded struct {
	Atoms        int     `json:"atoms"`
	Dim          int     `json:"dim"`
	Head         int     `json:"head"`
	Panel        int     `json:"panel"`
	Widths       []int   `json:"widths"`
	BuildSeconds float64 `json:"build_seconds"`
	LoadSeconds  float64 `json:"load_seconds"`
	Bytes        int64   `json:"bytes"`        // of the collection
	DeviceBytes  int64   `json:"device_bytes"` // of it on the device
	HostBytes    int64   `json:"host_bytes"`   // of it in page-locked host memory
}

func (s *server) build(ctx context.Context, r *request) (*loaded, error) {
	if r.Dim < 1 || s.sets[r.Set] != nil {
		return nil, fmt.Errorf("set %q of dimension %d, there already or of none", r.Set, r.Dim)
	}
	x := &set{owns: true}
	rows, err := x.floats(r.Atoms)
	if err == nil {
		x.queries, err = x.floats(r.Queries)
	}
	if err != nil {
		return nil, errors.Join(err, x.close())
	}
	began := time.Now()
	s.signs.during("building", func() {
		x.c, err = collection.Build(ctx, rows, r.Dim, &collection.Options{Metric: collection.InnerProduct, Seed: r.Seed})
	})
	if err != nil {
		return nil, errors.Join(err, x.close())
	}
	took := time.Since(began)
	out, err := s.put(ctx, r, x)
	if out != nil {
		out.BuildSeconds = took.Seconds()
	}
	return out, err
}

func (s *server) load(ctx context.Context, r *request) (*loaded, error) {
	of := s.sets[r.Of]
	if of == nil || s.sets[r.Set] != nil {
		return nil, fmt.Errorf("set %q of set %q", r.Set, r.Of)
	}
	return s.put(ctx, r, &set{c: of.c, queries: of.queries})
}

// put loads x on its card; if that fails it closes x.
func (s *server) put(ctx context.Context, r *request, x *set) (*loaded, error) {
	var err error
	if x.card, err = s.card(r.Memory); err != nil {
		return nil, errors.Join(err, x.close())
	}
	d := x.card.machines[0].d
	before, began := d.Usage(), time.Now()
	if x.engine, err = batch.Open(telling{ctx, &s.signs, "loading"}, x.c, x.card, &batch.Options{Costs: r.Costs}); err != nil {
		return nil, errors.Join(err, x.close())
	}
	after := d.Usage()
	s.sets[r.Set] = x
	out := &loaded{Atoms: x.c.N, Dim: x.c.Dim, Head: x.c.R, Panel: x.c.PanelWidth, LoadSeconds: time.Since(began).Seconds(),
		Bytes: x.c.Bytes(), DeviceBytes: after.Used - before.Used, HostBytes: after.Pinned - before.Pinned}
	for _, l := range x.c.Stages {
		out.Widths = append(out.Widths, l.Width)
	}
	return out, nil
}

func (s *server) set(r *request) (*set, error) {
	if x := s.sets[r.Set]; x != nil {
		return x, nil
	}
	return nil, fmt.Errorf("there is no set %q", r.Set)
}

func (x *set) close() error {
	var errs []error
	if x.engine != nil {
		errs = append(errs, x.engine.Close())
	}
	if x.owns && x.c != nil {
		errs = append(errs, x.c.Close())
	}
	for _, m := range x.maps {
		errs = append(errs, syscall.Munmap(m))
	}
	return errors.Join(errs...)
}

// floats maps a file of float32 values.
func (x *set) floats(path string) ([]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if n := info.Size(); n == 0 || n%4 != 0 || n > math.MaxInt {
		return nil, fmt.Errorf("%s: %d bytes are no float32 values", path, n)
	}
	m, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	x.maps = append(x.maps, m)
	return unsafe.Slice((*float32)(unsafe.Pointer(&m[0])), len(m)/4), nil
}
