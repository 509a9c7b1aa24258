package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDurationsInTheLogHaveAUnit in either format.
func TestDurationsInTheLogHaveAUnit(t *testing.T) {
	for format, want := range map[string]string{"json": `"timeout":"1m30s"`, "text": "timeout=1m30s"} {
		s := serve(t, filepath.Join(t.TempDir(), "data"), "--log-level=info", "--log-format="+format, "--drain-timeout=90s")
		r := s.stop()
		if r.wantCode(t, exitOK); !strings.Contains(r.err, want) {
			t.Errorf("%s: %s lacks %s", format, r.err, want)
		}
	}
}
