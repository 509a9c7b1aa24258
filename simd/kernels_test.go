package simd

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, name := range []string{"", "auto"} {
		if kern, err := Parse(name); err != nil || kern != Best() {
			t.Errorf("%q: %v, %v, want %v", name, kern, err, Best())
		}
	}
	for kern := Generic; kern <= NEON; kern++ {
		got, err := Parse(kern.String())
		if !slices.Contains(Available(), kern) {
			if err == nil || !strings.Contains(err.Error(), `"`+kern.String()+`"`) || !strings.Contains(err.Error(), "runs "+join(Available())) {
				t.Errorf("%v on a processor of %v: %v, %v", kern, Best(), got, err)
			}
			continue
		}
		if got != kern || err != nil {
			t.Errorf("%v: %v, %v", kern, got, err)
		}
	}
	for _, name := range []string{"AVX2", "sse", " avx2", "avx"} {
		_, err := Parse(name)
		if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) || !strings.Contains(err.Error(), "auto, generic, avx2, avx512, neon") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAvailable(t *testing.T) {
	all := Available()
	if all[0] != Generic || all[len(all)-1] != Best() || !slices.IsSorted(all) {
		t.Errorf("available %v, best %v", all, Best())
	}
	all[0] = NEON
	if Available()[0] != Generic {
		t.Error("Available hands out its own slice")
	}
}

// wantBest is the environment variable by which TestBestLowered passes the expected
// best Kernels.
const wantBest = "THRESHER_TEST_WANT_BEST"

// TestBestLowered runs this binary again with processor features hidden.
func TestBestLowered(t *testing.T) {
	if want := os.Getenv(wantBest); want != "" {
		if Best().String() != want {
			t.Fatalf("best %v, want %s", Best(), want)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type off struct {
		features string
		want     Kernels
	}
	var cases []off
	if runtime.GOARCH == "arm64" {
		cases = []off{{"cpu.asimddp=off", Generic}}
	} else {
		cases = []off{
			{"cpu.avx512f=off", min(Best(), AVX2)},
			{"cpu.avx512vnni=off", min(Best(), AVX2)},
			{"cpu.avx2=off", Generic},
			{"cpu.avx512f=off,cpu.avx2=off", Generic},
			{"cpu.fma=off", Generic},
			{"cpu.popcnt=off", Generic},
			{"cpu.bmi1=off", Generic},
		}
	}
	for _, c := range cases {
		cmd := exec.Command(self, "-test.run=^TestBestLowered$", "-test.v")
		cmd.Env = append(os.Environ(), "GODEBUG="+strings.Trim(os.Getenv("GODEBUG")+","+c.features, ","), wantBest+"="+c.want.String())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestBestLowered") {
			t.Errorf("GODEBUG=%s: %v\n%s", c.features, err, out)
		}
	}
}
