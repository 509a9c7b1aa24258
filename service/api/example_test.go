package api_test

import (
	"encoding/json"
	"fmt"
	"log"

	"thresher/service/api"
)

// An ID is a JSON number or a JSON string; 7 and "7" are different atoms.
func ExampleID() {
	body, err := json.Marshal([]api.ID{api.IntID(7), api.TextID("7")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))

	var ids []api.ID
	if err := json.Unmarshal(body, &ids); err != nil {
		log.Fatal(err)
	}
	fmt.Println(ids[0] == api.IntID(7), ids[1] == api.TextID("7"))
	// Output:
	// [7,"7"]
	// true true
}
