package service

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
)

// audited is the message of the line that the log gets for each request to change something,
// whether or not it was permitted, and for each change of the tokens.
const audited = "audit"

// The outcomes of a request to change something.
const (
	outcomeDone    = "done"
	outcomeRefused = "refused" // and nothing has changed
	// outcomeUnknown is that of a request which failed, or whose client left or token was removed,
	// before it was answered: it may have been applied.
	outcomeUnknown = "unknown"
)

// auditor returns the log of audit lines. With tokens, which say who did what, it does not
// depend on the log's level.
func (s *Server) auditor() *slog.Logger {
	if len(s.tokens()) > 0 && s.o.Audit != nil {
		return s.o.Audit
	}
	return s.o.Log
}

// audit writes the line of a finished request, if it was one to change something.
func (s *Server) audit(x *exchange, r *http.Request, w *writer) {
	if !x.changes {
		return
	}
	outcome := outcomeDone
	switch {
	case x.revoked.Load() && x.err != nil, w.status == 0, w.status == gone, w.status >= http.StatusInternalServerError:
		outcome = outcomeUnknown
	case w.status >= http.StatusBadRequest:
		outcome = outcomeRefused
	}
	object := x.object
	if at := w.Header().Get("Location"); outcome == outcomeDone && at != "" {
		object = path.Base(at) // what was made
	}
	attrs := []slog.Attr{
		slog.String("action", r.Method+" "+x.route), slog.String("object", object), slog.String("token", x.who),
		slog.String("from", s.addressOf(r)), slog.String("remote", r.RemoteAddr),
		slog.String("outcome", outcome), slog.Int("status", w.status), slog.String("id", x.id),
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", cause(x.err)))
	}
	s.auditor().LogAttrs(context.WithoutCancel(r.Context()), slog.LevelInfo, audited, attrs...)
}

// objectOf names what a request is about: a collection by its name, anything else by its id; ""
// if it does not exist yet.
func objectOf(r *http.Request) string {
	if name := r.PathValue("name"); name != "" {
		return name
	}
	return r.PathValue("id")
}

// auditTokens writes the line of a change of the tokens, if there is any. It names tokens and
// neither secrets nor hashes.
func (s *Server) auditTokens(before, after []Token) {
	named := func(all []Token, name string) *Token {
		if i := slices.IndexFunc(all, func(t Token) bool { return t.Name == name }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	var added, removed, changed []string
	for _, t := range after {
		switch b := named(before, t.Name); {
		case b == nil:
			added = append(added, t.Name)
		case *b != t:
			changed = append(changed, t.Name)
		}
	}
	for _, t := range before {
		if named(after, t.Name) == nil {
			removed = append(removed, t.Name)
		}
	}
	if len(added)+len(removed)+len(changed) == 0 {
		return
	}
	s.auditor().Info(audited, "action", "change of tokens", "object", "tokens", "token", "", "from", "the operator",
		"added", strings.Join(added, ","), "removed", strings.Join(removed, ","), "changed", strings.Join(changed, ","), "outcome", outcomeDone)
}
