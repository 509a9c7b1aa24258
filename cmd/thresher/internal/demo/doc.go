// Package demo is the tour of thresher on real text: questions in plain words,
// every doc comment against all others beside the dense scan, and one
// certificate explained. It measures, and prints what it measured.
package demo
