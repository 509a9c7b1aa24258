package service

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// auditLine is a line of the log about a change.
type auditLine struct {
	Time, Msg, Action, Object, Token, From, Remote, Outcome, ID, Error string
	Added, Removed, Changed                                            string
	Status                                                             int
}

// audits returns the audit lines of the log.
func (s *site) audits() (all []auditLine) {
	s.t.Helper()
	for line := range strings.Lines(s.log.String()) {
		var a auditLine
		if !strings.Contains(line, `"msg":"audit"`) {
			continue
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		all = append(all, a)
	}
	return all
}

// TestEveryChangeIsAudited sends each kind of token to every operation of openapi.yaml that does
// not read only, and finds a line for each, with who, what, when, which, from where and the
// outcome; reading has none.
func TestEveryChangeIsAudited(t *testing.T) {
	s := start(t, guarded)
	docs, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	reading := []string{"/search", "/recall", "/certify", "/pursuit", "/infer", "/index"}
	want := map[string]auditLine{} // by the request's id
	for pattern, item := range described(t).Tree["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if method == "parameters" {
				continue
			}
			method = strings.ToUpper(method)
			name := method + " " + pattern
			changes := method != "GET" && !slices.ContainsFunc(reading, func(end string) bool { return strings.HasSuffix(pattern, end) })
			ofTests := strings.HasPrefix(pattern, "/v1/notes") || strings.HasSuffix(pattern, "/tally") // of the extensions that tests make
			if changes && !ofTests && !strings.Contains(string(docs), "`"+name+"`") {
				t.Errorf("docs/operations.md does not list %s among the audited changes", name)
			}
			path := strings.NewReplacer("{name}", "none", "{id}", "none", "{kind}", "internal", "{version}", "1", "{file}", "none").Replace(pattern)
			object := ""
			if strings.Contains(pattern, "{") {
				object = "none"
			}
			for secret, token := range map[string]string{"": "", "wrong": "", "r-secret": "reader", "w-secret": "writer"} {
				s.token = secret
				a := s.do(method, path, map[string]any{})
				if !changes {
					continue
				}
				outcome := outcomeRefused
				if a.status < 400 {
					outcome = outcomeDone
				}
				id := a.header.Get("X-Request-Id")
				want[id] = auditLine{ID: id, Msg: audited, Action: name, Object: object, Token: token, From: "127.0.0.1", Outcome: outcome, Status: a.status}
			}
		}
	}
	s.stopAll()
	if len(want) < 4*14 {
		t.Errorf("%d requests to change something", len(want))
	}
	for _, l := range s.audits() {
		w, ok := want[l.ID]
		if !ok {
			t.Errorf("there is no such request, or it changes nothing, or it has two lines: %+v", l)
			continue
		}
		delete(want, l.ID)
		if l.Time == "" || l.Remote == "" || (l.Error == "") != (l.Status < 400) {
			t.Errorf("%+v", l)
		}
		if l.Time, l.Remote, l.Error = "", "", ""; l != w {
			t.Errorf("%+v\nwant %+v", l, w)
		}
	}
	for _, w := range want {
		t.Errorf("no line of %+v", w)
	}
	if strings.Contains(s.log.String(), "secret") {
		t.Error("the log has secrets")
	}
}

// TestAuditNamesWhatWasMade: lines of requests that made something have its id, and those of
// requests whose end their client did not see say that it is unknown.
func TestAuditNamesWhatWasMade(t *testing.T) {
	s := start(t, guarded)
	s.token = "w-secret"
	made := s.write("x")
	s.do("DELETE", "/v1/notes/"+made, nil).want(200)
	ctx, leave := context.WithCancel(t.Context())
	body, sent := io.Pipe()
	r, err := http.NewRequestWithContext(ctx, "PUT", s.url+"/v1/collections/films?metric=ip", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer w-secret")
	r.Header.Set("Content-Type", npyType)
	over := make(chan error)
	go func() {
		_, err := s.client.Do(r)
		over <- err
	}()
	if _, err := sent.Write(npy(gaussian(1, 100*dim), dim)[:200]); err != nil {
		t.Fatal(err)
	}
	s.attended(1)
	leave()
	sent.CloseWithError(context.Canceled) // which the client waits for
	if err := <-over; err == nil {
		t.Error("the client did not leave")
	}
	s.attended(0)
	s.stopAll()
	all := s.audits()
	if len(all) != 3 || all[0].Object != made || all[0].Outcome != outcomeDone || all[1].Object != made || all[2].Object != "films" || all[2].Outcome == outcomeDone {
		t.Errorf("%+v", all)
	}
}

// TestAuditOfTokens: a reload that changes tokens has a line that names them, one that does not
// has none; the line has neither secrets nor hashes.
func TestAuditOfTokens(t *testing.T) {
	s := start(t, guarded)
	var o Options
	guarded(&o)
	if err := s.SetTokens(o.Tokens); err != nil {
		t.Fatal(err)
	}
	next := []Token{o.Tokens[0], o.Tokens[3], {Name: "writer", Hash: o.Tokens[1].Hash}, {Name: "new", Hash: sha256.Sum256([]byte("n-secret"))}}
	if err := s.SetTokens(next); err != nil {
		t.Fatal(err)
	}
	all := s.audits()
	if len(all) != 1 || all[0].Added != "new" || all[0].Removed != "another" || all[0].Changed != "writer" {
		t.Errorf("%+v", all)
	}
}

// TestAuditDespiteTheLevel: with tokens audit lines do not depend on the level of the log.
func TestAuditDespiteTheLevel(t *testing.T) {
	var audit logged
	quiet := func(o *Options) {
		o.Log = slog.New(slog.DiscardHandler)
		o.Audit = slog.New(slog.NewJSONHandler(&audit, nil))
	}
	s := start(t, quiet)
	s.do("DELETE", "/v1/collections/none", nil).want(404)
	s.stopAll()
	if text := audit.String(); text != "" {
		t.Errorf("without tokens: %s", text)
	}
	s = start(t, func(o *Options) { guarded(o); quiet(o) })
	s.do("DELETE", "/v1/collections/none", nil, bearer("w-secret")...).want(404)
	s.stopAll()
	if text := audit.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"token":"writer"`) {
		t.Errorf("with tokens: %s", text)
	}
}
