package jsonread

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// walk reads a whole document with the walker, into what encoding/json would
// make of it.
func walk(r *Reader) (any, error) {
	switch r.kind() {
	case "an object":
		m := map[string]any{}
		return m, r.Map(func(key string) (err error) {
			m[key], err = walk(r)
			return err
		})
	case "an array":
		return Slice(r, func(int) (any, error) { return walk(r) })
	case "a string":
		return r.String()
	case "a boolean":
		return r.Bool()
	case "null":
		r.Skip()
		return nil, nil
	}
	return json.Number(r.Raw()), nil
}

func reference(t interface{ Fatal(...any) }, doc string) any {
	dec := json.NewDecoder(strings.NewReader(doc))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	return want
}

func checkAgainstReference(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, doc string) {
	r, err := New([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	got, err := walk(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := reference(t, doc); !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\n got %#v\nwant %#v", doc, got, want)
	}
	if r.peek() != 0 || len(r.path) != 0 {
		t.Fatalf("%s: the walk ended at byte %d, path %q", doc, r.pos, r.Path())
	}
	r, _ = New([]byte(doc))
	if raw := r.Raw(); string(raw) != strings.Trim(doc, " \t\r\n") {
		t.Fatalf("skipping %s passed over %s", doc, raw)
	}
}

func TestWalkDocuments(t *testing.T) {
	for _, doc := range []string{
		`{}`, `[]`, `""`, `0`, `-1.5e+3`, `true`, `false`, `null`, ` [ ] `, "{ \t\r\n }",
		`"\""`, `"\\"`, `"\\\""`, `"a\\\\"`, `"a\"b\\"`, `"\u0041\n\/"`, `["\"","\\"]`, `{"\"":"\\","a\\":"\""}`,
		`[1,2 , 3]`, `{"a":[{"b":[]},{}],"c":{"d":null}}`, `[[[[]]],[{}]]`, `[true,false,null,1e5,"x"]`,
	} {
		checkAgainstReference(t, doc)
	}
}

func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch k := rapid.IntRange(0, 6).Draw(t, "kind"); {
		case k == 0 && depth > 0:
			return rapid.MapOfN(rapid.StringN(0, 6, 20), value(depth-1), 0, 4).Draw(t, "object")
		case k == 1 && depth > 0:
			return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "array")
		case k == 2:
			return rapid.Bool().Draw(t, "bool")
		case k == 3:
			return rapid.Int().Draw(t, "int")
		case k == 4:
			return nil
		}
		return rapid.StringOf(rapid.SampledFrom([]rune(`\"/{}[],:aé 
`))).Draw(t, "string")
	})
}

func TestWalkRandomDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, err := json.Marshal(value(4).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indent") {
			doc, _ = json.MarshalIndent(json.RawMessage(doc), " ", "\t")
		}
		checkAgainstReference(t, string(doc))
	})
}

func readThing(r *Reader) error {
	var name string
	return r.Struct(Need("name", &name),
		May("n", func() error { _, err := r.Uint(255); return err }),
		May("list", func() error {
			_, err := Slice(r, func(int) (bool, error) { return true, readThing(r) })
			return err
		}))
}

func TestStructErrors(t *testing.T) {
	tests := []struct{ doc, want string }{
		{`{"name":"a","n":255,"list":[]}`, ""},
		{`{"other":{"name":[]},"name":"a","n":null}`, ""},
		{`[]`, "expected an object, found an array"},
		{`{}`, "name: required, and not there"},
		{`{"name":null}`, "name: required, and not there"},
		{`{"NAME":"a"}`, "name: required, and not there"},
		{`{"name":1}`, "name: expected a string, found a number"},
		{`{"name":"a","name":"b"}`, "name: is there twice"},
		{`{"name":"a","n":"1"}`, "n: expected a number, found a string"},
		{`{"name":"a","n":256}`, "n: expected a whole number from 0 to 255, found 256"},
		{`{"name":"a","n":-1}`, "n: expected a whole number from 0 to 255, found -1"},
		{`{"name":"a","n":1.0}`, "n: expected a whole number from 0 to 255, found 1.0"},
		{`{"name":"a","n":99999999999999999999}`, "n: expected a whole number from 0 to 255, found 99999999999999999999"},
		{`{"name":"a","list":{}}`, "list: expected an array, found an object"},
		{`{"name":"a","list":[{"name":"b"},{"name":"c","list":[{"n":1}]}]}`, "list[1].list[0].name: required, and not there"},
		{`{"name":"a","list":[null]}`, "list[0]: expected an object, found null"},
	}
	for _, tt := range tests {
		r, err := New([]byte(tt.doc))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := readThing(r); err != nil {
			got = err.Error()
			var field *FieldError
			if !errors.As(err, &field) {
				t.Errorf("%s: %T is no FieldError", tt.doc, err)
			}
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.doc, got, tt.want)
		}
	}
}

