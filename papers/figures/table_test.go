package figures

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// filled is a row in which every field has a value of its own.
func filled(salt int) Row {
	var r Row
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		switch x := v.Field(i).Addr().Interface().(type) {
		case *string:
			*x = strings.Repeat("a, \"b\"\n", 1+i%2) + string(rune('c'+i))
		case *int:
			*x = salt + i
		case *float64:
			*x = float64(salt) + float64(i)/3
		case *time.Duration:
			*x = time.Duration(salt + i)
		}
	}
	return r
}

// TestTable: what is written is read again to the last bit, every field of a row has a column, and what is damaged is named.
func TestTable(t *testing.T) {
	want := []Row{filled(1), {}, filled(2)}
	want[1].Y, want[1].X, want[1].Gap = math.Inf(1), 1e-300, -.1
	var text bytes.Buffer
	if err := WriteHeader(&text); err != nil {
		t.Fatal(err)
	}
	if err := WriteRows(&text, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRows(bytes.NewReader(text.Bytes()), "rows.csv")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	head, rest, _ := strings.Cut(text.String(), "\n")
	if n := reflect.TypeFor[Row]().NumField(); len(names()) != n || strings.Count(head, ",") != n-1 {
		t.Errorf("%d columns for %d fields", len(names()), n)
	}
	for wrong, bad := range map[string]string{
		"rows.csv: EOF":                              "",
		"rows.csv: columns":                          "point,panel\n",
		"rows.csv: line 2, n: strconv":               head + "\n,,,,,ten" + strings.Repeat(",", len(names())-6) + "\n",
		"rows.csv: record on line 2: wrong number o": head + "\n1,2\n",
		"rows.csv: columns [\"n\"":                   strings.Replace(head, "point", "n", 1) + "\n" + rest,
	} {
		if _, err := ReadRows(strings.NewReader(bad), "rows.csv"); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%v, want %q", err, wrong)
		}
	}
}
