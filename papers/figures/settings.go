package figures

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Size says how much of a figure is computed.
type Size string

const (
	Full  Size = "full"  // what the paper says, as far as it says it
	Quick Size = "quick" // all figures within ten minutes
	Smoke Size = "smoke" // all figures within ten seconds: shows that they run, and nothing else
)

//go:embed settings
var settingsFiles embed.FS

// Settings are the choices behind a figure at a size. Its getters panic on a name that settings/ID.yaml lacks or on another
// type: both are mistakes of this package, and TestSettings finds them. They may be called concurrently.
type Settings struct {
	ID     string
	Size   Size
	values map[string]chosen

	mu   sync.Mutex
	read map[string]bool // names that a getter has returned
}

// chosen is a value as a file has it: that of a full run, what a smaller run takes instead, and whence it is.
type chosen struct {
	Value yaml.Node `yaml:"value"`
	Quick yaml.Node `yaml:"quick"`
	Smoke yaml.Node `yaml:"smoke"`
	From  string    `yaml:"from"` // text, programs (the authors'), or ours
}

// at is the value at a size: what a smaller run does not say it takes from the next larger one.
func (v *chosen) at(size Size) *yaml.Node {
	n := &v.Value
	if size != Full && !v.Quick.IsZero() {
		n = &v.Quick
	}
	if size == Smoke && !v.Smoke.IsZero() {
		n = &v.Smoke
	}
	return n
}

// ReadSettings returns the settings of a figure.
func ReadSettings(id string, size Size) (*Settings, error) {
	if !slices.Contains([]Size{Full, Quick, Smoke}, size) {
		return nil, fmt.Errorf("size %q: it is full, quick or smoke", size)
	}
	name := "settings/" + id + ".yaml"
	text, err := fs.ReadFile(settingsFiles, name)
	if err != nil {
		return nil, err
	}
	s := &Settings{ID: id, Size: size, read: map[string]bool{}}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&s.values); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		v := s.values[key]
		if !slices.Contains([]string{"text", "programs", "ours"}, v.From) {
			return nil, fmt.Errorf("%s: %s is from %q: it is text, programs or ours", name, key, v.From)
		}
		if v.Value.IsZero() {
			return nil, fmt.Errorf("%s: %s has no value", name, key)
		}
	}
	return s, nil
}

// Used returns the settings as YAML, each with its value at the size and whence it is.
func (s *Settings) Used() ([]byte, error) {
	type used struct {
		Value *yaml.Node `yaml:"value"`
		From  string     `yaml:"from"`
	}
	out := map[string]used{}
	for key, v := range s.values {
		from := v.From
		if n := v.at(s.Size); n != &v.Value {
			from = "ours" // a smaller run's
		}
		out[key] = used{v.at(s.Size), from}
	}
	return yaml.Marshal(out)
}

func get[T any](s *Settings, name string) T {
	v, ok := s.values[name]
	if !ok {
		panic(fmt.Sprintf("settings/%s.yaml has no %s", s.ID, name))
	}
	s.mu.Lock()
	s.read[name] = true
	s.mu.Unlock()
	var x T
	if err := v.at(s.Size).Decode(&x); err != nil {
		panic(fmt.Sprintf("settings/%s.yaml: %s: %v", s.ID, name, err))
	}
	return x
}

func (s *Settings) Int(name string) int          { return get[int](s, name) }
func (s *Settings) Ints(name string) []int       { return get[[]int](s, name) }
func (s *Settings) Float(name string) float64    { return get[float64](s, name) }
func (s *Settings) Floats(name string) []float64 { return get[[]float64](s, name) }
func (s *Settings) String(name string) string    { return get[string](s, name) }
func (s *Settings) Strings(name string) []string { return get[[]string](s, name) }
