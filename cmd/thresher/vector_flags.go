package main

import "github.com/spf13/pflag"

// vectorFlags name the files that a command reads atoms and queries from.
type vectorFlags struct {
	atoms, atomsColumn     string
	queries, queriesColumn string
}

func (f *vectorFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.atoms, "atoms", "", "`file` of atoms, or a collection made by build; - is standard input")
	fs.StringVar(&f.atomsColumn, "atoms-column", "", columnHelp("the atoms"))
	vectorsColumn(fs, "atoms-column")
	fs.StringVar(&f.queries, "queries", "", "`file` of queries; - is standard input")
	fs.StringVar(&f.queriesColumn, "queries-column", "", columnHelp("the queries"))
}
