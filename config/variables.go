package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// otherVariables begin with envPrefix and are no settings. Each is read where its comment says.
var otherVariables = []string{
	FileVariable,
	"THRESHER_SERVER", "THRESHER_TOKEN", "THRESHER_TOKEN_FILE", // commands that are clients of a server
	"THRESHER_LIBCUDA",                         // the CUDA backend: the driver's library
	"THRESHER_BINARY", "THRESHER_WORKER_PIPES", // the Python package
	"THRESHER_TARGET", "THRESHER_SKIP_BUILD", "THRESHER_WHEELS", // building wheels, and their tests
	"THRESHER_DRAWS", "THRESHER_FULL", "THRESHER_STRESS", "THRESHER_CALLS", "THRESHER_KILLS", // tests
	"THRESHER_NO_TORCH", // benchmarks
}

// ofTests are variables by which a test talks to a program that it starts, and a benchmark to its parts.
var ofTests = regexp.MustCompile(`^THRESHER_(TEST|CRASHTEST|BATCHES|GPU)_`)

// ofOrchestrators are variables that Kubernetes and Docker set for every service, under the service's name.
var ofOrchestrators = regexp.MustCompile(`^THRESHER_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?|NAME|ENV_[A-Z0-9_]+)$`)

// misspelt returns a problem for each variable of the environment that is nearly the name of one that is read, and the
// names of those that begin like them and are otherwise unknown.
func misspelt(all []setting) (problems []SettingError, unknown []string) {
	known := slices.Clone(otherVariables)
	for _, s := range all {
		known = append(known, s.variable())
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) || ofTests.MatchString(name) || ofOrchestrators.MatchString(name) {
			continue
		}
		if near := nearest(name, known); near != "" {
			problems = append(problems, SettingError{Key: name, Origin: Origin{FromEnvironment, name}, Err: fmt.Errorf("no such variable; is %s meant?", near)})
			continue
		}
		unknown = append(unknown, name)
	}
	slices.SortFunc(problems, func(a, b SettingError) int { return strings.Compare(a.Key, b.Key) })
	slices.Sort(unknown)
	return problems, unknown
}

// nearest returns the first of names from which name differs by the fewest typing mistakes, at most two, and one for three
// letters after the prefix; "" if there is none.
func nearest(name string, names []string) string {
	best, least := "", 3
	for _, other := range names {
		allowed := min(2, (len(other)-len(envPrefix))/3)
		if d := mistakes(name, other); d <= allowed && d < least {
			best, least = other, d
		}
	}
	return best
}

// mistakes counts the typing mistakes between two names: a letter added, left out, or replaced, or two neighbours exchanged
// (the optimal string alignment distance).
func mistakes(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
