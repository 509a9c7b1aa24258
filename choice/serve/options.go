package serve

import (
	"cmp"
	"embed"
	"time"

	"thresher/service/extension"
)

// Options configure both extensions; zero values mean defaults.
type Options struct {
	Tournaments      int           // most tournaments; 0 means 1,024
	Arms             int           // of one tournament; 0 means 512
	Duels            int           // issued, or reported, by one request; 0 means 1,000
	TournamentMemory int64         // upper limit of their share of the memory, in bytes; 0 means 256 MiB
	TournamentKeep   time.Duration // how long tournaments are kept since they ended; 0 keeps them for ever

	SlateUsers  int           // of one request; 0 means 1,024
	SlateItems  int           // of one slate; 0 means 100
	Results     int           // of one request, users times items; 0 means 4 Mi
	Slates      int           // that a collection remembers; 0 means a million
	SlateKeep   time.Duration // how long a slate accepts feedback; 0 means a week
	SlateMemory int64         // upper limit of the share of users' states and prepared items; 0 means 512 MiB

	Metrics *Metrics // nil for none
}

// New returns the extensions of a server: tournaments and slates.
func New(o Options) []extension.Extension {
	o.TournamentMemory = cmp.Or(o.TournamentMemory, 256<<20)
	o.SlateUsers = cmp.Or(o.SlateUsers, 1024)
	o.SlateItems = cmp.Or(o.SlateItems, 100)
	o.Results = cmp.Or(o.Results, 1<<22)
	o.SlateMemory = cmp.Or(o.SlateMemory, 512<<20)
	return []extension.Extension{&Tournaments{o: o}, &Slates{o: o}}
}

// parts are the parts of the API's description.
//
//go:embed openapi
var parts embed.FS

// pages are the files of the page on which tournaments are judged.
//
//go:embed pages
var pages embed.FS

// slatePages are those of the page that makes slates and takes feedback.
//
//go:embed slatepages
var slatePages embed.FS

// part returns a part of the API's description.
func part(name string) []byte {
	text, _ := parts.ReadFile("openapi/" + name + ".yaml") // embedded, cannot fail
	return text
}
