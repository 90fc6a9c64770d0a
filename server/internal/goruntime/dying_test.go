package goruntime

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestBacklog: of the runtime's ring of prints the text from its last fatal error on.
func TestBacklog(t *testing.T) {
	const ring, index = 0x1000, 0x2000
	read := func(text string, at int) string {
		buf := make([]byte, 512)
		for i := range len(text) {
			buf[(at+i)%512] = text[i]
		}
		return Backlog(unwind.Windows{{Addr: ring, Data: buf}, {Addr: index, Data: binary.LittleEndian.AppendUint64(nil, uint64((at+len(text))%512))}}, ring, index)
	}
	for _, at := range []int{0, 100, 500} {
		if got := read("fatal error: old\nhello\nfatal error: all goroutines are asleep - deadlock!\n", at); got != "all goroutines are asleep - deadlock!" {
			t.Errorf("from %d: %q", at, got)
		}
	}
	for _, text := range []string{"", "hello\n", strings.Repeat("x", 512)} {
		if got := read(text, 0); got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := Backlog(unwind.Windows{}, ring, index); got != "" {
		t.Errorf("%q", got)
	}
}
