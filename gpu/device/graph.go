//go:build cuda && cgo

package device

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"unsafe"
)

const (
	// minGraph and maxGraph are the fewest and the most launches that are enqueued as a graph.
	minGraph, maxGraph = 4, 64
	// graphsKept is the most graphs of a device, and seenKept the number of sequences of launches that
	// are recognized when they come again.
	graphsKept, seenKept = 256, 256
	// headWords is the number of words that describe a launch beside its arguments.
	headWords = 8
)

// launchSequence holds launches on a stream that are not enqueued yet, and the graphs made of earlier ones.
type launchSequence struct {
	stream   *Stream // nil unless launches are collected
	launches []collected
	// words describes the launches completely, and is the key of their graph: for each its kernel, its
	// shape, and its arguments.
	words  []uint64
	seed   maphash.Seed
	seen   [seenKept]uint64 // hashes of sequences that have no graph, a ring
	next   int              // in seen
	graphs map[string]*graph
	use    GraphUse
	// err is the first error of enqueuing launches in this call of Do, which all that follows them returns.
	err error
}

// GraphUse is what the launches collected on a device became.
type GraphUse struct {
	Launched uint64 // graphs launched
	Kept     int    // graphs kept to be launched again
	// Refused is the driver's error when it refused to make or to launch a graph. From then on launches are
	// enqueued one by one.
	Refused error
}

// collected is a launch that is not enqueued yet; its arguments are words of its launchSequence from at on.
type collected struct {
	f           *Function
	grid, block Dim
	shared, at  int
}

// graph is an executable CUDA graph of launches, each of which waits for the one before.
type graph struct {
	exec graphExec
	last uint64 // launchSequence.use.Launched when it was launched last
}

// Graphs returns what became of the launches collected so far; nothing if the function that t was passed to
// has returned.
func (t *Thread) Graphs() GraphUse {
	if t.live() != nil {
		return GraphUse{}
	}
	use := t.d.sequence.use
	use.Kept = len(t.d.sequence.graphs)
	return use
}

// Collect makes launches on s wait until other work is enqueued on s, until the host waits for s or for the
// device or copies synchronously, or until the function given to Do returns. What was launched until then is
// enqueued together. If the same launches were enqueued before, with the same arguments, that is one call
// of the driver, which launches a CUDA graph. An error of the driver is returned by the call that enqueues,
// by all later ones that enqueue or wait, and by Do.
func (s *Stream) Collect(t *Thread) error {
	if err := s.owned(t); err != nil {
		return err
	}
	if err := t.enqueueCollected(); err != nil {
		return err
	}
	t.d.sequence.stream = s
	return nil
}

// collect adds a launch. The words are copied.
func (q *launchSequence) collect(f *Function, grid, block Dim, shared int, words []uint64) {
	q.words = append(q.words, functionID(f.f), uint64(grid.X), uint64(grid.Y), uint64(grid.Z), uint64(block.X), uint64(block.Y), uint64(block.Z), uint64(shared))
	q.launches = append(q.launches, collected{f, grid, block, shared, len(q.words)})
	q.words = append(q.words, words...)
}

// arguments returns the words of launch i's arguments.
func (q *launchSequence) arguments(i int) []uint64 {
	if i+1 < len(q.launches) {
		return q.words[q.launches[i].at : q.launches[i+1].at-headWords]
	}
	return q.words[q.launches[i].at:]
}

// key returns the bytes of words.
func (q *launchSequence) key() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(q.words))), 8*len(q.words))
}

// came reports whether a sequence of this key came before, among the last seenKept without a graph.
func (q *launchSequence) came(key []byte) bool {
	if q.graphs == nil {
		q.graphs, q.seed = make(map[string]*graph), maphash.MakeSeed()
	}
	h := maphash.Bytes(q.seed, key)
	if i := slices.Index(q.seen[:], h); i >= 0 {
		q.seen[i] = 0 // there will be a graph; when it has been dropped, the sequence is new again
		return true
	}
	q.seen[q.next] = h
	q.next = (q.next + 1) % seenKept
	return false
}

// enqueueCollected enqueues the launches that wait; on a lost device it drops them and returns the loss. After an
// error it returns that error until the function of Do has returned.
func (t *Thread) enqueueCollected() error {
	q := &t.d.sequence
	if len(q.launches) > 0 && q.err == nil {
		if q.err = t.d.Lost(); q.err == nil {
			q.err = t.enqueue(q)
		}
	}
	q.launches, q.words = q.launches[:0], q.words[:0]
	return q.err
}

