package config

import (
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// setting is one key: how it is read, checked and shown.
type setting struct {
	key   string
	usage string
	// kind is what a flag's help calls the value.
	kind string
	// short is the flag's one-letter form, or "".
	short string
	def   string
	// repeats says that a flag that is given again adds to what was given before.
	repeats bool
	// set parses and checks a value given as text.
	set func(c *Config, text string) error
	get func(c *Config) any
}

// flag is the name of the setting's flag.
func (s setting) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.key) }

// variable is the name of the setting's environment variable.
func (s setting) variable() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

const envPrefix = "THRESHER_"

// settings is the table of all keys.
func settings() []setting {
	return append([]setting{
		name("method", "auto", "how to search", func(c *Config) *string { return &c.Method }),
		name("metric", "", "how vectors are compared; needed unless the vectors are a prepared collection, which has a metric", func(c *Config) *string { return &c.Metric }),
		name("basis", "auto", "coordinates that looks read: auto = rotated, raw = as given", func(c *Config) *string { return &c.Basis }),
		name("backend", "auto", "device that searches", func(c *Config) *string { return &c.Backend }),
		{
			key: "device", kind: "string", def: "one", usage: "GPUs to use: one, the first that can be used; all that can be; or indexes and UUIDs, as 0,1 or GPU-8f3c",
			set: func(c *Config, text string) error { return parseDevices(&c.Device, text) },
			get: func(c *Config) any { return c.Device },
		},
		{
			key: "k", short: "k", kind: "int", def: "10", usage: "vectors wanted by each query",
			set: func(c *Config, text string) error { return parseInt(&c.K, text, 1, math.MaxInt32) },
			get: func(c *Config) any { return c.K },
		},
		{
			key: "delta", kind: "float", def: "0.01", usage: "failure probability allowed for one query, in (0, 1)",
			set: func(c *Config, text string) error {
				return parseFloat(&c.Delta, text, "(0, 1)", func(x float64) bool { return x > 0 && x < 1 })
			},
			get: func(c *Config) any { return c.Delta },
		},
		{
			key: "epsilon", kind: "float", def: "0", usage: "gap allowed below the k-th best score, in score units",
			set: func(c *Config, text string) error {
				return parseFloat(&c.Epsilon, text, "[0, inf)", func(x float64) bool { return x >= 0 && !math.IsInf(x, 0) })
			},
			get: func(c *Config) any { return c.Epsilon },
		},
		published("sigma", "range", "number|source", "of banditmips, -alpha, -beta and bucket-ae: sub-Gaussian parameter of the product of one coordinate, a number, or its source: range, of the data, which always holds; bernstein, empirical Bernstein bounds, which do too; data, estimated, which promises nothing"),
		published("beta", "1", "float", "of banditmips-beta: coordinates are drawn by |q|^(2 beta)"),
		published("sampling", "", "string", "of banditmips and bucket-ae: with_replacement, as published, or without_replacement, which banditmips does unless told, by ip and cosine"),
		published("bins", "30", "int", "of bucket-ae: vectors a bin"),
		published("union", "corrected", "string", "of boundedme: published, as printed, whose proof covers k 1 only, or corrected"),
		published("warm", "0", "int", "of banditmips: random coordinates that are read once for all queries of a chunk"),
		{
			key: "seed", kind: "uint", def: "1", usage: "seed of the rotation or the coordinate order; the default is public, so that runs repeat: use a secret one if users may search for queries that fail",
			set: func(c *Config, text string) (err error) {
				if c.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
					return fmt.Errorf("%q is not a whole number in [0, 2^64)", text)
				}
				return nil
			},
			get: func(c *Config) any { return c.Seed },
		},
		{
			key: "threads", kind: "int", def: "0", usage: "goroutines that compute; 0 = one for each core",
			set: func(c *Config, text string) error { return parseInt(&c.Threads, text, 0, 4096) },
			get: func(c *Config) any { return c.Threads },
		},
		{
			key: "chunk", kind: "int", def: "1024", usage: "queries that are searched, and become durable, together",
			set: func(c *Config, text string) error { return parseInt(&c.Chunk, text, 1, MaxChunk) },
			get: func(c *Config) any { return c.Chunk },
		},
		size("dense_limit", "1GiB", "greatest size to which a sparse matrix of a file of vectors is written out as float32", 1, func(c *Config) *int64 { return &c.DenseLimit }),
		size("read_limit", "0", "greatest size of what is decoded as a whole of a file: a page, a record batch, all ids; a line may have a 16th of it; 0 = 4 GiB, or 16 times the file if that is more; of the server a quarter of limits.memory", 0, func(c *Config) *int64 { return &c.ReadLimit }),
		word("cache", "folder", "", "folder that files of s3://, gs:// and https:// are fetched to, and used again from; empty = thresher/objects in the cache of the user", func(c *Config) *string { return &c.Cache }),
		size("cache_limit", "0", "size of the cache from which on a command, before it ends, removes what was used the longest ago; what a process uses stays; 0 = none", 0, func(c *Config) *int64 { return &c.CacheLimit }),
		name("kernels", "auto", "instruction set of the cpu backend", func(c *Config) *string { return &c.Kernels }),
		name("costs", "auto", "cost table for comparing plans: auto = measured once on this machine and cached; builtin = by kernels and the maker of the processor; or a file written by bench --calibrate --json", func(c *Config) *string { return &c.Costs }),
		{
			key: "log.level", kind: "string", def: "warn", usage: "lowest level logged: debug, info, warn or error",
			set: func(c *Config, text string) error {
				if err := c.LogLevel.UnmarshalText([]byte(text)); err != nil {
					return fmt.Errorf("%q is none of debug, info, warn, error", text)
				}
				return nil
			},
			get: func(c *Config) any { return levelName(c.LogLevel) },
		},
		{
			key: "log.format", kind: "string", def: "text", usage: "log format: text or json",
			set: func(c *Config, text string) error {
				if text != "text" && text != "json" {
					return fmt.Errorf("%q is neither text nor json", text)
				}
				c.LogFormat = text
				return nil
			},
			get: func(c *Config) any { return c.LogFormat },
		},
	}, serverSettings()...)
}

