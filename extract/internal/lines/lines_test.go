package lines

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// read lists the lines of a stream, and its error last.
func read(r io.Reader, limit int) []string {
	var got []string
	reader := NewReader(r, limit)
	for line, ok := reader.Next(); ok; line, ok = reader.Next() {
		s := fmt.Sprintf("%d %q", line.Number, line.Text)
		if line.Cut {
			s += " cut"
		}
		if line.TooLong {
			s += " too long"
		}
		got = append(got, s)
	}
	if _, ok := reader.Next(); ok {
		got = append(got, "a line after the end")
	}
	if reader.Err() != nil {
		got = append(got, reader.Err().Error())
	}
	return got
}

func TestLines(t *testing.T) {
	for in, want := range map[string][]string{
		"":                 nil,
		"\n":               {`1 ""`},
		"a":                {`1 "a" cut`},
		"a\n":              {`1 "a"`},
		"a\nb":             {`1 "a"`, `2 "b" cut`},
		"\n\na\r\n\r":      {`1 ""`, `2 ""`, `3 "a\r"`, `4 "\r" cut`},
		"a\rb\vc\u2028d\n": {`1 "a\rb\vc\u2028d"`},
		"\x00\xff\n":       {`1 "\x00\xff"`},
		"12345":            {`1 "12345" cut`},
		"123456":           {`1 "" cut too long`},
		"123456\n12345\n":  {`1 "" too long`, `2 "12345"`},
		"a\n123456\nb":     {`1 "a"`, `2 "" too long`, `3 "b" cut`},
	} {
		limit := 16
		if strings.Contains(in, "12345") {
			limit = 5
		}
		if d := cmp.Diff(want, read(strings.NewReader(in), limit)); d != "" {
			t.Errorf("%q: %s", in, d)
		}
		if d := cmp.Diff(want, read(iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(in))), limit)); d != "" {
			t.Errorf("%q, a byte at a time: %s", in, d)
		}
	}
}

// Lines that end on, before and behind an edge of the buffer.
func TestBufferEdges(t *testing.T) {
	for _, n := range []int{bufferSize - 1, bufferSize, bufferSize + 1, 2 * bufferSize, 2*bufferSize + 1} {
		long := strings.Repeat("x", n)
		for _, limit := range []int{n - 1, n} {
			reader := NewReader(strings.NewReader("a\n"+long+"\n"+long), limit)
			for i, want := range []string{"a", long, long} {
				line, ok := reader.Next()
				tooLong := len(want) > limit
				if tooLong {
					want = ""
				}
				if !ok || line.Number != int64(i+1) || string(line.Text) != want || line.TooLong != tooLong || line.Cut != (i == 2) {
					t.Errorf("%d bytes, at most %d: line %d is number %d with %d bytes, ok %v, too long %v, cut %v",
						n, limit, i+1, line.Number, len(line.Text), ok, line.TooLong, line.Cut)
				}
			}
			if _, ok := reader.Next(); ok || reader.Err() != nil {
				t.Errorf("%d bytes: no end, %v", n, reader.Err())
			}
		}
	}
}

// What a long line needed is not kept, unless it is little.
func TestLongLineIsReleased(t *testing.T) {
	reader := NewReader(strings.NewReader(strings.Repeat("x", keptSize+1)+"\na\n"), 2*keptSize)
	reader.Next()
	if cap(reader.held) <= keptSize {
		t.Fatalf("only %d bytes were needed", cap(reader.held))
	}
	reader.Next()
	if cap(reader.held) > keptSize {
		t.Errorf("%d bytes are kept", cap(reader.held))
	}
}

func TestError(t *testing.T) {
	broken := errors.New("broken")
	for in, want := range map[string][]string{
		"":        {"broken"},
		"a\n":     {`1 "a"`, "broken"},
		"a\nb":    {`1 "a"`, `2 "b" cut`, "broken"},
		"a\n1234": {`1 "a"`, `2 "" cut too long`, "broken"},
	} {
		if d := cmp.Diff(want, read(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), 3)); d != "" {
			t.Errorf("%q: %s", in, d)
		}
	}
}
