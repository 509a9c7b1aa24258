//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// dial opens a new connection.
func (h *hostile) dial() (*net.TCPConn, error) {
	conn, err := net.DialTimeout("tcp", h.addr, callWait)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// written returns the request as sent over a connection.
func (r *request) written() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", r.method, r.path, r.body.kind, len(r.body.data))
	b.Write(r.body.data)
	return b.Bytes()
}

// cut sends parts of requests and disconnects: by closing, by reset, or after receiving an
// answer.
func (h *hostile) cut(ctx context.Context) error {
	all := seeds()
	base := h.r.Uint64()
	var heard atomic.Int64
	err := parallel(ctx, h.o.cuts, func(_ context.Context, i int) error {
		r := rand.New(rand.NewPCG(base, uint64(i)))
		text := all[i%len(all)].written()
		conn, err := h.dial()
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write(text[:r.IntN(len(text))]); err != nil {
			return err
		}
		switch r.IntN(3) {
		case 0:
			return nil
		case 1:
			return conn.SetLinger(0)
		}
		if err := errors.Join(conn.CloseWrite(), conn.SetDeadline(time.Now().Add(callWait))); err != nil {
			return err
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil // the header was incomplete
		}
		if err != nil {
			return fmt.Errorf("cut %d: %w", i, err)
		}
		heard.Add(1)
		return h.counted(resp, fmt.Sprint("cut ", i))
	})
	h.note = fmt.Sprintf("%d broken off, %d of them waited for an answer", h.o.cuts, heard.Load())
	return err
}

// counted is count for a response not read yet.
func (h *hostile) counted(resp *http.Response, asked string) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("%s: %w", asked, err)
	}
	return h.count(&answer{resp.StatusCode, resp.Header.Get("Content-Type"), data}, asked)
}

// slowEnd is the time by which a slow sender must have been disconnected: after either
// timeout of 1 s, on a busy machine.
const slowEnd = 5 * time.Minute

// slow sends headers and bodies a byte at a time, while ordinary searches continue.
func (h *hostile) slow(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i := range h.o.slow {
		g.Go(func() error { return h.drip(gctx, i%2 == 0) })
	}
	stopped := make(chan struct{})
	var ordinary count
	var wait sync.WaitGroup
	var failed error
	wait.Go(func() {
		queries := gaussian(1, hostDim, 4)
		for {
			select {
			case <-stopped:
				return
			default:
			}
			asked := time.Now()
			failed = h.ordinary(ctx, func() error {
				_, _, err := h.search(ctx, hostName, queries, 5)
				return err
			})
			if failed != nil {
				return
			}
			ordinary.latencies = append(ordinary.latencies, time.Since(asked))
			failed = pause(ctx, 2*time.Millisecond)
		}
	})
	err := g.Wait()
	took := time.Since(began)
	close(stopped)
	wait.Wait()
	h.note = fmt.Sprintf("%d senders turned away within %v; p99 of a search meanwhile %s ms", h.o.slow, took.Round(100*time.Millisecond), ms(ordinary.percentile(99)))
	return errors.Join(err, failed)
}

// drip sends a request slowly until it is rejected.
func (h *hostile) drip(ctx context.Context, header bool) error {
	conn, err := h.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	whole := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n", toSearch)
	if !header {
		if _, err := io.WriteString(conn, whole+"\r\n"); err != nil {
			return err
		}
	}
	rest, in := whole+strings.Repeat(" ", 1000), bufio.NewReader(conn)
	for began := time.Now(); time.Since(began) < slowEnd; rest = rest[1:] {
		if _, err := io.WriteString(conn, rest[:1]); err != nil {
			return nil // rejected
		}
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := in.Peek(1)
		var late net.Error
		switch {
		case err == nil:
			_ = conn.SetReadDeadline(time.Now().Add(slowEnd))
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				return nil // closed before the answer was read
			}
			return h.counted(resp, "a slow sender")
		case errors.As(err, &late) && late.Timeout():
		default:
			return nil // closed
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("a slow sender (of a header: %v) was let go on for %v", header, slowEnd)
}

// large sends bodies of the greatest allowed size, 64 at once, and headers beyond the limit.
func (h *hostile) large(ctx context.Context) error {
	row := strings.TrimSuffix(strings.Repeat("0.123,", hostDim), ",")
	numbers := `{"queries":[` + strings.Repeat("["+row+"],", (bodyLimit-100)/(len(row)+3))
	bodies := []*body{
		text(strings.TrimSuffix(numbers, ",") + "]}"), // too many queries
		bare(jsonKind, bytes.Repeat([]byte("["), bodyLimit)),
		bare(jsonKind, bytes.Repeat([]byte(" "), bodyLimit)),
		bare(jsonKind, bytes.Repeat([]byte(`{"a":"`), bodyLimit/6)),
		npyBody(bodyLimit/4/hostDim - 16),
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(64)
	for i := range h.o.large {
		g.Go(func() error {
			if i%8 == 7 {
				return h.heads(i)
			}
			got, err := h.call(gctx, "POST", toSearch, bodies[i%len(bodies)])
			if err != nil {
				return err
			}
			return h.count(got, "a large body")
		})
	}
	return g.Wait()
}

// heads sends a header of many lines, or of one long line.
func (h *hostile) heads(i int) error {
	conn, err := h.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	lines := strings.Repeat("X-Header: value\r\n", 100_000)
	if i%16 == 15 {
		lines = "X-Header: " + strings.Repeat("v", 2<<20) + "\r\n"
	}
	_ = conn.SetDeadline(time.Now().Add(callWait))
	// The server may close before it has read everything.
	_, _ = io.WriteString(conn, "GET /v1/collections HTTP/1.1\r\nHost: localhost\r\n"+lines+"\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil // reset, which may overtake the answer
	}
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		return fmt.Errorf("a header of %d bytes: status %d", len(lines), resp.StatusCode)
	}
	return h.counted(resp, "a large header")
}

// flood opens connections and resets them, some after a few bytes.
func (h *hostile) flood(ctx context.Context) error {
	err := parallel(ctx, h.o.connections, func(_ context.Context, i int) error {
		conn, err := h.dial()
		if err != nil {
			return err
		}
		if i%4 == 0 {
			_, _ = io.WriteString(conn, "GET / HTTP") // delivery does not matter
		}
		return errors.Join(conn.SetLinger(0), conn.Close())
	})
	h.note = fmt.Sprintf("%d connections", h.o.connections)
	return err
}

// idle leaves connections open after a request; the server must close them.
func (h *hostile) idle(ctx context.Context) error {
	conns := make([]*net.TCPConn, h.o.idle)
	defer func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	}()
	before, _, err := memory(h.pid())
	if err != nil {
		return err
	}
	err = parallel(ctx, len(conns), func(_ context.Context, i int) (err error) {
		if conns[i], err = h.dial(); err != nil {
			return err
		}
		_, err = io.WriteString(conns[i], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		return err
	})
	if err != nil {
		return err
	}
	after, _, err := memory(h.pid())
	if err != nil {
		return err
	}
	h.note = fmt.Sprintf("%d connections, %.0f KiB each", len(conns), float64(after-before)/1024/float64(len(conns)))
	for _, conn := range conns {
		_ = conn.SetDeadline(time.Now().Add(callWait))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			return fmt.Errorf("a connection that stays open is not closed: %w", err)
		}
	}
	return nil
}
