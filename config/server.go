package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Server holds the settings of thresher serve. Sizes are in bytes.
type Server struct {
	Listen string // host:port
	// GRPCListen is the host:port of gRPC; "" is none.
	GRPCListen string
	Data       string // the folder of everything that is kept
	// Roots are the folders that collections may be made of files in.
	Roots           []string
	TLSCert, TLSKey string // PEM files; both or none
	Tokens          []Token
	// Insecure allows addresses other than loopback without a token.
	Insecure bool
	// Origins are those of web pages that browsers may let call the server.
	Origins []string
	// Proxies are the addresses whose X-Forwarded-For is believed.
	Proxies []netip.Prefix
	// OpenMetrics lets /metrics be read without a token.
	OpenMetrics bool
	// MetricsCollections is how many collections have series of their own.
	MetricsCollections int

	MaxBody   int64 // of a search or of any JSON
	MaxBodies int64 // of all such bodies that are read at once
	// MaxAnswers bounds the answers of searches in memory.
	MaxAnswers int64
	MaxUpload  int64 // of a file, or of a collection's rows
	MaxFiles   int64 // of all files together; 0 is no limit
	// MaxMemory of all collections together; 0 leaves it to the machine.
	MaxMemory      int64
	MaxQueries     int // of one search
	MaxK           int
	MaxResults     int // of one search: queries times k
	MaxCollections int
	MaxSearches    int   // at once
	MaxWaiting     int   // requests that wait for one of these
	MinRate        int64 // bytes a second of a body that are not too slow

	// ClientRate is how many queries a second a client may ask, ClientBurst how many at
	// once, ClientSearches how many searches it may have at once; 0 is no limit.
	ClientRate, ClientBurst, ClientSearches int
	// Turn is how long a search has the machine before others have their turn.
	Turn time.Duration

	MaxTournaments   int
	MaxArms          int   // of one tournament
	MaxDuels         int   // of one request
	TournamentMemory int64 // of all tournaments in memory

	MaxSlateUsers int           // of one request
	MaxSlateItems int           // of one slate
	MaxSlates     int           // that a collection remembers
	SlateKeep     time.Duration // for how long
	SlateMemory   int64         // of users' states and items in memory

	CoalesceWindow  time.Duration
	CoalesceQueries int

	BatchConcurrency int
	BatchChunk       int

	HeaderTimeout time.Duration
	BodyTimeout   time.Duration // before MinRate counts
	IdleTimeout   time.Duration
	SearchTimeout time.Duration // 0 is none
	DrainTimeout  time.Duration
	LameDuck      time.Duration // from the signal to stop until the listener closes
}

// Scope is what a token permits.
type Scope string

// The scopes; Write includes Read.
const (
	Read  Scope = "read"
	Write Scope = "write"
)

// Token is a bearer token of which only the hash is known.
type Token struct {
	Name  string
	Scope Scope
	Hash  [sha256.Size]byte
}

// Loopback reports whether only this machine can reach the address.
func (s *Server) Loopback() bool { return loopback(s.Listen) }

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// CheckServer checks what concerns several settings of Server; other verbs need
// not care about it.
func (c *Config) CheckServer() error {
	s := &c.Server
	var problems []Problem
	wrong := func(key, format string, args ...any) {
		problems = append(problems, Problem{Key: key, Origin: c.origins[key], Err: fmt.Errorf(format, args...)})
	}
	if !s.Loopback() && len(s.Tokens) == 0 && !s.Insecure {
		wrong("listen", "%s can be reached from other machines and there are no tokens; set tokens, or insecure to serve everybody", s.Listen)
	}
	if s.GRPCListen != "" && !loopback(s.GRPCListen) && len(s.Tokens) == 0 && !s.Insecure {
		wrong("grpc.listen", "%s can be reached from other machines and there are no tokens; set tokens, or insecure to serve everybody", s.GRPCListen)
	}
	if s.TLSCert != "" && s.TLSKey == "" {
		wrong("tls.cert", "given without tls.key")
	}
	if s.TLSKey != "" && s.TLSCert == "" {
		wrong("tls.key", "given without tls.cert")
	}
	if s.ClientRate == 0 && s.ClientBurst > 0 {
		wrong("limits.client_burst", "given without limits.client_rate")
	}
	if s.MaxBodies < s.MaxBody {
		wrong("limits.bodies", "%d is below limits.body, %d", s.MaxBodies, s.MaxBody)
	}
	if len(problems) > 0 {
		return &InvalidError{Problems: problems}
	}
	return nil
}

// ServerKeys are the settings that only serve has flags for.
func ServerKeys() []string {
	var keys []string
	for _, s := range serverSettings() {
		keys = append(keys, s.key)
	}
	return keys
}

