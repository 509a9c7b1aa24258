//go:build unix

package worker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestClientIsGone: an answer for a client that ended, as scripts do while the worker frees what they used, is no error.
func TestClientIsGone(t *testing.T) {
	ours, theirs := socketPair(t)
	var log bytes.Buffer
	o := testOptions(t)
	o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	child, err := New(theirs, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	if err := ours.Close(); err != nil {
		t.Fatal(err)
	}
	child.conclude(7, struct{}{}, nil, nil)
	if got := log.String(); strings.Contains(got, "level=ERROR") || !strings.Contains(got, "the client is gone") {
		t.Errorf("the log has %q", got)
	}
}
