//go:build cuda && cgo

package device

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/kernels"
)

func TestDriverSaysWhyThereIsNone(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(broken, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, lib string
		want      []string
	}{
		{"absent", filepath.Join(t.TempDir(), "none.so"), []string{"device unavailable", "THRESHER_LIBCUDA", "none.so"}},
		{"no library", broken, []string{"device unavailable", broken}},
		{"another library", "libc.so.6", []string{"device unavailable", "cuInit"}},
		{"too old", buildDriver(t, "-DVERSION=11040"), []string{"device unavailable", "driver 470 is too old: PTX 8.0 needs 525 (CUDA 12.0; this one has 11.4)"}},
		{"a little too old", buildDriver(t, "-DVERSION=11080"), []string{"driver 520 is too old"}},
		{"init fails", buildDriver(t, "-DINIT=803"), []string{"device unavailable", "cuInit(): CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): system has unsupported"}},
		{"new enough", buildDriver(t), []string{"nil"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := inProcess(t, "driver", libraryVariable+"="+c.lib)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q lacks %q", got, want)
				}
			}
		})
	}
}

// A machine without a driver, or whose driver has no device, has nothing that could be used; of anything else
// the user has to be told. Each case must differ from the others by the error, not by its text.
func TestDriverIsAbsentOrUnusable(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "libcuda.so.1")
	if err := os.WriteFile(broken, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	needy := buildDriver(t, "-Wl,--no-as-needed", buildDriver(t, "-Wl,-soname,libneeded.so.1"))
	for _, c := range []struct{ name, lib, want string }{
		{"no library", filepath.Join(dir, "none.so"), "absent"},
		{"a library that cannot be loaded", broken, "unavailable"},
		{"a library that lacks another one", needy, "unavailable"},
		{"no device", buildDriver(t, "-DINIT=100"), "absent"},
		{"the compilers' stub", buildDriver(t, "-DINIT=34"), "absent"},
		{"a failing driver", buildDriver(t, "-DINIT=803"), "unavailable"},
		{"an old driver", buildDriver(t, "-DVERSION=11040"), "old driver"},
	} {
		if got := inProcess(t, "kind", libraryVariable+"="+c.lib); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The loader's own search path comes first, so a library there is found without being named.
func TestDriverIsFoundByTheLoader(t *testing.T) {
	dir := filepath.Dir(buildDriver(t))
	if got := inProcess(t, "driver", libraryVariable+"=", "LD_LIBRARY_PATH="+dir); got != "nil" {
		t.Error(got)
	}
	old := filepath.Dir(buildDriver(t, "-DINIT=34"))
	got := inProcess(t, "driver", libraryVariable+"=", "LD_LIBRARY_PATH="+old)
	if got != "nil" && !strings.Contains(got, "libcuda.so.1: cuInit(): CUDA_ERROR_OTHER (34)") {
		t.Error(got)
	}
}

// If there is no driver, the message says which paths were tried, and what to do.
func TestDriverIsNotFound(t *testing.T) {
	for _, path := range libraryPlaces[1:] {
		if _, err := os.Stat(path); err == nil {
			t.Skip("there is a driver at ", path)
		}
	}
	got := inProcess(t, "driver", libraryVariable+"=", "LD_LIBRARY_PATH=")
	if got != "nil" && got != "gpu: device unavailable: no CUDA driver: libcuda.so.1 not found by the loader, nor in /usr/local/nvidia; THRESHER_LIBCUDA can name it" {
		t.Error(got)
	}
}

// The binary does not link a driver, and does not export driver symbols to it.
func TestBinaryNeedsNoDriver(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(l, "libc.so") }) || strings.Contains(strings.Join(libraries, " "), "cuda") {
		t.Errorf("needs %v", libraries)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "cuInit" || s.Name == "cuMemAlloc_v2" {
			t.Errorf("%s is seen outside", s.Name)
		}
	}
}

// A driver that lacks a call of this program returns CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER; nothing
// crashes.
func TestMissingSymbols(t *testing.T) {
	got := inProcess(t, "open", libraryVariable+"="+buildDriver(t))
	if !strings.Contains(got, "cuDeviceGetCount()") || !strings.Contains(got, "(36)") {
		t.Error(got)
	}
}

func TestCUDAVersion(t *testing.T) {
	for v, want := range map[cudaVersion]string{
		12000: "CUDA 12.0 (driver 525)",
		12020: "CUDA 12.2 (driver 535)",
		12080: "CUDA 12.8 (driver 570)",
		13000: "CUDA 13.0 (driver 580)",
		13010: "CUDA 13.1 (driver 580 or newer)",
		11060: "CUDA 11.6 (driver 510)",
		9020:  "CUDA 9.2 (driver older than 410)",
	} {
		if got := v.String(); got != want {
			t.Errorf("%d: %s, want %s", int(v), got, want)
		}
	}
}

// The driver version that is checked must support every embedded module.
func TestDriverCheckCoversKernels(t *testing.T) {
	for _, name := range kernels.Names() {
		text, err := kernels.PTX(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := parsePTX(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if info.major > ptxMajor || info.major == ptxMajor && info.minor > ptxMinor {
			t.Errorf("%s is PTX %d.%d; minCUDA and ptxMajor, ptxMinor say %d.%d", name, info.major, info.minor, ptxMajor, ptxMinor)
		}
		if info.target != "sm_80" {
			t.Errorf("%s is for %s; minMajor, minMinor say %d.%d", name, info.target, minMajor, minMinor)
		}
	}
}
