package imagemap_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap"
)

// swiftVectors returns the image maps that a Swift 6.2.3 program emitted. That they
// have the same meaning as in Swift is tested in package envelope.
func swiftVectors(tb testing.TB) map[string][]byte {
	files, err := filepath.Glob("../cbf/testdata/swift/*.json")
	if err != nil || len(files) != 3 {
		tb.Fatalf("%d vectors, %v", len(files), err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var envelope struct{ ImageMap string }
		if err := json.Unmarshal(text, &envelope); err != nil {
			tb.Fatal(err)
		}
		if out[filepath.Base(file)], err = base64.RawStdEncoding.DecodeString(envelope.ImageMap); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

func newMap(tb testing.TB, ws imagemap.WordSize, platform string, images ...imagemap.Image) *imagemap.ImageMap {
	tb.Helper()
	m, err := imagemap.New(ws, platform, images)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestSwiftVectors(t *testing.T) {
	for name, data := range swiftVectors(t) {
		m, err := imagemap.Decode(data, imagemap.DecodeOptions{})
		if err != nil {
			t.Fatal(name, err)
		}
		if m.Len() != 22 || m.Platform() != "Linux (Debian GNU/Linux forky/sid)" || m.WordSize() != imagemap.Word64 {
			t.Errorf("%s: %d images, %q, %d bits", name, m.Len(), m.Platform(), m.WordSize())
		}
		for _, swift62 := range []bool{false, true} { // few folders: no difference
			if again := m.AppendCIF(nil, imagemap.EncodeOptions{Swift62: swift62}); !bytes.Equal(again, data) {
				t.Errorf("%s written again:\n got % x\nwant % x", name, again, data)
			}
		}
	}
}

func at(base uint64, path string) imagemap.Image {
	return imagemap.Image{Base: base, EndOfText: base + 1, Path: path}
}

// paths encodes images with these paths and returns the bytes of the paths alone.
func paths(tb testing.TB, opts imagemap.EncodeOptions, list ...string) []byte {
	tb.Helper()
	var images []imagemap.Image
	for i, path := range list {
		images = append(images, at(uint64(i), path))
	}
	opts.NoPlatform = true
	data := newMap(tb, imagemap.Word64, "", images...).AppendCIF([]byte("before"), opts)
	data = data[len("before")+2:] // information byte, count below 128
	var out []byte
	for i, path := range list {
		head := []byte{0, byte(i), 1, 0}
		if !bytes.HasPrefix(data, head) {
			tb.Fatalf("image %d (%q): % x does not begin with % x", i, path, data, head)
		}
		data = data[len(head):]
		next := len(data)
		if i+1 < len(list) {
			if next = bytes.Index(data, []byte{0, byte(i + 1), 1, 0}); next < 0 {
				tb.Fatalf("image %d not found in % x", i+1, data)
			}
		}
		out, data = append(out, data[:next]...), data[next:]
	}
	return out
}

func TestEncodedPaths(t *testing.T) {
	x62, x63, x64 := strings.Repeat("x", 62), strings.Repeat("x", 63), strings.Repeat("x", 64)
	var many []string // prefixes 32 to 64+255+1
	manyBytes := []byte{}
	for i := range 100 {
		many = append(many, string(rune('A'+i/26))+string(rune('a'+i%26))+"/")
		manyBytes = append(manyBytes, 3, many[i][0], many[i][1], '/', 0)
	}
	for _, tt := range []struct {
		name  string
		paths []string
		opts  imagemap.EncodeOptions
		want  string
	}{
		{"none", []string{""}, imagemap.EncodeOptions{}, "\x00"},
		{"raw", []string{"a"}, imagemap.EncodeOptions{}, "\x01a\x00"},
		{"fixed", []string{"/usr/lib/libz.so"}, imagemap.EncodeOptions{}, "\x81\x80\x04z.so\x00"},
		{"a prefix may match within a name", []string{"/usr/lib64/lib/a"}, imagemap.EncodeOptions{}, "\x81\x0864/lib/a\x00"},
		{"prefix after prefix", []string{"/usr/lib/libz"}, imagemap.EncodeOptions{}, "\x81\x80\x01z\x00"},
		{"Windows", []string{`C:\Program Files\x\y`}, imagemap.EncodeOptions{}, "\x8b\x04\\x\\y\x00"},
		{"own", []string{"/a/b/c", "/a/b/d", "/a/e"}, imagemap.EncodeOptions{},
			"\x06/a/b/c\x00" + "\xa1\x02/d\x00" + "\xa0\x02/e\x00"},
		{"framework", []string{"/Library/Frameworks/X.framework/Versions/A/X"}, imagemap.EncodeOptions{}, "\x87\x40AX"},
		{"framework without versions", []string{"/Library/Frameworks/X.framework/X"}, imagemap.EncodeOptions{}, "\x87\x40\x01X"},
		{"the same for Swift 6.2", []string{"/Library/Frameworks/X.framework/X"}, imagemap.EncodeOptions{Swift62: true}, "\x87\x0e/X.framework/X\x00"},
		{"no framework: version of two bytes", []string{"/X.framework/Versions/AB/X"}, imagemap.EncodeOptions{}, "\x1a/X.framework/Versions/AB/X\x00"},
		{"no framework: version 1", []string{"/X.framework/Versions/\x01/X"}, imagemap.EncodeOptions{}, "\x19/X.framework/Versions/\x01/X\x00"},
		{"no framework: other name", []string{"/X.framework/Versions/A/Y"}, imagemap.EncodeOptions{}, "\x19/X.framework/Versions/A/Y\x00"},
		{"no framework: no name", []string{"/.framework/Versions/A/"}, imagemap.EncodeOptions{}, "\x17/.framework/Versions/A/\x00"},
		{"framework name of 64", []string{"/" + x64 + ".framework/Versions/A/" + x64}, imagemap.EncodeOptions{}, "\x7fA" + x64},
		{"chunks", []string{x64}, imagemap.EncodeOptions{}, "\x3f" + x63 + "\x01x\x00"},
		{"no chunk begins with a separator", []string{x63 + "/y", x63 + "/z"}, imagemap.EncodeOptions{},
			"\x3e" + x62 + "\x03x/y\x00" + "\xa0\x02/z\x00"},
		{"nor with the second of two", []string{x62 + "//y"}, imagemap.EncodeOptions{},
			"\x3d" + x62[1:] + "\x04x//y\x00"},
		{"prefix 63, 64 and 100", append(slices.Clone(many), many[31], many[32], many[68]), imagemap.EncodeOptions{},
			string(manyBytes) + "\xbf\x01/\x00" + "\xc0\x00\x01/\x00" + "\xc0\x24\x01/\x00"},
		{"the same for Swift 6.2", append(slices.Clone(many), many[31], many[32]), imagemap.EncodeOptions{Swift62: true},
			string(manyBytes) + "\xbf\x01/\x00" + "\x03" + many[32] + "\x00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := paths(t, tt.opts, tt.paths...); string(got) != tt.want {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// The example of the format's document (whose framework entries show an end
// opcode that no encoder writes and no decoder takes).
func TestDocumentExample(t *testing.T) {
	got := paths(t, imagemap.EncodeOptions{},
		"/System/Library/Frameworks/AppKit.framework/Versions/C/AppKit",
		"/System/Library/Frameworks/Photos.framework/Versions/A/Photos",
		"/usr/lib/libobjc.A.dylib",
		"/usr/lib/swift/libswiftCore.dylib",
		"/usr/lib/swift/libswiftDarwin.dylib",
	)
	want := "\x84\x45CAppKit" + "\x84\x45APhotos" + "\x81\x80\x0cobjc.A.dylib\x00" +
		"\x81\x19/swift/libswiftCore.dylib\x00" + "\x81\xa0\x80\x11swiftDarwin.dylib\x00"
	if string(got) != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestEncodedHeaders(t *testing.T) {
	id := []byte{0xaa, 0xbb}
	m := newMap(t, imagemap.Word32, "né",
		imagemap.Image{Base: 0xf7000000, EndOfText: 0xf7000080, BuildID: id},
		imagemap.Image{Base: 0x08048000, EndOfText: 0x0804807f},
		imagemap.Image{Base: 0xf7001000, EndOfText: 0xffffffff, BuildID: bytes.Repeat(id, 100)},
	)
	want := "\x01\x03n\xc3\xa9\x03" +
		"\x18\x08\x04\x80\x00\x7f\x00\x00" +
		"\x19\xf7\x00\x00\x00\x00\x80\x02\xaa\xbb\x00" +
		"\x8b\x10\x00\x08\xff\xef\xff" + "\x81\x48" + strings.Repeat("\xaa\xbb", 100) + "\x00"
	if got := m.AppendCIF(nil, imagemap.EncodeOptions{}); string(got) != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	const image0 = "\x00\x10\x01\x00\x02/a\x00" // base 0x10, path /a
	for _, tt := range []struct {
		name   string
		data   string
		opts   imagemap.DecodeOptions
		images int // in the map that comes with the error; -1: no map
		err    error
		offset int
		image  int
	}{
		{"no data", "", imagemap.DecodeOptions{}, -1, imagemap.ErrUnexpectedEnd, 0, -1},
		{"version", "\x06\x00\x00", imagemap.DecodeOptions{}, -1, imagemap.ErrVersion, 0, -1},
		{"word size", "\x03\x00\x00", imagemap.DecodeOptions{}, -1, imagemap.ErrWordSize, 0, -1},
		{"no platform", "\x02", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 1, -1},
		{"platform cut", "\x02\x05abc", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 2, -1},
		{"platform not UTF-8", "\x02\x02a\xff\x00", imagemap.DecodeOptions{}, 0, imagemap.ErrPlatform, 1, -1},
		{"count missing", "\x02\x00", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 2, -1},
		{"count cut", "\x02\x00\x81", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 3, -1},
		{"count above the limit", "\x02\x00\xc0\x80\x01", imagemap.DecodeOptions{}, 0, imagemap.ErrImageCount, 2, -1},
		{"count that overflows", "\x02\x00" + strings.Repeat("\xff", 20), imagemap.DecodeOptions{}, 0, imagemap.ErrImageCount, 2, -1},
		{"count without images", "\x02\x00\xc0\x80\x00", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 5, 0},
		{"second image missing", "\x02\x00\x02" + image0, imagemap.DecodeOptions{}, 1, imagemap.ErrUnexpectedEnd, 11, 1},
		{"reserved header bit", "\x02\x00\x02" + image0 + "\x40", imagemap.DecodeOptions{}, 1, imagemap.ErrHeader, 11, 1},
		{"base cut", "\x02\x00\x01\x38\x01\x02", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 4, 0},
		{"end of text is the base", "\x02\x00\x01\x00\x10\x00\x00\x00", imagemap.DecodeOptions{}, 0, imagemap.ErrEndOfText, 5, 0},
		{"end of text below the base", "\x02\x00\x01\x00\x10\xff\x00\x00", imagemap.DecodeOptions{}, 0, imagemap.ErrEndOfText, 5, 0},
		{"end of text wraps", "\x00\x00\x01\x00\xff\x02\x00\x00", imagemap.DecodeOptions{}, 0, imagemap.ErrEndOfText, 5, 0},
		{"build ID too long", "\x02\x00\x01\x00\x10\x01\x88\x01", imagemap.DecodeOptions{}, 0, imagemap.ErrBuildID, 6, 0},
		{"build ID cut", "\x02\x00\x01\x00\x10\x01\x88\x00abc", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 8, 0},
		{"path missing", "\x02\x00\x01\x00\x10\x01\x00", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 7, 0},
		{"path cut", "\x02\x00\x01\x00\x10\x01\x00\x05ab", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 8, 0},
		{"path without end", "\x02\x00\x01\x00\x10\x01\x00\x02ab", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 10, 0},
		{"framework cut", "\x02\x00\x01\x00\x10\x01\x00\x41Aa", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 8, 0},
		{"prefix number cut", "\x02\x00\x01\x00\x10\x01\x00\xc1\x00", imagemap.DecodeOptions{}, 0, imagemap.ErrUnexpectedEnd, 8, 0},
		{"trailing", "\x02\x00\x01" + image0 + "x", imagemap.DecodeOptions{}, 1, imagemap.ErrTrailing, 11, -1},
		{"platform taken for images", "\x02\x00\x00", imagemap.DecodeOptions{NoPlatform: true}, 0, imagemap.ErrTrailing, 2, -1},
		{"reserved prefix", "\x02\x00\x02\x00\x10\x01\x00\x8c\x01x\x00" + image0, imagemap.DecodeOptions{}, 2, imagemap.ErrPrefix, 7, 0},
		{"undefined prefix", "\x02\x00\x02" + image0 + "\x00\x10\x01\x00\x01x\xa0\x00", imagemap.DecodeOptions{}, 2, imagemap.ErrPrefix, 17, 1},
		{"undefined long prefix", "\x02\x00\x02\x00\x10\x01\x00\xc0\x00\x00" + image0, imagemap.DecodeOptions{}, 2, imagemap.ErrPrefix, 7, 0},
		{"prefix number that overflows", "\x02\x00\x02\x00\x10\x01\x00\xff" + strings.Repeat("\xff", 64) + "\x00" + image0, imagemap.DecodeOptions{}, 2, imagemap.ErrPrefix, 7, 0},
		{"path too long", "\x02\x00\x02\x00\x10\x01\x00\x3f/" + strings.Repeat("x", 61) + "/" + strings.Repeat("\xa0", 600) + "\x00" + image0,
			imagemap.DecodeOptions{}, 2, imagemap.ErrPathLength, 71 + 527, 0},
		{"paths too long together", "\x02\x00\x02" + image0 + "\x00\x10\x01\x00\x02/a\x00", imagemap.DecodeOptions{MaxPathBytes: 3}, 2, imagemap.ErrPathLength, 15, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := imagemap.Decode([]byte(tt.data), tt.opts)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			var stop *imagemap.Error
			var lost imagemap.PathErrors
			switch {
			case errors.As(err, &stop):
				if stop.Offset != tt.offset || stop.Image != tt.image {
					t.Errorf("at offset %d, image %d; want %d, %d", stop.Offset, stop.Image, tt.offset, tt.image)
				}
			case errors.As(err, &lost):
				if len(lost) != 1 || lost[0].Offset != tt.offset || lost[0].Image != tt.image || lost[0].Base != 0x10 {
					t.Errorf("%v; want offset %d, image %d", lost, tt.offset, tt.image)
				}
				if img, ok := m.ByPath("/a"); !ok || img.Name != "a" {
					t.Errorf("the other image is lost: %v", m.Images())
				}
			default:
				t.Errorf("an error of type %T", err)
			}
			if tt.images < 0 != (m == nil) || m != nil && m.Len() != tt.images {
				t.Errorf("map %v, want %d images", m, tt.images)
			}
		})
	}
}

func TestDecodeLenient(t *testing.T) {
	want := newMap(t, imagemap.Word16, "", imagemap.Image{Base: 0xff80, EndOfText: 0xff82, BuildID: []byte{7}, Path: "/libx"})
	for name, data := range map[string]string{
		"shortest":                 "\x00\x00\x01\x00\x80\x02\x01\x07\x80\x01x\x00",
		"padded numbers":           "\x00\x00\x80\x80\x01\x00\x80\x02\x80\x01\x07\x80\x01x\x00",
		"relative to nothing":      "\x00\x00\x01\x80\x80\x02\x01\x07\x80\x01x\x00",
		"addresses above the word": "\x00\x00\x01\x11\x01\xff\x80\x00\x02\x01\x07\x80\x01x\x00",
		"long form of a prefix":    "\x00\x00\x01\x00\x80\x02\x01\x07\x02/l\x03ibx\x00",
	} {
		m, err := imagemap.Decode([]byte(data), imagemap.DecodeOptions{})
		if err != nil || !m.Equal(want) {
			t.Errorf("%s: %v, %v", name, m.Images(), err)
		}
	}
}

// Forms that no known encoder writes, but that the format allows.
func TestDecodePrefixTable(t *testing.T) {
	data := "\x02\x00\x03" +
		// Defines 32 "/a" and 33 "/a/b" and uses the first at once.
		"\x00\x30\x01\x00\x05/a/b/\xa0\x00" +
		// Raw bytes after an expansion define from their own start: 34 "/c". An
		// expansion between them is not part of them: 35 is "/c/d".
		"\x00\x20\x01\x00\x81\x03/c/\xa0\x02d/\x00" +
		// A path that makes no sense still defines: 36 "x".
		"\x00\x10\x01\x00\x8c\x02x/\xa3\xa4\x00"
	m, err := imagemap.Decode([]byte(data), imagemap.DecodeOptions{})
	var lost imagemap.PathErrors
	if !errors.As(err, &lost) || len(lost) != 1 || lost[0].Base != 0x10 {
		t.Fatal(err)
	}
	var got []string
	for _, img := range m.All() { // sorted, whatever the order of the data
		got = append(got, img.Path)
	}
	if want := []string{"", "/usr/lib/c//ad/", "/a/b//a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

	data = strings.Replace(data, "\x8c", "\x81", 1)
	m, err = imagemap.Decode([]byte(data), imagemap.DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if img, _ := m.Lookup(0x10); img.Path != "/usr/libx//c/dx" {
		t.Errorf("%q", img.Path)
	}
}

// The texts reach the user as they are.
func TestTexts(t *testing.T) {
	_, err := imagemap.Decode([]byte("\x02\x00\x02\x00\x10\x01\x00\x8c\x00\x40"), imagemap.DecodeOptions{})
	want := "imagemap: offset 7: path of image 0 at 0x10: undefined path prefix: code 12 is reserved\n" +
		"imagemap: offset 9, image 1: invalid image header 0x40"
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	_, err = imagemap.New(imagemap.Word16, "", []imagemap.Image{{Base: 1, EndOfText: 1, Path: "/a"}})
	if want := `imagemap: image 0 ("/a" at 0x1): end of text is not above the base: 0x1`; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if got := imagemap.FileReplaced.String() + imagemap.FileState(99).String(); got != "replacedinvalid" {
		t.Errorf("%q", got)
	}
}
