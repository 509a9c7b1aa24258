package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"thresher/config"
	"thresher/internal/cli"
	"thresher/service"
)

// shownMemory returns what config show says of the memory of a server.
func shownMemory(t *testing.T) memoryShown {
	t.Helper()
	r := thresher(t, "config", "show", "--json")
	r.WantCode(t, cli.ExitOK)
	var got struct{ Memory memoryShown }
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil {
		t.Fatal(err)
	}
	return got.Memory
}

// TestShowMemory: config show says where the memory of a server comes from, how it is divided, and
// how many connections it suffices for.
func TestShowMemory(t *testing.T) {
	if m := shownMemory(t); m.Bytes < 128<<20 || m.From == "" || m.Connections < 1 {
		t.Errorf("without a setting: %+v", m)
	}
	t.Setenv("THRESHER_MEMORY", "1GiB")
	t.Setenv("THRESHER_LIMITS_ANSWERS", "1MiB")
	m := shownMemory(t)
	if m.Bytes != 1<<30 || m.From != "environment THRESHER_MEMORY" || m.Shares["answers"] != 1<<20 || m.Shares["bodies"] != 64<<20 || m.Shares["collections"] != (448+127)<<20 || m.Connections > 4096 {
		t.Errorf("%+v", m)
	}
	text := thresher(t, "config", "show").Out
	for _, want := range []string{"would take 1024 MiB of memory (environment THRESHER_MEMORY)", "connections: collections 575 MiB,", " answers 1 MiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	t.Setenv("THRESHER_LIMITS_CONNECTIONS", "7")
	if m := shownMemory(t); m.Connections != 7 {
		t.Errorf("%+v", m)
	}
	for value, want := range map[string]string{"127MiB": "memory: 127MiB is below 128MiB (environment THRESHER_MEMORY)", "much": `memory: "much" is not a size`} {
		t.Setenv("THRESHER_MEMORY", value)
		thresher(t, "config", "show").WantError(t, want)
	}
}

// TestLowerHeap: the heap is kept below the least of what is said, and GOMEMLIMIT takes precedence.
func TestLowerHeap(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	t.Setenv("GOMEMLIMIT", "")
	cli.LowerHeap(cli.HeapOf(100 << 30))
	if got := debug.SetMemoryLimit(-1); got != 90<<30 {
		t.Errorf("the heap may have %d", got)
	}
	if cli.LowerHeap(math.MaxInt64); debug.SetMemoryLimit(-1) != 90<<30 {
		t.Error("the limit was raised")
	}
	t.Setenv("GOMEMLIMIT", "95GiB")
	if cli.LowerHeap(80 << 30); debug.SetMemoryLimit(-1) != 90<<30 {
		t.Error("GOMEMLIMIT does not hold")
	}
}

// TestWarnOfLimitsAboveShares: a limit that was given and is above its share of the memory is named
// in the log with both figures; a default is not.
func TestWarnOfLimitsAboveShares(t *testing.T) {
	t.Setenv("THRESHER_MEMORY", "1GiB")
	t.Setenv("THRESHER_LIMITS_ANSWERS", "200MiB")
	t.Setenv("THRESHER_LIMITS_MEMORY", "100MiB")
	c, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a := &app{App: &cli.App{Config: c, Log: slog.New(slog.NewTextHandler(&log, nil))}}
	memory := a.serverMemory()
	a.checkShares(memory, service.Divide(memory.Bytes, a.serviceLimits(), a.extensions()))
	text := log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "setting=limits.answers limit=209715200 share=134217728 memory=1073741824") {
		t.Errorf("the log is %q", text)
	}
}
