package imagemap_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap"
)

// FuzzDecode: any bytes decode to a map, or an error that says where, with the images
// before it; a map is the same after it was written and read; and the paths of a
// map are never more than the limit.
func FuzzDecode(f *testing.F) {
	for _, data := range swiftVectors(f) {
		f.Add(data, false)
	}
	f.Add([]byte("\x01\x02\x00\x10\x01\x00\x05/a/b/\xa0\x45AX\x80\x10\x7f\x01\x01\x8b\xc0\x00\x00"), true)
	f.Fuzz(func(t *testing.T, data []byte, noPlatform bool) {
		const limit = 1 << 12
		opts := imagemap.DecodeOptions{NoPlatform: noPlatform, MaxPathBytes: limit}
		m, err := imagemap.Decode(data, opts)
		var stop *imagemap.Error
		var lost imagemap.PathErrors
		switch {
		case err == nil && m == nil:
			t.Fatal("neither an error nor a value")
		case errors.As(err, &stop):
			if stop.Offset < 0 || stop.Offset > len(data) {
				t.Fatalf("%#v", stop)
			}
		case errors.As(err, &lost):
			for _, e := range lost {
				if e.Offset < 0 || e.Offset >= len(data) || e.Image < 0 || e.Image >= m.Len() {
					t.Fatalf("%#v", e)
				}
			}
		case err != nil:
			t.Fatalf("an error of type %T", err)
		}
		if m == nil {
			return
		}
		total := 0
		for _, img := range m.All() {
			total += len(img.Path)
		}
		if total > limit {
			t.Fatalf("%d bytes of paths", total)
		}
		again, err := imagemap.Decode(m.AppendCIF(nil, imagemap.EncodeOptions{NoPlatform: noPlatform}), opts)
		if err != nil || !again.Equal(m) {
			t.Fatalf("%v: %v; want %v", again, err, m.Images())
		}
	})
}

// FuzzCapture: neither a maps file nor the ELF headers and memory behind it can
// do harm; every image that results lies in the mappings.
func FuzzCapture(f *testing.F) {
	elf := sampleELF().bytes()
	f.Add("1000-2000 r--p 00000000 08:01 7 /lib/a.so\n2000-3000 r-xp 00001000 08:01 7 /lib/a.so\n", elf)
	f.Add("1000-3000 r-xp 00000000 00:00 0 [vdso]\n", elf)
	f.Add("1000-3000 rwxp 00000000 08:01 8 /lib/a.so (deleted)\n", elf)
	f.Fuzz(func(t *testing.T, maps string, file []byte) {
		mappings, parseErr := imagemap.ParseMaps(strings.NewReader(maps))
		s := imagemap.Source{
			Maps: strings.NewReader(maps),
			Open: func(string) (*imagemap.File, error) {
				return &imagemap.File{ReaderAt: bytes.NewReader(file), Dev: imagemap.Device{Major: 8, Minor: 1}, Inode: 7}, nil
			},
			Memory: bytes.NewReader(append(make([]byte, 0x1000), file...)),
		}
		m, err := s.Capture()
		if m == nil {
			if err == nil {
				t.Fatal("neither an error nor a value")
			}
			return
		}
		if parseErr != nil {
			t.Fatalf("a map from maps that cannot be read: %v", parseErr)
		}
		for _, img := range m.All() {
			mapped := func(address uint64) bool {
				for _, mp := range mappings {
					if mp.Start <= address && address <= mp.End {
						return true
					}
				}
				return false
			}
			if !mapped(img.Base) || !mapped(img.EndOfText) || len(img.Loaded.Executable) == 0 {
				t.Fatalf("%+v, %+v", img, img.Loaded)
			}
		}
	})
}
