// Package web serves the web page at the service's root: a search box, the answer with its
// certificate, the jobs and the throughput; and the pages of extensions. Their files run in the
// browser unchanged and use the API.
package web
