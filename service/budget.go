package service

import (
	"cmp"
	"log/slog"

	"thresher/service/extension"
)

// Shares are the parts of the memory of a server, in bytes. Together they are its memory, unless
// limits leave some of it unused.
type Shares struct {
	Collections int64 // their vectors, codes and ids; 0 means no limit
	Bodies      int64 // of searches as they arrive
	Answers     int64 // of searches until they are sent
	Computing   int64 // the runs of searches
	// Extensions are the shares of the extensions, each within its limit.
	Extensions []extension.Share
	Rest       int64 // the runtime, the database, connections, what is being decoded or streamed
}

// maxComputing and maxRest bound shares that have no limit of their own, in bytes.
const maxComputing, maxRest = 4 << 30, 2 << 30

// Divide returns the shares of a server's memory. Answers, computing and the rest have an eighth each, bodies and each extension a sixteenth, and nothing
// beyond its limit; collections have what is left, within theirs. With 0 for the memory every
// share is its limit.
func Divide(memory int64, l Limits, extensions Extensions) Shares {
	s := Shares{
		Collections: l.Memory,
		Bodies:      cmp.Or(l.Bodies, 512<<20), Answers: cmp.Or(l.Answers, 256<<20), Computing: maxComputing,
		Extensions: extensions.shares(), Rest: maxRest,
	}
	if memory == 0 {
		return s
	}
	type part struct {
		share *int64
		of    int64
	}
	parts := []part{{&s.Bodies, 16}, {&s.Answers, 8}, {&s.Computing, 8}, {&s.Rest, 8}}
	for i := range s.Extensions {
		parts = append(parts, part{&s.Extensions[i].Limit, 16})
	}
	left := memory
	for _, part := range parts {
		*part.share = min(*part.share, memory/part.of)
		left -= *part.share
	}
	s.Collections = left
	if l.Memory > 0 {
		s.Collections = min(left, l.Memory)
	}
	return s
}

// within returns the limits that keep everything within its share.
func (s Shares) within(l Limits) Limits {
	l.Memory, l.Bodies, l.Answers = s.Collections, s.Bodies, s.Answers
	l.Body = min(l.Body, l.Bodies)
	return l
}

// LogValue lists the shares.
func (s Shares) LogValue() slog.Value {
	var all []slog.Attr
	for _, x := range s.named() {
		all = append(all, slog.Int64(x.name, x.bytes))
	}
	return slog.GroupValue(all...)
}

// namedShare is a share and the name that logs and metrics give it.
type namedShare struct {
	name  string
	bytes int64
}

// named lists the shares.
func (s Shares) named() []namedShare {
	all := []namedShare{{"collections", s.Collections}, {"bodies", s.Bodies}, {"answers", s.Answers}, {"computing", s.Computing}}
	for _, x := range s.Extensions {
		all = append(all, namedShare{x.Name, x.Limit})
	}
	return append(all, namedShare{"rest", s.Rest})
}

// Names returns the shares by name, in bytes.
func (s Shares) Names() map[string]int64 {
	all := map[string]int64{}
	for _, x := range s.named() {
		all[x.name] = x.bytes
	}
	return all
}

// answersKey and bodiesKey name the setting that decides how much memory answers and bodies have:
// their limit, or the memory of which they have a share.
func (o *Options) answersKey() string {
	return decides("limits.answers", o.given.Answers, o.Limits.Answers)
}
func (o *Options) bodiesKey() string {
	return decides("limits.bodies", o.given.Bodies, o.Limits.Bodies)
}

func decides(key string, limit, share int64) string {
	if share < limit {
		return "memory"
	}
	return key
}
