package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Server holds the settings of thresher serve. Sizes are in bytes.
type Server struct {
	Listen string // host:port
	// GRPCListen is the host:port of gRPC; "" is none.
	GRPCListen string
	Data       string // the data folder
	// ReadOnly serves Replicas and nothing else, without a data folder.
	ReadOnly bool
	Replicas []Replica
	// BackupFolder is where backups are written to, "" for none; BackupKeep how many stay, 0 for all.
	BackupFolder string
	BackupKeep   int
	// Roots are the folders whose files may be made into collections.
	Roots           []string
	TLSCert, TLSKey string // PEM files; both or none
	Tokens          []Token
	// Insecure allows addresses other than loopback without a token.
	Insecure bool
	// Origins are the web origins allowed by CORS.
	Origins []string
	// Proxies are the addresses whose X-Forwarded-For header is trusted.
	Proxies []netip.Prefix
	// OpenMetrics lets /metrics be read without a token.
	OpenMetrics bool
	// MetricsCollections is how many collections have series of their own.
	MetricsCollections int

	// Memory of the process; 0 leaves it to its control groups and the machine.
	Memory int64
	// MaxConnections is the number of open connections; 0 leaves it to memory and the descriptors
	// that the process may have.
	MaxConnections int

	MaxBody   int64 // of a search or of any JSON
	MaxBodies int64 // of all such bodies while they arrive
	// MaxAnswers bounds the answers of searches in memory.
	MaxAnswers int64
	MaxUpload  int64 // of a file, or of a collection's rows
	MaxFiles   int64 // of all files together; 0 is no limit
	// MaxMemory of all collections together; 0 is no limit within Memory.
	MaxMemory      int64
	MaxQueries     int // of one search
	MaxK           int
	MaxResults     int // of one search: queries times k
	MaxListed      int // ids in the goals of one search
	MaxCollections int
	MaxSearches    int   // at once
	MaxWaiting     int   // requests waiting for one of the MaxSearches slots
	MinRate        int64 // least bytes a second of a body

	// ClientRate is the queries a second allowed to a client, ClientBurst its burst (0:
	// MaxQueries), ClientSearches its concurrent searches; 0 is no limit.
	ClientRate, ClientBurst, ClientSearches int
	// Turn is the time slice of a search: how long it computes before others do.
	Turn time.Duration

	MaxTournaments   int
	MaxArms          int   // of one tournament
	MaxDuels         int   // of one request
	TournamentMemory int64 // memory for loaded tournaments

	MaxSlateUsers int           // of one request
	MaxSlateItems int           // of one slate
	MaxSlates     int           // that a collection remembers
	SlateKeep     time.Duration // for how long
	SlateMemory   int64         // memory for users' states and items

	CoalesceWindow  time.Duration
	CoalesceQueries int

	BatchConcurrency int
	BatchChunk       int

	// FileKeep, BatchKeep and TournamentKeep are how long files, ended batches and ended tournaments
	// are kept; 0 is for ever.
	FileKeep, BatchKeep, TournamentKeep time.Duration

	HeaderTimeout time.Duration
	BodyTimeout   time.Duration // how long a body may be slower than MinRate
	IdleTimeout   time.Duration
	SearchTimeout time.Duration // 0 is none
	DrainTimeout  time.Duration
	LameDuck      time.Duration // from the signal to stop until the listener closes
}

// MinMemory is the least value of Server.Memory.
const MinMemory = 128 << 20

// Scope is what a token permits.
type Scope string

// The scopes; Write includes the others. Metrics permits reading /metrics, all of it, and
// nothing else; Read permits reading everything else, and of /metrics what does not tell what
// certificates withhold from readers.
const (
	Read    Scope = "read"
	Write   Scope = "write"
	Metrics Scope = "metrics"
)

// Token is a bearer token; only its hash is stored.
type Token struct {
	Name  string
	Scope Scope
	Hash  [sha256.Size]byte
}

// Replica is a collection that is made elsewhere, and served as it is there.
type Replica struct {
	Name string
	From string // a path or a URL
	// Version is the one that is served, "" for whichever there is.
	Version string
}

// String returns what parseReplicas reads.
func (r Replica) String() string {
	if r.Version == "" {
		return r.Name + "=" + r.From
	}
	return r.Name + "=" + r.From + "@" + r.Version
}

