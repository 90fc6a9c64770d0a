package integration

import (
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBoundedProfiles: small profiles for pprof that become gigabytes, in memory or as they are written. clew decode says
// what is too much in one line.
func TestBoundedProfiles(t *testing.T) {
	const tooMuch = "takes more than 512 MiB of memory"
	// A profile's field with contents (https://protobuf.dev/programming-guides/encoding/).
	field := func(number byte, contents string) string {
		return string(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(contents)))) + contents
	}
	// A million frames of one function with a name of a megabyte.
	shared := field(6, "") + field(6, strings.Repeat("n", 1<<20)) + field(5, "\x08\x01\x10\x01") + field(4, "\x08\x01"+field(4, "\x08\x01")) +
		strings.Repeat(field(2, field(1, strings.Repeat("\x01", 20000))), 50)
	for _, c := range []struct {
		name, part  string
		times       int
		format, err string
	}{
		{"samples", "\x12\x00", 100 << 20, "text", tooMuch},
		{"locations", "\x22\x00", 100 << 20, "json", tooMuch},
		{"strings", "\x32\x00", 100 << 20, "text", tooMuch},
		{"frames", field(2, field(1, strings.Repeat("\x01", 1<<20))), 100, "text", tooMuch},
		{"empty", "\x00", 300 << 20, "text", "more than 256 MiB"},
		{"name, text", shared, 1, "text", "the rest of them is left out"},
		{"name, JSON", shared, 1, "json", "the rest of them is left out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "profile.pb.gz")
			repeatedInto(t, file, c.part, c.times)
			o, cost := measured(func() outcome { return clew(t, "decode", "--format", c.format, file) })
			o.want(t, failed).complains(t, file, c.err)
			if strings.Count(o.stderr, "\n") != 1 {
				t.Errorf("not one line: %q", o.stderr)
			}
			if wrote := len(o.stdout); wrote > 512<<20 {
				t.Errorf("%d bytes written", wrote)
			}
			cost.check(t)
		})
	}
}

// repeatedInto compresses a text that is repeated.
func repeatedInto(t *testing.T, file, part string, times int) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := gzip.NewWriter(f)
	block := []byte(strings.Repeat(part, max(1, min(times, 1<<20/len(part)))))
	for left := times * len(part); left > 0; left -= len(block) {
		if _, err := w.Write(block[:min(left, len(block))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
