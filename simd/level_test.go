package simd

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestParseLevel(t *testing.T) {
	for _, name := range []string{"", "auto"} {
		if l, err := ParseLevel(name); err != nil || l != Best() {
			t.Errorf("%q: %v, %v, want %v", name, l, err, Best())
		}
	}
	for l := Generic; l <= NEON; l++ {
		got, err := ParseLevel(l.String())
		if !slices.Contains(Levels(), l) {
			if err == nil || !strings.Contains(err.Error(), `"`+l.String()+`"`) || !strings.Contains(err.Error(), "runs "+join(Levels())) {
				t.Errorf("%v on a processor of %v: %v, %v", l, Best(), got, err)
			}
			continue
		}
		if got != l || err != nil {
			t.Errorf("%v: %v, %v", l, got, err)
		}
	}
	for _, name := range []string{"AVX2", "sse", " avx2", "avx"} {
		_, err := ParseLevel(name)
		if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) || !strings.Contains(err.Error(), "auto, generic, avx2, avx512, neon") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLevels(t *testing.T) {
	l := Levels()
	if l[0] != Generic || l[len(l)-1] != Best() || !slices.IsSorted(l) {
		t.Errorf("levels %v, best %v", l, Best())
	}
	l[0] = NEON
	if Levels()[0] != Generic {
		t.Error("Levels hands out its own slice")
	}
}

// wantBest is the variable in which TestBestLowered tells this test's binary
// the best level it has to find.
const wantBest = "THRESHER_TEST_WANT_BEST"

// TestBestLowered runs this binary again with more features switched off.
func TestBestLowered(t *testing.T) {
	if want := os.Getenv(wantBest); want != "" {
		if Best().String() != want {
			t.Fatalf("best level %v, want %s", Best(), want)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type off struct {
		features string
		want     Level
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
