package service

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
)

// unreadQueries is the number of queries whose answers, of all atoms each, are larger than what
// the system buffers for a connection.
const unreadQueries = 4096

// unread sends a request, as a client of an address behind a proxy that does not read the
// answer until the test ends.
func (s *site) unread(client, path string, body []byte, headers ...string) {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		s.t.Fatal(err)
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: %s\r\nContent-Length: %d\r\n", path, client, len(body))
	for _, h := range headers {
		head += h + "\r\n"
	}
	if _, err := c.Write(append([]byte(head+"\r\n"), body...)); err != nil {
		s.t.Fatal(err)
	}
}

// ask sends a search for a client behind a proxy, reads the answer, and returns its status.
func (s *site) ask(client, path string, body []byte) int {
	s.t.Helper()
	req, err := http.NewRequest("POST", s.url+path, strings.NewReader(string(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", npyType)
	req.Header.Set("X-Forwarded-For", client)
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode
}

// behindProxy makes the addresses of clients those that a proxy on this machine states.
func behindProxy(o *Options) {
	o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
}

// TestUnreadAnswersGiveWay: clients that do not read large answers are evicted one after the
// other while more of them wait, and meanwhile other clients get answers of middling size.
func TestUnreadAnswersGiveWay(t *testing.T) {
	s := start(t, func(o *Options) {
		behindProxy(o)
		o.Limits.Answers = 60 << 20 // for one of them, and some of middling size
	})
	s.fill()
	const clients = 4
	large := npy(gaussian(2, unreadQueries*dim), dim)
	for i := range clients {
		s.unread(fmt.Sprintf("192.0.2.%d", i+1), searchFilms+"?k=300&method=exact", large, "Content-Type: "+npyType)
	}
	middling := npy(gaussian(3, 1000*dim), dim)
	for gone := 0; gone < clients-1; {
		if status := s.ask("198.51.100.1", searchFilms+"?k=300&method=exact", middling); status != http.StatusOK {
			t.Fatalf("status %d while %d clients do not read", status, clients-gone)
		}
		gone = 0
		for _, l := range s.lines("request") {
			text, failed := l["error"].(string)
			if failed && !strings.Contains(text, errGone.Error()) {
				t.Fatalf("a client that does not read waited in vain: %s", text)
			}
			if failed {
				gone++
			}
		}
	}
}

// TestUnreadAnswersKeepNoPlace: a client that does not read an answer over one connection has left
// its place among the searches to another, whatever protocol it speaks.
func TestUnreadAnswersKeepNoPlace(t *testing.T) {
	queries := floats(gaussian(2, unreadQueries*dim))
	head := fmt.Sprintf(`{"parameters":{"k":300,"method":"exact"},"inputs":[{"name":"queries","datatype":"FP32","shape":[%d,%d],"parameters":{"binary_data_size":%d}}]}`, unreadQueries, dim, len(queries))
	for name, send := range map[string]func(*site){
		"search": func(s *site) {
			s.unread("192.0.2.1", searchFilms+"?k=300&method=exact", npy(gaussian(2, unreadQueries*dim), dim), "Content-Type: "+npyType)
		},
		"infer": func(s *site) {
			s.unread("192.0.2.1", "/v2/models/films/infer", append([]byte(head), queries...), fmt.Sprintf("Inference-Header-Content-Length: %d", len(head)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(o *Options) {
				behindProxy(o)
				o.Limits.Searches = 1
			})
			s.fill()
			send(s)
			for s.answers.Used() == 0 { // until it searches
				runtime.Gosched()
			}
			if status := s.ask("192.0.2.1", searchFilms+"?k=10&method=exact", npy(gaussian(3, dim), dim)); status != http.StatusOK {
				t.Errorf("status %d", status)
			}
			if s.answers.Used() == 0 {
				t.Error("the answer was read")
			}
		})
	}
}
