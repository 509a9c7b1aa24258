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
	".":                        {"segments", "join", "tasks", "verify", "batch", "backend", "collection", "cpu", "dataset", "columns", "internal/fetch", "internal/machine"},
	"cmd/thresher":             {"columns", "config", "papers/figures", "service", "service/api", "service/offline", "service/catalog", "service/client", "service/metrics", "service/problem", "service/trace", "service/web", "jobs", "join", "batch", "bandit", "choice", "collection", "dataset", "backend", "cpu", "simd", "gpu/device", "gpu", "tasks", "verify", "worker", "internal/cli", "internal/fetch", "internal/machine", "internal/atomicfile", "internal/filelock", "internal/plaintext", "internal/release", "internal/vectors", "store", "segments", "segments/folder"},
	"config":                   {},
	"internal/cli":             {"config", "internal/machine", "service/client"},
	"choice":                   {"choice/command", "choice/serve", "config", "internal/cli", "service/extension", "service/metrics"},
	"choice/command":           {"choice/serve", "choice/serve/choiceapi", "choice/serve/choiceclient", "service", "service/client", "store", "choice/duel", "choice/slate", "choice/slate/items", "choice/slate/trial", "internal/cli", "internal/atomicfile", "internal/filelock", "internal/plaintext", "internal/plot"},
	"service/api":              {},
	"service/backup":           {"service/api", "service/problem", "internal/atomicfile", "internal/filelock", "store"},
	"service/extension":        {"service/backup", "service/catalog", "store"},
	"service/fair":             {},
	"choice/serve":             {"choice/serve/slates", "choice/serve/tournaments", "service/api", "service/backup", "service/catalog", "service/extension", "service/metrics", "service/problem", "store"},
	"service/jsonbody":         {"service/problem", "dataset"},
	"service":                  {"columns", "service/api", "service/extension", "service/backup", "service/offline", "service/catalog", "service/fair", "service/files", "service/jsonbody", "service/metrics", "service/trace", "service/oip", "service/problem", "service/web", "service/wire", "tasks", "verify", "batch", "collection", "dataset", "internal/overdue", "store"},
	"service/offline":          {"columns", "service/api", "service/catalog", "service/files", "service/jsonbody", "service/problem", "service/wire", "jobs", "tasks", "batch", "collection", "dataset", "internal/plaintext", "store"},
	"service/catalog":          {"columns", "service/api", "service/files", "service/problem", "segments", "segments/folder", "batch", "backend", "collection", "dataset", "store"},
	"service/client":           {"service/api"},
	"service/files":            {"service/api", "service/problem", "store"},
	"service/metrics":          {"batch"},
	"store":                    {"internal/atomicfile", "internal/filelock"},
	"internal/crashtest":       {},
	"worker":                   {"segments", "tasks", "join", "verify", "batch", "backend", "collection", "dataset", "internal/overdue", "columns"},
	"service/oip":              {"service/problem", "service/wire", "batch", "dataset"},
	"service/problem":          {"columns", "batch", "backend", "dataset", "store"},
	"choice/serve/slates":      {"choice/serve/choiceapi", "service/api", "service/catalog", "service/jsonbody", "service/problem", "choice/slate", "dataset", "store"},
	"choice/serve/tournaments": {"choice/serve/choiceapi", "service/api", "service/jsonbody", "service/problem", "choice/duel", "internal/atomicfile", "store"},
	"service/trace":            {},
	"service/web":              {"service/problem"},
	"service/wire":             {"columns", "service/problem", "tasks", "batch", "collection", "dataset"},
	"jobs":                     {"internal/atomicfile", "internal/filelock"},
	"join":                     {"jobs", "batch", "bandit", "collection", "cpu/topk", "dataset", "simd", "internal/atomicfile"},
	"tasks":                    {"join", "verify", "batch", "collection", "dataset", "internal/plot"},
	"verify":                   {"batch", "collection"},
	"segments":                 {"batch", "backend", "collection", "columns", "dataset"},
	"segments/folder":          {"segments", "batch", "backend", "collection", "columns", "dataset", "internal/atomicfile", "internal/filelock"},
	"batch":                    {"batch/plan", "bandit", "papers", "backend", "collection"},
	"batch/plan":               {"backend", "bandit", "collection"},
	"bandit":                   {},
	"papers":                   {"bandit", "internal/philox"},
	"papers/data":              {"papers", "internal/philox"},
	"papers/baseline":          {"papers", "internal/philox"},
	"papers/figures":           {"papers", "papers/baseline", "papers/data", "batch", "bandit", "collection", "cpu", "backend", "dataset", "jobs", "choice/duel", "choice/slate", "choice/slate/items", "choice/slate/trial", "internal/plot", "internal/atomicfile", "internal/philox"},
	"internal/plot":            {},
	"choice/duel":              {"internal/philox"},
	"internal/philox":          {},
	"choice/slate":             {"internal/philox"},
	"choice/slate/items":       {"internal/philox", "internal/plaintext", "choice/slate"},
	"choice/slate/trial":       {"choice/slate", "choice/slate/items", "internal/philox"},
	"collection":               {"dataset", "simd", "bandit", "internal/philox", "internal/atomicfile", "internal/machine"},
	"backend":                  {"collection", "bandit"},
	"backend/looks":            {"backend", "collection", "bandit", "simd"},
	"backend/backendtest":      {"backend", "collection", "bandit", "dataset", "internal/philox", "internal/vectors"},
	"cpu":                      {"cpu/arms", "cpu/dense", "cpu/revisit", "cpu/scan", "cpu/threads", "cpu/topk", "backend", "backend/looks", "collection", "bandit", "simd"},
	"cpu/scan":                 {"cpu/arms", "cpu/revisit", "cpu/threads", "cpu/topk", "backend", "backend/looks", "bandit", "collection", "simd"},
	"cpu/revisit":              {"cpu/arms", "cpu/threads", "cpu/topk", "backend", "backend/looks", "collection", "simd"},
	"cpu/dense":                {"cpu/arms", "cpu/threads", "cpu/topk", "backend", "backend/looks", "bandit", "collection", "simd"},
	"cpu/arms":                 {"cpu/threads", "cpu/topk", "backend", "backend/looks", "collection", "simd"},
	"cpu/threads":              {"cpu/topk", "simd"},
	"cpu/topk":                 {"bandit", "simd"},
	"simd":                     {},
	"gpu":                      {"backend", "backend/looks", "collection", "gpu/device", "kernels"},
	"gpu/device":               {},
	"kernels":                  {},
	"columns":                  {"dataset", "internal/atomicfile"},
	"dataset":                  {"internal/plaintext", "internal/machine"},
	"internal/atomicfile":      {},
	"internal/fetch":           {"columns", "dataset", "internal/atomicfile", "internal/filelock"},
	"internal/filelock":        {},
	"internal/machine":         {},
	"internal/overdue":         {},
	"internal/plaintext":       {},
	"internal/release":         {},
	"internal/draws":           {},
	"internal/race":            {},
	"internal/shapes":          {},
	"internal/sniffers":        {},
	"internal/vectors":         {},
	"e2e":                      {"internal/vectors"},
	"deploy":                   {},
	"bench":                    {"bandit", "batch", "batch/plan", "backend", "backend/looks", "collection", "cpu", "gpu", "simd", "dataset", "internal/vectors"},

	"choice/serve/servetest":    {"service", "service/client", "service/extension", "service/metrics", "choice/serve", "choice/serve/choiceclient", "batch", "collection", "cpu"},
	"choice/serve/choiceapi":    {"service/api"},
	"choice/serve/choiceclient": {"choice/serve/choiceapi", "service/api", "service/client"},
}