func TestSyntaxError(t *testing.T) {
	for doc, offset := range map[string]int64{"": 0, "{": 1, `{"a":}`: 6, "ELF": 1, "{} {}": 4, "\x7fELF": 1, "{\"é\xff\":1}": 4} {
		_, err := New([]byte(doc))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset != offset {
			t.Errorf("%q: %v, want a syntax error at %d", doc, err, offset)
		}
	}
}

func TestPathOfOddNames(t *testing.T) {
	r, _ := New([]byte(`{"a b":{"":{"0":1}}}`))
	var path string
	var visit func(string) error
	visit = func(string) error {
		path = r.Path()
		if r.peek() == '{' {
			return r.Map(visit)
		}
		return nil
	}
	if err := r.Map(visit); err != nil || path != `["a b"][""]["0"]` {
		t.Errorf("%s, %v", path, err)
	}
}

func TestBudget(t *testing.T) {
	r, _ := New([]byte("[1,2,3]"))
	r.SetBudget(23)
	_, err := Slice(r, func(int) (uint64, error) { return r.Uint(9) })
	if !errors.Is(err, ErrBudget) || !strings.HasPrefix(err.Error(), "[2]: ") {
		t.Error(err)
	}
}

func TestSeek(t *testing.T) {
	r, _ := New([]byte(`{"name":"a","list":[{"name":"deep"}],"n":7}`))
	var late Mark
	unread := func() error { return nil }
	err := r.Struct(Need("name", unread), May("n", unread), May("list", func() error {
		late = r.Mark()
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	r.Seek(late)
	err = r.Array(func(int) error { return r.Struct(Need("name", func() error { return r.Errorf("here") })) })
	if fmt.Sprint(err) != "list[0].name: here" {
		t.Error(err)
	}
}

// A long string full of escapes is passed over in linear time.
func BenchmarkEscapes(b *testing.B) {
	for _, n := range []int{1 << 12, 1 << 16, 1 << 20} {
		doc := []byte(`"` + strings.Repeat(`\n`, n) + `"`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				r := &Reader{data: doc}
				r.Skip()
			}
		})
	}
}

// FuzzWalk: what is JSON reads as encoding/json reads it; what is not is an
// error. (Of fields that are there twice, both take the last one.)
func FuzzWalk(f *testing.F) {
	for _, doc := range []string{`{"a":[1,-2.5e3,true,null,"x\"\\\u0041"],"":{}}`, ` [ [ ] , { } ] `, `"\\\\\""`, "\xff", `{"a":1,"a":2}`} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if _, err := New([]byte(doc)); err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || json.Valid([]byte(doc)) && utf8.ValidString(doc) {
				t.Fatalf("%q: %v", doc, err)
			}
			return
		}
		checkAgainstReference(t, doc)
	})
}

// TestValidIsStandard: a document is valid where encoding/json says so, and nowhere else.
func TestValidIsStandard(t *testing.T) {
	docs := []string{
		"", " ", "nul", "null null", `{"a":1,"a":2}`, `{"a":1,}`, `[1,]`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00"`, `"\ud83d\ude00"`, "\"\t\"", "\"\x7f\"", `"\x"`,
		"01", "-", "-0", "1.", "1e", "1e+5", ".5", "\ufeff1", "1\x00", "\v1", "/**/1", `{"\ud800":1,"\ud801":2}`,
	}
	for _, depth := range []int{9_998, 9_999, 10_000, 10_001, 10_002} {
		docs = append(docs, strings.Repeat("[", depth)+strings.Repeat("]", depth), strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth))
	}
	for _, doc := range docs {
		if got, want := valid([]byte(doc)), json.Valid([]byte(doc)); got != want {
			t.Errorf("%.60q: %v, want %v", doc, got, want)
		}
	}
	pieces := []string{"{", "}", "[", "]", ",", ":", `"a"`, `"\ud800"`, `"\n"`, "1", "-", "0", ".", "e5", "true", "null", " ", "\n", "\"", "\\", "u00e9"}
	rapid.Check(t, func(t *rapid.T) {
		doc := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "doc"), "")
		if got, want := valid([]byte(doc)), json.Valid([]byte(doc)); got != want {
			t.Fatalf("%q: %v, want %v", doc, got, want)
		}
	})
}
