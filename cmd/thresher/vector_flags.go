package main

import "github.com/spf13/pflag"

// vectorFlags name the files that a command reads atoms and queries from.
type vectorFlags struct {
	atoms, atomsColumn     string
	queries, queriesColumn string
}

// setHelp says what a flag of vectors names besides a file.
const setHelp = "; or a folder, a pattern such as 'part-*.parquet', or several of these separated by commas, whose files are read as one"

// atomsHelp describes --vectors.
const atomsHelp = "`file` of vectors to search" + setHelp + "; or a collection made by build (NAME.thresher, whose ids are in NAME.thresher.ids.npz if that lies beside it); - is standard input"

func (f *vectorFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.atoms, "vectors", "", atomsHelp)
	fs.StringVar(&f.atomsColumn, vectorsColumnFlag, "", columnHelp("the vectors"))
	fs.StringVar(&f.queries, "queries", "", "`file` of queries"+setHelp+"; - is standard input")
	fs.StringVar(&f.queriesColumn, "queries-column", "", columnHelp("the queries"))
}