// replicaVersion is the end of a Replica that is no part of its path or URL.
var replicaVersion = regexp.MustCompile(`@[0-9a-f]{16}$`)

// wrongVersion is an end that was meant as one.
var wrongVersion = regexp.MustCompile(`\.thresher@[^/]*$`)

// parseReplicas reads NAME=FROM or NAME=FROM@VERSION, separated by commas.
func parseReplicas(dst *[]Replica, text string) error {
	var all []Replica
	for i, item := range split(text) {
		name, from, ok := strings.Cut(item, "=")
		if !ok || name == "" || from == "" {
			return fmt.Errorf("item %d, %q, is not NAME=PATH or NAME=URL", i, item)
		}
		r := Replica{Name: name, From: from}
		if version := replicaVersion.FindString(from); version != "" {
			r.From, r.Version = strings.TrimSuffix(from, version), version[1:]
		} else if wrong := wrongVersion.FindString(from); wrong != "" {
			return fmt.Errorf("collection %s: %q is no version, which has 16 digits of 0-9 and a-f, as /readyz of a replica states it", name, wrong[len(".thresher@"):])
		}
		if slices.ContainsFunc(all, func(o Replica) bool { return o.Name == name }) {
			return fmt.Errorf("collection %s is listed twice", name)
		}
		all = append(all, r)
	}
	*dst = all
	return nil
}

// replicasText is what parseReplicas reads.
func replicasText(all []Replica) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.String()
	}
	return strings.Join(texts, ",")
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

