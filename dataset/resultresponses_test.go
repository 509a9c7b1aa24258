package dataset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResponses: a response of each shape of the table, and its variants, has the answers of bareResults or namedResults.
func TestResponses(t *testing.T) {
	both, names := bareResults(true), namedResults()
	texts := bareResults(true)
	texts[0].Rows, texts[0].IDs = nil, []string{"3", "1", "2"}
	texts[1].Rows, texts[1].IDs = nil, []string{"4", "0"}
	read := map[string]bool{}
	for _, c := range []struct {
		program, text string
		want          []Result
	}{
		{"Elasticsearch, OpenSearch (_msearch)", `{"took":3,"responses":[
			{"took":1,"timed_out":false,"_shards":{"total":1},"hits":{"total":{"value":3},"max_score":2.5,"hits":[{"_index":"a","_id":"c","_score":2.5,"_source":{"id":9}},{"_id":"a","_score":1},{"_id":"b\u00e9","_score":0.25}]},"status":200},
			{"hits":{"hits":[{"_id":"d","_score":7},{"_id":"e","_score":-1}]},"status":200}]}`, names},
		{"Elasticsearch, OpenSearch (_search)", `{"took":3,"hits":{"hits":[{"_id":"3","_score":2.5},{"_id":"1","_score":1},{"_id":"2","_score":0.25}]}}
			{"took":3,"hits":{"hits":[{"_id":"4","_score":7},{"_id":"0","_score":-1}]}}`, texts},
		{"Milvus", `{"code":0,"cost":0,"data":[{"distance":2.5,"id":3},{"distance":1,"id":1},{"distance":0.25,"id":2},{"distance":7,"id":4},{"distance":-1,"id":0}],"topks":[3,2]}`, both},
		{"Milvus", `{"code":0,"data":[[{"distance":2.5,"id":3},{"distance":1,"id":1},{"distance":0.25,"id":2}],[{"distance":7,"id":4},{"distance":-1,"id":0}]]}`, both},
		{"Milvus", `{"code":0,"data":[{"distance":2.5,"id":3},{"distance":1,"id":1},{"distance":0.25,"id":2}]}`, both[:1]},
		{"Milvus", `{"code":0,"data":[],"topks":[0,0]}`, []Result{{Rows: []int64{}}, {Query: 1, Rows: []int64{}}}},
		{"Weaviate", `{"data":{"Get":{"Item":[{"_additional":{"distance":2.5,"id":"c"},"name":"x"},{"_additional":{"id":"a","distance":1}},{"_additional":{"id":"bé","distance":0.25}}]}}}
			{"data":{"Get":{"Item":[{"_additional":{"distance":7,"id":"d"}},{"_additional":{"distance":-1,"id":"e"}}]}}}`, names},
		{"Pinecone", `{"matches":[{"id":"c","score":2.5,"values":[]},{"id":"a","score":1},{"id":"bé","score":0.25}],"namespace":""}
			{"namespace":"","usage":{"readUnits":1},"matches":[{"id":"d","score":7},{"id":"e","score":-1}]}`, names},
		{"turbopuffer", `{"rows":[{"$dist":2.5,"id":3,"vector":[1]},{"$dist":1,"id":1},{"$dist":0.25,"id":2}],"billing":{}}
			{"rows":[{"$dist":7,"id":4},{"$dist":-1,"id":0}]}`, both},
		{"Vespa", `{"root":{"id":"toplevel","relevance":1.0,"fields":{"totalCount":3},"children":[{"id":"id:ns:item::c","relevance":2.5,"source":"x","fields":{}},{"id":"id:ns:item::a","relevance":1},{"id":"id:ns:item:g=7:bé","relevance":0.25}]}}
			{"root":{"id":"toplevel","relevance":1.0,"children":[{"id":"id:ns:item::d","relevance":7},{"id":"id:ns:item::e","relevance":-1}]}}`, names},
		{"Vespa", `{"root":{"id":"toplevel","fields":{"totalCount":0}}}`, []Result{{Rows: []int64{}}}},
		{"Chroma", `{"ids":[["c","a","bé"],["d","e"]],"embeddings":null,"documents":null,"included":["distances"],"distances":[[2.5,1,0.25],[7,-1]]}`, names},
		{"Chroma", `{"distances":null,"ids":[["c","a","bé"],["d","e"]]}`, []Result{{IDs: names[0].IDs}, {Query: 1, IDs: names[1].IDs}}},
		{"", `{"result":{"hits":[{"_id":"c","_score":2.5,"fields":{}},{"_id":"a","_score":1},{"_id":"bé","_score":0.25}]},"usage":{}}
			{"result":{"hits":[{"_id":"d","_score":7},{"_id":"e","_score":-1}]}}`, names}, // Pinecone with a model
		{"", `[[{"corpus_id":3,"score":2.5},{"corpus_id":1,"score":1},{"corpus_id":2,"score":0.25}],[{"corpus_id":4,"score":7},{"corpus_id":0,"score":-1}]]`, both}, // sentence-transformers
		{"", `[[3,1,2],[4,0]]`, bareResults(false)}, // lists of ids
	} {
		got, n, err := readResults(writeTemp(t, "a.json", c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" || n != -1 {
			t.Errorf("%s: Len %d, (-want +got):\n%s", c.text, n, d)
		}
		read[c.program] = true
	}
	for _, s := range responseShapes {
		if !read[s.program] {
			t.Errorf("no response of %s is read", s.program)
		}
	}
}

func TestMalformedResponses(t *testing.T) {
	for _, c := range []struct {
		text     string
		row, col int64
		want     string
	}{
		{`{"responses":[{"hits":{"hits":[{"_id":"1"}]}},{"error":{"type":"x"},"status":404}]}`, 1, -1, `field "hits" is missing; there are error, status`},
		{`{"hits":{"hits":[{"_id":"1","_score":1},{"_id":"2","_score":"x"}]}}`, 0, 1, "a score, a finite number,"},
		{`{"hits":{"total":1}}`, 0, -1, `response of Elasticsearch, OpenSearch (_search): field "hits" is missing`},
		{`{"data":[{"id":1,"distance":1}],"topks":[2]}`, 0, -1, "fewer than topks counts: query 0 of the document has 1 of 2"},
		{`{"data":[{"id":1,"distance":1},{"id":2,"distance":1}],"topks":[1]}`, 1, -1, "more hits than the 1 that topks counts"},
		{`{"data":[{"pk":1,"distance":1}]}`, 0, 0, `no field "id"`},
		{`{"data":{"Get":{"A":[],"B":[]}}}`, 0, -1, "one field is wanted, the class of the hits; there are A, B"},
		{`{"root":{"errors":[{"code":4}]}}`, 0, -1, "no answers, but errors"},
		{`{"ids":[["a"],["b"]],"distances":[[1]]}`, 1, -1, "1 lists of distances, and more of ids"},
		{`{"ids":[["a","b"]],"distances":[[1]]}`, 0, 1, "1 of distances, and more ids"},
		{`{"ids":[["a"]],"distances":[[1,2]]}`, 0, -1, "2 of distances for 1 ids"},
		{`{"ids":[["a"]],"distances":[["x"]]}`, 0, -1, "distances"},
		{`{"matches":[{"id":"a"}]} {"rows":[]}`, 1, -1, `field "matches" is missing; there are rows`},
		{`{"matches":[{"id":"a"}`, 0, -1, "truncated"},
	} {
		path := writeTemp(t, "a.json", c.text)
		_, _, err := readResults(path)
		checkError(t, nil, err, path, c.row, c.col, c.want)
	}
}
