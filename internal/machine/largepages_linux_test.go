package machine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// TestLargePages: large memory is advised to have large pages and small memory is not; none of it beyond the whole pages is.
func TestLargePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this system has no large pages: ", err)
	}
	large, small := make([]float32, 5*largePage), make([]float32, largeMemory/4-1)
	LargePages(large)
	LargePages(small)
	of := span{uintptr(unsafe.Pointer(&large[0])), uintptr(4 * len(large))}
	whole := of.wholePages()
	if whole.from%largePage != 0 || whole.size%largePage != 0 || whole.from < of.from || whole.from+whole.size > of.from+of.size || of.size-whole.size >= 2*largePage {
		t.Errorf("%x has whole pages %x", of, whole)
	}
	if !advised(t, whole.from, "hg") || !advised(t, whole.from+whole.size-1, "hg") {
		t.Error("large memory has small pages")
	}
	if advised(t, uintptr(unsafe.Pointer(&small[len(small)/2])), "hg") {
		t.Error("small memory has large pages")
	}
	whole.ask(false)
	if advised(t, whole.from, "hg") {
		t.Error("what was collected has large pages")
	}
	runtime.KeepAlive(large)
	runtime.KeepAlive(small)
}

// advised reports whether the mapping of an address has a flag of proc_pid_smaps(5).
func advised(t *testing.T, address uintptr, flag string) bool {
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	within := false
	for line := range strings.Lines(string(text)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			within = from <= address && address < to
		} else if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && within {
			return strings.Contains(" "+strings.TrimSpace(flags)+" ", " "+flag+" ")
		}
	}
	t.Fatalf("%x is not mapped", address)
	return false
}

// TestWholePages: spans shorter than a page, or with none between two borders, have no whole page.
func TestWholePages(t *testing.T) {
	for _, c := range []struct{ of, want span }{
		{span{0, 0}, span{0, 0}},
		{span{largePage, largePage}, span{largePage, largePage}},
		{span{largePage, 3*largePage + 1}, span{largePage, 3 * largePage}},
		{span{1, largePage - 2}, span{1, 0}},
		{span{1, 2*largePage - 2}, span{largePage, 0}},
		{span{1, 2*largePage - 1}, span{largePage, largePage}},
	} {
		if got := c.of.wholePages(); got != c.want {
			t.Errorf("%v: %v, want %v", c.of, got, c.want)
		}
	}
}
