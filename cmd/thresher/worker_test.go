package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"thresher/internal/cli"
)

// TestWorkerNeedsParent: only a program starts a worker.
func TestWorkerNeedsParent(t *testing.T) {
	for _, args := range [][]string{{"worker"}, {"worker", "--parent", "0"}, {"worker", "--parent", "-4"}} {
		var out, log bytes.Buffer
		if code := run(context.Background(), args, strings.NewReader(""), &out, &log); code != cli.ExitInput || !strings.Contains(log.String(), "--parent") {
			t.Errorf("%v: exit %d: %s", args, code, log.String())
		}
	}
}
