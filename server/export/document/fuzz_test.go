package document_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/clewdbg/clew/server/export/document"
)

// FuzzRead: whatever the data, every document that has a JSON form reads back as
// the same, and can be written as text.
func FuzzRead(f *testing.F) {
	for _, file := range vectors(f) {
		f.Add(readFile(f, file), uint8(0), false)
	}
	f.Add(bytesOf(f, ambiguous), uint8(document.ImageMap), true)
	f.Add(bytesOf(f, "02 18 30 28 31 07"), uint8(document.CBF), false)
	for _, text := range withStacks {
		f.Add([]byte(text), uint8(0), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, format uint8, noPlatform bool) {
		o := document.Options{Format: document.Format(format % 4), NoPlatform: noPlatform, MaxFrames: 1 << 10}
		for d := range document.Read(data, o) {
			if d.Err == nil && d.WordSize == 0 {
				t.Fatal("neither an error nor a value")
			}
			if err := d.WriteText(io.Discard); err != nil {
				t.Fatal(err)
			}
			if d.WordSize == 0 {
				continue
			}
			text := toJSON(t, d)
			if again := toJSON(t, fromJSON(t, text)); !bytes.Equal(again, text) {
				t.Fatalf("JSON\n%s\nagain\n%s", text, again)
			}
		}
	})
}

// FuzzParse: an error or a document; a written document reads back as
// the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"architecture":"arm64","wordSize":64,"frames":[{"kind":"pc","address":"0x1"},{"kind":"omit","count":3},{"kind":"truncated"}],` +
		`"complete":false,"error":{"offset":1,"message":"x"},"platform":"p","images":[{"base":"0x1","endOfText":"0x2","buildID":"00ff","path":"/\udcff\ud83d\udca9"}]} {}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for d, err := range document.Parse(text) {
			if (d == nil) == (err == nil) {
				t.Fatalf("%v and %v", d, err)
			}
			if err != nil {
				return
			}
			for _, to := range []document.Format{document.CBF, document.ImageMap, document.Swift} {
				data, err := d.Encode(to, true)
				if err != nil {
					continue
				}
				again := one(t, data, document.Options{Format: to})
				if again.Err != nil || again.WordSize != d.WordSize {
					t.Fatalf("%v: %v, %d bits, were %d", to, again.Err, again.WordSize, d.WordSize)
				}
				if to != document.CBF && d.Images != nil && !again.Images.Equal(d.Images) {
					t.Fatalf("%v: %v, was %v", to, again.Images, d.Images)
				}
			}
		}
	})
}
