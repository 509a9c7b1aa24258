// Package arms holds queries under elimination, as the rooms of the backend share them: what each is, prepared; its
// threshold; the atoms that no look sees; the arms that are left, with their bounds; the best scores so far; and what was
// read for it.
package arms
