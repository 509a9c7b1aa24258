package command

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"thresher/internal/cli/clitest"
)

// replacers are the two functions that replace the file at a path.
func replacers() map[string]func(t *testing.T, path string) {
	return map[string]func(*testing.T, string){
		"slates": func(t *testing.T, path string) {
			if err := replaceFile(path, []byte("new")); err != nil {
				t.Fatal(err)
			}
		},
		"duels": func(t *testing.T, path string) {
			d, _, err := openDuelFile(path, true)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.save([]byte("new")); err != nil {
				t.Fatal(err)
			}
			if err := d.close(); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// A link with the temporary name of the next file is removed; its target stays.
func TestNextFileFollowsNoLink(t *testing.T) {
	for name, replace := range replacers() {
		dir := t.TempDir()
		other := clitest.WriteFile(t, dir, "other", []byte("precious"))
		path := filepath.Join(dir, "state")
		if err := os.Symlink(other, filepath.Join(dir, ".state.new")); err != nil {
			t.Fatal(err)
		}
		replace(t, path)
		if got := string(clitest.ReadFile(t, other)); got != "precious" {
			t.Errorf("%s: what the link stands for has %q", name, got)
		}
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || string(clitest.ReadFile(t, path)) != "new" {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// A state that is a symbolic link stays one, and its target is replaced.
func TestStateThatIsALink(t *testing.T) {
	dir := t.TempDir()
	films := filmsFile(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	state, link := filepath.Join(dir, "real", "ann.json"), filepath.Join(dir, "link.json")
	recommended(t, "--items", films, "--state", state)
	if err := os.Symlink(filepath.Join("real", "ann.json"), link); err != nil {
		t.Fatal(err)
	}
	if list := recommended(t, "--items", films, "--state", link); list.Slate != 2 {
		t.Errorf("slate %d", list.Slate)
	}
	wantLink(t, link)
	if s, err := readSlateState(state); err != nil || s.Last != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	loose := filepath.Join(dir, "loose.json")
	if err := os.Symlink("nowhere", loose); err != nil {
		t.Fatal(err)
	}
	thresher(t, "slate", "recommend", "--items", films, "--state", loose).WantError(t, "loose.json: is a link")
	wantLink(t, loose)

	duels := filepath.Join(dir, "duels")
	if err := os.Symlink(clitest.WriteFile(t, dir, "played", []byte("old")), duels); err != nil {
		t.Fatal(err)
	}
	replacers()["duels"](t, duels)
	wantLink(t, duels)
	if got := string(clitest.ReadFile(t, filepath.Join(dir, "played"))); got != "new" {
		t.Errorf("%q", got)
	}
}

func wantLink(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("%s is no link any more: %v, %v", path, info, err)
	}
}

// The umask applies to new states, and existing ones keep their permissions.
func TestSlateStatePermissions(t *testing.T) {
	dir := t.TempDir()
	films, state := filmsFile(t, dir), filepath.Join(dir, "ann.json")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []fs.FileMode{0o600, 0o640} {
		cmd := exec.Command("sh", "-c", `umask 077 && exec "$0" "$@"`, self, "slate", "recommend", "--items", films, "--state", state)
		cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		info, err := os.Stat(state)
		if err != nil || info.Mode().Perm() != want {
			t.Fatalf("%v, %v; want %v", info.Mode(), err, want)
		}
		if err := os.Chmod(state, 0o640); err != nil {
			t.Fatal(err)
		}
	}
}
