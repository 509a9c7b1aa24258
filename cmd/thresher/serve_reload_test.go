package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"thresher/internal/cli/clitest"
)

// heard collects the output of a running process.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

// TestServeReloads: SIGHUP makes a process load new tokens and a new certificate; invalid
// ones leave the old ones in use. It never ends the process, even during the start.
func TestServeReloads(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	cert, key := selfSigned(t, dir)
	configured := func(more string, secrets ...string) {
		t.Helper()
		text := "listen: 127.0.0.1:0\nbackend: cpu\ndrain: {lame_duck: 0s}\ntls: {cert: " + cert + ", key: " + key + "}\n" + more
		if len(secrets) > 0 {
			text += "tokens:\n"
		}
		for _, secret := range secrets {
			text += fmt.Sprintf("  - %s:read:%x\n", secret, sha256.Sum256([]byte(secret)))
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configured("", "first")
	cmd, url, said := serveChild(t, "--config="+file, "--data="+filepath.Join(dir, "data"), "--log-level=info")

	var shown []byte // certificate of the last connection
	status := func(secret string) int {
		t.Helper()
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		resp, err := c.Do(request(t, "GET", url+"/v1/collections", nil, "Authorization", "Bearer "+secret))
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		resp.Body.Close()
		shown = resp.TLS.PeerCertificates[0].Raw
		return resp.StatusCode
	}
	hangup := func(until string) {
		t.Helper()
		before := strings.Count(said.String(), until)
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); strings.Count(said.String(), until) == before; runtime.Gosched() {
			if time.Since(began) > soon {
				t.Fatalf("nothing of %q in %s", until, said)
			}
		}
	}
	if a, b := status("first"), status("second"); a != 200 || b != 401 {
		t.Fatalf("before: %d and %d", a, b)
	}
	old := bytes.Clone(shown)

	cert, key = selfSigned(t, dir)
	configured("", "second", "third")
	hangup("reloaded tokens")
	if a, b, c := status("first"), status("second"), status("third"); a != 401 || b != 200 || c != 200 {
		t.Errorf("after: %d, %d and %d", a, b, c)
	}
	if bytes.Equal(old, shown) {
		t.Error("the certificate is the old one")
	}
	kept := bytes.Clone(shown)
	if !strings.Contains(said.String(), `added=second,third removed=first`) {
		t.Errorf("no audit line of the tokens: %s", said)
	}

	const stays = "the old settings stay in use"
	configured("limits: {body: large}\n", "first")
	hangup(stays)
	configured("") // no tokens
	hangup(stays)
	if err := os.WriteFile(key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	configured("", "first")
	hangup(stays)
	for _, why := range []string{"limits.body", "no tokens are set any more", "key " + key} {
		if !strings.Contains(said.String(), why) {
			t.Errorf("the log has no %q: %s", why, said)
		}
	}
	if a, b := status("first"), status("second"); a != 401 || b != 200 || !bytes.Equal(kept, shown) {
		t.Errorf("after what was wrong: %d and %d", a, b)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// serveChild starts thresher serve as a process of its own, which ends with the test at the latest, and
// returns it, the URL that it says it serves, and what it writes to stderr.
func serveChild(t *testing.T, args ...string) (cmd *exec.Cmd, url string, said *heard) {
	t.Helper()
	cmd = exec.Command(os.Args[0], slices.Concat([]string{"serve"}, noHurry(), args)...)
	cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1")
	said = &heard{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // only if the test has failed
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%q %v: %s", line, err, said)
	}
	return cmd, strings.TrimSuffix(strings.Fields(line)[2], ","), said
}
