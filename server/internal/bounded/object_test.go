package bounded

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// lengths feeds a stream in pieces, and returns where its objects end, and the length of the
// last one if it does not end.
func lengths(stream string, size int) (ends []int, left int) {
	var o object
	for at := 0; at < len(stream); at += size {
		piece := stream[at:min(at+size, len(stream))]
		for i := range piece { // an end within a piece is seen byte by byte
			before := o.depth
			if o.feed([]byte(piece[i : i+1])); before > 0 && o.depth == 0 {
				ends = append(ends, at+i+1)
			}
		}
	}
	return ends, o.length
}

// TestObject: objects end where they do, whatever pieces they come in, and whatever
// their texts hold.
func TestObject(t *testing.T) {
	const stream = `{"a":"}{\"\\"}` + "\n \t" + `{"b":[1,{"c":"[\\\""}]}[1,2]{}`
	want := []int{14, 40, 45, 47}
	for size := 1; size <= len(stream); size++ {
		if ends, left := lengths(stream, size); !slices.Equal(ends, want) || left != 0 {
			t.Errorf("in pieces of %d: %d, and %d bytes", size, ends, left)
		}
	}
	if ends, left := lengths(`{"a":{"b":1}`, 3); len(ends) != 0 || left != 12 {
		t.Errorf("half an object: %d, and %d bytes", ends, left)
	}
}

var errTooLong = errors.New("too long")

// TestTooLong: an answer is an error once it is longer than can be kept; many short ones are not.
func TestTooLong(t *testing.T) {
	for answers, want := range map[string]error{
		strings.Repeat(`{"id":1}`, 10): io.EOF,
		`{"id":1}{"id":2,"result":"`:   errTooLong,
		`{"id":1}"text without an end`: errTooLong,
		`12345 12345 "12345" 1`:        io.EOF,
		`123456789`:                    errTooLong,
		`{"id":1}         {"id":2}`:    errTooLong, // encoding/json keeps the white space
		"1\n\n\n\n2 \t\t\t\t\t\t3":     io.EOF,
		`]]]]]]]]]]{"id":1}`:           io.EOF,
	} {
		b := NewReader(strings.NewReader(answers), 8, errTooLong)
		var err error
		for p := make([]byte, 5); err == nil; {
			_, err = b.Read(p)
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", answers, err, want)
		}
	}
}

// FuzzObject: pieces make no difference, and each value of a stream of JSON is one object.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{"id":1,"a":"}"}{"id":2}`, `}}}]`, `{"\`, `"{`, `[[[{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		ends, left := lengths(stream, 1)
		var whole object
		if whole.feed([]byte(stream)); whole.length != left {
			t.Fatalf("%d bytes are left at once, %d in pieces", whole.length, left)
		}
		var v map[string]any
		if json.Unmarshal([]byte(stream), &v) == nil && v != nil && len(ends) != 1 {
			t.Fatalf("one object is %d", len(ends))
		}
	})
}
