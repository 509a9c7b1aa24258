// Package sniffers is the table of all places where a reader of vectors decides what a file means,
// each with a file that has two readings. Tests walk it through every door: a door that guesses
// fails.
package sniffers

import (
	"embed"
	"fmt"
	"path"
)

// Case is a file with two readings, or one that is easily misread.
type Case struct {
	// Decides is what is decided, and Name the file that is hard to read for it.
	Decides, Name string
	// File is a name with the extension of the format; Data are its bytes.
	File string
	Data []byte
	// Words are words that the refusal has, of each of the readings; nil if the file has one reading,
	// which is Rows x Dim. Word is what decides: Column or Header, or "" if the file must be changed.
	Words []string
	Word  Word
	// Rows and Dim are the reading that Choice decides for, or the one there is.
	Rows, Dim int
	Choice    Choice
	// First are the first coordinates of row 0 of that reading.
	First []float32
}

// Word is an option that decides between readings. Each door has a word of its own for it.
type Word string

// The words.
const (
	Column Word = "column"
	Header Word = "header"
)

// Choice decides between readings: what the user says. "" says nothing.
type Choice struct{ Column, Header, IDs string }

//go:embed testdata
var files embed.FS

func file(name string) []byte {
	b, err := files.ReadFile(path.Join("testdata", name))
	if err != nil {
		panic(fmt.Sprintf("the table names %s, which is not there", name)) // a mistake in this package
	}
	return b
}

// Cases returns the table.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{headers(), columns(), ids(), gaps(), arrays(), elements(), tables(), formats()} {
		all = append(all, group...)
	}
	return all
}

func csv(name, text string) Case { return Case{Name: name, File: "a.csv", Data: []byte(text)} }

func (c Case) refused(word Word, words ...string) Case {
	c.Word, c.Words = word, words
	return c
}

func (c Case) reads(choice Choice, rows, dim int, first ...float32) Case {
	c.Choice, c.Rows, c.Dim, c.First = choice, rows, dim, first
	return c
}

func decide(what string, cases ...Case) []Case {
	for i := range cases {
		cases[i].Decides = what
	}
	return cases
}

func headers() []Case {
	return decide("whether the first line of CSV names the columns",
		csv("counts from 0, as pandas writes it", "0,1,2\n0.9,0.1,0\n0.1,0.9,0\n").reads(Choice{}, 2, 3, .9, .1, 0),
		csv("counts from 1", "1,2,3\n0.9,0.1,0\n").reads(Choice{}, 1, 3, .9),
		csv("counts, and is a row", "0,1,2\n3,4,5\n").reads(Choice{Header: "no"}, 2, 3, 0, 1, 2),
		csv("row labels and a count", ",0,1\n7,0.9,0.1\n8,0.1,0.9\n").reads(Choice{}, 2, 2, .9, .1),
		csv("two numbers that count", "0,1\n0.5,0.25\n").refused(Header, "first row", "header").reads(Choice{Header: "yes"}, 1, 2, .5, .25),
		csv("one number that counts", "1\n5\n").refused(Header, "first row", "header").reads(Choice{Header: "no"}, 2, 1, 1),
		csv("counts in fractions", "0.0,1.0,2.0\n5,6,7\n").refused(Header, "first row", "header").reads(Choice{Header: "no"}, 2, 3, 0, 1, 2),
		csv("texts and numbers", "film,1.5,2\nother,3,4\n").refused("", "texts and numbers"),
		csv("a number and an array without header", "5,\"[1,2]\"\n6,\"[3,4]\"\n").refused(Column, "arrays", "header"),
	)
}

func columns() []Case {
	wide := func(id string) string { return id + ",d0,d1,d2\n7,.5,1,2\n8,3,4,5\n" }
	pattern := Choice{Column: "d?"}
	cases := decide("which columns of CSV make the vector",
		csv("labels of pixels", "label,1x1,1x2,2x1\n7,.5,1,2\n8,3,4,5\n").refused(Column, "label", "1x1").reads(Choice{Column: "?x?"}, 2, 3, .5, 1, 2),
		csv("two families", "x0,x1,y0\n.5,1,2\n").refused(Column, "x0", "y0").reads(Choice{Column: "x0,x1"}, 1, 2, .5, 1),
		csv("a column ID and words", "ID,x,y\n7,.5,1\n").refused(Column, "ID", "x").reads(Choice{Column: "y,x"}, 1, 2, 1, .5),
		csv("two columns of a name", "x,x\n1,2\n").refused("", "x"),
		csv("two columns of arrays", "a,b\n\"[1,2]\",\"[3,4]\"\n").refused(Column, "a, b").reads(Choice{Column: "b"}, 1, 2, 3, 4),
		csv("a number without a name", "x,,y\n1,5,2\n").refused("", "no name"),
		csv("words alone", "age,height,weight\n7,.5,1\n").reads(Choice{}, 1, 3, 7, .5, 1),
	)
	for _, id := range []string{"movie_id", "ID", "_id", "label", "Unnamed: 0", "doc_id", "user", "year2"} {
		cases = append(cases, decide("which columns of CSV make the vector", csv(id+" beside numbered columns", wide(id)).refused(Column, id, "d0..d2").reads(pattern, 2, 3, .5, 1, 2))...)
	}
	return cases
}

