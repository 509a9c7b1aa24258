package service

import "thresher/service/lostfound"

// found counts what the data folder held at the start and the database did not know, or the
// other way round. It is the same as long as the server runs.
type found struct {
	// Collections, Files and Batches were taken in again by what they say of themselves.
	Collections int `json:"collections"`
	Files       int `json:"files"`
	Batches     int `json:"batches"`
	// Moved lie in the folder lost+found now, for nothing says what they are.
	Moved int `json:"moved"`
	// Missing are collections and files of which the database names contents that are not
	// there.
	Missing int `json:"missing"`
}

// orNil is nil for nothing.
func (f found) orNil() *found {
	if f == (found{}) {
		return nil
	}
	return &f
}

// countFound counts what the parts have found.
func (s *Server) countFound() {
	c, f, b := s.catalog.Found(), s.files.Found(), s.batches.Found()
	s.found = found{
		Collections: len(c.Adopted), Files: len(f.Adopted), Batches: len(b.Adopted),
		Moved: len(c.Kept) + len(f.Kept) + len(b.Kept), Missing: len(c.Missing) + len(f.Missing),
	}
	if s.found.orNil() == nil {
		return
	}
	s.o.Log.Warn("the data folder is not as the database has it", "collections", s.found.Collections, "files", s.found.Files,
		"batches", s.found.Batches, "moved", s.found.Moved, "missing", s.found.Missing,
		"list", lostfound.In(s.o.Dir).List())
}

// Found tells what the data folder held that the database did not know, by kind; for
// metrics.
func (s *Server) Found() map[string]int {
	f := s.found
	return map[string]int{"collections": f.Collections, "files": f.Files, "batches": f.Batches, "moved": f.Moved, "missing": f.Missing}
}
