package offline

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"thresher/dataset"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// Limits of the OpenAI API on metadata.
const (
	maxMetadata      = 16
	maxMetadataKey   = 64  // characters
	maxMetadataValue = 512 // characters
)

// DecodeSpec reads the body that creates a batch. Errors are of type *problem.Problem.
func DecodeSpec(body []byte) (s Spec, err error) {
	var search json.RawMessage
	err = jsonbody.Decode(body, jsonbody.Members{
		"input_file_id":     jsonbody.Text("input_file_id", &s.InputFileID),
		"endpoint":          jsonbody.Text("endpoint", &s.Endpoint),
		"completion_window": jsonbody.Optional(jsonbody.Text("completion_window", &s.CompletionWindow)),
		"metadata":          jsonbody.Optional(jsonbody.TextMap("metadata", &s.Metadata)),
		"search":            jsonbody.Raw(&search),
		"output_format":     jsonbody.Optional(jsonbody.Text("output_format", &s.OutputFormat)),
		"column":            jsonbody.Optional(jsonbody.Text("column", &s.Column)),
		"header":            jsonbody.Optional(jsonbody.Text("header", &s.Header)),
		"goals":             jsonbody.Optional(jsonbody.Pointer("goals", &s.Goals, goalsReader)),
	})
	s.Search = slices.Clone(search)
	return s, err
}

// goalsReader reads the member goals of a Spec.
func goalsReader(name string, g *BatchGoals) jsonbody.Reader {
	return jsonbody.Object(jsonbody.Members{
		"k_column":            filled(name+".k_column", &g.KColumn),
		"min_score_column":    filled(name+".min_score_column", &g.MinScoreColumn),
		"max_score_column":    filled(name+".max_score_column", &g.MaxScoreColumn),
		"max_distance_column": filled(name+".max_distance_column", &g.MaxDistanceColumn),
		"min_distance_column": filled(name+".min_distance_column", &g.MinDistanceColumn),
		"filter_column":       filled(name+".filter_column", &g.FilterColumn),
		"exclude_file_id":     filled(name+".exclude_file_id", &g.ExcludeFileID),
		"zeros":               jsonbody.Text(name+".zeros", &g.Zeros),
		"candidates_file_id":  filled(name+".candidates_file_id", &g.CandidatesFileID),
	})
}

// filled reads the name of a column or the id of a file: an empty one would mean that no row has such a goal.
func filled(name string, dst *string) jsonbody.Reader {
	read := jsonbody.Text(name, dst)
	return func(b []byte, i int) (int, error) {
		next, err := read(b, i)
		if err == nil && *dst == "" {
			err = problem.New(problem.InvalidValue, "%s is empty: leave it out if rows have no such goal", name).In(name)
		}
		return next, err
	}
}

// plan is the result of checking a Spec.
type plan struct {
	collection string
	window     time.Duration
}

// checkSpec checks s by itself and fills in defaults.
func checkSpec(s *Spec, longest time.Duration) (plan, error) {
	var p plan
	if s.InputFileID == "" {
		return p, problem.New(problem.InvalidValue, "input_file_id names no file").In("input_file_id")
	}
	var ok bool
	if p.collection, ok = collectionOf(s.Endpoint); !ok {
		return p, problem.New(problem.InvalidValue, "endpoint %q is not of the form %s", s.Endpoint, endpointForm).In("endpoint").Within(endpointForm)
	}
	if s.CompletionWindow == "" {
		s.CompletionWindow = "24h"
		if longest < defaultWindow {
			s.CompletionWindow = longest.String()
		}
	}
	var err error
	if p.window, err = time.ParseDuration(s.CompletionWindow); err != nil || p.window < time.Second {
		return p, problem.New(problem.InvalidValue, "completion_window %q is not a duration from 1s to %v, such as 24h or 90m", s.CompletionWindow, longest).In("completion_window").Within(longest.String())
	}
	if p.window > longest {
		return p, problem.New(problem.OverLimit, "completion_window %q is more than %v", s.CompletionWindow, longest).In("completion_window").Within(longest.String())
	}
	if known := outputFormats(); s.OutputFormat != "" && !slices.Contains(known, s.OutputFormat) {
		return p, problem.New(problem.InvalidValue, "output_format %q is none of %s", s.OutputFormat, strings.Join(known, ", ")).In("output_format").Within(known)
	}
	if s.Goals != nil && *s.Goals == (BatchGoals{}) {
		s.Goals = nil
	}
	if text := bytes.TrimSpace(s.Search); len(text) > 0 && text[0] != '{' {
		if string(text) != "null" {
			return p, problem.New(problem.InvalidValue, "search is not a JSON object with the options of a search").In("search")
		}
		s.Search = nil
	}
	return p, checkMetadata(s)
}

// outputFormats lists the formats that answers are written in, with what they promise.
func outputFormats() (names []string) {
	for _, f := range dataset.FormatsFor(dataset.WholeWritten) {
		names = append(names, string(f))
	}
	return names
}

func checkMetadata(s *Spec) error {
	if len(s.Metadata) > maxMetadata {
		return problem.New(problem.OverLimit, "metadata has %d entries, at most %d are kept", len(s.Metadata), maxMetadata).In("metadata").Within(maxMetadata)
	}
	for name, value := range s.Metadata {
		if n := utf8.RuneCountInString(name); n > maxMetadataKey {
			return problem.New(problem.OverLimit, "a name in metadata has %d characters, at most %d are kept", n, maxMetadataKey).In("metadata").Within(maxMetadataKey)
		}
		if n := utf8.RuneCountInString(value); n > maxMetadataValue {
			return problem.New(problem.OverLimit, "metadata %q has %d characters, at most %d are kept", name, n, maxMetadataValue).In("metadata").Within(maxMetadataValue)
		}
	}
	return nil
}

// endpointForm is the form of endpoints and of the URLs of requests.
const endpointForm = "/v1/collections/{name}/search"

// collectionOf returns the name of the collection in an endpoint.
func collectionOf(endpoint string) (string, bool) {
	name, ok := strings.CutPrefix(endpoint, "/v1/collections/")
	if !ok {
		return "", false
	}
	if name, ok = strings.CutSuffix(name, "/search"); !ok || strings.ContainsAny(name, "/?#") {
		return "", false
	}
	name, err := url.PathUnescape(name)
	return name, err == nil && name != ""
}

// idPrefix is the prefix of the ids of batches, under which they also hold files and pin
// versions.
const idPrefix = "batch_"

// idOf returns the id of the batch of an idempotency key, or a new id.
func idOf(key string) string {
	if key == "" {
		return idPrefix + strings.ToLower(rand.Text())
	}
	return idPrefix + digest("batch", key)[:26]
}

// fingerprint identifies the contents of s.
func fingerprint(s *Spec) string {
	text, err := json.Marshal(s)
	if err != nil {
		text = fmt.Appendf(nil, "%#v", s) // a Search that is not JSON is refused later, equally each time
	}
	return digest("spec", string(text))
}

// digest returns 32 hexadecimal digits of all parts.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
