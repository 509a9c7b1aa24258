// Package web serves the web page at the service's root: a search box, the answer with its
// certificate, the jobs and the throughput. Its files run in the browser unchanged and use
// the API.
package web
