// Package items provides the items that slates are chosen from: read from CSV, JSON lines
// or a folder of MovieLens 100K, or generated news.
package items
