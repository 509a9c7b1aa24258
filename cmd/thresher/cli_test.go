package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/vectors"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(clitest.ChildVariable) != "" {
		os.Exit(withSignals())
	}
	os.Setenv("THRESHER_COSTS", costsBuiltin) // makes tests independent of the machine
	goleak.VerifyTestMain(m)
}

func thresher(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return thresherWith(t, context.Background(), "", args...)
}

func thresherWith(t *testing.T, ctx context.Context, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Program(run).Run(ctx, stdin, args...)
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

func gaussian(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	return vectors.Gaussian(r, n, 1)
}

// vectorFile writes gaussian rows and returns their path.
func vectorFile(t *testing.T, dir, name string, seed uint64, n, dim int) string {
	t.Helper()
	return clitest.WriteFile(t, dir, name, npy(gaussian(seed, n*dim), dim))
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
		{[]string{"bench", "--set=gaussian:10"}, "VECTORSxDIMENSION"},
		{[]string{"bench", "--ks=0"}, "0 is below 1"},
		{[]string{"bench", "--sigma=-1"}, `sigma: -1 is not a number above 0`},
		{[]string{"bench", "--count=0"}, "--count 0"},
		{[]string{"bench", "--plans", "--pulls"}, "exclude each other"},
		{[]string{"version", "--config=/nothing/c.yaml", "more"}, `version: unexpected argument "more"`},
		{[]string{"config", "show", "--config=/nothing/c.yaml"}, "/nothing/c.yaml"},
		{[]string{"config", "show", "--delta=7"}, "delta: 7 is not in (0, 1) (flag --delta)"},
		{[]string{"config", "show", "--method=faiss"}, `"faiss" is none of auto`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			thresher(t, c.args...).WantError(t, c.want)
		})
	}
}

func TestHelpOfEveryVerb(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		r := thresher(t, append(path, "--help")...)
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, "Usage:\n  "+cmd.CommandPath()) || r.Err != "" {
			t.Errorf("%v: stdout %q, stderr %q", path, r.Out, r.Err)
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
	walk(newRootCommand(newApp(nil, nil, nil)))
	r := thresher(t)
	r.WantCode(t, cli.ExitOK)
	for _, part := range []string{"search", "Exit codes", "130", "THRESHER_DELTA"} {
		if !strings.Contains(r.Out, part) {
			t.Errorf("help lacks %q: %s", part, r.Out)
		}
	}
	r = thresher(t, "--version")
	r.WantCode(t, cli.ExitOK)
	if want := "thresher " + readBuildInfo().Version + "\n"; r.Out != want {
		t.Errorf("--version says %q, want %q", r.Out, want)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := thresher(t, "completion", shell)
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, "thresher") {
			t.Errorf("%s: %q", shell, r.Out)
		}
	}
	for flag, want := range map[string]string{"--method": "certain", "--metric": "cosine", "--backend": "cuda", "--basis": "raw"} {
		r := thresher(t, "__complete", "search", flag, "")
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, want+"\n") {
			t.Errorf("%s is not completed with %s: %q", flag, want, r.Out)
		}
	}
}
