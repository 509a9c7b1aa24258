package config

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// unset clears the variables that the machine may have set.
func unset(t *testing.T) {
	t.Helper()
	t.Setenv(FileVariable, "")
	for _, s := range settings() {
		t.Setenv(s.variable(), "")
	}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func flags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	if err := AddFlags(fs, "method", "k", "delta", "seed", "threads", "log.level"); err != nil {
		t.Fatal(err)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestDefaultsAreValid(t *testing.T) {
	unset(t)
	c, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"method": "auto", "metric": "", "basis": "auto", "backend": "auto", "device": "one", "k": 10, "delta": .01, "epsilon": 0.,
		"sigma": "range", "beta": "1", "sampling": "", "bins": "30", "union": "corrected", "warm": "0",
		"seed": uint64(1), "threads": 0, "chunk": 1024, "dense_limit": "1GiB", "read_limit": "0", "cache": "", "cache_limit": "0", "kernels": "auto", "costs": "auto", "log.level": "warn", "log.format": "text",

		"listen": "127.0.0.1:8080", "grpc.listen": "", "data": "thresher-data", "read_only": false, "collection": "", "roots": "", "tls.cert": "", "tls.key": "", "tokens": "", "insecure": false,
		"cors.origins": "", "metrics.open": false, "metrics.collections": 100,
		"memory": "auto", "limits.connections": 0, "limits.body": "64MiB", "limits.bodies": "512MiB", "limits.upload": "64GiB", "limits.files": "0", "limits.memory": "0", "limits.rate": "16KiB", "limits.results": 4194304, "limits.listed": 4194304,
		"limits.queries": 4096, "limits.k": 10000, "limits.collections": 1024, "limits.searches": 1024, "limits.waiting": 1024,
		"limits.tournaments": 1024, "limits.arms": 512, "limits.duels": 1000, "tournaments.memory": "256MiB",
		"limits.slate_users": 1024, "limits.slate_items": 100, "slates.kept": 1048576, "slates.keep": "168h0m0s", "slates.memory": "512MiB",
		"backup.folder": "", "backup.keep": 0,
		"coalesce.window": "2ms", "coalesce.queries": 1024, "batches.concurrency": 1, "batches.chunk": 1024,
		"files.keep": "0s", "batches.keep": "0s", "tournaments.keep": "0s",
		"timeouts.header": "10s", "timeouts.body": "15s", "timeouts.idle": "2m0s", "timeouts.search": "1m0s", "drain.timeout": "30s", "drain.lame_duck": "1s",
		"proxies": "", "limits.answers": "256MiB", "limits.client_rate": 0, "limits.client_burst": 0, "limits.client_searches": 0, "turns.length": "20ms",
	}
	got := map[string]any{}
	for _, v := range c.Values() {
		got[v.Key] = v.Value
		if v.Origin != (Origin{Kind: FromDefault}) {
			t.Errorf("%s comes from %v, want default", v.Key, v.Origin)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPrecedence(t *testing.T) {
	file := write(t, "c.yaml", "delta: 0.2\nseed: 7\nlog:\n  level: info\n")
	steps := []struct {
		name      string
		file, env bool
		args      []string
		delta     float64
		origin    Origin
	}{
		{"default", false, false, nil, .01, Origin{Kind: FromDefault}},
		{"file over default", true, false, nil, .2, Origin{FromFile, file}},
		{"environment over file", true, true, nil, .3, Origin{FromEnvironment, "THRESHER_DELTA"}},
		{"flag over environment", true, true, []string{"--delta", ".4"}, .4, Origin{FromFlag, "--delta"}},
		{"flag over file", true, false, []string{"--delta=.4"}, .4, Origin{FromFlag, "--delta"}},
		{"other flags do not matter", true, false, []string{"-k", "3"}, .2, Origin{FromFile, file}},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			unset(t)
			src := Sources{Flags: flags(t, s.args...)}
			if s.file {
				src.File = file
			}
			if s.env {
				t.Setenv("THRESHER_DELTA", ".3")
			}
			c, err := Load(src)
			if err != nil {
				t.Fatal(err)
			}
			if c.Delta != s.delta || c.Origin("delta") != s.origin {
				t.Errorf("delta %g from %v, want %g from %v", c.Delta, c.Origin("delta"), s.delta, s.origin)
			}
			if s.file && (c.Seed != 7 || c.LogLevel != slog.LevelInfo) {
				t.Errorf("seed %d, level %v; the file says 7, info", c.Seed, c.LogLevel)
			}
		})
	}
}

func TestEveryFormatReadsTheSame(t *testing.T) {
	files := map[string]string{
		"c.yaml": "k: 1048576\nepsilon: 1e-7\nseed: 18446744073709551615\nlog:\n  level: debug\n",
		"c.toml": "k = 1048576\nepsilon = 1e-7\nseed = \"18446744073709551615\"\n[log]\nlevel = \"debug\"\n",
		"c.json": `{"k": 1048576, "epsilon": 1e-7, "seed": "18446744073709551615", "log": {"level": "debug"}}`,
	}
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			unset(t)
			t.Setenv(FileVariable, write(t, name, content))
			c, err := Load(Sources{})
			if err != nil {
				t.Fatal(err)
			}
			if c.K != 1048576 || c.Epsilon != 1e-7 || c.Seed != 1<<64-1 || c.LogLevel != slog.LevelDebug {
				t.Errorf("read %+v", c)
			}
		})
	}
}

