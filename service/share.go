package service

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"thresher/service/fair"
	"thresher/service/problem"
)

// clientOf is the name of who asks, by which the server shares itself: that of the token,
// else the address. Without tokens, those behind one address are one client; of IPv6 it
// is the network of 64 bits, which one customer has.
func (s *Server) clientOf(x *exchange, r *http.Request) string {
	if x.who != "" {
		return "token " + x.who
	}
	return "address " + s.addressOf(r)
}

// addressOf is the address of a request: where it came from a proxy that is trusted, the
// last one in X-Forwarded-For that is none of these.
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
			break // who wrote this is not to be trusted with what is before it
		}
		if address = hop.Unmap(); !s.trusted(address) {
			break
		}
	}
	return network(address)
}

// trusted reports whether an address is a proxy's that says truly for whom it asks.
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

// limited is the problem of a client that asks for more than it may.
func limited(err error) error {
	var l *fair.LimitError
	if !errors.As(err, &l) {
		return err
	}
	kind := problem.RateLimited
	if l.RetryAfter < 0 { // not even later
		kind = problem.OverLimit
	}
	p := problem.New(kind, "%v", l).Within(l.Limit)
	if l.RetryAfter >= 0 {
		p.RetryAfter = max(l.RetryAfter, retryAfter)
	}
	return p
}
