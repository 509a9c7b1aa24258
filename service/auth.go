package service

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"thresher/service/problem"
)

// scope is the permission that a request needs.
type scope uint8

const (
	open  scope = iota // no token
	read               // any token
	write              // a token that may write
)

// permit checks a request's token against the needed scope and stores its name in the
// exchange. If the server has no tokens, everything is permitted.
func (s *Server) permit(x *exchange, w http.ResponseWriter, r *http.Request, need scope) error {
	x.writes = len(s.tokens()) == 0
	if x.writes {
		return nil
	}
	kind, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	var found *Token
	if secret = strings.TrimSpace(secret); secret != "" && strings.EqualFold(kind, "Bearer") {
		found = s.tokenOf(secret)
	}
	if found != nil {
		x.who, x.writes = found.Name, found.Write
	}
	switch {
	case need == open:
		return nil
	case found == nil:
		challenge(w)
		return problem.New(problem.Unauthorized, "send the header Authorization: Bearer and a token").In("Authorization")
	case need == write && !found.Write:
		return problem.New(problem.Forbidden, "token %s may read only", found.Name).In("Authorization")
	}
	return nil
}

// challenge tells the client how to send a token (RFC 6750, section 3).
func challenge(w http.ResponseWriter) { w.Header().Set("WWW-Authenticate", `Bearer realm="thresher"`) }

// askForToken returns p, unless p forbids something to a request without a token on a server
// that has tokens: then the answer asks for a token and reveals nothing else.
func (s *Server) askForToken(w http.ResponseWriter, r *http.Request, p *problem.Problem) *problem.Problem {
	if p.Kind != problem.Forbidden || len(s.tokens()) == 0 || r.Header.Get("Authorization") != "" {
		return p
	}
	challenge(w)
	return problem.New(problem.Unauthorized, "%s; send the header Authorization: Bearer and a token", p.Detail).In("Authorization").Because(p)
}

// tokens returns the valid tokens; the slice must not be modified.
func (s *Server) tokens() []Token { return *s.allowed.Load() }

// SetTokens replaces the valid tokens. It fails if none would be left: only a server that is
// started without tokens may be open to everybody.
func (s *Server) SetTokens(tokens []Token) error {
	if len(tokens) == 0 && len(s.tokens()) > 0 {
		return errors.New("no tokens are set any more: serving without tokens needs a restart")
	}
	tokens = slices.Clone(tokens)
	s.allowed.Store(&tokens)
	return nil
}

// tokenOf returns the token of a secret, nil if there is none. It compares all hashes, in
// constant time.
func (s *Server) tokenOf(secret string) *Token {
	sum := sha256.Sum256([]byte(secret))
	var found *Token
	all := s.tokens()
	for i := range all {
		if subtle.ConstantTimeCompare(sum[:], all[i].Hash[:]) == 1 {
			found = &all[i]
		}
	}
	return found
}

// checkHost refuses host names under which a web page could reach this server through a
// browser (DNS rebinding); browsers always send a host. Tokens make the check unnecessary:
// pages do not have them.
func (s *Server) checkHost(r *http.Request) error {
	if s.o.AnyHost || len(s.tokens()) > 0 {
		return nil
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(strings.Trim(host, "[]")) != nil {
		return nil
	}
	return problem.New(problem.Forbidden, "without tokens the server accepts requests for IP addresses and localhost only, not for %q; set tokens, or insecure", host).In("Host")
}

// crossOrigin says whether a browser may make this request, and answers preflight requests;
// done reports that the request is answered.
func (s *Server) crossOrigin(w http.ResponseWriter, r *http.Request) (done bool, err error) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false, s.crossSite.Check(r)
	}
	allowed := slices.Contains(s.o.Origins, origin) || slices.Contains(s.o.Origins, "*")
	if !allowed {
		return false, s.crossSite.Check(r)
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, Location, ETag, Retry-After, Inference-Header-Content-Length")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false, nil
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Idempotency-Key, Prefer, Range, If-Match, If-None-Match, X-Request-Id, Traceparent, Content-Encoding, Inference-Header-Content-Length")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true, nil
}

// mayWrite reports whether the client of ctx may write. It is false for work that does not
// come from an HTTP request.
func (s *Server) mayWrite(ctx context.Context) bool {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	return len(s.tokens()) == 0 || ok && x.writes
}
