package thresher_test

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"thresher/service/api"
	"thresher/tasks"
)

// keysOf returns the keys of the JSON objects that values of a struct type become.
func keysOf(of reflect.Type) []string {
	keys := map[string]bool{}
	var add func(reflect.Type)
	add = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		for i := range of.NumField() {
			field := of.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Anonymous && name == "":
				add(field.Type)
			case name != "-" && field.IsExported():
				keys[name] = true
			}
		}
	}
	add(of)
	return slices.Sorted(maps.Keys(keys))
}

// without returns keys but some.
func without(keys []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(some, key) })
}

// TestKeysOfSummaries: certify and recall say what they found under the same keys on the command line, whose JSON
// has the summaries of tasks, over HTTP and in the Go client. python/tests/test_keys.py compares them with Python's.
func TestKeysOfSummaries(t *testing.T) {
	text, err := os.ReadFile("service/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Components struct {
			Schemas struct {
				Recall    struct{ Properties map[string]any } `yaml:"Recall"`
				Certified struct {
					Properties struct {
						Certified struct{ Properties map[string]any }
					}
				} `yaml:"Certified"`
			}
		}
	}
	if err := yaml.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	schemas := &described.Components.Schemas
	// What HTTP has beside the summary; the plan depends on the seed, which it keeps secret.
	version := []string{"answers_version", "version", "writes"}
	for _, c := range []struct {
		verb           string
		summary        []string
		http, inClient []string
	}{
		{"certify", keysOf(reflect.TypeFor[tasks.CertifySummary]()),
			slices.Sorted(maps.Keys(schemas.Certified.Properties.Certified.Properties)), keysOf(reflect.TypeFor[api.CertifiedSummary]())},
		{"recall", without(keysOf(reflect.TypeFor[tasks.RecallSummary]()), "plan"),
			without(slices.Sorted(maps.Keys(schemas.Recall.Properties)), append(version, "missed", "misses")...), without(keysOf(reflect.TypeFor[api.RecallReport]()), version...)},
	} {
		if len(c.summary) < 6 {
			t.Errorf("%s: only the keys %v were found", c.verb, c.summary)
		}
		if diff := cmp.Diff(c.summary, c.http); diff != "" {
			t.Errorf("%s over HTTP (-summary +openapi.yaml):\n%s", c.verb, diff)
		}
		if diff := cmp.Diff(c.summary, c.inClient); diff != "" {
			t.Errorf("%s in service/api (-summary +client):\n%s", c.verb, diff)
		}
	}
}
