package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Kinds of values that settings share. A list is separated by commas; in a file it may
// also be a list of the file format.

func word(key, kind, def, usage string, field func(*Config) *string) setting {
	s := name(key, def, usage, field)
	s.kind = kind
	return s
}

func flag(key, usage string, field func(*Config) *bool) setting {
	return setting{
		key: key, kind: kindBool, def: "false", usage: usage,
		set: func(c *Config, text string) error {
			if text != "true" && text != "false" {
				return fmt.Errorf("%q is neither true nor false", text)
			}
			*field(c) = text == "true"
			return nil
		},
		get: func(c *Config) any { return *field(c) },
	}
}

// list is a setting of texts, each of which check accepts.
func list(key, usage string, field func(*Config) *[]string, check func(string) error) setting {
	return setting{
		key: key, kind: kindList, usage: usage,
		set: func(c *Config, text string) error {
			items := split(text)
			for _, item := range items {
				if check == nil {
					break
				}
				if err := check(item); err != nil {
					return err
				}
			}
			*field(c) = items
			return nil
		},
		get: func(c *Config) any { return strings.Join(*field(c), ",") },
	}
}

func number(key, def, usage string, low int, field func(*Config) *int) setting {
	return setting{
		key: key, kind: "int", def: def, usage: usage,
		set: func(c *Config, text string) error { return parseInt(field(c), text, low, math.MaxInt32) },
		get: func(c *Config) any { return *field(c) },
	}
}

// size is a setting in bytes, of at least low.
func size(key, def, usage string, low int64, field func(*Config) *int64) setting {
	return setting{
		key: key, kind: "bytes", def: def, usage: usage,
		set: func(c *Config, text string) error {
			x, err := parseBytes(text)
			if err != nil {
				return err
			}
			if x < low {
				return fmt.Errorf("%s is below %s", text, bytesText(low))
			}
			*field(c) = x
			return nil
		},
		get: func(c *Config) any { return bytesText(*field(c)) },
	}
}

// sizeOrAuto is a setting in bytes, of at least low, or auto, which is its default and 0.
func sizeOrAuto(key, usage string, low int64, field func(*Config) *int64) setting {
	const auto = "auto"
	bytes := size(key, auto, usage, low, field)
	s := bytes
	s.set = func(c *Config, text string) error {
		if text == auto {
			*field(c) = 0
			return nil
		}
		return bytes.set(c, text)
	}
	s.get = func(c *Config) any {
		if *field(c) == 0 {
			return auto
		}
		return bytes.get(c)
	}
	return s
}

// span is a duration of at least low.
func span(key, def, usage string, low time.Duration, field func(*Config) *time.Duration) setting {
	return setting{
		key: key, kind: "duration", def: def, usage: usage,
		set: func(c *Config, text string) error {
			d, err := time.ParseDuration(text)
			if err != nil {
				return fmt.Errorf("%q is not a duration, such as 500ms, 30s or 2h", text)
			}
			if d < low {
				return fmt.Errorf("%v is below %v", d, low)
			}
			*field(c) = d
			return nil
		},
		get: func(c *Config) any { return field(c).String() },
	}
}

// Kinds that files may hold in a type of their own.
const (
	kindBool = "bool"
	kindList = "list"
)

func split(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

type unit struct {
	name  string
	bytes int64
}

// units lists the units of sizes, the largest first.
func units() []unit {
	return []unit{
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
	}
}

// parseBytes reads a size: a decimal number and an optional unit.
func parseBytes(text string) (int64, error) {
	bad := fmt.Errorf("%q is not a size, such as 1048576, 64MiB or 2.5GiB", text)
	digits, scale := text, int64(1)
	for _, u := range units() {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			digits, scale = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, bad
	}
	if x, err := strconv.ParseInt(digits, 10, 64); err == nil {
		if x > math.MaxInt64/scale {
			return 0, fmt.Errorf("%s is too large", text)
		}
		return x * scale, nil
	}
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, bad
	}
	if x *= float64(scale); x >= math.MaxInt64 {
		return 0, fmt.Errorf("%s is too large", text)
	}
	return int64(x), nil
}

// bytesText formats a size in the largest binary unit that divides it.
func bytesText(x int64) string {
	for _, u := range units() {
		if x >= u.bytes && x%u.bytes == 0 && u.bytes&(u.bytes-1) == 0 && u.bytes > 1 {
			return strconv.FormatInt(x/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(x, 10)
}