func ids() []Case {
	return decide("which column holds the ids",
		csv("the column id", "x,id,y\n1,7,2\n3,8,4\n").reads(Choice{IDs: "id"}, 2, 2, 1, 2),
		csv("a column of another name", "key,d0,d1\n7,1,2\n8,3,4\n").refused(Column, "key", "d0").reads(Choice{IDs: "key"}, 2, 2, 1, 2),
		csv("two columns id", "id,id,x\n1,7,2\n3,8,4\n").refused("", "id"),
	)
}

func gaps() []Case {
	return decide("whether a field without a number is a coordinate",
		csv("a gap in the first row", "d0,d1,d2\n1,,2\n3,4,5\n").refused("", "d1", "empty"),
		csv("a gap in another row", "d0,d1,d2\n1,2,3\n3,,5\n").refused("", "d1", "empty"),
		csv("a gap among words", "x,y,z\n1,,2\n3,4,5\n").refused(Column, "y", "no value"),
		csv("a missing value in words", "d0,d1,d2\n1,NA,2\n").refused("", "d1", "NA"),
		csv("decimal commas", "x;y\n0,5;0,7\n").refused("", "decimal comma"),
		csv("decimal commas in one row", "d0;d1\n1;2\n0,5;0,7\n").refused("", "decimal comma"),
		csv("decimal commas without header", "0,5;0,7;1,5\n0,5;0,7;1,5\n").refused("", "decimal comma"),
		csv("quoted decimal commas", "\"0,5\",\"0,7\"\n\"1,5\",\"1,7\"\n").refused("", "decimal comma"),
	)
}

func arrays() []Case {
	at := func(name, f string) Case { return Case{Name: name, File: f, Data: file(f)} }
	return append(append(
		decide("whether an array of one dimension is one row",
			at("npy", "row.npy").refused("", "one vector of 3", "3 vectors of one"),
			at("npz", "row.npz").refused("", "one vector of 3", "3 vectors of one"),
		),
		decide("which array of an npz holds the vectors",
			at("answers", "answers.npz").refused(Column, "vectors", "answers").reads(Choice{Column: "scores"}, 4, 2, -7, -5),
			at("ids alone", "labels.npz").refused(Column, "vectors", "answers").reads(Choice{Column: "labels"}, 4, 2, 0, 1),
			at("padded sparse vectors", "padded.npz").refused(Column, "vectors", "indices").reads(Choice{Column: "values"}, 4, 2, -7, -5),
		)...),
		decide("whether arrays are a sparse matrix",
			at("scipy's in rows", "sparse.npz").reads(Choice{}, 4, 3, 0, 0, 0),
			at("scipy's in columns", "csc.npz").refused("", "csc", "tocsr"),
			at("a graph of neighbours", "graph.npz").refused("", "graph", "scipy"),
		)...)
}

// elements are files whose elements can be numbers of several types.
func elements() []Case {
	const header = "{'descr': '|V2', 'fortran_order': False, 'shape': (1, 2)}\n"
	return decide("of which type elements are",
		Case{Name: "two bytes without a meaning", File: "a.npy", Data: []byte("\x93NUMPY\x01\x00" + string(rune(len(header))) + "\x00" + header + "\x80\x3f\x00\x40")}.refused("", "|V2", "bfloat16"),
	)
}

