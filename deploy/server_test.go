// Package deploy tests what installs and watches a server: its files are decoded strictly, and what they start is started.
package deploy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// token may write, and is in the configuration of the servers that tests start.
const token = "a-token-of-the-tests"

// patience is how long a server may take to begin or to end on a busy machine.
const patience = 10 * time.Minute

// program is the path of thresher: what THRESHER_BINARY names, or what TestMain builds.
var program = os.Getenv("THRESHER_BINARY")

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// run builds the program, if there is none, and runs the tests.
func run(m *testing.M) (code int, err error) {
	if program != "" {
		return m.Run(), nil
	}
	folder, err := os.MkdirTemp("", "deploy")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "thresher")
	build := exec.Command("go", "build", "-C", "..", "-buildvcs=false", "-o", program, "./cmd/thresher")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("building thresher: %w", err)
	}
	return m.Run(), nil
}

// A command is how a file of this folder starts the program: arguments, and the only variables.
type command struct {
	args      []string
	variables map[string]string
}

// with returns the command with more variables, which replace its own.
func (c command) with(more map[string]string) command {
	all := maps.Clone(c.variables)
	maps.Copy(all, more)
	return command{c.args, all}
}

// in returns the command to be run by tests: what it reads and writes at absolute paths is below root, and variables
// make it independent of this machine.
func (c command) in(ctx context.Context, root string) *exec.Cmd {
	below := func(value string) string {
		if strings.HasPrefix(value, "/") {
			return filepath.Join(root, value)
		}
		return value
	}
	cmd := exec.CommandContext(ctx, program)
	for _, a := range c.args {
		cmd.Args = append(cmd.Args, below(a))
	}
	cmd.Env = []string{"THRESHER_COSTS=builtin", "THRESHER_BACKEND=cpu"}
	for name, value := range c.variables {
		cmd.Env = append(cmd.Env, name+"="+below(value))
	}
	cmd.Dir = root
	return cmd
}

// configure writes thresher.yaml of this folder to a path below root, with the token or as it is.
func configure(t *testing.T, root, path string, withToken bool) {
	t.Helper()
	text := read(t, "thresher.yaml")
	if withToken {
		const none = "tokens: []"
		if !strings.Contains(text, none) {
			t.Fatalf("thresher.yaml has no line %q", none)
		}
		text = strings.Replace(text, none, fmt.Sprintf("tokens: ['ann:write:%x']", sha256.Sum256([]byte(token))), 1)
	}
	write(t, filepath.Join(root, path), text)
}

// write writes a file and the folders around it.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read returns the text of a file of this folder.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// outside returns an address of this machine by which others reach it, or that of loopback if there is no other.
func outside(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if network, ok := a.(*net.IPNet); ok && !network.IP.IsLoopback() && network.IP.To4() != nil {
			return network.IP.String()
		}
	}
	return "127.0.0.1"
}

// refused checks that serve ends at once where no token is configured.
func refused(t *testing.T, serve command, config string) {
	t.Helper()
	root := t.TempDir()
	configure(t, root, config, false)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	said, err := serve.in(ctx, root).CombinedOutput()
	if err == nil || !bytes.Contains(said, []byte("no tokens are set")) {
		t.Errorf("%v without a token ends with %v and says %q", serve.args, err, said)
	}
}

// served starts serve below root, with a token, and returns the URL of the server as others see it. The server is
// ended by SIGTERM at the end of the test, and must end by itself then.
func served(t *testing.T, serve command, root, config string) string {
	t.Helper()
	configure(t, root, config, true)
	cmd := serve.in(context.WithoutCancel(t.Context()), root) // it is ended after the test
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v ended with %v and said %s", serve.args, err, &log)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at := regexp.MustCompile(`http://\S+:(\d+)`).FindStringSubmatch(lines.Text()); at != nil {
			t.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM) })
			return "http://" + net.JoinHostPort(outside(t), at[1])
		}
	}
	t.Fatalf("%v does not say where it serves, but %s", serve.args, &log)
	return ""
}

// status returns the status of a GET with a token, or with none.
func status(t *testing.T, url, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// A door is a way to start a server, and to ask it for a backup, if it has one.
type door struct {
	serve  command
	config string // the configuration's path
	backup *command
	secret string // the path of the token by which the backup is asked for
}

// TestServersNeedATokenAndAreReached starts each server as its file does, with a port that is free here.
func TestServersNeedATokenAndAreReached(t *testing.T) {
	for name, d := range map[string]door{"image": image(t), "compose": compose(t), "kubernetes": kubernetes(t), "systemd": systemd(t)} {
		t.Run(name, func(t *testing.T) {
			if _, port, err := net.SplitHostPort(d.serve.variables["THRESHER_LISTEN"]); err != nil || port != "8080" {
				t.Errorf("it listens on %q, whose port is not 8080", d.serve.variables["THRESHER_LISTEN"])
			}
			serve := d.serve.with(map[string]string{"THRESHER_LISTEN": strings.Replace(d.serve.variables["THRESHER_LISTEN"], ":8080", ":0", 1)})
			refused(t, serve, d.config)

			root := t.TempDir()
			url := served(t, serve, root, d.config)
			for path, want := range map[string][3]int{
				"/healthz":        {200, 200, 200}, // of probes, without a token
				"/v1/collections": {401, 401, 200},
				"/metrics":        {401, 401, 200},
			} {
				for i, token := range []string{"", "wrong", token} {
					if got := status(t, url+path, token); got != want[i] {
						t.Errorf("%s with token %q: status %d, want %d", path, token, got, want[i])
					}
				}
			}
			if d.backup != nil {
				write(t, filepath.Join(root, d.secret), token+"\n")
				backedUp(t, *d.backup, root, url)
			}
		})
	}
}

// backedUp asks a server for a backup as its file does, and checks that there is one.
func backedUp(t *testing.T, c command, root, url string) {
	t.Helper()
	for i, a := range c.args {
		if strings.HasPrefix(a, "http://") {
			c.args[i] = url
		}
	}
	if _, ok := c.variables["THRESHER_SERVER"]; ok {
		c = c.with(map[string]string{"THRESHER_SERVER": url})
	}
	if said, err := c.in(t.Context(), root).CombinedOutput(); err != nil {
		t.Fatalf("%v ended with %v and said %s", c.args, err, said)
	}
	var found int
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == "backup.json" {
			found++
		}
		return err
	})
	if err != nil || found != 1 {
		t.Errorf("%d backups after one was asked for: %v", found, err)
	}
}
