package service

import (
	"maps"
	"slices"

	"thresher/store"
)

// countFound counts the differences between the data folder and the database at the start of the server:
// collections, files and batches were adopted by their own manifests and notes; moved files are in the
// folder lost+found, because nothing describes them; damaged are parts of the databases that could not be
// read; missing are collections and files that the database names and the folder lacks.
func (s *Server) countFound() {
	c, f, b := s.catalog.Found(), s.files.Found(), s.batches.Found()
	s.found = map[string]int{
		"collections": len(c.Adopted), "files": len(f.Adopted), "batches": len(b.Adopted), "damaged": s.damaged,
		"moved": len(c.Kept) + len(f.Kept) + len(b.Kept), "missing": len(c.Missing) + len(f.Missing),
	}
	if s.differs() == nil {
		return
	}
	log := s.o.Log.With("list", store.LostFoundOf(s.o.Dir).List())
	for _, kind := range slices.Sorted(maps.Keys(s.found)) {
		log = log.With(kind, s.found[kind])
	}
	log.Warn("the data folder differs from the database")
}

// differs returns the differences at the start, by kind; nil if there is none.
func (s *Server) differs() map[string]int {
	for _, n := range s.found {
		if n > 0 {
			return s.found
		}
	}
	return nil
}

// Found returns the differences at the start, by kind; for metrics.
func (s *Server) Found() map[string]int { return s.found }
