package config

import (
	"log/slog"
	"slices"
)

// Config holds every setting, valid as a whole.
type Config struct {
	// Unknown are variables of the environment that begin like thresher's and that nothing reads, sorted.
	Unknown []string
	// Method, Metric, Basis and Backend are names from Sources.Choices. Metric is "" if none is given.
	Method, Metric, Basis, Backend string
	// Device says which GPUs are used: one, the first that can be; all that can be; or a list of indexes and
	// UUIDs.
	Device string
	// K is the number of atoms to return for each query, at least 1.
	K int
	// Delta in (0, 1) is the allowed failure probability of one query.
	Delta float64
	// Epsilon >= 0 is the allowed gap in score units.
	Epsilon float64
	// Published are the options of the published methods by key, in the form that Sources.Names returns;
	// defaults included.
	Published map[string]string
	// Seed seeds the rotation or the coordinate order.
	Seed uint64
	// Threads >= 0 is the number of goroutines that compute; 0 means one for each core.
	Threads int
	// Chunk in [1, MaxChunk] is the number of queries that are searched, and become
	// durable, together.
	Chunk int
	// DenseLimit is the greatest size, in bytes of float32, to which a sparse matrix is written out.
	DenseLimit int64
	// ReadLimit is about how much, in bytes, of a file is decoded as a whole; 0 is the default.
	ReadLimit int64
	// Cache is the folder that files at URLs are fetched to; "" is that of the user.
	Cache string
	// CacheLimit is how many bytes the cache has at most after a command, beside what is in use; 0 is no limit.
	CacheLimit int64
	// Kernels names the instruction set of the CPU backend: auto, generic, avx2, avx512 or neon.
	Kernels string
	// Costs selects the planner's cost table: auto, builtin, or a file.
	Costs string
	// LogLevel is the lowest level that is logged.
	LogLevel slog.Level
	// LogFormat is text or json.
	LogFormat string

	// Server holds the settings of thresher serve.
	Server Server

	// File is the configuration file that was read; "" if none.
	File string

	origins map[string]Origin
}

// MaxChunk bounds Config.Chunk, because a chunk's queries and answers are held in memory.
const MaxChunk = 1 << 20

// OriginKind is a kind of source of a value. Later constants take precedence.
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

// Values lists all settings, sorted by key.
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

// Origin returns the source of the value of key.
func (c *Config) Origin(key string) Origin { return c.origins[key] }
