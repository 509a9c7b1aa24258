package api

import (
	"encoding/json"
	"math"
	"testing"
)

func TestIDsComeBack(t *testing.T) {
	for _, id := range []ID{IntID(0), IntID(-7), IntID(math.MaxInt64), IntID(math.MinInt64), TextID(""), TextID("7"), TextID("a\"\né")} {
		text, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		got := ID{Int: 3, Name: "x"}
		if err := json.Unmarshal(text, &got); err != nil || got != id {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1.5", "true", "[]", "9223372036854775808"} {
		if err := json.Unmarshal([]byte(text), new(ID)); err == nil {
			t.Error(text, "is an id")
		}
	}
	if IntID(-7).String() != "-7" || TextID("a b").String() != "a b" {
		t.Error(IntID(-7), TextID("a b"))
	}
}

func TestPageNamesItsEnds(t *testing.T) {
	idOf := func(f *File) string { return f.ID }
	text, err := json.Marshal(NewPage(nil, false, idOf))
	if want := `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	p := NewPage([]File{{ID: "a"}, {ID: "b"}, {ID: "c"}}, true, idOf)
	if *p.FirstID != "a" || *p.LastID != "c" || !p.HasMore {
		t.Errorf("%+v", p)
	}
}
