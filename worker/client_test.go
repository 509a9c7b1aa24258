//go:build unix

package worker

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	_ "thresher/internal/draws"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testOptions are those of a child with a CPU backend of its own.
func testOptions(tb testing.TB) Options {
	tb.Helper()
	b := cpu.New(cpu.Options{Threads: 2})
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
	})
	return Options{
		Version: "test", Log: slog.New(slog.DiscardHandler), Threads: 2,
		Devices: func(bool) []Listed { return []Listed{{Name: "cpu", Threads: 2}} },
		Device: func(_ context.Context, name string, _ int, _ *collection.Collection) (*Device, error) {
			if name != "" && name != "auto" && name != "cpu" {
				return nil, UnknownDevice(name)
			}
			return &Device{Backend: b, Engine: &batch.Options{}}, nil
		},
	}
}

// client is the program at the other end.
type client struct {
	t      testing.TB
	link   *socket
	next   int64
	served chan error
	child  *Child
}

// socketPair returns the two ends of a connection.
func socketPair(t testing.TB) (ours *net.UnixConn, theirs *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[0]), "client")
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.UnixConn), os.NewFile(uintptr(fds[1]), "child")
}

// socketOf returns the link over an end of a connection.
func socketOf(t testing.TB, conn *net.UnixConn) *socket {
	t.Helper()
	s, err := newSocket(conn)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newClient starts a child and ends it with the test.
func newClient(t testing.TB, o Options) *client {
	t.Helper()
	ours, theirs := socketPair(t)
	child, err := New(theirs, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, link: socketOf(t, ours), served: make(chan error, 1), child: child}
	go func() {
		c.served <- child.Serve(t.Context())
		close(c.served)
	}()
	t.Cleanup(c.end)
	return c
}

// end closes the connection, and waits until the child has ended.
func (c *client) end() {
	if c.child == nil {
		return
	}
	c.finish()
	if err := c.child.Close(); err != nil {
		c.t.Error(err)
	}
	c.child = nil
}

// finish closes the connection, and waits for all calls. Then what they left can be read.
func (c *client) finish() {
	c.link.Close()
	<-c.served
	c.child.calls.Wait()
}

// soon bounds the time that tests wait for an expected event.
const soon = 5 * time.Minute

// settles reports whether ok becomes true. While the connection is open, what runs
// beside the calls can be waited for in no other way.
func settles(ok func() bool) bool {
	for end := time.Now().Add(soon); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// sent is an array that a client sends in the body of a frame.
type sent struct {
	name  string
	dtype dtype
	shape []int64
	data  []byte
}

func floats(name string, rows, dim int, x []float32) sent {
	return sent{name, float32s, []int64{int64(rows), int64(dim)}, bytesOf(x)}
}

func integers(name string, x ...int64) sent {
	return sent{name, int64s, []int64{int64(len(x))}, bytesOf(x)}
}

// frameOf returns the header and the body of a call.
func frameOf(id int64, op string, fields any, arrays ...sent) (header, body []byte) {
	h := map[string]any{"id": id, "op": op, "fields": fields}
	var placed []descriptor
	for _, a := range arrays {
		placed = append(placed, descriptor{Name: a.name, DType: a.dtype, Shape: a.shape, At: inBody, Offset: int64(len(body))})
		body = append(body, a.data...)
		body = append(body, make([]byte, -len(a.data)&7)...)
	}
	if placed != nil {
		h["arrays"] = placed
	}
	header, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return header, body
}

// received is an answer.
type received struct {
	ID       int64           `json:"id"`
	Reply    json.RawMessage `json:"reply"`
	Arrays   []descriptor    `json:"arrays"`
	Error    *failure        `json:"error"`
	Progress *progress       `json:"progress"`
	bytes    map[string][]byte
}

// send sends a call and returns its id.
func (c *client) send(op string, fields any, arrays ...sent) int64 {
	c.t.Helper()
	c.next++
	header, body := frameOf(c.next, op, fields, arrays...)
	if err := sendFrame(c.link, header, body, nil); err != nil {
		c.t.Fatal(err)
	}
	return c.next
}

// post sends a frame as it is.
func (c *client) post(header any, files ...*os.File) {
	c.t.Helper()
	b, err := json.Marshal(header)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := sendFrame(c.link, b, nil, files); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next frame.
func (c *client) receive() *received {
	c.t.Helper()
	f, err := readFrame(c.link)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.close()
	r := &received{bytes: map[string][]byte{}}
	if err := json.Unmarshal(f.header, r); err != nil {
		c.t.Fatalf("%s: %v", f.header, err)
	}
	for _, d := range r.Arrays {
		n, err := d.bytes()
		if err != nil {
			c.t.Fatal(err)
		}
		b := make([]byte, n)
		if d.At == inBody {
			copy(b, f.body[d.Offset:])
		} else if _, err := f.files[*d.Descriptor].ReadAt(b, d.Offset); err != nil && (n > 0 || err != io.EOF) {
			c.t.Fatal(err)
		}
		r.bytes[d.Name] = b
	}
	return r
}

// call performs an operation, whose answer is the next frame.
func (c *client) call(op string, fields any, arrays ...sent) *received {
	c.t.Helper()
	id := c.send(op, fields, arrays...)
	r := c.receive()
	if r.ID != id {
		c.t.Fatalf("answer to call %d, not %d", r.ID, id)
	}
	return r
}

// must is call for a call that succeeds; into takes the reply.
func (c *client) must(into any, op string, fields any, arrays ...sent) *received {
	c.t.Helper()
	r := c.call(op, fields, arrays...)
	if r.Error != nil {
		c.t.Fatalf("%s: %s: %v", op, r.Error.Kind, r.Error)
	}
	if into != nil {
		if err := json.Unmarshal(r.Reply, into); err != nil {
			c.t.Fatal(err)
		}
	}
	return r
}

// built builds a collection and returns its handle.
func (c *client) built(rows []float32, dim int) int64 {
	c.t.Helper()
	var info about
	c.must(&info, "build", map[string]any{"metric": "ip"}, floats("vectors", len(rows)/dim, dim, rows))
	return info.Handle
}

type object = map[string]any

// randomRows returns n rows of normal values.
func randomRows(seed uint64, n, dim int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n*dim)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// memoryLink is a link whose input is known.
type memoryLink struct {
	mu   sync.Mutex
	in   []byte
	out  []byte
	gone bool
}

func (m *memoryLink) Read(b []byte) (int, error) {
	if len(m.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b, m.in)
	m.in = m.in[n:]
	return n, nil
}

func (m *memoryLink) take(n int) ([]*os.File, error) {
	if n > 0 {
		return nil, violation("no descriptors")
	}
	return nil, nil
}

func (m *memoryLink) send(b []byte, _ []*os.File) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return errors.New("closed")
	}
	m.out = append(m.out, b...)
	return nil
}

func (m *memoryLink) passes() bool { return false }

func (m *memoryLink) await(bool) bool { return true }

func (m *memoryLink) buffered() int { return 0 }

func (m *memoryLink) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = true
	return nil
}

// prefix returns the first bytes of a frame.
func prefix(magic string, version, descriptors byte, header uint32, body uint64) []byte {
	b := make([]byte, prefixBytes)
	copy(b, magic)
	b[2], b[3] = version, descriptors
	binary.LittleEndian.PutUint32(b[4:], header)
	binary.LittleEndian.PutUint64(b[8:], body)
	return b
}
