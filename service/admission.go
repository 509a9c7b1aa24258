package service

import (
	"context"
	"net/http"
	"sync"

	"thresher/service/problem"
)

// admission is the permission by which a request is being answered. Whether the tokens still
// give it is asked again whenever they change, so that a token that was removed ends what it
// began: an upload, a download, a stream of messages.
type admission struct {
	x    *exchange
	need scope
	end  func() // ends the request; it may be called once, while the request is being answered
}

// admissions are those of the requests being answered.
type admissions struct {
	mu  sync.Mutex
	all map[*admission]struct{}
}

// errRevoked is the answer to a request whose token was removed while it was being answered.
func errRevoked() error {
	return problem.New(problem.Unauthorized, "the token was removed, or permits less, since the request began").In("Authorization")
}

// attend lets a permitted request be answered until leave is called. It returns the request
// with a context that ends if the tokens permit it no longer; then its body cannot be read to
// the end either, nor the answer be sent to the end that w, if not nil, is sending.
func (s *Server) attend(x *exchange, w *writer, r *http.Request, need scope) (_ *http.Request, leave func(), err error) {
	if need == open {
		return r, func() {}, nil
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	a := &admission{x: x, need: need, end: func() {
		x.revoked.Store(true)
		cancel(errRevoked())
		x.paced.revoke()
		if w != nil {
			w.cut.Store(true)
		}
	}}
	s.admitted.mu.Lock()
	defer s.admitted.mu.Unlock()
	if !s.permits(x, need) { // the tokens have changed since it was permitted
		cancel(nil)
		return r, nil, errRevoked()
	}
	if s.admitted.all == nil {
		s.admitted.all = map[*admission]struct{}{}
	}
	s.admitted.all[a] = struct{}{}
	return r.WithContext(ctx), func() {
		s.admitted.mu.Lock()
		defer s.admitted.mu.Unlock()
		delete(s.admitted.all, a)
		cancel(nil)
	}, nil
}

// readmit replaces the valid tokens, ends the requests that they do not permit, and returns the
// former tokens.
func (s *Server) readmit(tokens []Token) (before []Token) {
	s.admitted.mu.Lock()
	defer s.admitted.mu.Unlock()
	before = *s.allowed.Swap(&tokens)
	for a := range s.admitted.all {
		if !s.permits(a.x, a.need) {
			a.end()
			delete(s.admitted.all, a)
		}
	}
	return before
}
