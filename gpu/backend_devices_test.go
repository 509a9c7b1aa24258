//go:build cuda && cgo

package gpu

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/gpu/device"
)

// TestOpenLeavesOut opens several devices of which some cannot be used: the others serve, the log and LeftOut
// name those that do not, and nothing of them stays open. If none can be used, Open has all reasons.
func TestOpenLeavesOut(t *testing.T) {
	needEmulator(t)
	for _, c := range []struct {
		name, devices string
		set           [][2]string
		used          []int
		left          [][]string // of each device that is left out
	}{
		{"full", "2", [][2]string{{failVariable, "cuDevicePrimaryCtxRetain:1:2"}}, []int{1}, [][]string{{"device 0", "CUDA_ERROR_OUT_OF_MEMORY", "free memory"}}},
		{"full to the reserve", "3", [][2]string{{"EMU_MEM", "1073741824,67108864,1073741824"}}, []int{0, 2}, [][]string{{"device 1", "64 MiB of 64 MiB are free", "free memory"}}},
		{"busy", "2", [][2]string{{failVariable, "cuDevicePrimaryCtxRetain:2:46"}}, []int{0}, [][]string{{"device 1", "CUDA_ERROR_DEVICE_UNAVAILABLE", "end the process"}}},
		{"old", "2", [][2]string{{"EMU_CC", "75,80"}}, []int{1}, [][]string{{"device 0", "capability 7.5 is below 8.0", "newer GPU"}}},
		{"kernels refused", "2", [][2]string{{failVariable, "cuModuleLoadDataEx:1+:222"}}, nil, [][]string{{"device 0", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "newer NVIDIA driver"}, {"device 1", "newer NVIDIA driver"}}},
		{"lost", "2", [][2]string{{failVariable, "cuMemGetInfo:1:719"}}, []int{1}, [][]string{{"device 0", "CUDA_ERROR_LAUNCH_FAILED", "Xid"}}},
		{"none is left", "2", [][2]string{{"EMU_CC", "75,80"}, {failVariable, "cuDevicePrimaryCtxRetain:1:2"}}, nil, [][]string{{"device 0", "7.5"}, {"device 1", "OUT_OF_MEMORY"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("EMU_DEVICES", c.devices)
			for _, s := range c.set {
				t.Setenv(s[0], s[1])
			}
			var log bytes.Buffer
			b, err := Open(Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
			why := err
			if err == nil {
				why = LeftOut(b)
				var used []int
				for _, i := range b.(*Backend).Devices() {
					used = append(used, i.Index)
				}
				if !slices.Equal(used, c.used) {
					t.Errorf("devices %v, want %v", used, c.used)
				}
				shut(t, "backend", b.Close)
			} else if c.used != nil || !errors.Is(err, backend.ErrUnavailable) || errors.Is(err, device.ErrAbsent) {
				t.Fatal(err)
			}
			said := Reasons(why)
			if len(said) != len(c.left) || err == nil && strings.Count(log.String(), "a GPU is left out") != len(c.left) {
				t.Fatalf("%q, logged %s", said, log.String())
			}
			for k, parts := range c.left {
				for _, part := range parts {
					if !strings.Contains(said[k], part) {
						t.Errorf("%q lacks %q", said[k], part)
					}
				}
				if err == nil && !strings.Contains(log.String(), parts[1]) {
					t.Errorf("%q is not logged: %s", parts[1], log.String())
				}
			}
			t.Setenv(failVariable, "")
			left(t, c.name)
		})
	}
}

// A device that is asked for by its index must be usable, also beside one that is.
func TestOpenNamedDevices(t *testing.T) {
	needEmulator(t)
	t.Setenv("EMU_DEVICES", "2")
	t.Setenv("EMU_CC", "80,75")
	for _, which := range [][]int{{1}, {0, 1}} {
		if b, err := Open(Options{Devices: which}); err == nil {
			t.Errorf("%v: opened %v", which, b.Close())
		} else {
			refused(t, err, backend.ErrUnavailable, "device 1", "7.5")
		}
	}
	b, err := Open(Options{Devices: []int{0}})
	if err != nil || LeftOut(b) != nil {
		t.Fatal(err, LeftOut(b))
	}
	shut(t, "backend", b.Close)
	left(t, "named")
}

// Options.Names chooses devices by index, by UUID or how it begins, or one or all that can be used.
func TestOpenByName(t *testing.T) {
	needEmulator(t)
	t.Setenv("EMU_DEVICES", "3")
	for _, c := range []struct {
		names, cc string
		used      []int
		why       string
	}{
		{"", "80", []int{0, 1, 2}, ""},
		{AllDevices, "80,75,80", []int{0, 2}, ""},
		{OneDevice, "80,75,80", []int{0}, ""},
		{OneDevice, "75,75,80", []int{2}, ""},
		{"2,0", "80", []int{2, 0}, ""},
		{"gpu-E1e1", "80", []int{1}, ""},
		{"GPU-e2e2e2e2-e2e2-e2e2-e2e2-e2e2e2e2e2e2,0", "80", []int{2, 0}, ""},
		{"1", "80,75,80", nil, "device 1 (emulated card): compute capability 7.5"},
		{"7", "80", nil, "0 of the 3 devices are called 7"},
		{"GPU-e", "80", nil, "3 of the 3 devices are called GPU-e"},
		{"1,GPU-e1", "80", nil, "device 1 is named twice"},
	} {
		t.Setenv("EMU_CC", c.cc)
		b, err := Open(Options{Names: c.names})
		if err != nil {
			if c.used != nil {
				t.Errorf("%s of %s: %v", c.names, c.cc, err)
				continue
			}
			refused(t, err, backend.ErrUnavailable, c.why)
			if said := Reasons(err); len(said) != 1 {
				t.Errorf("%s of %s: %q", c.names, c.cc, said)
			}
			continue
		}
		var used []int
		for _, i := range b.(*Backend).Devices() {
			used = append(used, i.Index)
		}
		if !slices.Equal(used, c.used) {
			t.Errorf("%s of %s: %v, want %v", c.names, c.cc, used, c.used)
		}
		shut(t, "backend", b.Close)
	}
	left(t, "by name")
}

// TestLoadLeavesOut loads a collection on two devices, one of which cannot hold its half or fails: the other
// one holds all of it, and answers.
func TestLoadLeavesOut(t *testing.T) {
	needEmulator(t)
	s := newServed(t, 3000, 256, 4)
	req := batch.Request{Queries: s.set.Queries, K: 5, Method: batch.Certain}
	want := s.search(t, req)
	for _, c := range []struct{ name, variable, value, why string }{
		{"too little memory", "EMU_MEM", "67108865,1073741824", "not enough device memory"},
		{"lost", failVariable, "cuMemcpyHtoD:1:700", "CUDA_ERROR_ILLEGAL_ADDRESS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("EMU_DEVICES", "2")
			if c.variable != failVariable {
				t.Setenv(c.variable, c.value)
			}
			b, err := Open(Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv(c.variable, c.value)
			var w told
			e, err := batch.Open(t.Context(), s.c, b, &batch.Options{Fallback: s.cpu, Observer: &w})
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			s.same(t, c.name, &req, got, want)
			said := Reasons(LeftOut(b))
			if by(got) != "cuda" || len(w.reasons) > 0 || len(said) != 1 || !strings.Contains(said[0], c.why) || !strings.Contains(said[0], "device ") {
				t.Errorf("by %q, told %v, left out %q", by(got), w.reasons, said)
			}
			shut(t, "engine", e.Close)
			shut(t, "backend", b.Close)
			t.Setenv(failVariable, "")
			left(t, c.name)
		})
	}
}

// Sentences are of devices that are there, one a device and one line each.
func TestReasons(t *testing.T) {
	if said := Reasons(nil); said != nil {
		t.Errorf("%q of no error", said)
	}
	if said := Reasons(unavailable(device.ErrAbsent)); said != nil {
		t.Errorf("%q of no device", said)
	}
	said := Reasons(inContract(unusable{errors.New("gpu: one\ngpu: more"), device.ErrMemory}))
	if len(said) != 2 || !strings.HasPrefix(said[0], "one; ") || !strings.Contains(said[1], "nvidia-smi lists") {
		t.Errorf("%q", said)
	}
}