func TestFileFlagBeatsFileVariable(t *testing.T) {
	unset(t)
	t.Setenv(FileVariable, write(t, "a.yaml", "k: 3\n"))
	c, err := Load(Sources{File: write(t, "b.yaml", "k: 4\n")})
	if err != nil {
		t.Fatal(err)
	}
	if c.K != 4 {
		t.Errorf("k = %d, want that of the named file, 4", c.K)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	unset(t)
	t.Setenv("THRESHER_THREADS", "many")
	file := write(t, "c.yaml", "delta: 1\nk: 0\ndetla: 0.1\nlog:\n  colour: red\nseed: 1.5\n")
	_, err := Load(Sources{File: file, Flags: flags(t, "--method=faiss"), Choices: map[string][]string{"method": {"auto", "exact"}}})
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v, want *InvalidError", err)
	}
	var got []string
	for _, p := range invalid.Problems {
		got = append(got, p.Key+" "+string(p.Origin.Kind))
	}
	want := []string{"detla file", "log.colour file", "method flag", "k file", "delta file", "seed file", "threads environment"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, w := range []string{
		"detla: unknown key (file " + file + ")",
		`method: "faiss" is none of auto, exact (flag --method)`,
		"delta: 1 is not in (0, 1)",
		"k: 0 is below 1",
		`threads: "many" is not a whole number (environment THRESHER_THREADS)`,
	} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("message lacks %q:\n%v", w, err)
		}
	}
}

func TestBadValues(t *testing.T) {
	bad := map[string][]string{
		"k":         {"0", "-1", "1.5", "x", "99999999999"},
		"delta":     {"0", "1", "-.1", "NaN", "Inf", "x"},
		"epsilon":   {"-1", "NaN", "Inf", "x"},
		"seed":      {"-1", "1.5", "18446744073709551616"},
		"threads":   {"-1", "5000"},
		"chunk":     {"0", "1048577"},
		"log.level": {"loud"},
	}
	for _, s := range settings() {
		for _, value := range bad[s.key] {
			t.Run(s.key+"="+value, func(t *testing.T) {
				unset(t)
				t.Setenv(s.variable(), value)
				_, err := Load(Sources{})
				if err == nil || !strings.HasPrefix(err.Error(), s.key+": ") {
					t.Errorf("error %v, want one that begins with the key", err)
				}
			})
		}
	}
}

// TestBadFlags: a flag is parsed as strictly as a variable, and the error quotes the text
// that was given.
func TestBadFlags(t *testing.T) {
	cases := []struct{ flag, value, want string }{
		{"k", "1.5", `k: "1.5" is not a whole number (flag --k)`},
		{"k", "abc", `k: "abc" is not a whole number (flag --k)`},
		{"k", "", `k: "" is not a whole number (flag --k)`},
		{"k", "1e3", `k: "1e3" is not a whole number`},
		{"threads", "many", `threads: "many" is not a whole number (flag --threads)`},
		{"seed", "0x1", `seed: "0x1" is not a whole number in [0, 2^64) (flag --seed)`},
		{"delta", "1%", `delta: "1%" is not a number (flag --delta)`},
		{"log-level", "loud", `log.level: "loud" is none of debug, info, warn, error (flag --log-level)`},
	}
	for _, c := range cases {
		t.Run(c.flag+"="+c.value, func(t *testing.T) {
			unset(t)
			_, err := Load(Sources{Flags: flags(t, "--"+c.flag+"="+c.value)})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	cases := []struct{ name, content, want string }{
		{"c.ini", "k=1", "name ends in none of"},
		{"c.yaml", "k: [1\n", "c.yaml"},
		{"c.yaml", "k: [1, 2]\n", "cannot be used here"},
		{"c.yaml", "k:\n  deep: 1\n", "k.deep: unknown key"},
		{"c.yaml", "log: debug\n", "log: unknown key"},
		{"c.json", `{"seed": 18446744073709551615}`, "write it in quotes"},
		{"c.json", `{"seed": 1`, "c.json"},
		{"c.toml", "seed == 1", "c.toml"},
	}
	for _, c := range cases {
		t.Run(c.name+" "+c.content, func(t *testing.T) {
			unset(t)
			_, err := Load(Sources{File: write(t, c.name, c.content)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := Load(Sources{File: missing}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v for a missing file", err)
	}
}

func TestAddFlagsRefusesUnknownKey(t *testing.T) {
	if err := AddFlags(pflag.NewFlagSet("test", pflag.ContinueOnError), "nothing"); err == nil {
		t.Error("no error")
	}
}

// FuzzLoad loads files of every format: none may cause a panic, and accepted values must be
// in range.
func FuzzLoad(f *testing.F) {
	f.Add(uint8(0), []byte("k: 3\ndelta: 0.5\n"))
	f.Add(uint8(1), []byte("k = 3\n[log]\nlevel = \"info\"\n"))
	f.Add(uint8(2), []byte(`{"k": 3, "threads": 1e3}`))
	f.Add(uint8(0), []byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, format uint8, content []byte) {
		name := []string{"c.yaml", "c.toml", "c.json"}[format%3]
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Sources{File: path})
		if err != nil {
			return
		}
		if c.K < 1 || !(c.Delta > 0 && c.Delta < 1) || !(c.Epsilon >= 0) || c.Threads < 0 || c.Chunk < 1 || c.Chunk > MaxChunk {
			t.Errorf("accepted %+v", c)
		}
	})
}

// A flag that a command defines for itself is not a setting, although it has the name of one.
func TestOtherFlagOfTheName(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.Float64("delta", 0, "")
	if err := AddFlags(fs, "seed"); err != nil {
		t.Fatal(err)
	}
	if err := fs.Parse([]string{"--delta=7", "--seed=3"}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{Flags: fs})
	if err != nil || c.Delta != .01 || c.Seed != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}
