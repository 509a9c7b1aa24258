package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// scheme is how the URLs begin that are not paths of this machine.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`)

// Is reports whether a name, or one of several that commas separate, is a URL.
func Is(name string) bool {
	for one := range strings.SplitSeq(name, ",") {
		if scheme.MatchString(one) {
			return true
		}
	}
	return false
}

// location is a parsed URL.
type location struct {
	kind   string // s3, gs, https or http
	bucket string // or the host of a web server
	key    string // of an object, or the path of a web page with its query, as it is requested
	name   string // the key without a query
	shown  string // in messages: without passwords and queries, which can be secrets
}

// Shown returns a name as messages may say it: without passwords and queries of URLs, which can be secrets.
func Shown(name string) string {
	if !Is(name) {
		return name
	}
	all := strings.Split(name, ",")
	for i, one := range all {
		if l, err := parse(one); err == nil {
			all[i] = l.shown
		}
	}
	return strings.Join(all, ",")
}

// parse parses a URL. Keys of objects are taken as they are written, as the tools of the stores take them; those of web
// pages are percent-encoded.
func parse(name string) (location, error) {
	kind, rest, _ := strings.Cut(name, "://")
	l := location{kind: strings.ToLower(kind), shown: name}
	switch l.kind {
	case "s3", "gs":
		l.bucket, l.key, _ = strings.Cut(rest, "/")
		if l.name = l.key; l.bucket == "" {
			return l, fmt.Errorf("%s: names no bucket", name)
		}
		if strings.ContainsAny(l.bucket, "*?[@:") {
			return l, fmt.Errorf("%s: %q is no name of a bucket", name, l.bucket)
		}
		return l, nil
	case "http", "https":
		return parseWeb(l, name)
	}
	return l, fmt.Errorf("%s: files are read from s3://, gs:// and https://, and from this machine", name)
}

func parseWeb(l location, name string) (location, error) {
	u, err := url.Parse(name)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // which does not repeat the URL with its query
		}
		before, _, _ := strings.Cut(name, "?")
		return l, fmt.Errorf("%s: is no URL: %w", before, err)
	}
	l.shown = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	if u.Host == "" {
		return l, fmt.Errorf("%s: names no host", l.shown)
	}
	if l.kind == "http" && !isLoopback(u.Hostname()) {
		return l, fmt.Errorf("%s: http neither hides nor protects what it carries, and is read from this machine only; give https", l.shown)
	}
	l.bucket, l.key, l.name = u.Host, u.String(), strings.TrimPrefix(u.Path, "/")
	if l.name == "" || strings.HasSuffix(l.name, "/") {
		return l, fmt.Errorf("%s: a web server has no list of files: name each, separated by commas", l.shown)
	}
	return l, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// isPattern reports whether a key has characters of patterns. Those of web pages have none: a question mark begins a query.
func (l *location) isPattern() bool {
	return (l.kind == "s3" || l.kind == "gs") && strings.ContainsAny(l.key, "*?[")
}

// at returns the location of another key of the same bucket, or of another file beside that of a web page.
func (l *location) at(key string) location {
	other := *l
	other.key, other.name = key, key
	other.shown = l.kind + "://" + l.bucket + "/" + key
	return other
}

// beside returns the location of the file of this name with suffix.
func (l *location) beside(suffix string) location {
	if l.kind == "s3" || l.kind == "gs" {
		return l.at(l.key + suffix)
	}
	other := *l
	u, err := url.Parse(l.key)
	if err != nil { // it was parsed before
		return other
	}
	u.Path, u.RawPath = u.Path+suffix, ""
	other.key, other.name, other.shown = u.String(), l.name+suffix, l.shown+suffix
	return other
}

// base is the last part of the name.
func (l *location) base() string { return path.Base(l.name) }