// serverSettings is the part of the table that concerns Server.
func serverSettings() []setting {
	return []setting{
		address("listen", "127.0.0.1:8080", "address to serve; port 0 takes a free one", false, func(c *Config) *string { return &c.Server.Listen }),
		address("grpc.listen", "", "address to answer gRPC (the Open Inference Protocol) on; empty = none", true, func(c *Config) *string { return &c.Server.GRPCListen }),
		word("data", "folder", "thresher-data", "folder that keeps collections, files and batches", func(c *Config) *string { return &c.Server.Data }),
		list("roots", "folders that collections may be made of files in", func(c *Config) *[]string { return &c.Server.Roots }, nil),
		word("tls.cert", "file", "", "certificate (PEM) to serve HTTPS with", func(c *Config) *string { return &c.Server.TLSCert }),
		word("tls.key", "file", "", "key (PEM) of the certificate", func(c *Config) *string { return &c.Server.TLSKey }),
		{
			key: "tokens", kind: "list", usage: "bearer tokens, each NAME:read or NAME:write, a colon, and the token's SHA-256 in hexadecimal",
			set: func(c *Config, text string) error { return parseTokens(&c.Server.Tokens, text) },
			get: func(c *Config) any { return shown(c.Server.Tokens) },
		},
		flag("insecure", "serve addresses other than loopback without a token", func(c *Config) *bool { return &c.Server.Insecure }),
		list("cors.origins", "web origins that may call from a browser, or *", func(c *Config) *[]string { return &c.Server.Origins }, checkOrigin),
		{
			key: "proxies", kind: kindList, usage: "addresses, or networks such as 10.0.0.0/8, whose X-Forwarded-For tells clients apart",
			set: func(c *Config, text string) error { return parseNetworks(&c.Server.Proxies, text) },
			get: func(c *Config) any { return networksText(c.Server.Proxies) },
		},
		flag("metrics.open", "let /metrics be read without a token", func(c *Config) *bool { return &c.Server.OpenMetrics }),
		number("metrics.collections", "100", "collections with metrics of their own; the others share", 1, func(c *Config) *int { return &c.Server.MetricsCollections }),
		size("limits.body", "64MiB", "largest body of a search", 1<<10, func(c *Config) *int64 { return &c.Server.MaxBody }),
		size("limits.bodies", "512MiB", "bodies of searches in memory at once", 1<<10, func(c *Config) *int64 { return &c.Server.MaxBodies }),
		size("limits.answers", "256MiB", "answers of searches in memory at once", 1<<20, func(c *Config) *int64 { return &c.Server.MaxAnswers }),
		size("limits.upload", "64GiB", "largest upload", 1<<10, func(c *Config) *int64 { return &c.Server.MaxUpload }),
		size("limits.files", "0", "all files together; 0 = no limit", 0, func(c *Config) *int64 { return &c.Server.MaxFiles }),
		size("limits.memory", "0", "memory of all collections; 0 = three quarters of the machine's", 0, func(c *Config) *int64 { return &c.Server.MaxMemory }),
		number("limits.queries", "4096", "most queries of one search", 1, func(c *Config) *int { return &c.Server.MaxQueries }),
		number("limits.k", "10000", "most atoms of one answer", 1, func(c *Config) *int { return &c.Server.MaxK }),
		number("limits.results", "4194304", "most results of one search: its queries times k", 1, func(c *Config) *int { return &c.Server.MaxResults }),
		number("limits.collections", "1024", "most collections", 1, func(c *Config) *int { return &c.Server.MaxCollections }),
		number("limits.searches", "1024", "most searches at once", 1, func(c *Config) *int { return &c.Server.MaxSearches }),
		number("limits.waiting", "1024", "most searches that wait for their turn", 0, func(c *Config) *int { return &c.Server.MaxWaiting }),
		size("limits.rate", "16KiB", "bytes a second that a body may not fall below", 1, func(c *Config) *int64 { return &c.Server.MinRate }),
		number("limits.client_rate", "0", "queries a second of one client, by its token or else its address; 0 = no limit", 0, func(c *Config) *int { return &c.Server.ClientRate }),
		number("limits.client_burst", "0", "queries that a client may ask at once within its rate; 0 = limits.queries", 0, func(c *Config) *int { return &c.Server.ClientBurst }),
		number("limits.client_searches", "0", "searches of one client at once; 0 = no limit", 0, func(c *Config) *int { return &c.Server.ClientSearches }),
		span("turns.length", "20ms", "about how long a search has the machine before others have their turn", time.Millisecond, func(c *Config) *time.Duration { return &c.Server.Turn }),
		number("limits.tournaments", "1024", "most tournaments", 1, func(c *Config) *int { return &c.Server.MaxTournaments }),
		number("limits.arms", "512", "most arms of one tournament, 2048 at most", 2, func(c *Config) *int { return &c.Server.MaxArms }),
		number("limits.duels", "1000", "most duels handed out or reported by one request", 1, func(c *Config) *int { return &c.Server.MaxDuels }),
		size("tournaments.memory", "256MiB", "memory of all tournaments that are kept in it", 1<<20, func(c *Config) *int64 { return &c.Server.TournamentMemory }),
		number("limits.slate_users", "1024", "most users of a request for slates", 1, func(c *Config) *int { return &c.Server.MaxSlateUsers }),
		number("limits.slate_items", "100", "most items of a slate", 1, func(c *Config) *int { return &c.Server.MaxSlateItems }),
		number("slates.kept", "1048576", "most slates that a collection remembers; the oldest go first", 1024, func(c *Config) *int { return &c.Server.MaxSlates }),
		span("slates.keep", "168h", "how long a slate takes feedback", time.Second, func(c *Config) *time.Duration { return &c.Server.SlateKeep }),
		size("slates.memory", "512MiB", "memory of users' states and of items made ready for slates", 1<<20, func(c *Config) *int64 { return &c.Server.SlateMemory }),
		span("coalesce.window", "2ms", "how long concurrent searches gather; 0 = not", 0, func(c *Config) *time.Duration { return &c.Server.CoalesceWindow }),
		number("coalesce.queries", "1024", "most queries that run together", 1, func(c *Config) *int { return &c.Server.CoalesceQueries }),
		number("batches.concurrency", "1", "batches answered at once", 1, func(c *Config) *int { return &c.Server.BatchConcurrency }),
		number("batches.chunk", "1024", "queries of a batch that become durable together", 1, func(c *Config) *int { return &c.Server.BatchChunk }),
		span("timeouts.header", "10s", "how long a request's header may take", time.Millisecond, func(c *Config) *time.Duration { return &c.Server.HeaderTimeout }),
		span("timeouts.body", "15s", "how long a body may be slower than limits.rate", time.Millisecond, func(c *Config) *time.Duration { return &c.Server.BodyTimeout }),
		span("timeouts.idle", "2m", "how long a connection may be idle", time.Millisecond, func(c *Config) *time.Duration { return &c.Server.IdleTimeout }),
		span("timeouts.search", "1m", "how long any search may take; 0 = for ever", 0, func(c *Config) *time.Duration { return &c.Server.SearchTimeout }),
		span("drain.lame_duck", "1s", "how long requests are told 503 after the signal to stop, before the listener closes", 0, func(c *Config) *time.Duration { return &c.Server.LameDuck }),
		span("drain.timeout", "30s", "how long searches under way may take after the signal to stop", 0, func(c *Config) *time.Duration { return &c.Server.DrainTimeout }),
	}
}

