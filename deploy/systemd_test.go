package deploy

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed is where the units expect the program.
const installed = "/usr/local/bin/thresher"

// unit returns the command of a unit of the folder systemd.
func unit(t *testing.T, name string) command {
	t.Helper()
	c := command{variables: map[string]string{}}
	for _, line := range strings.Split(read(t, filepath.Join("systemd", name)), "\n") {
		key, value, _ := strings.Cut(line, "=")
		switch key {
		case "Environment":
			variable, text, _ := strings.Cut(value, "=")
			c.variables[variable] = text
		case "ExecStart":
			// What LoadCredential copied is in a folder of the unit's own.
			words := strings.Fields(strings.ReplaceAll(value, "${CREDENTIALS_DIRECTORY}", "/run/credentials"))
			if words[0] != installed {
				t.Errorf("%s starts %s, not %s", name, words[0], installed)
			}
			c.args = words[1:]
		}
	}
	return c
}

// systemd is the server of thresher.service, with the unit that backs it up.
func systemd(t *testing.T) door {
	t.Helper()
	backup := unit(t, "thresher-backup.service")
	return door{serve: unit(t, "thresher.service"), config: "/etc/thresher/thresher.yaml", backup: &backup, secret: "/run/credentials/token"}
}

// TestUnits has systemd verify the units: a setting that it does not know, or a value that it cannot read, is an error.
func TestUnits(t *testing.T) {
	verifier, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing: the units are not verified")
	}
	names, err := filepath.Glob("systemd/thresher*")
	if err != nil || len(names) != 3 {
		t.Fatalf("units: %v, %v", names, err)
	}
	folder := t.TempDir()
	args := []string{"verify", "--man=no"}
	for _, name := range names {
		text := read(t, name)
		args = append(args, filepath.Join(folder, filepath.Base(name)))
		write(t, args[len(args)-1], strings.ReplaceAll(text, installed, program)) // must be there
	}
	if said, err := exec.Command(verifier, args...).CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("systemd-analyze: %v\n%s", err, said)
	}
}
