package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// FileVariable is the environment variable that names the configuration file if no flag
// does.
const FileVariable = envPrefix + "CONFIG"

// Sources are the places that a configuration is read from.
type Sources struct {
	// File is a YAML, TOML or JSON file; "" means the one named by FileVariable, if any.
	File string
	// Flags holds flags made by AddFlags; only those given on the command line
	// count. Nil means none.
	Flags *pflag.FlagSet
	// Choices lists the valid names by key; a key without an entry accepts any.
	Choices map[string][]string
	// Names returns, by key, the name from Choices that a given value stands for, or an error; a
	// key without an entry takes the names in Choices alone.
	Names map[string]func(string) (string, error)
}

// SettingError is an invalid setting.
type SettingError struct {
	Key    string
	Origin Origin
	Err    error
}

func (p SettingError) Error() string { return fmt.Sprintf("%s: %v (%s)", p.Key, p.Err, p.Origin) }

func (p SettingError) Unwrap() error { return p.Err }

// InvalidError lists all problems of a configuration.
type InvalidError struct{ Problems []SettingError }

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

func (e *InvalidError) Unwrap() []error {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = p
	}
	return errs
}

// AddFlags defines the flags of keys on fs: names, defaults and help come from
// the table of settings. It returns an error for a key that does not exist.
func AddFlags(fs *pflag.FlagSet, keys ...string) error {
	all := settings()
	for _, key := range keys {
		i := slices.IndexFunc(all, func(s setting) bool { return s.key == key })
		if i < 0 {
			return fmt.Errorf("config: no setting %q", key)
		}
		s := all[i]
		f := fs.VarPF(&text{kind: s.kind, value: s.def, repeats: s.repeats}, s.flag(), s.short, s.usage)
		if s.kind == kindBool {
			f.NoOptDefVal = "true"
		}
	}
	return nil
}

// text is the unparsed value of a flag; Load parses it like values of other sources.
type text struct {
	kind, value    string
	repeats, given bool
}

// isSetting reports whether a flag is one of AddFlags.
func isSetting(f *pflag.Flag) bool {
	_, ok := f.Value.(*text)
	return ok
}

func (t *text) String() string { return t.value }
func (t *text) Type() string   { return t.kind }

func (t *text) Set(s string) error {
	if t.repeats && t.given {
		s = t.value + "," + s
	}
	t.value, t.given = s, true
	return nil
}

// Load reads and validates a configuration. An *InvalidError lists all invalid settings.
func Load(src Sources) (*Config, error) {
	v := viper.New()
	c := &Config{File: src.File, origins: map[string]Origin{}}
	if c.File == "" {
		c.File = os.Getenv(FileVariable)
	}
	if c.File != "" {
		if err := readFile(v, c.File); err != nil {
			return nil, err
		}
	}

	all := settings()
	problems := unknownKeys(v, c.File, all)
	typos, unknown := misspelt(all)
	problems, c.Unknown = append(problems, typos...), unknown
	for _, s := range all {
		if err := bind(v, s); err != nil {
			return nil, fmt.Errorf("config: %s: %w", s.key, err)
		}
		origin := originOf(v, s, c.File, src.Flags)
		c.origins[s.key] = origin
		value := v.Get(s.key)
		if origin.Kind == FromFlag {
			// Bypass viper, which silently converts the text of integer flags: 1.5 to 1
			// and "abc" to 0.
			value = src.Flags.Lookup(s.flag()).Value.String()
		}
		if origin.Kind == FromDefault && s.def == "" && src.Choices[s.key] != nil {
			continue // not given
		}
		if err := assign(c, s, value, src.Choices[s.key], src.Names[s.key]); err != nil {
			problems = append(problems, SettingError{Key: s.key, Origin: origin, Err: err})
		}
	}
	if len(problems) > 0 {
		return nil, &InvalidError{Problems: problems}
	}
	return c, nil
}

func readFile(v *viper.Viper, path string) error {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".toml", ".json":
	default:
		return fmt.Errorf("config: %s: name ends in none of .yaml, .yml, .toml, .json", path)
	}
	v.SetConfigFile(path)
	err := v.ReadInConfig()
	if err == nil {
		return nil
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return fmt.Errorf("config: %w", err)
	}
	return fmt.Errorf("config: %s: %w", path, err)
}

// unknownKeys returns a problem for each key of the file that is not a setting.
func unknownKeys(v *viper.Viper, file string, all []setting) []SettingError {
	var unknown []SettingError
	keys := v.AllKeys()
	slices.Sort(keys)
	for _, key := range keys {
		known := slices.ContainsFunc(all, func(s setting) bool { return s.key == key })
		if !known {
			unknown = append(unknown, SettingError{Key: key, Origin: Origin{FromFile, file}, Err: errors.New("unknown key")})
		}
	}
	return unknown
}

func bind(v *viper.Viper, s setting) error {
	v.SetDefault(s.key, s.def)
	return v.BindEnv(s.key, s.variable())
}

// originOf returns the source of a setting. It repeats viper's order of precedence after
// flags, because viper does not report the source.
func originOf(v *viper.Viper, s setting, file string, flags *pflag.FlagSet) Origin {
	if flags != nil {
		// A command may have a flag of its own of this name.
		if f := flags.Lookup(s.flag()); f != nil && f.Changed && isSetting(f) {
			return Origin{FromFlag, "--" + s.flag()}
		}
	}
	if os.Getenv(s.variable()) != "" {
		return Origin{FromEnvironment, s.variable()}
	}
	if v.InConfig(s.key) {
		return Origin{FromFile, file}
	}
	return Origin{Kind: FromDefault}
}

func assign(c *Config, s setting, value any, choices []string, named func(string) (string, error)) error {
	t, err := asText(s.kind, value)
	if err == nil && named != nil {
		t, err = named(t)
	}
	if err != nil {
		return err
	}
	if choices != nil && !slices.Contains(choices, t) {
		return fmt.Errorf("%q is none of %s", t, strings.Join(choices, ", "))
	}
	return s.set(c, t)
}

// asText converts a value of a file or flag to the text that settings parse.
func asText(kind string, value any) (string, error) {
	switch x := value.(type) {
	case bool:
		if kind == kindBool {
			return strconv.FormatBool(x), nil
		}
	case []any:
		if kind == kindList {
			return joined(x)
		}
	case string:
		return strings.TrimSpace(x), nil
	case int, int64, uint64:
		return fmt.Sprint(x), nil
	case float64:
		// JSON has no whole numbers, and not every one fits a float64.
		if x == math.Trunc(x) && math.Abs(x) > 1<<53 {
			return "", fmt.Errorf("%g may have lost digits in the file; write it in quotes", x)
		}
		return strconv.FormatFloat(x, 'f', -1, 64), nil
	case nil:
		return "", errors.New("no value")
	}
	return "", fmt.Errorf("a value of type %T cannot be used here", value)
}

// joined converts a file's list to the text of a list setting.
func joined(list []any) (string, error) {
	items := make([]string, len(list))
	for i, x := range list {
		item, ok := x.(string)
		if !ok || strings.Contains(item, ",") {
			return "", fmt.Errorf("item %d is not a string without commas", i)
		}
		items[i] = item
	}
	return strings.Join(items, ","), nil
}
