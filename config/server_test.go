package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// token returns a setting's item for a secret.
func token(name, scope, secret string) string {
	return fmt.Sprintf("%s:%s:%x", name, scope, sha256.Sum256([]byte(secret)))
}

func TestServerFromEveryFormat(t *testing.T) {
	a, b, m := token("ci", "write", "one"), token("eyes", "read", "two"), token("prom", "metrics", "three")
	files := map[string]string{
		"c.yaml": "listen: 0.0.0.0:80\nroots: [/a, /b]\ntokens:\n  - " + a + "\n  - " + b + "\n  - " + m + "\ninsecure: true\nlimits:\n  body: 1.5GiB\n  k: 7\ncors:\n  origins: ['https://a.example']\ndrain:\n  timeout: 1m30s\n",
		"c.toml": "listen = \"0.0.0.0:80\"\nroots = [\"/a\", \"/b\"]\ntokens = [\"" + a + "\", \"" + b + "\", \"" + m + "\"]\ninsecure = true\n[limits]\nbody = \"1.5GiB\"\nk = 7\n[cors]\norigins = \"https://a.example\"\n[drain]\ntimeout = \"90s\"\n",
		"c.json": `{"listen":"0.0.0.0:80","roots":"/a, /b","tokens":["` + a + `","` + b + `","` + m + `"],"insecure":true,"limits":{"body":1610612736,"k":7},"cors":{"origins":["https://a.example"]},"drain":{"timeout":"1.5m"}}`,
	}
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			unset(t)
			c, err := Load(Sources{File: write(t, name, content)})
			if err != nil {
				t.Fatal(err)
			}
			s := c.Server
			want := []Token{{"ci", Write, sha256.Sum256([]byte("one"))}, {"eyes", Read, sha256.Sum256([]byte("two"))}, {"prom", Metrics, sha256.Sum256([]byte("three"))}}
			if d := cmp.Diff(want, s.Tokens); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]string{"/a", "/b"}, s.Roots); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]string{"https://a.example"}, s.Origins); d != "" {
				t.Error(d)
			}
			if s.Listen != "0.0.0.0:80" || !s.Insecure || s.MaxBody != 3<<29 || s.MaxK != 7 || s.DrainTimeout != 90*time.Second {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestTokensStaySecret: neither an error nor the list of settings repeats what may be a token
// put in place of its hash.
func TestTokensStaySecret(t *testing.T) {
	for _, value := range []string{"hunter2", "ci:write:hunter2", "ci:hunter2", "ci:hunter2:" + strings.Repeat("00", 32), "ci:write:hunter2:x", ":read:hunter2"} {
		unset(t)
		t.Setenv("THRESHER_TOKENS", value)
		_, err := Load(Sources{})
		if err == nil || !strings.HasPrefix(err.Error(), "tokens: ") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", value, err)
		}
	}
	unset(t)
	t.Setenv("THRESHER_TOKENS", token("ci", "write", "x"))
	c, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range c.Values() {
		if v.Key == "tokens" && v.Value != "ci:write" {
			t.Errorf("shown as %v", v.Value)
		}
	}
}

func TestBadServerValues(t *testing.T) {
	for key, values := range map[string][]string{
		"listen":          {"8080", "localhost", "::1:80"},
		"tokens":          {token("a", "read", "x") + "," + token("a", "write", "y"), token("a", "admin", "x"), token("a", "write", "")},
		"cors.origins":    {"example.org", "https://a.example/", "https://a.example/x", "https://u@a.example"},
		"insecure":        {"yes", "1", "TRUE"},
		"limits.body":     {"-1", "12", "64Mib", "1e9", "MiB", "9999999TiB", "16777217TiB", "99999999999999999999", "1.2.3", "64 MB x"},
		"limits.k":        {"0", "1.5", "ten"},
		"coalesce.window": {"2", "-1ms", "fast"},
		"timeouts.header": {"0s"},
		"collection":      {"a", "a=x.thresher,a=y.thresher", "a=s3://b/x.thresher@0123abc", "a=x.thresher@0123456789ABCDEF", "a=x.thresher@"},
	} {
		for _, value := range values {
			t.Run(key+"="+value, func(t *testing.T) {
				unset(t)
				t.Setenv(envPrefix+strings.ToUpper(strings.ReplaceAll(key, ".", "_")), value)
				_, err := Load(Sources{})
				if err == nil || !strings.HasPrefix(err.Error(), key+": ") {
					t.Errorf("error %v, want one that begins with the key", err)
				}
			})
		}
	}
	for _, content := range []string{"roots: [1]\n", "roots: ['/a,/b']\n", "roots:\n  a: b\n", "insecure: [true]\n", "limits:\n  body: true\n"} {
		unset(t)
		if _, err := Load(Sources{File: write(t, "c.yaml", content)}); err == nil {
			t.Errorf("accepted %q", content)
		}
	}
}

