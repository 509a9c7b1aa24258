package columns_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"thresher/columns"
)

// A filter in Qdrant's form selects rows by the columns that it names.
func ExampleParseJSON() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "books.csv")
	if err := os.WriteFile(file, []byte("year,lang\n1998,go\n2004,rust\n2011,go\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	filter, err := columns.ParseJSON([]byte(`{"must": [{"key": "year", "range": {"gte": 2000}}], "must_not": [{"key": "lang", "match": {"value": "rust"}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	table, err := columns.Read(context.Background(), []string{file}, filter.Columns(), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := table.Check(filter); err != nil {
		log.Fatal(err)
	}
	rows, err := table.Select(filter)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows.ToArray())
	// Output: [2]
}
