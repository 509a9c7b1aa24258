package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/service/problem"
)

func TestDecodeLine(t *testing.T) {
	got, err := DecodeLine([]byte(` {"custom_id":"é-1", "body": {"queries":[[1, 2]],"x":{"y":["}"]}} ,"url":"/v1/collections/m/search","method":"POST"} ` + "\r"))
	want := Line{CustomID: "é-1", Method: "POST", URL: "/v1/collections/m/search", Body: json.RawMessage(`{"queries":[[1, 2]],"x":{"y":["}"]}}`)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if len(got.Body) != cap(got.Body) {
		t.Errorf("room for %d bytes behind the body, which are the line's", cap(got.Body)-len(got.Body))
	}
}

func TestDecodeLineRefuses(t *testing.T) {
	for _, x := range []struct {
		name, line string
		kind       problem.Kind
		field      string
		says       string
		id         string
	}{
		{"nothing", ``, problem.Malformed, "", "text ends where an object is wanted", ""},
		{"garbage", `hello`, problem.Malformed, "", `"h" at byte 0 where an object is wanted`, ""},
		{"behind", `{"custom_id":"a","method":"POST","url":"u","body":{}} x`, problem.Malformed, "", `"x" at byte 54 where the end is wanted`, "a"},
		{"no id", `{"method":"POST","url":"u","body":{}}`, problem.InvalidValue, "custom_id", "custom_id is missing or empty", ""},
		{"empty id", `{"custom_id":"","method":"POST","url":"u","body":{}}`, problem.InvalidValue, "custom_id", "custom_id is missing or empty", ""},
		{"id number", `{"custom_id":7,"method":"POST","url":"u","body":{}}`, problem.InvalidValue, "custom_id", "custom_id is a number, a string is wanted", ""},
		{"id twice", `{"custom_id":"a","custom_id":"b"}`, problem.InvalidValue, "custom_id", "custom_id is given twice", "a"},
		{"no method", `{"custom_id":"a","url":"u","body":{}}`, problem.InvalidValue, "method", "method is missing or empty", "a"},
		{"method", `{"custom_id":"a","method":"GET","url":"u","body":{}}`, problem.InvalidValue, "method", `method is "GET", POST is wanted`, "a"},
		{"no url", `{"custom_id":"a","method":"POST","body":{}}`, problem.InvalidValue, "url", "url is missing or empty", "a"},
		{"no body", `{"custom_id":"a","method":"POST","url":"u"}`, problem.InvalidValue, "body", "body is missing or empty", "a"},
		{"body array", `{"custom_id":"a","method":"POST","url":"u","body":[1]}`, problem.InvalidValue, "body", "body is an array, an object is wanted", "a"},
		{"body null", `{"custom_id":"a","method":"POST","url":"u","body":null}`, problem.InvalidValue, "body", "body is null, an object is wanted", "a"},
		{"body broken", `{"custom_id":"a","method":"POST","url":"u","body":{"k":}}`, problem.Malformed, "body", `body: "}" at byte 55 where a value is wanted`, "a"},
		{"cut", `{"custom_id":"a","method":"POST","url":"u","body":{"k":1`, problem.Malformed, "body", `body: text ends where "," or "}" is wanted`, "a"},
		{"unknown", `{"custom_id":"a","priority":1}`, problem.UnknownField, "priority", `there is no field "priority"`, "a"},
	} {
		t.Run(x.name, func(t *testing.T) {
			l, err := DecodeLine([]byte(x.line))
			checkProblem(t, err, x.kind, x.field, -1, x.says)
			if l.CustomID != x.id {
				t.Errorf("custom_id %q, want %q", l.CustomID, x.id)
			}
		})
	}
}
