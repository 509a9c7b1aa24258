// Package web serves the web page at the service's root: a search box, the answer with its
// certificate, the jobs and the throughput; and another, on which tournaments are created and
// judged. Their files run in the browser unchanged and use the API.
package web
