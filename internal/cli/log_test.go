package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestAbove: logs of several levels share a writer, also with attributes and groups.
func TestAbove(t *testing.T) {
	var out bytes.Buffer
	all := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})
	quiet, audit := slog.New(above{all, slog.LevelError}), slog.New(above{all, slog.LevelInfo})
	for name, log := range map[string]*slog.Logger{"quiet": quiet, "quiet with": quiet.With("a", 1), "quiet group": quiet.WithGroup("g")} {
		log.Warn(name)
		log.Error("an error")
	}
	for name, log := range map[string]*slog.Logger{"audit": audit, "audit with": audit.With("a", 1), "audit group": audit.WithGroup("g")} {
		log.Debug("a detail")
		log.Info(name)
	}
	text := out.String()
	if strings.Count(text, "\n") != 6 || strings.Contains(text, "quiet") || strings.Contains(text, "a detail") || strings.Count(text, "msg=\"an error\"") != 3 {
		t.Error(text)
	}
}
