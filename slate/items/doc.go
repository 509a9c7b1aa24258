// Package items has what slates are chosen from: items read from CSV, JSON lines or a
// folder of MovieLens 100K, and made-up news.
package items
