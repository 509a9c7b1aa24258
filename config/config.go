package config

import (
	"log/slog"
	"slices"
)

// Config holds every setting, valid as a whole.
type Config struct {
	// Method, Metric, Basis and Backend are names; which ones exist is told by
	// Sources.Choices.
	Method, Metric, Basis, Backend string
	// K is how many atoms each query wants, at least 1.
	K int
	// Delta in (0, 1) is the allowed failure probability of one query.
	Delta float64
	// Epsilon >= 0 is the allowed gap in score units.
	Epsilon float64
	// Seed is that of the rotation or the coordinate order.
	Seed uint64
	// Threads >= 0 is how many goroutines compute; 0 means one a core.
	Threads int
	// Chunk in [1, MaxChunk] is how many queries are searched, and become
	// durable, together.
	Chunk int
	// Kernels are those of the CPU backend: auto, generic, avx2, avx512 or neon.
	Kernels string
	// Costs says by what plans are compared: auto, builtin, or a file.
	Costs string
	// LogLevel is the least level that is logged.
	LogLevel slog.Level
	// LogFormat is text or json.
	LogFormat string

	// Server holds the settings of thresher serve.
	Server Server

	// File is the configuration file that was read; "" when none was.
	File string

	origins map[string]Origin
}

// MaxChunk bounds Config.Chunk: a chunk's queries and answers are in memory.
const MaxChunk = 1 << 20

// OriginKind ranks the places a value can come from; a greater one wins.
type OriginKind string

const (
	FromDefault     OriginKind = "default"
	FromFile        OriginKind = "file"
	FromEnvironment OriginKind = "environment"
	FromFlag        OriginKind = "flag"
)

// Origin says where a value came from.
type Origin struct {
	Kind OriginKind `json:"kind"`
	// Name is the flag (--delta), the variable (THRESHER_DELTA) or the file.
	Name string `json:"name,omitempty"`
}

func (o Origin) String() string {
	if o.Name == "" {
		return string(o.Kind)
	}
	return string(o.Kind) + " " + o.Name
}

// Value is one effective setting.
type Value struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin Origin `json:"origin"`
}

// Values lists all settings by key.
func (c *Config) Values() []Value {
	var all []Value
	for _, s := range settings() {
		all = append(all, Value{Key: s.key, Value: s.get(c), Origin: c.origins[s.key]})
	}
	slices.SortFunc(all, func(a, b Value) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return all
}

// Origin says where the value of key came from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }
