package service

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"thresher/service/fair"
	"thresher/service/problem"
)

// clientOf returns the name by which a client shares the server: that of the token, or else
// the address. Without tokens, all clients of one address are one; of IPv6 the address is the
// network of 64 bits, which one customer has.
func (s *Server) clientOf(x *exchange, r *http.Request) string {
	if x.who != "" {
		return "token " + x.who
	}
	return "address " + s.addressOf(r)
}

// addressOf returns the address of a request's client: if a trusted proxy sent it, the last
// address in X-Forwarded-For that is not a trusted proxy's.
func (s *Server) addressOf(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := peer.Addr().Unmap()
	if !s.trusted(address) {
		return network(address)
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break // addresses before one that is not a trusted proxy's are unreliable
		}
		if address = hop.Unmap(); !s.trusted(address) {
			break
		}
	}
	return network(address)
}

// trusted reports whether an address is that of a trusted proxy.
func (s *Server) trusted(a netip.Addr) bool {
	for _, p := range s.o.Proxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

func network(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// limited returns the problem of a client that exceeds its limits.
func limited(err error) error {
	var l *fair.LimitError
	if !errors.As(err, &l) {
		return err
	}
	kind := problem.RateLimited
	if l.RetryAfter < 0 { // a retry can never succeed
		kind = problem.OverLimit
	}
	p := problem.New(kind, "%v", l).Within(l.Limit)
	if l.RetryAfter >= 0 {
		p.RetryAfter = max(l.RetryAfter, retryAfter)
	}
	return p
}
