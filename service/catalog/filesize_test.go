//go:build unix

package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"

	"thresher/cpu"
	"thresher/internal/crashtest"
	"thresher/service/problem"
)

// TestFileSizeLimit makes the system refuse long files: uploads first, then built versions.
func TestFileSizeLimit(t *testing.T) {
	crashtest.Run(t, 0, false, t.TempDir(), "0", "400000")
}

// limited runs in the child process of TestFileSizeLimit.
func limited(dir, limit string) error {
	most, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return err
	}
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	t := &quiet{}
	f := &fixture{t: t, dir: dir, o: Options{Open: opener(b)}}
	f.open()
	ctx := context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		t.Error(err)
	}
	_, err = f.c.Append(ctx, "a", rowsOf(0, int(most)/8+1, 2, nil), "")
	if kindOf(err) != problem.DiskFull {
		t.Error("upload:", err)
	}
	// rows that fit, while the version built from them does not
	if p := f.failed(f.c.Append(ctx, "a", rowsOf(0, int(most)/8-1000, 2, nil), "")); p.Kind != problem.DiskFull {
		t.Error("build:", p)
	}
	if ids, _ := contents(t, f.c, "a", 0); len(ids) != 3 {
		t.Error(ids)
	}
	f.exact()
	f.ready(f.c.Append(ctx, "a", rowsOf(0, 3, 2, nil), ""))
	f.close()
	f.open()
	f.exact()
	f.close()
	return t.err
}

// quiet is a testing.TB for a process that is not a test.
type quiet struct {
	testing.TB
	err error
}

func (q *quiet) Helper()           {}
func (q *quiet) Error(args ...any) { q.err = errors.Join(q.err, errors.New(fmt.Sprint(args...))) }
func (q *quiet) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}
func (q *quiet) Fatalf(format string, args ...any) { q.Fatal(fmt.Sprintf(format, args...)) }
