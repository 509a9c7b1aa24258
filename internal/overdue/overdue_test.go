package overdue_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"thresher/internal/overdue"
)

// TestWatch names work that outlives its context by more than Patience, once, and says when it has
// ended; other work is not named.
func TestWatch(t *testing.T) {
	for _, x := range []struct {
		name         string
		limit, works time.Duration
		cancelled    bool
		want         []string
	}{
		{"in time", time.Second, time.Second / 2, false, nil},
		{"a little late", time.Second, time.Second + overdue.Patience/2, false, nil},
		{"late", time.Second, time.Minute, false, []string{`msg="a search goes on after its end" collection=films ended_by="context deadline exceeded" since=2s`, `msg="a search has ended late" collection=films late=59s`}},
		{"cancelled", time.Hour, time.Minute, true, []string{`ended_by="context canceled"`, `late=1m0s`}},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bytes.Buffer
				log := slog.New(slog.NewTextHandler(&b, nil))
				ctx, cancel := context.WithTimeout(t.Context(), x.limit)
				defer cancel()
				done := overdue.Watch(ctx, log, "a search", "collection", "films")
				if x.cancelled {
					cancel()
				}
				time.Sleep(x.works) // of the bubble's clock
				synctest.Wait()
				named := strings.Count(b.String(), "\n")
				done()
				lines := strings.Split(strings.TrimSpace(b.String()), "\n")
				if b.Len() == 0 {
					lines = nil
				}
				if len(lines) != len(x.want) || named != len(lines)/2 {
					t.Fatalf("logged %q", lines)
				}
				for i, want := range x.want {
					if !strings.Contains(lines[i], want) {
						t.Errorf("%q lacks %q", lines[i], want)
					}
				}
			})
		})
	}
}