// name is a setting whose values are among Sources.Choices.
func name(key, def, usage string, field func(*Config) *string) setting {
	return setting{
		key: key, kind: "string", def: def, usage: usage,
		set: func(c *Config, text string) error { *field(c) = text; return nil },
		get: func(c *Config) any { return *field(c) },
	}
}

// published is a setting that is an option of the published methods.
func published(key, def, kind, usage string) setting {
	return setting{
		key: key, kind: kind, def: def, usage: usage,
		set: func(c *Config, text string) error {
			if c.Published == nil {
				c.Published = map[string]string{}
			}
			c.Published[key] = text
			return nil
		},
		get: func(c *Config) any { return c.Published[key] },
	}
}

func levelName(l slog.Level) string { return strings.ToLower(l.String()) }

// deviceName is the form of one name of a list of GPUs.
var deviceName = regexp.MustCompile(`^(\d{1,4}|(?i:GPU-[0-9a-f][0-9a-f-]{0,35}))$`)

// parseDevices checks the form of a choice of GPUs; whether there are such devices is known when they are opened.
func parseDevices(dst *string, text string) error {
	if text != "one" && text != "all" {
		for name := range strings.SplitSeq(text, ",") {
			if !deviceName.MatchString(name) {
				return fmt.Errorf("%q is neither one, all, nor a list of indexes and UUIDs such as 0,1 or GPU-8f3c", text)
			}
		}
	}
	*dst = text
	return nil
}

func parseInt(dst *int, text string, low, high int) error {
	x, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%q is not a whole number", text)
	}
	if x < low {
		return fmt.Errorf("%d is below %d", x, low)
	}
	if x > high {
		return fmt.Errorf("%d is above %d", x, high)
	}
	*dst = x
	return nil
}

func parseFloat(dst *float64, text, domain string, in func(float64) bool) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number", text)
	}
	if !in(x) { // false for NaN too
		return fmt.Errorf("%s is not in %s", text, domain)
	}
	*dst = x
	return nil
}
