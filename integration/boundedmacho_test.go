package integration

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBoundedMachO: Mach-O files with holes, whose sections and tables claim gigabytes, and symbols whose names overlap, cost
// `clew inspect` and `clew unwind` little. What is left out is named.
func TestBoundedMachO(t *testing.T) {
	const gigabyte, at, million = 1 << 30, 1 << 21, 1_000_000
	code := bytes.Repeat([]byte{0x55, 0x48, 0x89, 0xe5, 0xc3}, 1000)
	symbols := func(number, names, size int) []byte {
		return slices.Concat(le32(2), le32(24), le32(at), le32(number), le32(names), le32(size))
	}
	var overlapping []byte
	for i := range 2 * million {
		overlapping = append(append(append(overlapping, le32(i+1)...), 15, 1, 0, 0), le64(0x1000+i%5000)...)
	}
	for _, c := range []struct {
		name, says string
		sections   [][]byte
		command    []byte
		data       []byte // at offset at
		size       int
	}{
		{"call-frame information", "__eh_frame left out: 1024 MiB", [][]byte{section("__eh_frame", "__TEXT", at, gigabyte, at, 0)}, nil, nil, 2 * gigabyte},
		{"compact unwind", "__unwind_info left out: 1024 MiB", [][]byte{section("__unwind_info", "__TEXT", at, gigabyte, at, 0)}, nil, nil, 2 * gigabyte},
		{"code", "__text left out: 1024 MiB", [][]byte{section("__text", "__TEXT", at, gigabyte, at, 0x80000400)}, nil, nil, 2 * gigabyte},
		{"debugging information", "__DWARF left out: 4800 MiB", manySections("__DWARF", 8, at, 600<<20), nil, nil, gigabyte},
		{"67 million symbols", "67000000 symbols", nil, symbols(67*million, 3*gigabyte, 100), nil, 3*gigabyte + 100},
		{"names that overlap", "the symbols' names overlap", nil, symbols(2*million, at+16*2*million, 2*million+1), slices.Concat(overlapping, []byte{0}, bytes.Repeat([]byte("A"), 2*million)), 64 << 20},
		{"200 million functions", "more than 4194304 functions", nil, slices.Concat(le32(0x26), le32(16), le32(at), le32(200*million)), bytes.Repeat([]byte{1}, 200*million), 256 << 20},
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "image")
		text := segment(len(c.sections)+1, 1<<31, slices.Concat(append([][]byte{section("__text", "__TEXT", 0x1000, len(code), 0x1000, 0x80000400)}, c.sections...)...))
		commands := 1 + min(1, len(c.command))
		image := machO(commands, len(text)+len(c.command), slices.Concat(text, c.command))
		image = append(append(image, make([]byte, 0x1000-len(image))...), code...)
		writeParts(t, path, image, at, c.data, c.size)
		snapshot := filepath.Join(folder, "snapshot.json")
		described, err := json.Marshal(map[string]any{
			"version": 1, "arch": "amd64", "os": "darwin", "images": []any{map[string]any{"path": "image", "base": "0x10000000"}},
			"threads": []any{map[string]any{"registers": map[string]string{"rip": "0x10001004", "rsp": "0x7000000", "rbp": "0x7000010"}}},
			"memory":  []any{map[string]any{"address": "0x7000000", "data": base64.StdEncoding.EncodeToString(make([]byte, 64))}},
		})
		if err != nil {
			t.Fatal(err)
		}
		write(t, snapshot, append(described, '\n'))
		for _, args := range [][]string{{"inspect", path}, {"inspect", "--table", path}, {"unwind", snapshot}} {
			o, cost := measured(func() outcome { return clew(t, args...) })
			switch {
			case args[0] == "unwind":
				o.want(t, truncated)
				if !strings.Contains(o.stdout, c.says) {
					t.Errorf("%s: %v does not say %q: %s", c.name, args, c.says, clip(o.stdout))
				}
			default:
				o.want(t, done)
				if c.sections != nil && !strings.Contains(o.stderr, c.says) { // it does not read functions
					t.Errorf("%s: %v does not say %q: %s", c.name, args, c.says, clip(o.stderr))
				}
			}
			t.Logf("%s, %s:", c.name, args[0])
			cost.check(t)
		}
	}
}

// writeParts writes a file of a size that has data at an offset, and holes.
func writeParts(t *testing.T, path string, head []byte, at int, data []byte, size int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, headErr := f.WriteAt(head, 0)
	_, dataErr := f.WriteAt(data, int64(at))
	if err := f.Truncate(int64(size)); err != nil || headErr != nil || dataErr != nil {
		t.Fatal(err, headErr, dataErr)
	}
}

// manySections are sections of debugging information that all have the same bytes of the file.
func manySections(segment string, number, at, size int) (out [][]byte) {
	for i := range number {
		name := "__debug_" + []string{"info", "abbrev", "line", "str", "ranges", "aranges", "loc", "addr"}[i%8]
		out = append(out, section(name, segment, at, size, at, 0))
	}
	return out
}