// endCollecting enqueues the launches that wait at the end of a function of Do, and returns its error as well.
func (t *Thread) endCollecting(err error) error {
	q := &t.d.sequence
	defer func() { q.stream, q.err = nil, nil }()
	e := t.enqueueCollected()
	switch {
	case e == nil || errors.Is(err, e):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded): // callers go on after an interruption, which this is not
		return e
	}
	return errors.Join(err, e)
}

// enqueue enqueues the launches that wait, as a graph if there is one.
func (t *Thread) enqueue(q *launchSequence) error {
	if len(q.launches) >= minGraph && q.use.Refused == nil {
		g, err := t.graphOf(q)
		if err != nil {
			return err
		}
		if g != nil {
			launched, err := t.launchGraph(q, g)
			if launched || err != nil {
				return err
			}
		}
	}
	for i := range q.launches {
		l := &q.launches[i]
		if err := t.launch(l.f, q.stream, l.grid, l.block, l.shared, q.arguments(i)); err != nil {
			return err
		}
	}
	return nil
}

// launchGraph launches the graph of the launches that wait. If the driver refuses that, no graph is used any more.
func (t *Thread) launchGraph(q *launchSequence, g *graph) (launched bool, err error) {
	if err = launchGraph(g.exec, q.stream.s); err == nil {
		q.use.Launched++
		g.last = q.use.Launched
		return true, nil
	}
	err = t.fail(err, "cuGraphLaunch(%d kernels from %s to %s)", len(q.launches), q.launches[0].f.name, q.launches[len(q.launches)-1].f.name)
	if errors.Is(err, ErrLost) {
		return false, err
	}
	q.use.Refused = err
	return false, nil
}

// graphOf returns the graph of the launches that wait, which it makes when they come for the second time;
// nil if there is none. If the driver refuses to make one, none is asked for again.
func (t *Thread) graphOf(q *launchSequence) (*graph, error) {
	key := q.key()
	if g := q.graphs[string(key)]; g != nil || !q.came(key) {
		return g, nil
	}
	if len(q.graphs) >= graphsKept {
		if err := t.dropOldestGraph(); err != nil {
			return nil, err
		}
	}
	exec, err := t.makeGraph(q)
	switch {
	case errors.Is(err, ErrLost):
		return nil, err
	case err != nil:
		q.use.Refused = err
		return nil, nil
	}
	g := &graph{exec: exec}
	q.graphs[string(key)] = g
	return g, nil
}

// makeGraph makes a graph of the launches that wait.
func (t *Thread) makeGraph(q *launchSequence) (exec graphExec, err error) {
	h, err := newGraph()
	if err != nil {
		return exec, t.fail(err, "cuGraphCreate()")
	}
	defer func() {
		if e := destroyGraph(h); e != nil {
			if err == nil {
				err = destroyGraphExec(exec)
			}
			err = errors.Join(t.fail(e, "cuGraphDestroy()"), err)
		}
	}()
	var last graphNode
	for i := range q.launches {
		l := &q.launches[i]
		if last, err = addKernel(h, last, l.f.f, l.grid, l.block, l.shared, q.arguments(i), l.f.first); err != nil {
			return exec, t.fail(err, "cuGraphAddKernelNode(%s, grid %v, block %v, %d bytes shared)", l.f.name, l.grid, l.block, l.shared)
		}
	}
	if exec, err = instantiate(h); err != nil {
		return exec, t.fail(err, "cuGraphInstantiate(%d kernels)", len(q.launches))
	}
	return exec, nil
}

// dropOldestGraph releases the graph that was launched least recently. The driver keeps what is still
// running until it has ended.
func (t *Thread) dropOldestGraph() error {
	q, oldest := &t.d.sequence, ""
	for key, g := range q.graphs {
		if oldest == "" || g.last < q.graphs[oldest].last {
			oldest = key
		}
	}
	return t.dropGraph(oldest)
}

// dropGraphs releases all graphs, on a lost device without asking the driver.
func (t *Thread) dropGraphs() error {
	var errs []error
	for key := range t.d.sequence.graphs {
		errs = append(errs, t.dropGraph(key))
	}
	return errors.Join(errs...)
}

func (t *Thread) dropGraph(key string) error {
	q := &t.d.sequence
	g := q.graphs[key]
	delete(q.graphs, key)
	if t.d.Lost() != nil {
		return nil
	}
	if err := destroyGraphExec(g.exec); err != nil {
		return t.fail(err, "cuGraphExecDestroy()")
	}
	return nil
}
