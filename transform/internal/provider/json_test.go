package provider

import (
	"testing"

	"gander/schemas/jsonval"
)

func TestSortedJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":{"d":[{"z":1,"y":2}],"c":null}}`: `{"a":{"c":null,"d":[{"y":2,"z":1}]},"b":1}`,
		`{"a":1,"b":2,"a":3}`:                        `{"a":3,"b":2}`,
		`{"a":1,"\u0061":2}`:                         `{"a":2}`,
		`{"a":{"x":1},"a":{"y":2}}`:                  `{"a":{"y":2}}`,
		`{"":1,"a":2,"A":3,"é":4}`:                   `{"":1,"A":3,"a":2,"é":4}`,
		`[ 2, 1.0 , 1 ]`:                             `[2,1.0,1]`,
		`{}`:                                         `{}`,
		`[]`:                                         `[]`,
		` "\u0041\/" `:                               `"A/"`,
		`1e3`:                                        `1e3`,
		`null`:                                       `null`,
	} {
		if got := SortedJSON(parse(t, in)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
		if got := SortedJSON(parse(t, want)); got != want {
			t.Errorf("%s is not stable: %s", want, got)
		}
	}
	if got := SortedJSON(jsonval.Value{}); got != "" {
		t.Errorf("missing: %q", got)
	}
	deep := nested(jsonval.MaxDepth)
	if got := SortedJSON(parse(t, deep)); got != deep {
		t.Error("the deepest there is does not come back")
	}
}
