package blocks

import (
	"errors"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// counted is memory of one readable page, at 0x1000, that counts reads.
type counted struct{ reads int }

func (c *counted) ReadMemory(addr uint64, p []byte) error {
	c.reads++
	if addr < 0x1000 || addr > 0x2000-uint64(len(p)) {
		return &unwind.MemoryError{Addr: addr, Size: len(p), Err: errors.New("unmapped")}
	}
	for i := range p {
		p[i] = byte(addr) + byte(i)
	}
	return nil
}

func TestBlocks(t *testing.T) {
	under := &counted{}
	b := Over(under)
	var word [8]byte
	for addr := uint64(0x1000); addr+8 <= 0x2000; addr += 8 {
		if err := b.ReadMemory(addr, word[:]); err != nil || word[0] != byte(addr) || word[7] != byte(addr)+7 {
			t.Fatalf("%#x: %x, %v", addr, word, err)
		}
	}
	if under.reads != 1 {
		t.Errorf("%d reads for one block", under.reads)
	}
	for _, addr := range []uint64{0xff8, 0xffc, 0x1ffc, 0x2000, ^uint64(0) - 3, ^uint64(0) - 7} {
		var e *unwind.MemoryError
		if err := b.ReadMemory(addr, word[:]); !errors.As(err, &e) || e.Addr != addr {
			t.Errorf("%#x: %v", addr, err)
		}
	}
}

// pager is memory of which single words can be read, at a cost, and no page.
type pager struct {
	counted
	pages int
}

func (p *pager) ReadPage(addr uint64, page []byte) error {
	p.pages++
	return errors.New("not as a page")
}

func TestPager(t *testing.T) {
	under := &pager{}
	b := Over(under)
	var word [8]byte
	if err := b.ReadMemory(0x1008, word[:]); err != nil || word[0] != 8 {
		t.Fatalf("%x, %v", word, err)
	}
	if under.pages != 1 || under.reads != 1 {
		t.Errorf("%d pages and %d ranges were read, want one each: the word alone", under.pages, under.reads)
	}
}
