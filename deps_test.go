package thresher_test

import (
	"go/build"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// osFS opens paths relative to the module's root.
type osFS struct{}

func (osFS) Open(name string) (fs.File, error) { return os.Open(name) }

// knows says which packages of this module each room may import, its own
// sub-packages aside. A room that is not here may not exist.
var knows = map[string][]string{
	"cmd/thresher":        {"config", "service", "service/batches", "service/catalog", "service/client", "service/database", "service/metrics", "service/trace", "service/web", "jobs", "batch", "bandit", "bandit/duel", "bandit/slate", "bandit/slate/items", "bandit/slate/trial", "collection", "dataset", "backend", "cpu", "cpu/simd", "gpu", "verify", "whole"},
	"config":              {},
	"service/fair":        {},
	"service":             {"bandit/slate", "service/batches", "service/catalog", "service/database", "service/fair", "service/files", "service/metrics", "service/slates", "service/tournaments", "service/trace", "service/oip", "service/problem", "service/web", "service/wire", "batch", "dataset"},
	"service/batches":     {"service/database", "service/catalog", "service/files", "service/problem", "service/wire", "jobs", "batch", "collection", "dataset"},
	"service/catalog":     {"service/database", "service/files", "service/problem", "batch", "backend", "collection", "dataset"},
	"service/client":      {},
	"service/database":    {"whole"},
	"service/files":       {"service/database", "service/problem", "whole"},
	"service/metrics":     {"batch"},
	"service/mortal":      {},
	"service/oip":         {"service/problem", "service/wire", "batch", "dataset"},
	"service/problem":     {"batch", "backend", "dataset"},
	"service/slates":      {"service/catalog", "service/database", "service/files", "service/problem", "bandit/slate", "dataset"},
	"service/tournaments": {"service/database", "service/files", "service/problem", "bandit/duel"},
	"service/trace":       {},
	"service/web":         {"service/problem"},
	"service/wire":        {"service/problem", "batch", "dataset"},
	"jobs":                {"batch", "dataset", "whole"},
	"verify":              {"batch", "collection"},
	"batch":               {"bandit", "backend", "collection"},
	"bandit":              {"bandit/philox"},
	"bandit/duel":         {"bandit/philox"},
	"bandit/philox":       {},
	"bandit/slate":        {"bandit/philox"},
	"bandit/slate/items":  {"bandit/philox", "bandit/slate"},
	"bandit/slate/trial":  {"bandit/slate", "bandit/slate/items", "bandit/philox"},
	"collection":          {"dataset", "cpu/simd", "bandit", "bandit/philox", "whole"},
	"backend":             {"collection", "bandit"},
	"backend/backendtest": {"backend", "collection", "bandit", "bandit/philox"},
	"cpu":                 {"backend", "collection", "bandit", "cpu/simd"},
	"cpu/simd":            {},
	"gpu":                 {"backend", "collection", "bandit", "kernels"},
	"kernels":             {},
	"dataset":             {},
	"whole":               {},
	"e2e":                 {},
	"bench":               {"batch", "backend", "collection", "cpu", "cpu/simd", "dataset"},
}

// only says which outside modules are kept to which rooms.
var only = map[string][]string{
	"go.opentelemetry.io/":                 {"service/trace"},
	"github.com/spf13/viper":               {"config"},
	"github.com/spf13/cobra":               {"cmd/thresher"},
	"connectrpc.com/connect":               {"service", "service/oip"},
	"google.golang.org/protobuf":           {"service/oip"},
	"github.com/schollz/progressbar/v3":    {"cmd/thresher"},
	"github.com/klauspost/compress/":       {"service"},
	"go.etcd.io/bbolt":                     {"jobs", "service", "service/batches", "service/catalog", "service/database", "service/files", "service/slates", "service/tournaments"},
	"github.com/parquet-go/parquet-go":     {"dataset"},
	"github.com/apache/arrow-go/v18":       {"dataset"},
	"gonum.org/v1/gonum":                   {"bandit", "bandit/duel", "bandit/slate", "bandit/slate/items", "bandit/slate/trial", "collection", "backend/backendtest"},
	"gonum.org/v1/plot":                    {"bench", "cmd/thresher"},
	"gorgonia.org/cu":                      {"gpu"},
	"github.com/prometheus/client_golang/": {"service/metrics"},
	"golang.org/x/time":                    {"service/fair"},
}

// room is the entry of knows a folder belongs to.
func room(dir string) string {
	for d := dir; d != "."; d = path.Dir(d) {
		if _, ok := knows[d]; ok {
			return d
		}
	}
	return ""
}

// TestImportsGoOneWay holds the table of docs/architecture.md: imports go from
// the command line down, and each outside module stays in its room.
func TestImportsGoOneWay(t *testing.T) {
	tagged := build.Default // the tag cuda has more imports than the plain build
	tagged.BuildTags, tagged.CgoEnabled = []string{"cuda"}, true
	for _, dir := range packages(t) {
		home := room(dir)
		if home == "" {
			t.Errorf("%s belongs to no room", dir)
			continue
		}
		p, err := tagged.ImportDir(dir, build.ImportComment)
		if err != nil {
			if _, ok := err.(*build.NoGoError); ok {
				continue
			}
			t.Fatal(err)
		}
		for _, imp := range p.Imports {
			if rest, ok := strings.CutPrefix(imp, "thresher/"); ok {
				to := room(rest)
				if to != home && !slices.Contains(knows[home], to) {
					t.Errorf("%s imports %s: %s may know %v", dir, imp, home, knows[home])
				}
				continue
			}
			for module, rooms := range only {
				if strings.HasPrefix(imp, module) && !slices.Contains(rooms, home) {
					t.Errorf("%s imports %s, which is kept to %v", dir, imp, rooms)
				}
			}
			if strings.Contains(imp, "arrow-go") && strings.Contains(imp, "/parquet") {
				t.Errorf("%s imports %s: arrow's parquet is too heavy to compile", dir, imp)
			}
		}
	}
}
