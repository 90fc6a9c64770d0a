package dapwire_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

func TestParse(t *testing.T) {
	m, err := dapwire.Parse([]byte(` { "seq" : 3, "type":"response","request_seq":2,"success":true,"command":"x\"y","body":{"seq":9,"s":"}]\\"} } `))
	if err != nil {
		t.Fatal(err)
	}
	if m.Type != dapwire.TypeResponse || m.Seq != 3 || m.RequestSeq != 2 || !m.Success || m.Command != `x"y` {
		t.Errorf("%+v", m)
	}
	m.SetSeq(4)
	m.SetRequestSeq(77)
	const want = ` { "seq" : 4, "type":"response","request_seq":77,"success":true,"command":"x\"y","body":{"seq":9,"s":"}]\\"} } `
	if got := string(m.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSet: what is set is replaced in its place or added at the end; the rest
// keeps its bytes.
func TestSet(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{}`, `{"a":1,"b":2}`},
		{`{"z":0.10}`, `{"z":0.10,"a":1,"b":2}`},
		{`{"b" : [1, {"a":5}] , "a":null }`, `{"b" : 2 , "a":1 }`},
		{`{"a":7,"a":8}`, `{"a":1,"a":1,"b":2}`},
	} {
		o, err := dapwire.ParseObject([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		o.Set("a", []byte("9"))
		o.Set("a", []byte("1"))
		o.Set("b", []byte("2"))
		if got := string(o.Bytes()); got != c.want {
			t.Errorf("%s becomes %s, want %s", c.in, got, c.want)
		}
		if n, ok := o.Int("a"); n != 1 || !ok {
			t.Errorf("%s: a is %d, %v", c.in, n, ok)
		}
	}
}

func TestParseMalformed(t *testing.T) {
	for _, in := range []string{"", " ", "{", "}", "[]", "1", "null", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1]`, `{"a":[1}`, `{"a":"`, `{a:1}`, `{"a":1}{}`, `{"a":1 "b":2}`, `{"\x":1}`, `{"a":nul}`} {
		if _, err := dapwire.Parse([]byte(in)); err == nil {
			t.Errorf("%q is taken for a message", in)
		}
	}
}

func TestWrongTypes(t *testing.T) {
	m, err := dapwire.Parse([]byte(`{"seq":"1","type":7,"command":{},"request_seq":1.5,"success":"true"}`))
	if err != nil || m.Seq != 0 || m.Type != "" || m.Command != "" || m.Success {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestNew(t *testing.T) {
	request, err := dapwiretest.Request("stackTrace", map[string]int{"threadId": 1})
	if err != nil {
		t.Fatal(err)
	}
	request.SetSeq(12)
	m, err := dapwire.NewError(request, 2004, "Unable to produce stack trace", "no thread 5")
	if err != nil {
		t.Fatal(err)
	}
	m.SetSeq(3)
	const want = `{"seq":3,"type":"response","request_seq":12,"success":false,"command":"stackTrace","message":"Unable to produce stack trace",` +
		`"body":{"error":{"id":2004,"format":"Unable to produce stack trace: no thread 5"}}}`
	if got := string(m.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzObject compares with encoding/json: what that takes for an object has the
// same fields here, and stays what it was when one of them is replaced.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b":"\"}","c":{"d":[{}]}}`, `{"a":-1.5e3,"a":null}`, ` {"\u0061":true} `, `{"seq":1,"type":"request"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		o, err := dapwire.ParseObject(in)
		var want map[string]json.RawMessage
		if json.Unmarshal(in, &want) != nil || want == nil {
			if err == nil { // deeper levels may be malformed; no panic is what counts
				o.Set("a", []byte("1"))
				_ = o.Bytes()
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		if !bytes.Equal(o.Bytes(), in) {
			t.Fatalf("%q becomes %q", in, o.Bytes())
		}
		for name, value := range want {
			if got, ok := o.Get(name); !ok || !bytes.Equal(got, value) {
				t.Fatalf("%q: field %q is %q, %v; want %q", in, name, got, ok, value)
			}
		}
		o.Set("seq", []byte("42"))
		want["seq"] = []byte("42")
		var got map[string]json.RawMessage
		if err := json.Unmarshal(o.Bytes(), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q becomes %q (%v)", in, o.Bytes(), err)
		}
	})
}
