package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/service/api"
)

// soon bounds the time that tests wait for an expected event.
const soon = 5 * time.Minute

// noHurry are arguments of servers with which no limit of time strikes on a machine that is slow or stands still for a while.
func noHurry() []string {
	return []string{"--timeouts-header=1h", "--timeouts-body=1h", "--timeouts-idle=1h", "--timeouts-search=1h", "--drain-timeout=1h"}
}

// served is a server run by the command.
type served struct {
	url  string
	out  *bufio.Reader         // output after its first line
	stop func() clitest.Result // stops the server by a signal
}

// serve runs the command until its first line of output; more is added to its arguments.
func serve(t *testing.T, dir string, more ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	var errs bytes.Buffer
	done := make(chan int, 1)
	args := slices.Concat([]string{"serve", "--listen=127.0.0.1:0", "--data=" + dir, "--backend=cpu", "--drain-lame-duck=0"}, noHurry(), more)
	go func() {
		code := run(ctx, args, strings.NewReader(""), w, &errs)
		w.Close()
		done <- code
	}()
	s := &served{out: bufio.NewReader(r)}
	var last *clitest.Result
	s.stop = func() clitest.Result {
		if last == nil {
			cancel()
			rest, _ := io.ReadAll(s.out)
			last = &clitest.Result{Code: <-done, Out: string(rest), Err: errs.String()}
		}
		return *last
	}
	t.Cleanup(func() { s.stop() })
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatalf("no line: %v: %s", err, s.stop().Err)
	}
	fields := strings.Fields(line)
	if len(fields) != 6 || fields[1] != "serves" || !strings.HasSuffix(strings.TrimSpace(line), "data in "+dir) {
		t.Fatalf("first line %q", line)
	}
	s.url = strings.TrimSuffix(fields[2], ",")
	return s
}

// whenReady returns what /readyz answers once the server is ready.
func whenReady(ctx context.Context, url string) (ready api.Readiness, err error) {
	c := &http.Client{}
	defer c.CloseIdleConnections()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
		if err != nil {
			return ready, err
		}
		resp, err := c.Do(req)
		if err != nil {
			return ready, err
		}
		said, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return ready, err
		}
		if resp.StatusCode == http.StatusOK {
			return ready, json.Unmarshal(said, &ready)
		}
		runtime.Gosched()
	}
}

// ready waits until the server has loaded its collections.
func (s *served) ready(t *testing.T) {
	t.Helper()
	if _, err := whenReady(t.Context(), s.url); err != nil {
		t.Fatal(err)
	}
}

// okBody returns the body of an answer of status 200.
func okBody(t *testing.T, c *http.Client, req *http.Request) []byte {
	t.Helper()
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v %.300s", req.Method, req.URL, resp.Status, err, b)
	}
	return b
}

func request(t *testing.T, method, url string, body []byte, h ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(h); i += 2 {
		req.Header.Set(h[i], h[i+1])
	}
	return req
}