// only says which outside modules are kept to which rooms.
var only = map[string][]string{
	"go.opentelemetry.io/":                 {"service/trace"},
	"github.com/spf13/viper":               {"config"},
	"github.com/spf13/cobra":               {"cmd/thresher", "choice", "choice/command", "internal/cli"},
	"connectrpc.com/connect":               {"service", "service/oip"},
	"google.golang.org/protobuf":           {"service/oip"},
	"github.com/schollz/progressbar/v3":    {"internal/cli"},
	"github.com/klauspost/compress/":       {"service", "dataset"},
	"go.etcd.io/bbolt":                     {"service", "service/backup", "service/offline", "service/catalog", "service/files", "service/extension", "choice/serve", "choice/serve/slates", "choice/serve/tournaments", "store"},
	"github.com/parquet-go/parquet-go":     {"dataset"},
	"github.com/RoaringBitmap/roaring/v2":  {"columns", "cmd/thresher", "segments/folder"},
	"github.com/apache/arrow-go/v18":       {"dataset"},
	"gonum.org/v1/gonum":                   {"bandit", "papers", "papers/baseline", "papers/data", "papers/figures", "choice/duel", "choice/slate", "choice/slate/items", "choice/slate/trial", "collection", "verify", "backend/backendtest"},
	"gonum.org/v1/plot":                    {"bench", "internal/plot"},
	"gorgonia.org/cu":                      {"gpu/device"},
	"github.com/prometheus/client_golang/": {"service/metrics", "choice", "choice/serve"},
	"golang.org/x/time":                    {"service/fair"},
	"github.com/minio/minio-go/":           {"internal/fetch"},
	"golang.org/x/oauth2":                  {"internal/fetch"},
}

