package service

import (
	"strings"
	"testing"
)

// letters encodes words of the letters a to h, each of which is a coordinate.
func letters(text string) []float32 {
	v, known := make([]float32, dim), false
	for _, c := range text {
		if i := int(c - 'a'); 0 <= i && i < dim {
			v[i]++
			known = true
		}
	}
	if !known {
		return nil
	}
	return v
}

// TestTexts: a collection with an encoder is searched by texts as by their vectors until it
// is replaced; others refuse texts.
func TestTexts(t *testing.T) {
	s := start(t, nil)
	s.fill()
	const path = "/v1/collections/films"
	takes := func() bool {
		var info struct{ Texts bool }
		s.do("GET", path, nil).want(200).into(&info)
		var list struct{ Data []struct{ Texts bool } }
		s.do("GET", "/v1/collections", nil).want(200).into(&list)
		if list.Data[0].Texts != info.Texts {
			t.Errorf("%v in the list, %v by itself", list.Data[0].Texts, info.Texts)
		}
		return info.Texts
	}
	p := s.do("POST", path+"/search", `{"texts":["abba"]}`).problem(400, "invalid-value")
	if p.Field != "texts" || !strings.Contains(p.Detail, "not made of texts") || takes() {
		t.Errorf("%+v", p)
	}
	s.Encode("films", Encoder{Dim: dim + 1, Encode: letters})
	s.do("POST", path+"/search", `{"texts":["abba"]}`).problem(400, "invalid-value")
	s.Encode("films", Encoder{Dim: dim, Encode: letters})
	if !takes() {
		t.Error("nobody is told of the encoder")
	}
	type found struct {
		Results []struct {
			IDs    []int64
			Scores []float32
		}
	}
	var texts, vectors found
	s.do("POST", path+"/search", `{"texts":["abba","ace"],"k":3}`).want(200).into(&texts)
	s.do("POST", path+"/search", `{"queries":[[2,2,0,0,0,0,0,0],[1,0,1,0,1,0,0,0]],"k":3}`).want(200).into(&vectors)
	if len(texts.Results) != 2 || texts.Results[0].IDs[0] != vectors.Results[0].IDs[0] || texts.Results[1].Scores[2] != vectors.Results[1].Scores[2] {
		t.Errorf("%v by texts, %v by vectors", texts, vectors)
	}
	for body, kind := range map[string]string{
		`{"texts":["abba","xyz"]}`:                         "unknown-words",
		`{"texts":["abba"],"queries":[[1,2,3,4,5,6,7,8]]}`: "invalid-value",
		`{"queries":[[1,2,3,4,5,6,7,8]],"texts":["abba"]}`: "invalid-value",
		`{"texts":[1]}`:    "invalid-value",
		`{"texts":"abba"}`: "invalid-value",
		`{"texts":[]}`:     "no-queries",
		`{"texts":["` + strings.Repeat("a", 4097) + `"]}`: "invalid-value",
		`{"texts":["\ud8`: "malformed-body",
	} {
		if p := s.do("POST", path+"/search", body).problem(400, kind); kind == "unknown-words" && (p.Field != "texts" || *p.Index != 1) {
			t.Errorf("%+v", p)
		}
	}

	// The replacement of the collection need not have texts.
	s.do("PUT", path+"?replace=true&wait=true", npy(gaussian(5, 20*dim), dim), "Content-Type", npyType).want(201)
	if takes() {
		t.Error("another collection has the encoder of the one before")
	}
	s.Encode("films", Encoder{Dim: dim, Encode: letters})
	s.do("DELETE", path, nil).want(204)
	s.fill()
	if takes() {
		t.Error("a collection has the encoder of one that was deleted")
	}
}