// TestServeDemo follows the printed instructions: it reads a row and uses it as a query.
func TestServeDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the demo's vectors; package service's tests wait for a collection under the race detector")
	}
	dir := t.TempDir()
	s := serve(t, dir, "--demo")
	c := &http.Client{}
	// What says that it serves has the collection.
	okBody(t, c, request(t, "GET", s.url+"/readyz", nil))
	if info := okBody(t, c, request(t, "GET", s.url+"/v1/collections/demo", nil)); !bytes.Contains(info, []byte(`"state":"ready"`)) {
		t.Errorf("ready with %s", info)
	}
	about, err := s.out.ReadString('\n')
	if err != nil || !strings.Contains(about, "collection demo") {
		t.Fatalf("%q %v", about, err)
	}
	var urls, media []string
	body := ""
	for range 5 {
		line, err := s.out.ReadString('\n')
		if err != nil || !strings.Contains(line, "curl -s ") && !strings.HasSuffix(line, "?\n") {
			t.Fatalf("%q %v", line, err)
		}
		if _, rest, ok := strings.Cut(line, "-d '"); ok {
			body, _, _ = strings.Cut(rest, "'")
		}
		for _, f := range strings.Fields(line) {
			if f = strings.Trim(f, "'|"); strings.HasPrefix(f, "http://") {
				urls = append(urls, f)
			}
			if strings.HasPrefix(f, "application/") {
				media = append(media, f)
			}
		}
	}
	if len(urls) != 3 || len(media) != 3 {
		t.Fatalf("%v %v", urls, media)
	}
	found := func(answer []byte) []string {
		t.Helper()
		var a struct{ Results []struct{ IDs []string } }
		if err := json.Unmarshal(answer, &a); err != nil || len(a.Results) != 1 {
			t.Fatalf("%s: %v", answer, err)
		}
		return a.Results[0].IDs
	}
	inWords := found(okBody(t, c, request(t, "POST", urls[0], []byte(body), "Content-Type", media[0])))
	if len(inWords) != 5 || !slices.Contains(inWords, "encoding/json.Decoder") && !slices.Contains(inWords, "json.Decoder") {
		t.Errorf("%s finds %v", body, inWords)
	}
	words := urls[0]
	urls, media = urls[1:], media[1:]
	row := okBody(t, c, request(t, "GET", urls[0], nil, "Accept", media[0]))
	var answer struct {
		Results []struct {
			IDs    []string
			Scores []float32
		}
	}
	if err := json.Unmarshal(okBody(t, c, request(t, "POST", urls[1], row, "Content-Type", media[1])), &answer); err != nil {
		t.Fatal(err)
	}
	if r := answer.Results[0]; len(r.IDs) != 5 || r.IDs[0] != "bufio.Scanner" || r.Scores[0] < .99 {
		t.Errorf("%+v", r)
	}
	var version struct {
		Version buildInfo
		Backend string
	}
	if err := json.Unmarshal(okBody(t, c, request(t, "GET", s.url+"/v1/version", nil)), &version); err != nil || version.Backend != "cpu" || version.Version.Go == "" {
		t.Errorf("%+v %v", version, err)
	}
	if text := okBody(t, c, request(t, "GET", s.url+"/metrics", nil)); !bytes.Contains(text, []byte("go_goroutines ")) || !bytes.Contains(text, []byte(`thresher_backend_info{backend="cpu"`)) {
		t.Error("metrics lack what they should have")
	}
	// While it runs no other process can open the folder; afterwards everything is there.
	thresher(t, "serve", "--listen=127.0.0.1:0", "--data="+dir).WantError(t, filepath.Join(dir, "meta.db")+" is in use by another server")
	s.stop().WantCode(t, cli.ExitOK)

	s = serve(t, dir)
	if got := okBody(t, c, request(t, "GET", s.url+"/v1/collections/demo", nil)); !bytes.Contains(got, []byte(`"name":"demo"`)) || bytes.Contains(got, []byte(`"texts"`)) {
		t.Errorf("%s", got)
	}
	s.stop().WantCode(t, cli.ExitOK)

	// A restart with --demo accepts texts again, for the existing collection.
	s = serve(t, dir, "--demo")
	if line, err := s.out.ReadString('\n'); err != nil || !strings.Contains(line, "collection demo") {
		t.Fatalf("%q %v", line, err)
	}
	again := found(okBody(t, c, request(t, "POST", s.url+words[strings.Index(words, "/v1/"):], []byte(body), "Content-Type", "application/json")))
	if d := cmp.Diff(inWords, again); d != "" {
		t.Error(d)
	}
	s.stop().WantCode(t, cli.ExitOK)
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := clitest.WriteFile(t, dir, "file", []byte("x"))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"every address":         {[]string{"--listen=:0"}, "no tokens are set"},
		"another address":       {[]string{"--listen=192.0.2.1:80"}, "no tokens are set"},
		"address":               {[]string{"--listen=8080"}, "is not host:port"},
		"taken address":         {[]string{"--listen=" + taken.Addr().String()}, "address already in use"},
		"token":                 {[]string{"--tokens=secret"}, "tokens: item 0"},
		"half of TLS":           {[]string{"--tls-cert=c.pem"}, "tls.cert: given without tls.key (flag --tls-cert)"},
		"no certificate":        {[]string{"--tls-cert=" + file, "--tls-key=" + file}, "certificate " + file},
		"folder that is a file": {[]string{"--data=" + file}, file},
		"size":                  {[]string{"--limits-body=big"}, "limits.body"},
		"argument":              {[]string{"now"}, `serve: unexpected argument "now"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := thresher(t, append([]string{"serve", "--data=" + filepath.Join(dir, "data"), "--backend=cpu"}, c.args...)...)
			r.WantCode(t, cli.ExitInput)
			if !strings.Contains(r.Err, c.want) || strings.Contains(r.Err, "secret") || r.Out != "" {
				t.Errorf("stdout %q, stderr %q; want %q", r.Out, r.Err, c.want)
			}
		})
	}
}

// TestServeWithTLSAndToken configures the hash of a token and sends the token over TLS.
func TestServeWithTLSAndToken(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir)
	hash := fmt.Sprintf("ci:read:%x", sha256.Sum256([]byte("secret")))
	s := serve(t, filepath.Join(dir, "data"), "--tls-cert="+cert, "--tls-key="+key, "--tokens="+hash)
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatal(s.url)
	}
	text := clitest.ReadFile(t, cert)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer c.CloseIdleConnections()
	okBody(t, c, request(t, "GET", s.url+"/v1/collections", nil, "Authorization", "Bearer secret"))
	resp, err := c.Get(s.url + "/v1/collections")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized || resp.ProtoMajor != 2 {
		t.Errorf("without a token: %s by %s", resp.Status, resp.Proto)
	}
	s.stop().WantCode(t, cli.ExitOK)
}

// selfSigned writes a certificate for 127.0.0.1 and its key.
func selfSigned(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert = clitest.WriteFile(t, dir, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	key = clitest.WriteFile(t, dir, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	return cert, key
}

// TestServeEndsBySignal: SIGTERM ends a process with code 0, and the next one can open its
// folder.
func TestServeEndsBySignal(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "serve", "--listen=127.0.0.1:0", "--data="+dir, "--backend=cpu")
	cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "serves http://127.0.0.1:") {
		t.Errorf("%q %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, errs.String())
	}
	serve(t, dir).stop().WantCode(t, cli.ExitOK)
}

func TestReachable(t *testing.T) {
	for addr, want := range map[string]string{"0.0.0.0:80": "localhost:80", "[::]:80": "localhost:80", "127.0.0.1:81": "127.0.0.1:81", "[::1]:82": "[::1]:82"} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(a); got != want {
			t.Errorf("%s is reached at %s, want %s", addr, got, want)
		}
	}
}