// outside says which modules of others a room may import at all; a room without an entry, whichever only allows it.
var outside = map[string][]string{
	"papers":          {"gonum.org/v1/gonum"},
	"papers/data":     {"gonum.org/v1/gonum"},
	"papers/baseline": {"gonum.org/v1/gonum"},
}

// within reports whether one of the modules has a package.
func within(imported string, modules []string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(imported, m) })
}

// room is the entry of knows a folder belongs to.
func room(dir string) string {
	if dir == "." {
		return dir
	}
	for d := dir; d != "."; d = path.Dir(d) {
		if _, ok := knows[d]; ok {
			return d
		}
	}
	return ""
}

// TestPublishedMethodsAreImportedOnce: what the papers describe is reached by a search's methods, and by the papers' figures.
func TestPublishedMethodsAreImportedOnce(t *testing.T) {
	for home, rooms := range knows {
		if home != "batch" && !strings.HasPrefix(home, "papers/") && slices.Contains(rooms, "papers") {
			t.Errorf("%s may import papers, which only batch and the rooms below papers may", home)
		}
	}
}

// TestImportsGoOneWay holds the table of docs/architecture.md: imports go from
// the command line down, and each outside module stays in its room.
func TestImportsGoOneWay(t *testing.T) {
	module := modulePath(t)
	tagged := build.Default // the tag cuda has more imports than the plain build
	tagged.BuildTags, tagged.CgoEnabled = []string{"cuda"}, true
	for _, dir := range append(packages(t), ".") {
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
			if imp == module {
				t.Errorf("%s imports the library, which is for other modules", dir)
			}
			if rest, ok := strings.CutPrefix(imp, module+"/"); ok {
				to := room(rest)
				if to != home && !slices.Contains(knows[home], to) {
					t.Errorf("%s imports %s: %s may know %v", dir, imp, home, knows[home])
				}
				continue
			}
			if allowed, ok := outside[home]; ok && strings.Contains(imp, ".") && !within(imp, allowed) {
				t.Errorf("%s imports %s: of other modules %s may know %v", dir, imp, home, allowed)
			}
			for prefix, rooms := range only {
				if strings.HasPrefix(imp, prefix) && !slices.Contains(rooms, home) {
					t.Errorf("%s imports %s, which is kept to %v", dir, imp, rooms)
				}
			}
			if strings.Contains(imp, "arrow-go") && strings.Contains(imp, "/parquet") {
				t.Errorf("%s imports %s: arrow's parquet is too heavy to compile", dir, imp)
			}
		}
	}
}
