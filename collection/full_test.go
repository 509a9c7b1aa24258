//go:build unix

package collection

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const fullDir = "THRESHER_TEST_FULL_DIR"

// TestFullDisk: if the disk is full at any point of the writing, Create returns an error
// and leaves no file, and no page of a mapped section faults. A limit of the file size
// stands for the full disk, in a process of its own.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv(fullDir); dir != "" {
		fillUp(dir)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(self, "-test.run=^TestFullDisk$")
	cmd.Env = append(os.Environ(), fullDir+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := string(out)
	if n := strings.Count(text, "refused: "+filepath.Join(dir, "a.thresher")+": "); n < 10 || strings.Count(text, "whole") != 1 {
		t.Errorf("%d refusals:\n%s", n, text)
	}
	checkNames(t, dir, "a.thresher")
}

// fillUp raises the limit step by step until the file fits.
func fillUp(dir string) {
	signal.Ignore(unix.SIGXFSZ)
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	path := filepath.Join(dir, "a.thresher")
	rows := data("gaussian", 1000, 40, 1)
	for limit := uint64(30_000); limit < 4<<20; limit += 20_000 {
		l.Cur = limit
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		c, err := Create(context.Background(), path, &rowsSource{rows: rows, dim: 40}, false, &Options{Metric: InnerProduct})
		if err == nil {
			c.Close()
			fmt.Println("whole at", limit)
			return
		}
		fmt.Println("refused:", err)
	}
}