// address is a setting of a host and a port, or of none if it may be empty.
func address(key, def, usage string, empty bool, to func(*Config) *string) setting {
	return setting{
		key: key, kind: "host:port", def: def, usage: usage,
		set: func(c *Config, text string) error {
			if _, _, err := net.SplitHostPort(text); err != nil && !(empty && text == "") {
				return fmt.Errorf("%q is not host:port", text)
			}
			*to(c) = text
			return nil
		},
		get: func(c *Config) any { return *to(c) },
	}
}

// parseTokens reads NAME:SCOPE:HASH, separated by commas.
func parseTokens(dst *[]Token, text string) error {
	var tokens []Token
	for i, item := range split(text) {
		// Items are not quoted: someone may have put a token where its hash belongs.
		parts := strings.Split(item, ":")
		if len(parts) != 3 || parts[0] == "" {
			return fmt.Errorf("item %d is not NAME:SCOPE:SHA256", i)
		}
		t := Token{Name: parts[0], Scope: Scope(parts[1])}
		if t.Scope != Read && t.Scope != Write {
			return fmt.Errorf("token %s: scope is none of read, write", t.Name)
		}
		hash, err := hex.DecodeString(parts[2])
		if err != nil || len(hash) != len(t.Hash) {
			return fmt.Errorf("token %s: not followed by a SHA-256 of 64 hexadecimal digits", t.Name)
		}
		copy(t.Hash[:], hash)
		if t.Hash == sha256.Sum256(nil) {
			return fmt.Errorf("token %s: its hash is that of an empty token", t.Name)
		}
		if slices.ContainsFunc(tokens, func(o Token) bool { return o.Name == t.Name }) {
			return fmt.Errorf("token %s is there twice", t.Name)
		}
		tokens = append(tokens, t)
	}
	*dst = tokens
	return nil
}

// shown lists tokens without their hashes.
func shown(tokens []Token) string {
	var names []string
	for _, t := range tokens {
		names = append(names, t.Name+":"+string(t.Scope))
	}
	return strings.Join(names, ",")
}

// parseNetworks reads addresses and networks, separated by commas.
func parseNetworks(dst *[]netip.Prefix, text string) error {
	var all []netip.Prefix
	for _, item := range split(text) {
		if a, err := netip.ParseAddr(item); err == nil {
			all = append(all, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(item)
		if err != nil {
			return fmt.Errorf("%q is neither an address nor a network, such as 10.0.0.0/8", item)
		}
		all = append(all, p.Masked())
	}
	*dst = all
	return nil
}

func networksText(networks []netip.Prefix) string {
	texts := make([]string, len(networks))
	for i, n := range networks {
		texts[i] = n.String()
	}
	return strings.Join(texts, ",")
}

func checkOrigin(origin string) error {
	if origin == "*" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || u.String() != u.Scheme+"://"+u.Host {
		return fmt.Errorf("%q is no origin, such as https://example.org", origin)
	}
	return nil
}
