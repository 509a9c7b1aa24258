// Package web is the page that the service shows at its root: a search box, the
// answer with its certificate, the jobs and the throughput, all of it files
// that a browser runs as they are and that ask the API for everything.
package web
