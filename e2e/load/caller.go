//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"
)

// caller is a client with its own connection. It sends prepared requests and parses as little
// of the answers as necessary, since it shares the processor with the server.
type caller struct {
	conn     net.Conn
	in       *bufio.Reader
	requests [][]byte
	next     int

	latencies []time.Duration // of answers 200 since together started
	busy      int             // answers 429
}

// callers connects n clients, which start with different requests.
func callers(addr string, n int, requests [][]byte) ([]*caller, error) {
	all := make([]*caller, n)
	for i := range all {
		conn, err := net.DialTimeout("tcp", addr, callWait)
		if err != nil {
			dismiss(all[:i])
			return nil, err
		}
		all[i] = &caller{conn: conn, in: bufio.NewReaderSize(conn, 2048), requests: requests, next: i * 7919}
	}
	return all, nil
}

func dismiss(all []*caller) {
	for _, c := range all {
		_ = c.conn.Close() // nothing is in flight
	}
}

// together lets each caller ask, one request after the other, until a time.
func together(ctx context.Context, all []*caller, until time.Time) error {
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, c := range all {
		wait.Go(func() {
			c.latencies, c.busy = c.latencies[:0], 0
			for errs[i] == nil && ctx.Err() == nil && time.Now().Before(until) {
				errs[i] = c.call(ctx)
			}
		})
	}
	wait.Wait()
	return errors.Join(ctx.Err(), errors.Join(errs...))
}

// call sends one request; after a 429 it waits as told.
func (c *caller) call(ctx context.Context) error {
	request := c.requests[c.next%len(c.requests)]
	c.next++
	if err := c.conn.SetDeadline(time.Now().Add(callWait)); err != nil {
		return err
	}
	began := time.Now()
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	status, after, err := c.answer()
	switch {
	case err != nil:
		return err
	case status == 429:
		c.busy++
		return pause(ctx, after)
	case status != 200:
		return fmt.Errorf("an answer of status %d", status)
	}
	c.latencies = append(c.latencies, time.Since(began))
	return nil
}

// answer reads a response and returns its status and Retry-After.
func (c *caller) answer() (status int, after time.Duration, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 {
		return 0, 0, fmt.Errorf("%q begins no answer", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	length, chunked := -1, false
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "Content-Length":
			length, err = strconv.Atoi(string(value))
		case "Transfer-Encoding":
			chunked = string(value) == "chunked"
		case "Retry-After":
			var seconds int
			seconds, err = strconv.Atoi(string(value))
			after = time.Duration(seconds) * time.Second
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if chunked {
		if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(c.in)); err != nil {
			return 0, 0, err
		}
		_, err := c.in.Discard(len("\r\n")) // no trailers
		return status, after, err
	}
	if length < 0 {
		return 0, 0, errors.New("an answer of unknown length")
	}
	_, err = io.CopyN(io.Discard, c.in, int64(length))
	return status, after, err
}
