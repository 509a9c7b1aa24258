package service

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// sparseEvery is the least time between two lines of a sparse log.
const sparseEvery = time.Minute

// sparseLog logs events that anybody can cause as often as they like, without a token: the first at once,
// and then at most one line a minute, with how many there were since the line before. So strangers
// cannot fill a disk. It is safe for concurrent use.
type sparseLog struct {
	log  *slog.Logger
	what string // the message of its lines
	now  func() time.Time

	mu      sync.Mutex
	last    time.Time   // when a line was written; zero before the first
	waiting int         // events since
	latest  []slog.Attr // of the last of these
}

// note counts an event, which attrs describe.
func (s *sparseLog) note(attrs ...slog.Attr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.latest = s.waiting+1, attrs
	if now := s.now(); s.last.IsZero() || now.Sub(s.last) >= sparseEvery {
		s.write(now)
	}
}

// flush writes a line about the events that no line tells of yet.
func (s *sparseLog) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting > 0 {
		s.write(s.now())
	}
}

// write writes a line. The caller holds mu.
func (s *sparseLog) write(now time.Time) {
	attrs := append([]slog.Attr{slog.Int("count", s.waiting)}, s.latest...)
	s.log.LogAttrs(context.Background(), slog.LevelInfo, s.what, attrs...)
	s.last, s.waiting, s.latest = now, 0, nil
}

// connectionErrors returns the log of net/http's errors. Those of connections on which no request
// arrived, such as a failed handshake, are counted and told of sparsely; others are rare.
func (s *Server) connectionErrors() *log.Logger {
	return log.New(errorLines{s}, "", 0)
}

type errorLines struct{ s *Server }

func (e errorLines) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if !strings.HasPrefix(text, "http: TLS handshake error") && !strings.HasPrefix(text, "http2: ") {
		e.s.o.Log.Debug(text)
		return len(line), nil
	}
	if e.s.o.Metrics != nil {
		e.s.o.Metrics.ConnectionFailed()
	}
	e.s.broken.note(slog.String("last", text))
	return len(line), nil
}
