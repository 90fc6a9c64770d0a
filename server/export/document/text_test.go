package document_test

import (
	"bytes"
	"testing"

	"github.com/clewdbg/clew/server/export/document"
)

func TestWriteText(t *testing.T) {
	for _, tt := range []struct {
		what   string
		format document.Format
		data   []byte
		want   string
	}{
		{"complete", document.CBF, bytesOf(t, "01 18 30 28 31 89 00 02 42 38 05 00 00"), `backtrace, 32-bit, 6 frames
    0  pc     0x00000030
  1-3  ra     0x00000031
    4  (3 frames left out)
    5  async  0x00000005
  end
  note: 1 byte after the end belong to no backtrace
`},
		{"truncated", document.CBF, bytesOf(t, "00 18 30 01"), "backtrace, 16-bit, 1 frame\n    0  pc     0x0030\n  truncated\n"},
		{"damaged", document.CBF, bytesOf(t, "00 18 30 07"), "backtrace, 16-bit, 1 frame\n    0  pc     0x0030\n  unreadable from here on\n"},
		{"nothing", document.CBF, bytesOf(t, "ff"), ""},
		// 0x20 is the end of the image, which a return address may be (R9).
		{"envelope", document.Swift, []byte(`{"architecture":"arm64","backtrace":"ABggKCAYMA","imageMap":"AANMaW4BABAQAgr/Ai9hAA"}`), `backtrace, arm64, 16-bit, 3 frames
    0  pc     0x0020  ?
    1  ra     0x0020  a+0x10
    2  pc     0x0030  ?
  end

image map, 16-bit, 1 image, Lin
  0x0010-0x0020  0aff  /a
`},
		{"damaged map", document.ImageMap, bytesOf(t, "00 00 02 00 10 10 00 00 80"), `image map, 16-bit, 1 image
  0x0010-0x0020  -  (no path)
  not all of it could be read
`},
	} {
		var b bytes.Buffer
		if err := one(t, tt.data, document.Options{Format: tt.format}).WriteText(&b); err != nil || b.String() != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.what, err, b.String(), tt.want)
		}
	}
}
