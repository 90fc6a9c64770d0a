package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestCPIO reads what the writer writes, by the format's description (cpio(5), "New ASCII
// Format").
func TestCPIO(t *testing.T) {
	root := t.TempDir()
	file, link := filepath.Join(root, "file"), filepath.Join(root, "link")
	if err := os.WriteFile(file, []byte("seven b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := &cpio{Writer: bufio.NewWriter(&out)}
	for name, path := range map[string]string{"a": file, "bin/link": link, "dir": root} {
		if err := w.file(name, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	type entry struct {
		mode uint64
		data string
	}
	got := map[string]entry{}
	for data := out.Bytes(); len(data) > 0; {
		field := func(i int) uint64 {
			n, err := strconv.ParseUint(string(data[6+8*i:14+8*i]), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if string(data[:6]) != "070701" {
			t.Fatalf("magic %q", data[:6])
		}
		nameSize, size := field(11), field(6)
		start := (110 + nameSize + 3) &^ 3
		got[string(data[110:110+nameSize-1])] = entry{field(1), string(data[start : start+size])}
		data = data[(start+size+3)&^3:]
	}
	info, err := os.Stat(root)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]entry{"a": {0o100755, "seven b"}, "bin/link": {0o120777, "file"}, "dir": {0o040000 | uint64(info.Mode()&fs.ModePerm), ""}}
	for name, e := range want {
		if got[name] != e {
			t.Errorf("%s: %+v, want %+v", name, got[name], e)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d entries", len(got))
	}
}
