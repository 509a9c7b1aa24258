package service

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"thresher/service/problem"
)

// connections counts the open connections of a server, of all its listeners. Those beyond most are
// accepted as surplus, so that their requests are refused with an answer, and those beyond
// maxSurplus more are closed at once.
type connections struct {
	most     int64
	open     atomic.Int64
	rejected func() // called for each that is closed at once
	log      *slog.Logger
	warned   atomic.Int64 // when, in nanoseconds

	// spare is a descriptor that is given up to accept a connection when there is no other, so
	// that its request is refused with an answer, too; nil while it is given up.
	mu    sync.Mutex
	spare io.Closer
	reach func() (io.Closer, error) // opens a spare descriptor
	ended bool                      // no connection is accepted any more
}

// maxSurplus is the number of connections whose requests are refused at a time.
const maxSurplus = 64

// warnEvery is the least time between two warnings of too many connections.
const warnEvery = time.Minute

// take opens the spare descriptor, unless it is open, and reports whether it is then.
func (c *connections) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spare == nil && !c.ended {
		if f, err := c.reach(); err == nil { // without it connections wait
			c.spare = f
		}
	}
	return c.spare != nil
}

// anyFile opens a file that is always there.
func anyFile() (io.Closer, error) { return os.Open(os.DevNull) }

// give closes the spare descriptor, and reports whether there was one.
func (c *connections) give() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spare == nil {
		return false
	}
	_ = c.spare.Close()
	c.spare = nil
	return true
}

// end gives up the spare descriptor for good.
func (c *connections) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.give()
}

// warn logs a reason for refusing connections, once in a while.
func (c *connections) warn(reason string, args ...any) {
	now := time.Now().UnixNano()
	if last := c.warned.Load(); (last == 0 || now-last > int64(warnEvery)) && c.warned.CompareAndSwap(last, now) {
		c.log.Warn(reason, args...)
	}
}

// gate is a listener whose connections are counted.
type gate struct {
	net.Listener
	c *connections
}

// Accept returns the next connection. If file descriptors run out it gives up the spare one for
// it; without that it fails with a temporary error, after which the HTTP server tries again, at
// growing intervals.
func (g gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		spare := false
		if noDescriptors(err) {
			g.c.warn("no file descriptor is free: connections are refused (ulimit -n, limits.connections)", "open", g.c.open.Load(), "error", err)
			if !g.c.give() {
				return nil, err
			}
			conn, err = g.Listener.Accept()
			// Meanwhile others may have been closed: the system says that there is no descriptor
			// before there is a connection.
			if regained := g.c.take(); err == nil {
				spare = !regained
			}
		}
		if err != nil {
			return nil, err
		}
		n := g.c.open.Add(1)
		counted := &connection{Conn: conn, c: g.c, surplus: spare || n > g.c.most, spare: spare}
		if n <= g.c.most+maxSurplus {
			if n > g.c.most {
				g.c.warn("too many connections are open: requests on further ones are refused", "limits.connections", g.c.most)
			}
			return counted, nil
		}
		g.c.rejected()
		_ = counted.Close()
	}
}

// noDescriptors reports whether err means that the process or the system has no file descriptor
// left.
func noDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// connection is an accepted connection.
type connection struct {
	net.Conn
	c       *connections
	surplus bool // its requests are refused
	spare   bool // it has the spare descriptor
	once    sync.Once
}

// Close closes the connection, which then no longer counts.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.c.open.Add(-1)
		if c.spare {
			c.c.take()
		}
	})
	return err
}

// surplusKey is the key of contexts of requests on surplus connections.
type surplusKey struct{}

// ofConnection marks the context of the requests on a surplus connection.
func ofConnection(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if c, ok := conn.(*connection); ok && c.surplus {
		return context.WithValue(ctx, surplusKey{}, true)
	}
	return ctx
}

// checkConnection refuses requests on surplus connections.
func (s *Server) checkConnection(ctx context.Context) error {
	if ctx.Value(surplusKey{}) == nil {
		return nil
	}
	p := problem.New(problem.Crowded, "%d connections are open, the server has room for %d (limits.connections, and ulimit -n)", s.connections.open.Load(), s.connections.most).
		Within(s.connections.most)
	p.RetryAfter = retryAfter
	return p
}
