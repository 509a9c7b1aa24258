//go:build unix

package catalog

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"thresher/service/problem"
)

func TestPathsStayInTheirRoots(t *testing.T) {
	top := t.TempDir()
	in, other, out := filepath.Join(top, "in"), filepath.Join(top, "other"), filepath.Join(top, "in-not")
	for _, dir := range []string{in, other, out, filepath.Join(in, "sub")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := write(t, filepath.Join(in, "a.npy"), []byte("a"))
	sub := write(t, filepath.Join(in, "sub", "s.npy"), []byte("s"))
	b := write(t, filepath.Join(other, "b.npy"), []byte("b"))
	secret := write(t, filepath.Join(out, "secret.npy"), []byte("secret"))
	for link, to := range map[string]string{
		filepath.Join(in, "to-a.npy"):     "a.npy",
		filepath.Join(in, "to-b.npy"):     b,
		filepath.Join(in, "out.npy"):      secret,
		filepath.Join(in, "up.npy"):       "../in-not/secret.npy",
		filepath.Join(in, "outside"):      out,
		filepath.Join(in, "dangling.npy"): "nothing",
		filepath.Join(in, "loop.npy"):     "loop.npy",
		filepath.Join(top, "alias"):       in,
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(in, "pipe.npy"), 0o644); err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("unix", filepath.Join(in, "sock.npy")); err == nil { // skipped where names are too long
		defer l.Close()
	}
	r, err := openRoots([]string{filepath.Join(top, "alias"), other})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a.npy": a, "./sub/../a.npy": a, "sub/s.npy": sub, "b.npy": b, "to-a.npy": a, "to-b.npy": b, a: a, b: b,
		filepath.Join(top, "alias", "a.npy"): a,
	} {
		if got, info, err := r.resolve(path); err != nil || got != want || info.Size() != 1 {
			t.Errorf("%s is %s, want %s: %v", path, got, want, err)
		}
	}
	for _, path := range []string{
		"", "nothing.npy", "../in-not/secret.npy", "sub/../../in-not/secret.npy", secret, "out.npy", "up.npy", "outside/secret.npy",
		"dangling.npy", "loop.npy", filepath.Join(in, "..", "in-not", "secret.npy"), "/etc/passwd", "/dev/zero", "/", "a.npy\x00",
		"a.npy/x", in + "-not/secret.npy", strings.Repeat("x/", 5000),
	} {
		got, _, err := r.resolve(path)
		p := problem.Of(err)
		if err == nil || p.Field != "source.path" || p.Kind != problem.InvalidValue && p.Kind != problem.OverLimit {
			t.Errorf("%.50q is %s: %v", path, got, err)
		}
		if err != nil && !strings.Contains(p.Error(), "there is no file") {
			t.Errorf("%.50q: %v tells what lies outside", path, err)
		}
	}
	for path, says := range map[string]string{".": "is a folder", "sub": "is a folder", "pipe.npy": "not a regular file", in: "is a folder"} {
		if got, _, err := r.resolve(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %s: %v", path, got, err)
		}
	}
	for _, dir := range []string{filepath.Join(top, "none"), a} {
		if _, err := openRoots([]string{dir}); err == nil {
			t.Errorf("%s is a root", dir)
		}
	}
}