// CheckServer validates combinations of Server's settings. Commands other than serve
// need not call it. The error is an *InvalidError that lists every problem.
func (c *Config) CheckServer() error {
	s := &c.Server
	var problems []SettingError
	wrong := func(key, format string, args ...any) {
		problems = append(problems, SettingError{Key: key, Origin: c.origins[key], Err: fmt.Errorf(format, args...)})
	}
	if !s.Loopback() && len(s.Tokens) == 0 && !s.Insecure {
		wrong("listen", "%s can be reached from other machines and no tokens are set; set tokens, or insecure to serve without tokens", s.Listen)
	}
	if s.GRPCListen != "" && !loopback(s.GRPCListen) && len(s.Tokens) == 0 && !s.Insecure {
		wrong("grpc.listen", "%s can be reached from other machines and no tokens are set; set tokens, or insecure to serve without tokens", s.GRPCListen)
	}
	if s.ReadOnly {
		for _, key := range []string{"data", "backup.folder", "roots"} {
			if c.origins[key].Kind != FromDefault {
				wrong(key, "a read-only server has no data of its own: it serves what collection names")
			}
		}
	}
	if s.ReadOnly && len(s.Replicas) == 0 {
		wrong("read_only", "given without collection, which names what is served")
	}
	if !s.ReadOnly && len(s.Replicas) > 0 {
		wrong("collection", "given without read_only: collections that are made elsewhere are served as they are there")
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

// ServerKeys lists the settings that are flags of serve only.
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
		address("listen", "127.0.0.1:8080", "address to listen on; port 0 picks a free one", false, func(c *Config) *string { return &c.Server.Listen }),
		address("grpc.listen", "", "address to listen on for gRPC (the Open Inference Protocol); empty = off", true, func(c *Config) *string { return &c.Server.GRPCListen }),
		word("data", "folder", "thresher-data", "data folder, for collections, files, jobs and tournaments", func(c *Config) *string { return &c.Server.Data }),
		flag("read_only", "serve the collections that --collection names, as they are made elsewhere, and refuse to change anything; the server has no data folder", func(c *Config) *bool { return &c.Server.ReadOnly }),
		{
			key: "collection", kind: kindList, repeats: true, usage: "collections of a read-only server: NAME=FROM, with a prepared collection (.thresher) or a folder of build at a path or URL, or NAME=FROM@VERSION, which refuses other versions; may be given again",
			set: func(c *Config, text string) error { return parseReplicas(&c.Server.Replicas, text) },
			get: func(c *Config) any { return replicasText(c.Server.Replicas) },
		},
		word("backup.folder", "folder", "", "folder that backups are written to, when a client asks for one; empty = none", func(c *Config) *string { return &c.Server.BackupFolder }),
		number("backup.keep", "0", "backups that stay; older ones are removed after a new one; 0 = all", 0, func(c *Config) *int { return &c.Server.BackupKeep }),
		list("roots", "folders whose files may be made into collections", func(c *Config) *[]string { return &c.Server.Roots }, nil),
		word("tls.cert", "file", "", "certificate for HTTPS, PEM", func(c *Config) *string { return &c.Server.TLSCert }),
		word("tls.key", "file", "", "private key of the certificate, PEM", func(c *Config) *string { return &c.Server.TLSKey }),
		{
			key: "tokens", kind: "list", usage: "bearer tokens, each NAME:read:HASH, NAME:write:HASH or NAME:metrics:HASH with the token's SHA-256 in hexadecimal",
			set: func(c *Config, text string) error { return parseTokens(&c.Server.Tokens, text) },
			get: func(c *Config) any { return shown(c.Server.Tokens) },
		},
		flag("insecure", "serve addresses other than loopback without a token", func(c *Config) *bool { return &c.Server.Insecure }),
		list("cors.origins", "origins of web pages that may call the API, or *", func(c *Config) *[]string { return &c.Server.Origins }, checkOrigin),
		{
			key: "proxies", kind: kindList, usage: "addresses, or networks such as 10.0.0.0/8, whose X-Forwarded-For header is trusted to tell clients apart",
			set: func(c *Config, text string) error { return parseNetworks(&c.Server.Proxies, text) },
			get: func(c *Config) any { return networksText(c.Server.Proxies) },
		},
		flag("metrics.open", "serve /metrics without a token, as tokens of scope read see it", func(c *Config) *bool { return &c.Server.OpenMetrics }),
		number("metrics.collections", "100", "collections whose metrics have a label of their own; the others share one", 1, func(c *Config) *int { return &c.Server.MetricsCollections }),
		sizeOrAuto("memory", "memory of the server, which collections, bodies, answers and computing share; auto = what its control groups or else the machine allow", MinMemory, func(c *Config) *int64 { return &c.Server.Memory }),
		number("limits.connections", "0", "most open connections; 0 = as many as memory and file descriptors suffice for", 0, func(c *Config) *int { return &c.Server.MaxConnections }),
		size("limits.body", "64MiB", "largest body of a search", 1<<10, func(c *Config) *int64 { return &c.Server.MaxBody }),
		size("limits.bodies", "512MiB", "total memory of search bodies while they arrive, within their share of memory", 1<<10, func(c *Config) *int64 { return &c.Server.MaxBodies }),
		size("limits.answers", "256MiB", "total memory of search answers until they are sent, within their share of memory", 1<<20, func(c *Config) *int64 { return &c.Server.MaxAnswers }),
		size("limits.upload", "64GiB", "largest upload", 1<<10, func(c *Config) *int64 { return &c.Server.MaxUpload }),
		size("limits.files", "0", "total size of all files; 0 = no limit", 0, func(c *Config) *int64 { return &c.Server.MaxFiles }),
		size("limits.memory", "0", "total memory of all collections; 0 = what the others leave of memory", 0, func(c *Config) *int64 { return &c.Server.MaxMemory }),
		number("limits.queries", "4096", "most queries of one search", 1, func(c *Config) *int { return &c.Server.MaxQueries }),
		number("limits.k", "10000", "most vectors of one answer", 1, func(c *Config) *int { return &c.Server.MaxK }),
		number("limits.listed", "4194304", "most ids that the goals of one search list", 1, func(c *Config) *int { return &c.Server.MaxListed }),
		number("limits.results", "4194304", "most results of one search: its queries times k", 1, func(c *Config) *int { return &c.Server.MaxResults }),
		number("limits.collections", "1024", "most collections", 1, func(c *Config) *int { return &c.Server.MaxCollections }),
		number("limits.searches", "1024", "most concurrent searches", 1, func(c *Config) *int { return &c.Server.MaxSearches }),
		number("limits.waiting", "1024", "most waiting searches", 0, func(c *Config) *int { return &c.Server.MaxWaiting }),
		size("limits.rate", "16KiB", "least bytes a second of a client that sends a body or reads an answer", 1, func(c *Config) *int64 { return &c.Server.MinRate }),
		number("limits.client_rate", "0", "queries a second of one client, by its token or else its address; 0 = no limit", 0, func(c *Config) *int { return &c.Server.ClientRate }),
		number("limits.client_burst", "0", "burst of queries that a client may send at once; 0 = limits.queries", 0, func(c *Config) *int { return &c.Server.ClientBurst }),
		number("limits.client_searches", "0", "most concurrent searches of one client; 0 = no limit", 0, func(c *Config) *int { return &c.Server.ClientSearches }),
		span("turns.length", "20ms", "time slice: about how long a search computes before others get their turn", time.Millisecond, func(c *Config) *time.Duration { return &c.Server.Turn }),
		number("limits.tournaments", "1024", "most tournaments", 1, func(c *Config) *int { return &c.Server.MaxTournaments }),
		number("limits.arms", "512", "most arms of one tournament, at most 2048", 2, func(c *Config) *int { return &c.Server.MaxArms }),
		number("limits.duels", "1000", "most duels issued or reported by one request", 1, func(c *Config) *int { return &c.Server.MaxDuels }),
		size("tournaments.memory", "256MiB", "memory for loaded tournaments, within their share of memory", 1<<20, func(c *Config) *int64 { return &c.Server.TournamentMemory }),
		number("limits.slate_users", "1024", "most users in a request for slates", 1, func(c *Config) *int { return &c.Server.MaxSlateUsers }),
		number("limits.slate_items", "100", "most items in a slate", 1, func(c *Config) *int { return &c.Server.MaxSlateItems }),
		number("slates.kept", "1048576", "most slates that a collection remembers; the oldest are evicted first", 1024, func(c *Config) *int { return &c.Server.MaxSlates }),
		span("slates.keep", "168h", "how long a slate accepts feedback", time.Second, func(c *Config) *time.Duration { return &c.Server.SlateKeep }),
		size("slates.memory", "512MiB", "memory for users' states and prepared items of slates, within their share of memory", 1<<20, func(c *Config) *int64 { return &c.Server.SlateMemory }),
		span("coalesce.window", "2ms", "how long concurrent searches gather to run together; 0 = every search runs alone", 0, func(c *Config) *time.Duration { return &c.Server.CoalesceWindow }),
		number("coalesce.queries", "1024", "most queries that run together", 1, func(c *Config) *int { return &c.Server.CoalesceQueries }),
		number("batches.concurrency", "1", "offline jobs that run at once", 1, func(c *Config) *int { return &c.Server.BatchConcurrency }),
		number("batches.chunk", "1024", "queries of an offline job that become durable together", 1, func(c *Config) *int { return &c.Server.BatchChunk }),
		span("files.keep", "0", "how long uploaded files and results are kept; 0 = for ever", 0, func(c *Config) *time.Duration { return &c.Server.FileKeep }),
		span("batches.keep", "0", "how long offline jobs are kept once they ended; 0 = for ever", 0, func(c *Config) *time.Duration { return &c.Server.BatchKeep }),
		span("tournaments.keep", "0", "how long tournaments are kept once they ended; 0 = for ever", 0, func(c *Config) *time.Duration { return &c.Server.TournamentKeep }),
		span("timeouts.header", "10s", "time for a request's header", time.Millisecond, func(c *Config) *time.Duration { return &c.Server.HeaderTimeout }),
		span("timeouts.body", "15s", "how long a body may stall or stay below limits.rate", time.Millisecond, func(c *Config) *time.Duration { return &c.Server.BodyTimeout }),
		span("timeouts.idle", "2m", "idle time of a connection", time.Millisecond, func(c *Config) *time.Duration { return &c.Server.IdleTimeout }),
		span("timeouts.search", "1m", "longest search; 0 = no limit", 0, func(c *Config) *time.Duration { return &c.Server.SearchTimeout }),
		span("drain.lame_duck", "1s", "time from SIGTERM until the listener closes; requests get 503 meanwhile", 0, func(c *Config) *time.Duration { return &c.Server.LameDuck }),
		span("drain.timeout", "30s", "time for running requests to finish at shutdown", 0, func(c *Config) *time.Duration { return &c.Server.DrainTimeout }),
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
		if t.Scope != Read && t.Scope != Write && t.Scope != Metrics {
			return fmt.Errorf("token %s: scope is none of read, write, metrics", t.Name)
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
			return fmt.Errorf("token %s is listed twice", t.Name)
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
		return fmt.Errorf("%q is not an origin, such as https://example.org", origin)
	}
	return nil
}
