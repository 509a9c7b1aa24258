package service

import "thresher/store"

// found counts differences between the data folder and the database at the start of the
// server.
type found struct {
	// Collections, Files and Batches were adopted by their own manifests and notes.
	Collections int `json:"collections"`
	Files       int `json:"files"`
	Batches     int `json:"batches"`
	// Moved files are in the folder lost+found, because nothing describes them.
	Moved int `json:"moved"`
	// Damaged are parts of the databases that could not be read.
	Damaged int `json:"damaged"`
	// Missing are collections and files that the database names and the folder lacks.
	Missing int `json:"missing"`
}

// orNil returns nil if there is nothing to report.
func (f found) orNil() *found {
	if f == (found{}) {
		return nil
	}
	return &f
}

// countFound adds up what the parts have found.
func (s *Server) countFound() {
	c, f, b := s.catalog.Found(), s.files.Found(), s.batches.Found()
	s.found = found{
		Collections: len(c.Adopted), Files: len(f.Adopted), Batches: len(b.Adopted), Damaged: s.found.Damaged,
		Moved: len(c.Kept) + len(f.Kept) + len(b.Kept), Missing: len(c.Missing) + len(f.Missing),
	}
	if s.found.orNil() == nil {
		return
	}
	s.o.Log.Warn("the data folder differs from the database", "collections", s.found.Collections, "files", s.found.Files,
		"batches", s.found.Batches, "moved", s.found.Moved, "damaged", s.found.Damaged, "missing", s.found.Missing,
		"list", store.LostFoundOf(s.o.Dir).List())
}

// Found returns the differences at the start, by kind; for metrics.
func (s *Server) Found() map[string]int {
	f := s.found
	return map[string]int{"collections": f.Collections, "files": f.Files, "batches": f.Batches, "moved": f.Moved, "damaged": f.Damaged, "missing": f.Missing}
}
