package imagemap_test

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/clewdbg/clew/imagemap"
)

func TestLookup(t *testing.T) {
	img := func(base, end uint64, path string, id ...byte) imagemap.Image {
		return imagemap.Image{Base: base, EndOfText: end, Path: path, BuildID: id}
	}
	images := []imagemap.Image{
		img(0x5000, 0x6000, "/b", 2), img(0x1000, 0x9000, "/outer", 1), img(0xa000, 0xb000, "/b", 2), img(0x2000, 0x3000, "/a"),
	}
	m := newMap(t, imagemap.Word64, "Linux", images...)
	images[0].Base, images[1].BuildID[0] = 1, 99 // the map has its own

	for address, want := range map[uint64]uint64{
		0: 0, 0xfff: 0, 0x1000: 0x1000, 0x2000: 0x2000, 0x2fff: 0x2000, 0x3000: 0x1000, 0x5fff: 0x5000, 0x6000: 0x1000,
		0x8fff: 0x1000, 0x9000: 0, 0xa000: 0xa000, 0xb000: 0, ^uint64(0): 0,
	} {
		if got, ok := m.Lookup(address); got.Base != want || ok != (want != 0) {
			t.Errorf("Lookup(%#x) = %#x, %v; want %#x", address, got.Base, ok, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { m.Lookup(0x8fff) }); n != 0 {
		t.Errorf("Lookup allocates %v times", n)
	}
	if got, ok := m.ByBuildID([]byte{2}); !ok || got.Base != 0x5000 {
		t.Errorf("ByBuildID: %v, %v", got, ok)
	}
	for _, id := range [][]byte{{99}, {}, nil} {
		if got, ok := m.ByBuildID(id); ok {
			t.Errorf("ByBuildID(%v): %v", id, got)
		}
	}
	if got, ok := m.ByPath("/b"); !ok || got.Base != 0x5000 || got.Name != "b" {
		t.Errorf("ByPath: %v, %v", got, ok)
	}
	if got, ok := m.ByPath(""); ok {
		t.Errorf("ByPath of nothing: %v", got)
	}

	list := m.Images()
	list[0].Base = 7
	if m.Images()[0].Base != 0x1000 {
		t.Error("the list is not a copy")
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		ws       imagemap.WordSize
		platform string
		image    imagemap.Image
		err      error
	}{
		{48, "", at(1, ""), imagemap.ErrWordSize},
		{imagemap.Word64, "\xff", at(1, ""), imagemap.ErrPlatform},
		{imagemap.Word64, strings.Repeat("x", 256), at(1, ""), imagemap.ErrPlatform},
		{imagemap.Word32, "", at(0xffffffff, ""), imagemap.ErrAddressRange},
		{imagemap.Word64, "", imagemap.Image{Base: 5, EndOfText: 5}, imagemap.ErrEndOfText},
		{imagemap.Word64, "", imagemap.Image{Base: 5, EndOfText: 6, BuildID: make([]byte, 1025)}, imagemap.ErrBuildID},
		{imagemap.Word64, "", at(5, strings.Repeat("x", imagemap.MaxPath+1)), imagemap.ErrPathLength},
	} {
		m, err := imagemap.New(tt.ws, tt.platform, []imagemap.Image{tt.image})
		if m != nil || !errors.Is(err, tt.err) {
			t.Errorf("%d %q %v: %v, %v; want %v", tt.ws, tt.platform, tt.image, m, err, tt.err)
		}
	}
	if _, err := imagemap.New(imagemap.Word64, "", make([]imagemap.Image, imagemap.MaxImages+1)); !errors.Is(err, imagemap.ErrImageCount) {
		t.Errorf("too many images: %v", err)
	}
	m := newMap(t, imagemap.Word16, strings.Repeat("x", 255), imagemap.Image{Base: 0, EndOfText: 0xffff, BuildID: make([]byte, 1024), Path: strings.Repeat("/x", imagemap.MaxPath/2)})
	if got, err := imagemap.Decode(m.AppendCIF(nil, imagemap.EncodeOptions{}), imagemap.DecodeOptions{}); err != nil || !got.Equal(m) {
		t.Errorf("the largest of everything: %v, %v", got, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	m := newMap(t, imagemap.Word64, "Linux", at(1, "/usr/lib/a"), at(5, "/usr/lib/b"))
	want := m.AppendCIF(nil, imagemap.EncodeOptions{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, ok := m.Lookup(5); !ok {
				t.Error("not found by address")
			}
			if _, ok := m.ByPath("/usr/lib/a"); !ok {
				t.Error("not found by path")
			}
			if got := m.AppendCIF(nil, imagemap.EncodeOptions{}); !bytes.Equal(got, want) {
				t.Error("encoded otherwise")
			}
		})
	}
	wg.Wait()
}

// genMap draws a map whose paths share folders, and use what the encoder looks
// for: prefixes, frameworks, separators, long names.
func genMap(t *rapid.T, platform bool) *imagemap.ImageMap {
	ws := rapid.SampledFrom([]imagemap.WordSize{imagemap.Word16, imagemap.Word32, imagemap.Word64}).Draw(t, "ws")
	part := rapid.OneOf(
		rapid.SampledFrom([]string{"/lib", "/usr/lib", "/System/Library/Frameworks", "/X.framework/Versions/A/X", "/X.framework/X",
			`C:\Program Files`, "/", `\`, "//", "/opt/app", "/n\x00l", "\xff", "é", "/X.framework/Versions/\x01/X"}),
		rapid.StringMatching(`/[a-c]{1,3}`),
		rapid.StringMatching(`/?[x/]{50,80}`),
	)
	path := rapid.Map(rapid.SliceOfN(part, 0, 6), func(parts []string) string { return strings.Join(parts, "") })
	image := rapid.Custom(func(t *rapid.T) imagemap.Image {
		base := rapid.Uint64Range(0, ws.Max()-1).Draw(t, "base")
		return imagemap.Image{
			Base: base, EndOfText: rapid.Uint64Range(base+1, ws.Max()).Draw(t, "end"),
			BuildID: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "build ID"), Path: path.Draw(t, "path"),
		}
	})
	name := ""
	if platform {
		name = rapid.StringN(0, -1, 255).Draw(t, "platform")
	}
	m, err := imagemap.New(ws, name, rapid.SliceOfN(image, 0, 80).Draw(t, "images"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEncodeDecodeIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		no := rapid.Bool().Draw(t, "without platform")
		m := genMap(t, !no)
		opts := imagemap.EncodeOptions{NoPlatform: no, Swift62: rapid.Bool().Draw(t, "for Swift 6.2")}
		data := m.AppendCIF(nil, opts)
		got, err := imagemap.Decode(data, imagemap.DecodeOptions{NoPlatform: no})
		if err != nil || !got.Equal(m) {
			t.Fatalf("% x: %v, %v\nwant %v", data, got, err, m.Images())
		}
		if !slices.IsSortedFunc(got.Images(), func(a, b imagemap.Image) int { return cmp.Compare(a.Base, b.Base) }) {
			t.Fatal("not sorted")
		}
	})
}

// Cut anywhere, the data decodes to the images that are whole and an error.
func TestCutData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMap(t, true)
		data := m.AppendCIF(nil, imagemap.EncodeOptions{})
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		got, err := imagemap.Decode(data[:cut], imagemap.DecodeOptions{})
		var e *imagemap.Error
		if !errors.As(err, &e) || !errors.Is(err, imagemap.ErrUnexpectedEnd) || e.Offset > cut {
			t.Fatalf("% x: %v", data[:cut], err)
		}
		if got == nil {
			if cut > 0 {
				t.Fatalf("% x: no map", data[:cut])
			}
			return
		}
		for i, img := range got.All() {
			if want := m.Images()[i]; img.Base != want.Base || img.Path != want.Path {
				t.Fatalf("image %d is %v, want %v", i, img, want)
			}
		}
	})
}
