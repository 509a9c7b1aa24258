package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/vectors"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(withSignals())
	}
	os.Setenv("THRESHER_COSTS", costsBuiltin) // makes tests independent of the machine
	goleak.VerifyTestMain(m)
}

// childVariable makes the test binary run the command itself.
const childVariable = "THRESHER_TEST_CHILD"

// result is the outcome of one run of the command.
type result struct {
	code     int
	out, err string
}

func thresher(t *testing.T, args ...string) result {
	t.Helper()
	return thresherWith(t, context.Background(), "", args...)
}

func thresherWith(t *testing.T, ctx context.Context, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(ctx, args, strings.NewReader(stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// wantCode fails the test unless the run ended with code.
func (r result) wantCode(t *testing.T, code int) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %.2000s\nstderr: %.2000s", r.code, code, r.out, r.err)
	}
}

// wantError fails the test unless the run ended with exitInput, with one line on stderr that
// contains every part, and nothing on stdout.
func (r result) wantError(t *testing.T, parts ...string) {
	t.Helper()
	r.wantCode(t, exitInput)
	if strings.Count(r.err, "\n") != 1 || !strings.HasPrefix(r.err, "thresher: ") {
		t.Errorf("stderr is not one line:\n%s", r.err)
	}
	if r.out != "" {
		t.Errorf("stdout: %.500s", r.out)
	}
	for _, p := range parts {
		if !strings.Contains(r.err, p) {
			t.Errorf("stderr lacks %q: %s", p, r.err)
		}
	}
}

// npy encodes a float32 matrix as npy.
func npy(rows []float32, dim int) []byte {
	b := npyHeader(len(rows)/dim, dim)
	for _, x := range rows {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// npyHeader is what comes before n float32 rows of dim coordinates.
func npyHeader(n, dim int) []byte {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n, dim)
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	head += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(b, head...)
}

func writeFile(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func gaussian(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	return vectors.Gaussian(r, n, 1)
}

// vectorFile writes gaussian rows and returns their path.
func vectorFile(t *testing.T, dir, name string, seed uint64, n, dim int) string {
	t.Helper()
	return writeFile(t, dir, name, npy(gaussian(seed, n*dim), dim))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serch"}, "did you mean search?"},
		{[]string{"serach"}, "did you mean search?"},
		{[]string{"xyzzy"}, "unknown command"},
		{[]string{"completion", "xyzzy"}, `unknown command "xyzzy"; see thresher completion --help`},
		{[]string{"--nothing"}, "thresher: unknown flag: --nothing; see thresher --help"},
		{[]string{"bench", "--vectors=a.npy", "--queries=b.npy", "--set=gaussian"}, "excludes --vectors and --queries"},
		{[]string{"search", "--nothing"}, "unknown flag: --nothing"},
		{[]string{"search", "more"}, `search: unexpected argument "more"; see thresher search --help`},
		{[]string{"duel", "plan", "more"}, `duel plan: unexpected argument "more"`},
		{[]string{"search"}, "--vectors and --queries"},
		{[]string{"verify"}, "--answers"},
		{[]string{"verify", "--vectors=a", "--queries=b", "--answers=c", "--guarantee=sure"}, `"sure"`},
		{[]string{"verify", "--vectors=a", "--queries=b", "--answers=c", "--sample=-1"}, "-1 is negative"},
		{[]string{"verify", "--vectors=-", "--queries=-", "--answers=c"}, "cannot both be standard input"},
		{[]string{"build", "--vectors=a.npy", "--out=b.npy"}, ".thresher"},
		{[]string{"build", "--out=b.thresher"}, "--vectors"},
		{[]string{"info"}, "wants one"},
		{[]string{"bench", "--vectors=a.npy"}, "go together"},
		{[]string{"bench", "--set=faces"}, `"faces"`},
		{[]string{"bench", "--set=gaussian:10"}, "ATOMSxDIMENSION"},
		{[]string{"bench", "--ks=0"}, "0 is below 1"},
		{[]string{"bench", "--sigma=-1"}, "--sigma -1"},
		{[]string{"bench", "--count=0"}, "--count 0"},
		{[]string{"bench", "--plans", "--pulls"}, "exclude each other"},
		{[]string{"version", "--config=/nothing/c.yaml", "more"}, `version: unexpected argument "more"`},
		{[]string{"config", "show", "--config=/nothing/c.yaml"}, "/nothing/c.yaml"},
		{[]string{"config", "show", "--delta=7"}, "delta: 7 is not in (0, 1) (flag --delta)"},
		{[]string{"config", "show", "--method=faiss"}, `"faiss" is none of auto`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			thresher(t, c.args...).wantError(t, c.want)
		})
	}
}

func TestHelpOfEveryVerb(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		r := thresher(t, append(path, "--help")...)
		r.wantCode(t, exitOK)
		if !strings.Contains(r.out, "Usage:\n  "+cmd.CommandPath()) || r.err != "" {
			t.Errorf("%v: stdout %q, stderr %q", path, r.out, r.err)
		}
		for key, names := range choices() {
			if f := cmd.Flags().Lookup(key); f != nil && strings.Count(f.Usage, strings.Join(names, ", ")) > 1 {
				t.Errorf("%v: --%s has its choices twice: %s", path, key, f.Usage)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRootCommand(&app{}))
	r := thresher(t)
	r.wantCode(t, exitOK)
	for _, part := range []string{"search", "Exit codes", "130", "THRESHER_DELTA"} {
		if !strings.Contains(r.out, part) {
			t.Errorf("help lacks %q: %s", part, r.out)
		}
	}
	r = thresher(t, "--version")
	r.wantCode(t, exitOK)
	if want := "thresher " + readBuildInfo().Version + "\n"; r.out != want {
		t.Errorf("--version says %q, want %q", r.out, want)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := thresher(t, "completion", shell)
		r.wantCode(t, exitOK)
		if !strings.Contains(r.out, "thresher") {
			t.Errorf("%s: %q", shell, r.out)
		}
	}
	for flag, want := range map[string]string{"--method": "certain", "--metric": "cosine", "--backend": "cuda", "--basis": "raw"} {
		r := thresher(t, "__complete", "search", flag, "")
		r.wantCode(t, exitOK)
		if !strings.Contains(r.out, want+"\n") {
			t.Errorf("%s is not completed with %s: %q", flag, want, r.out)
		}
	}
}
