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
	"time"

	"thresher/service/problem"
)

// scope is the permission that a request needs.
type scope uint8

const (
	open         scope = iota // no token
	someMetrics               // any token
	read                      // any token but those for metrics alone
	write                     // a token that may write
	wholeMetrics              // a token for metrics, or one that may write
)

// permit checks a request's token against the needed scope and stores its name in the
// exchange. If the server has no tokens, everything is permitted.
func (s *Server) permit(x *exchange, w http.ResponseWriter, r *http.Request, need scope) error {
	if len(s.tokens()) == 0 {
		return nil
	}
	kind, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	var found *Token
	if secret = strings.TrimSpace(secret); secret != "" && strings.EqualFold(kind, "Bearer") {
		var err error
		if found, err = s.recognise(r, sha256.Sum256([]byte(secret))); err != nil && need != open {
			return err
		}
	}
	if found != nil {
		x.who, x.secret = found.Name, &found.Hash
	}
	switch {
	case need == open:
		return nil
	case found == nil && secret != "":
		challenge(w)
		return problem.New(problem.Unauthorized, "the token is none of this server's: it is wrong, or was removed").In("Authorization")
	case found == nil:
		challenge(w)
		return problem.New(problem.Unauthorized, "send the header Authorization: Bearer and a token").In("Authorization")
	case !found.permits(need):
		return problem.New(problem.Forbidden, "token %s may %s", found.Name, found.only()).In("Authorization")
	}
	return nil
}

// recognise returns the token of a request by the hash of what the client sent; nil if it is
// wrong. It fails if the address has sent too many wrong ones to be answered now.
func (s *Server) recognise(r *http.Request, sum [sha256.Size]byte) (*Token, error) {
	address, found := s.addressOf(r), s.tokenOf(sum)
	var ok, last bool
	var retry time.Duration
	if found != nil {
		ok, retry = s.guesses.Right(address, sum)
	} else {
		ok, last, retry = s.guesses.Wrong(address)
	}
	if last {
		s.o.Log.Warn("an address has sent many wrong tokens: it is slowed down", "address", address, "burst", wrongBurst, "then a second", wrongRate)
	}
	if m := s.o.Metrics; m != nil && (found == nil || !ok) {
		m.WrongToken(ok)
	}
	if ok {
		return found, nil
	}
	p := problem.New(problem.RateLimited, "wrong tokens came from %s, and tokens that were not used from there before have to wait", address).In("Authorization").Within(wrongRate)
	p.RetryAfter = max(retry, retryAfter)
	return nil, p
}

// An address may send wrongBurst wrong tokens at once, and then wrongRate a second. The first
// is far more than people and programs that are mistaken send, and far less than it takes to
// guess a token.
const (
	wrongBurst = 256
	wrongRate  = 1
	// The number of addresses, and of tokens used from one, that are remembered.
	wrongAddresses, rightUses = 4096, 16384
)

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

// SetTokens replaces the valid tokens, and ends the requests being answered that they permit no
// longer. It fails if none would be left: only a server that is
// started without tokens may be open to everybody.
func (s *Server) SetTokens(tokens []Token) error {
	if len(tokens) == 0 && len(s.tokens()) > 0 {
		return errors.New("no tokens are set any more: serving without tokens needs a restart")
	}
	s.auditTokens(s.readmit(slices.Clone(tokens)), tokens)
	return nil
}

// tokenOf returns the valid token of a hash, nil if there is none. It compares all hashes, in
// constant time.
func (s *Server) tokenOf(sum [sha256.Size]byte) *Token {
	var found *Token
	all := s.tokens()
	for i := range all {
		if subtle.ConstantTimeCompare(sum[:], all[i].Hash[:]) == 1 {
			found = &all[i]
		}
	}
	return found
}

// maySee reports whether a request's client may see what a maker, a token's name or "" for none,
// has made: tokens that may write see everything, others what they made.
func (s *Server) maySee(r *request, maker string) bool {
	return s.permits(r.x, write) || maker != "" && maker == r.x.who
}

// permits reports whether the valid tokens permit a request: one with the token that it was
// permitted with before, or any if there are no tokens.
func (s *Server) permits(x *exchange, need scope) bool {
	if need == open || len(s.tokens()) == 0 {
		return true
	}
	if x.secret == nil {
		return false
	}
	t := s.tokenOf(*x.secret)
	return t != nil && t.permits(need)
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

// mayWrite reports whether the client of ctx may write: whether its token may now, which
// matters to streams. It is false for work that does not come from a request.
func (s *Server) mayWrite(ctx context.Context) bool {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	return len(s.tokens()) == 0 || ok && s.permits(x, write)
}
