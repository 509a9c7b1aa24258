package device

import (
	"errors"
	"math"
	"testing"
)

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", -5: "-5 B", 1024: "1 KiB", 1536: "1.5 KiB", 1000 << 10: "0.977 MiB", 4 << 20: "4 MiB",
		141 << 30: "141 GiB", 1<<30 + 1<<28: "1.25 GiB", 3 << 40: "3 TiB", 999<<10 + 600: "0.976 MiB", 999<<10 + 100: "999 KiB", 1 << 60: "1 EiB", math.MinInt64: "-8 EiB", -2 << 30: "-2 GiB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestInfoString(t *testing.T) {
	i := Info{Index: 1, Name: "H200", Major: 9, Memory: 141 << 30, Multiprocessors: 132}
	if got, want := i.String(), "device 1: H200, compute capability 9.0, 141 GiB, 132 multiprocessors"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Both builds fail in the same way if there is no driver.
func TestNoDriver(t *testing.T) {
	err := Driver()
	if err == nil {
		t.Skip("there is a driver")
	}
	infos, more := Devices()
	if v, err := DriverVersion(); v != "" || !errors.Is(err, ErrUnavailable) {
		t.Error(v, err)
	}
	if !errors.Is(err, ErrUnavailable) || !errors.Is(more, ErrUnavailable) || infos != nil {
		t.Error(err, more, infos)
	}
	if !errors.Is(ErrLost, ErrUnavailable) {
		t.Error(ErrLost)
	}
}
