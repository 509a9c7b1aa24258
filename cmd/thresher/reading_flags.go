package main

import "github.com/spf13/pflag"

// readingFlags decide what a file of vectors means where it has two readings.
type readingFlags struct {
	header string
}

// add adds the flags of commands that read vectors.
func (f *readingFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.header, "header", "", "whether the first line of .csv files names the columns, `yes or no`; without it lines of texts do, and those that count 0,1,2,.. or 1,2,3,..")
}

// columnHelp is how help describes a flag that names columns of vectors.
func columnHelp(of string) string {
	return "`column` or array of " + of + ", if there are several; or columns with a coordinate each, separated by commas, or a pattern such as 'd*'"
}

// vectorsColumnFlag names the columns of the vectors to search in every command.
const vectorsColumnFlag = "vectors-column"
