package main

import (
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
)

// TestDurationsInTheLogHaveAUnit in either format.
func TestDurationsInTheLogHaveAUnit(t *testing.T) {
	for format, want := range map[string]string{"json": `"timeout":"1m30s"`, "text": "timeout=1m30s"} {
		s := serve(t, filepath.Join(t.TempDir(), "data"), "--log-level=info", "--log-format="+format, "--drain-timeout=90s")
		r := s.stop()
		if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Err, want) {
			t.Errorf("%s: %s lacks %s", format, r.Err, want)
		}
	}
}
