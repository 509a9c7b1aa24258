package simd

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestParseLevel(t *testing.T) {
	for _, name := range []string{"", "auto"} {
		if l, err := ParseLevel(name); err != nil || l != Best() {
			t.Errorf("%q: %v, %v, want %v", name, l, err, Best())
		}
	}
	for l := Generic; l <= AVX512; l++ {
		got, err := ParseLevel(l.String())
		if l > Best() {
			if err == nil || !strings.Contains(err.Error(), `"`+l.String()+`"`) || !strings.Contains(err.Error(), Best().String()+" at most") {
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
		if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) || !strings.Contains(err.Error(), "auto, generic, avx2, avx512") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLevels(t *testing.T) {
	l := Levels()
	for i, v := range l {
		if v != Level(i) {
			t.Errorf("level %d is %v", i, v)
		}
	}
	if len(l) == 0 || l[len(l)-1] != Best() {
		t.Errorf("levels %v, best %v", l, Best())
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
	for _, c := range []struct {
		off  string
		want Level
	}{
		{"cpu.avx512f=off", min(Best(), AVX2)},
		{"cpu.avx512vnni=off", min(Best(), AVX2)},
		{"cpu.avx2=off", Generic},
		{"cpu.avx512f=off,cpu.avx2=off", Generic},
		{"cpu.fma=off", Generic},
		{"cpu.popcnt=off", Generic},
		{"cpu.bmi1=off", Generic},
	} {
		cmd := exec.Command(self, "-test.run=^TestBestLowered$", "-test.v")
		cmd.Env = append(os.Environ(), "GODEBUG="+strings.Trim(os.Getenv("GODEBUG")+","+c.off, ","), wantBest+"="+c.want.String())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestBestLowered") {
			t.Errorf("GODEBUG=%s: %v\n%s", c.off, err, out)
		}
	}
}
