package items_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
)

// Items of a file, as package slate takes them.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "items")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "films.csv")
	text := "id,title,groups,score,cost.minutes\n7,Up,Drama|Animation,.8,96\n9,Alien,Horror,.9,117\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	set, err := items.Read(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Topics, set.Row(0), set.CostNames, set.CostsOf(1))
	films, err := slate.NewCoverage(set.Len(), len(set.Topics), set.Features)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(films.Size(), "films of", films.Features(), "topics")
	// Output:
	// [Animation Drama Horror] [0.8 0.8 0] [minutes] [117]
	// 2 films of 3 topics
}
