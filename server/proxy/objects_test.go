package proxy

import (
	"encoding/json"
	"strings"
	"testing"
)

// pieces feeds a stream in pieces, and returns the objects that were found.
func pieces(stream string, size, limit int) (found []string, o *objects) {
	o = &objects{limit: limit}
	o.found = func(object []byte, whole bool) {
		text := string(object)
		if !whole {
			text += "..."
		}
		found = append(found, text)
	}
	for len(stream) > 0 {
		n := min(size, len(stream))
		o.feed([]byte(stream[:n]))
		stream = stream[n:]
	}
	return found, o
}

// TestObjects: objects are found whatever pieces they come in, and whatever their
// texts hold.
func TestObjects(t *testing.T) {
	const stream = `{"a":"}{\"\\"}` + "\n \t" + `{"b":[1,{"c":"[\\\""}]}[1,2]{}`
	want := []string{`{"a":"}{\"\\"}`, `{"b":[1,{"c":"[\\\""}]}`, `[1,2]`, `{}`}
	for size := 1; size <= len(stream); size++ {
		found, o := pieces(stream, size, 100)
		if strings.Join(found, "|") != strings.Join(want, "|") || !o.whole() {
			t.Errorf("in pieces of %d: %q", size, found)
		}
	}
	if found, o := pieces(`{"a":{"b":1}`, 3, 100); len(found) != 0 || o.whole() {
		t.Errorf("half an object: %q", found)
	}
	if found, _ := pieces(`{"id":1,"long":"xxxxxxxxxxxxxx"}{}`, 5, 8); strings.Join(found, "|") != `{"id":1,...|{}` {
		t.Errorf("bounded: %q", found)
	}
}

func TestLeadingID(t *testing.T) {
	for object, want := range map[string]string{
		`{"id":7,"result":{"id":8}}`:      "7",
		`{"id":"x\"y","result":`:          `"x\"y"`,
		`{"result":{"id":8},"id":9}`:      "9",
		`{"id":10,"result":"cut sho`:      "10",
		`{"id":12`:                        "",
		`{"id":nonsense,"result":null}`:   "",
		`{"result":{"id":8,"more":[1,2`:   "",
		`{"id":null,"result":1}`:          "null",
		`[1]`:                             "",
		`{"method":"x","params":[],"i":1`: "",
	} {
		id, ok := leadingID([]byte(object))
		if string(id) != want || ok != (want != "") {
			t.Errorf("%s: %s, %v; want %s", object, id, ok, want)
		}
	}
}

// FuzzObjects: the kept bytes stay within their bound, pieces make no difference,
// and every value of a stream of JSON is found.
func FuzzObjects(f *testing.F) {
	for _, s := range []string{`{"id":1,"a":"}"}{"id":2}`, `}}}]`, `{"\`, `"{`, `[[[{`} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, stream string, size int) {
		const limit = 64
		size = max(1, size%100)
		found, _ := pieces(stream, size, limit)
		for _, s := range found {
			if len(s) > limit+3 {
				t.Fatalf("%d bytes are kept", len(s))
			}
		}
		again, _ := pieces(stream, len(stream)+1, limit)
		if strings.Join(found, "|") != strings.Join(again, "|") {
			t.Fatalf("in pieces of %d: %q, at once: %q", size, found, again)
		}
		var v map[string]any
		if json.Unmarshal([]byte(stream), &v) == nil && v != nil && len(found) != 1 {
			t.Fatalf("one object is %d", len(found))
		}
	})
}
