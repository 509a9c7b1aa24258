package cli

import (
	"context"
	"io"
	"log/slog"

	"thresher/config"
)

// newLogs returns the log at the configured level, and one of all records from info on. They share w.
func newLogs(w io.Writer, c *config.Config) (log, audit *slog.Logger) {
	said := &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: durationInWords}
	var all slog.Handler = slog.NewTextHandler(w, said)
	if c.LogFormat == "json" {
		all = slog.NewJSONHandler(w, said)
	}
	return slog.New(above{all, c.LogLevel}), slog.New(above{all, slog.LevelInfo})
}

// durationInWords gives durations their unit in the log: JSON would have nanoseconds that do not say so.
func durationInWords(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// above passes on the records from a level on. Several may share a handler, and so a writer.
type above struct {
	slog.Handler
	least slog.Level
}

func (h above) Enabled(_ context.Context, level slog.Level) bool { return level >= h.least }

func (h above) WithAttrs(attrs []slog.Attr) slog.Handler {
	return above{h.Handler.WithAttrs(attrs), h.least}
}

func (h above) WithGroup(name string) slog.Handler {
	return above{h.Handler.WithGroup(name), h.least}
}
