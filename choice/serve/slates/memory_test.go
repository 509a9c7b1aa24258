package slates

import (
	"strings"
	"testing"

	"thresher/service/problem"
)

// Requests whose slates need more memory than permitted are refused before any of it is
// allocated, and nothing is issued.
func TestTooLong(t *testing.T) {
	f := open(t, Options{scratch: 1 << 20})
	v := films(1, 4000)
	if _, err := f.ask(v, `{"users":["ann"],"k":3}`, ""); err != nil {
		t.Fatal(err)
	}
	_, err := f.ask(v, `{"users":["ann"],"k":2000,"eps":0.01}`, "")
	wants(t, err, problem.OutOfMemory, "k")
	if p := problem.Of(err); !strings.Contains(p.Detail, "up to 2000 of 4000 items") || !strings.Contains(p.Detail, "1048576 are available") {
		t.Error(p.Detail)
	}
	if i := f.info(); i.Slates != 1 {
		t.Errorf("%+v", i)
	}
}
