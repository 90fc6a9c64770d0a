package dapwire_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/clewdbg/clew/server/dapwire"
)

func TestRead(t *testing.T) {
	const stream = "Content-Length: 2\r\n\r\n{}" +
		"content-length:  7 \r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{\"a\":1}" +
		"Content-Length: 0\r\n\r\n"
	for name, in := range map[string]io.Reader{
		"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream)),
	} {
		r := dapwire.NewReader(in, 0)
		for _, want := range []string{"{}", `{"a":1}`, ""} {
			if got, err := r.Read(); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v; want %q", name, got, err, want)
			}
		}
		if _, err := r.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

func TestReadMalformed(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Content-Length: -1\r\n\r\n", "not a number"},
		{"Content-Length: +1\r\n\r\nx", "not a number"},
		{"Content-Length: 0x10\r\n\r\n", "not a number"},
		{"Content-Length: 99999999999999999999999\r\n\r\n", "not a number"},
		{"Content-Length: 9223372036854775807\r\n\r\n", "above the limit of 100"},
		{"Content-Length: 101\r\n\r\n", "above the limit of 100"},
		{"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "second Content-Length"},
		{"Content-Length\r\n\r\n", "no header field"},
		{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "no header field"},
		{"Host: localhost\r\n\r\n", "no Content-Length"},
		{"\r\n\r\n", "no Content-Length"},
		{strings.Repeat("x", 100_000), "header line of more than"},
		{strings.Repeat("A: b\r\n", 100_000), "more than 32 header lines"},
	} {
		_, err := dapwire.NewReader(strings.NewReader(c.in), 100).Read()
		var framing *dapwire.FramingError
		if !errors.As(err, &framing) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.in, err, c.want)
		}
	}
	for _, in := range []string{"Content-Le", "Content-Length: 5\r\n", "Content-Length: 5\r\n\r\n{}", "Content-Length: 5\r\n\r\n"} {
		if _, err := dapwire.NewReader(strings.NewReader(in), 0).Read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestReadOffset: an error says where in the stream it is.
func TestReadOffset(t *testing.T) {
	r := dapwire.NewReader(strings.NewReader("Content-Length: 2\r\n\r\n{}bad\r\n\r\n"), 0)
	if _, err := r.Read(); err != nil {
		t.Fatal(err)
	}
	_, err := r.Read()
	var framing *dapwire.FramingError
	if !errors.As(err, &framing) || framing.Offset != 23 {
		t.Errorf("%v, want offset 23", err)
	}
}

// TestReadClaim: a length that is only claimed costs no memory.
func TestReadClaim(t *testing.T) {
	in := "Content-Length: 268435456\r\n\r\n" + strings.Repeat("x", 1000)
	if allocated := testing.AllocsPerRun(1, func() {
		if _, err := dapwire.NewReader(strings.NewReader(in), 0).Read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}); allocated > 20 {
		t.Errorf("%v allocations", allocated)
	}
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = dapwire.NewReader(strings.NewReader(in), 0).Read()
		}
	})
	if n := result.AllocedBytesPerOp(); n > 4<<20 {
		t.Errorf("%d bytes for a message of which 1000 came", n)
	}
}

func TestLargeMessage(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB: go-dap's limit is 4
	var buf bytes.Buffer
	if err := dapwire.Write(&buf, content); err != nil {
		t.Fatal(err)
	}
	got, err := dapwire.NewReader(&buf, 0).Read()
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
}

// FuzzRead: whatever comes, reading ends, stays within its bound, and what it
// gives is written and read back alike.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"Content-Length: 2\r\n\r\n{}", "Content-Length: -1\r\n\r\n", "a:b\nContent-Length:1\n\nx", "Content-Length: 99999999999\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 16
		r := dapwire.NewReader(bytes.NewReader(in), limit)
		for total := 0; ; {
			content, err := r.Read()
			if err != nil {
				return
			}
			if total += len(content); len(content) > limit || total > len(in) {
				t.Fatalf("%d bytes of content out of %d", total, len(in))
			}
			var buf bytes.Buffer
			if err := dapwire.Write(&buf, content); err != nil {
				t.Fatal(err)
			}
			again, err := dapwire.NewReader(&buf, limit).Read()
			if err != nil || !bytes.Equal(again, content) {
				t.Fatalf("%q comes back as %q, %v", content, again, err)
			}
		}
	})
}

// TestReadSkipping: of what is too long the beginning is left, and the next
// message is whole.
func TestReadSkipping(t *testing.T) {
	frame := func(content string) string {
		var b bytes.Buffer
		if err := dapwire.Write(&b, []byte(content)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, length := range []int{101, 4096, 4097, 100_000} {
		content := strings.Repeat("x", length-1) + "y"
		r := dapwire.NewSkippingReader(strings.NewReader(frame("a")+frame(content)+frame("b")), 100)
		if got, err := r.Read(); err != nil || string(got) != "a" {
			t.Errorf("%q, %v", got, err)
		}
		_, err := r.Read()
		var long *dapwire.LongError
		if !errors.As(err, &long) || long.Length != length || long.Limit != 100 || string(long.Begin) != content[:min(length, 4096)] {
			t.Errorf("%d bytes: %v", length, err)
		}
		if got, err := r.Read(); err != nil || string(got) != "b" {
			t.Errorf("after %d bytes: %q, %v", length, got, err)
		}
		r = dapwire.NewSkippingReader(strings.NewReader(strings.TrimSuffix(frame(content), "y")), 100)
		if _, err := r.Read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes less one: %v", length, err)
		}
	}
}
