// Package demo is the tour of thresher on real text: questions in plain words, every doc
// comment searched among all others and compared with the dense scan, and one certificate
// explained. It measures, and prints the measurements.
package demo