func tables() []Case {
	var all []Case
	for _, format := range []string{".parquet", ".arrow"} {
		at := func(name, f string) Case { return Case{Name: name + format, File: f + format, Data: file(f + format)} }
		all = append(all, decide("which column of a table holds the vectors",
			at("two lists", "two").refused(Column, "a, b").reads(Choice{Column: "b"}, 4, 3, -7, -5, -3),
			at("answers", "answers").refused(Column, "scores", "answers").reads(Choice{Column: "scores"}, 4, 3, -7),
			at("indices and values", "sparse").refused(Column, "values", "indices").reads(Choice{Column: "values"}, 4, 2, -7),
			at("a map", "map").refused("", "weights"),
			at("a list of structs", "structs").refused("", "v"),
			at("a struct of indices and values", "nested").refused("", "v"),
		)...)
		all = append(all, decide("which columns of a table make the vector",
			at("an id beside numbered columns", "wideid").refused(Column, "movie_id", "d0..d2").reads(Choice{Column: "d[0-9]*"}, 4, 3, -7, -5, -3),
			at("ids of another name", "wideid").reads(Choice{IDs: "movie_id"}, 4, 3, -7, -5, -3),
			at("two families", "widelabel").refused(Column, "x0", "y0, y1").reads(Choice{Column: "y1,x0"}, 4, 2, -3, -7),
			at("words alone, of different types", "widewords").reads(Choice{}, 4, 3, -7, -5, -3),
			at("an index that pandas wrote", "wideindex").reads(Choice{}, 4, 3, -7, -5, -3),
			at("a null among coordinates", "widegap").refused("", "d1", "null").reads(Choice{Column: "d0,d2"}, 4, 2, -7, -3),
			at("a column of nulls among words", "widenull").refused(Column, "y", "no values").reads(Choice{Column: "z,x"}, 4, 2, -5, -7),
			at("decimals among numbers", "widedecimal").refused(Column, "d1", "(9", "cast").reads(Choice{Column: "d[02]"}, 4, 2, -7, -3),
			at("a list beside numbers", "widelist").reads(Choice{}, 4, 2, -7, -5),
			at("numbers beside a list that is named", "widelist").reads(Choice{Column: "d?"}, 4, 3, -7, -5, -3),
			at("a map beside numbers", "widemap").refused(Column, "weights", "d0").reads(Choice{Column: "d?"}, 4, 3, -7, -5, -3),
		)...)
	}
	line := func(name, text string) Case { return Case{Name: name, File: "a.jsonl", Data: []byte(text)} }
	return append(all, decide("which field of a JSON line holds the vector",
		line("two arrays", `{"a":[1,2],"b":[3,4]}`).refused(Column, "a, b").reads(Choice{Column: "b"}, 1, 2, 3, 4),
		line("sparse", `{"id":1,"indices":[3,5],"values":[0.5,1]}`).refused(Column, "indices", "values"),
		line("answers", `{"query":0,"ids":[3,4]}`).refused(Column, "ids", "answers"),
		line("answers of texts", `{"query":0,"names":["a","b"],"scores":[0.5,0.25]}`).refused(Column, "scores", "answers"),
	)...)
}

func formats() []Case {
	return decide("which format a file has",
		Case{Name: "npy under another name", File: "a.csv", Data: file("row.npy")}.refused("", "csv", "npy"),
		csv("UTF-16", "\xff\xfex\x00,\x00y\x00\n\x001\x00,\x002\x00\n\x00").refused("", "is UTF-16; convert it to UTF-8"),
		csv("UTF-16, big end first", "\xfe\xff\x00x\x00,\x00y\x00\n\x001\x00,\x002\x00\n").refused("", "is UTF-16; convert it to UTF-8"),
		csv("UTF-16 without a mark", "\x00x\x00,\x00y\x00\n\x001\x00,\x002\x00\n").refused("", "is UTF-16; convert it to UTF-8"),
		csv("lines that end with CR", "x,y\r1,2\r3,4\r").refused("", "carriage return alone", "LF"),
		csv("lines that end with CR LF", "x,y\r\n1,2\r\n3,4\r\n").reads(Choice{}, 2, 2, 1, 2),
		Case{Name: "JSON lines in UTF-16", File: "a.jsonl", Data: []byte("[\x001\x00]\x00\n\x00")}.refused("", "is UTF-16; convert it to UTF-8"),
		Case{Name: "JSON lines that end with CR", File: "a.jsonl", Data: []byte("[1,2]\r[3,4]\r")}.refused("", "carriage return alone", "LF"),
		Case{Name: "JSON with CR in a line", File: "a.jsonl", Data: []byte("{\"v\":[1,\r2]}\n{\"v\":[3,4]}\n")}.reads(Choice{}, 2, 2, 1, 2),
		Case{Name: "Arrow under another name", File: "a.parquet", Data: file("two.arrow")}.refused("", "parquet", "arrow"),
	)
}