func TestSizesAndBack(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1023": 1023, "1KiB": 1024, "1.5 KiB": 1536, "64MiB": 64 << 20, "2GB": 2e9, "1kB": 1000, "7B": 7, "3TiB": 3 << 40} {
		got, err := parseBytes(text)
		if err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
		back, err := parseBytes(bytesText(got))
		if err != nil || back != want {
			t.Errorf("%s is written %s, which is %d (%v)", text, bytesText(got), back, err)
		}
	}
}

func TestCheckServer(t *testing.T) {
	secure := token("a", "read", "x")
	for _, c := range []struct {
		env  map[string]string
		keys string // of the problems
	}{
		{nil, ""},
		{map[string]string{"LISTEN": "[::1]:80"}, ""},
		{map[string]string{"LISTEN": "localhost:80"}, ""},
		{map[string]string{"LISTEN": ":80"}, "listen"},
		{map[string]string{"LISTEN": "0.0.0.0:80"}, "listen"},
		{map[string]string{"LISTEN": "example.org:80"}, "listen"},
		{map[string]string{"LISTEN": ":80", "INSECURE": "true"}, ""},
		{map[string]string{"LISTEN": ":80", "TOKENS": secure}, ""},
		{map[string]string{"TLS_CERT": "c.pem"}, "tls.cert"},
		{map[string]string{"TLS_KEY": "k.pem", "LISTEN": ":80", "LIMITS_BODIES": "1MiB"}, "listen tls.key limits.bodies"},
	} {
		unset(t)
		for name, value := range c.env {
			t.Setenv(envPrefix+name, value)
		}
		loaded, err := Load(Sources{})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		var invalid *InvalidError
		if errors.As(loaded.CheckServer(), &invalid) {
			for _, p := range invalid.Problems {
				keys = append(keys, p.Key)
			}
		}
		if got := strings.Join(keys, " "); got != c.keys {
			t.Errorf("%v: problems with %q, want %q", c.env, got, c.keys)
		}
	}
}

// TestServerFlags: every setting is a flag, and boolean ones need no value.
func TestServerFlags(t *testing.T) {
	unset(t)
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	if err := AddFlags(fs, ServerKeys()...); err != nil {
		t.Fatal(err)
	}
	if err := fs.Parse([]string{"--insecure", "--limits-memory", "2GiB", "--coalesce-window=0", "--roots=/a,/b", "--limits-slate-items=7"}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{Flags: fs})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Server; !s.Insecure || s.MaxMemory != 2<<30 || s.CoalesceWindow != 0 || len(s.Roots) != 2 || s.MaxSlateItems != 7 {
		t.Errorf("%+v", s)
	}
}

// TestSettingsAreDocumented: the table of docs/operations.md has every setting with its
// default.
func TestSettingsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range serverSettings() {
		found := false
		for line := range strings.Lines(string(text)) {
			found = found || strings.HasPrefix(line, "|") && strings.Contains(line, "`"+s.key+"`") && strings.Contains(line, s.def)
		}
		if !found {
			t.Errorf("no line of %s with %q", s.key, s.def)
		}
	}
}

// A flag of collections that is given again adds to what was given before, and versions are told from URLs.
func TestReplicas(t *testing.T) {
	unset(t)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	if err := AddFlags(flags, "collection", "read_only"); err != nil {
		t.Fatal(err)
	}
	if err := flags.Parse([]string{"--read-only", "--collection=a=s3://b/a.thresher@0123456789abcdef", "--collection", "b=/srv/b@home.thresher,c=https://x.org/c.thresher?k=v"}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	want := []Replica{{"a", "s3://b/a.thresher", "0123456789abcdef"}, {"b", "/srv/b@home.thresher", ""}, {"c", "https://x.org/c.thresher?k=v", ""}}
	if d := cmp.Diff(want, c.Server.Replicas); d != "" {
		t.Error(d)
	}
	if err := c.CheckServer(); err != nil {
		t.Error(err)
	}
}
