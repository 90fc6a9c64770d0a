package snapshot

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/jsonread"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// parser reads one snapshot. Values that depend on the architecture (the names
// of registers) are read after the rest, since fields come in any order.
type parser struct {
	*jsonread.Reader
	s *Snapshot
}

func parse(data []byte, opts Options) (*Snapshot, error) {
	r, err := jsonread.New(data)
	if err != nil {
		return nil, err
	}
	r.SetBudget(memoryFactor * int64(opts.maxLine()))
	p := parser{Reader: r, s: &Snapshot{}}
	var threads jsonread.Mark
	err = r.Struct(p.fields(func() error {
		threads = r.Mark()
		return nil
	})...)
	if err != nil {
		return nil, err
	}
	r.Seek(threads)
	if err = jsonread.Objects(r, &p.s.Threads, p.thread)(); err != nil {
		return nil, err
	}
	p.s.ByteOrder = p.s.Order()
	if err := p.s.Validate(); err != nil {
		return nil, err
	}
	return p.s, nil
}

func (p parser) fields(threads func() error) []jsonread.Field {
	s := p.s
	return []jsonread.Field{
		jsonread.Need("version", func() error {
			v, err := p.Uint(math.MaxUint64)
			if err == nil && v != Version {
				err = p.Wrap(&VersionError{Version: v})
			}
			return err
		}),
		jsonread.Need("arch", jsonread.Parse(p.Reader, &s.Arch, parseArch)),
		jsonread.Need("os", &s.OS), // Validate knows which there are
		jsonread.Need("images", jsonread.Objects(p.Reader, &s.Images, p.image)),
		jsonread.Need("threads", threads),
		jsonread.Need("memory", jsonread.Objects(p.Reader, &s.Memory, p.window)),
		jsonread.May("producer", &s.Producer),
		jsonread.May("byteOrder", jsonread.Parse(p.Reader, &s.ByteOrder, parseByteOrder)),
		jsonread.May("maps", jsonread.Objects(p.Reader, &s.Maps, p.mapping)),
		jsonread.May("pacMask", address(&s.PACMask)),
		jsonread.May("expect", func() error {
			e, err := stackjson.ReadExpectation(p.Reader)
			s.Expect = &e
			return err
		}),
	}
}

func address(to *uint64) *stackjson.Address { return (*stackjson.Address)(to) }

func (p parser) image(i *Image) []jsonread.Field {
	return []jsonread.Field{
		jsonread.Need("path", &i.Path), jsonread.Need("base", address(&i.Base)), jsonread.May("end", address(&i.End)),
		jsonread.May("buildID", jsonread.Parse(p.Reader, &i.BuildID, parseBuildID)),
	}
}

func (p parser) mapping(m *Map) []jsonread.Field {
	return []jsonread.Field{
		jsonread.Need("start", address(&m.Start)), jsonread.Need("end", address(&m.End)), jsonread.Need("perm", &m.Perm), jsonread.May("path", &m.Path),
	}
}

func (p parser) thread(t *unwind.Thread) []jsonread.Field {
	claim := stackjson.Claims(p.Reader, p.s.Arch)
	return []jsonread.Field{
		jsonread.Need("registers", p.registers(&t.Registers)), jsonread.May("id", &t.ID), jsonread.May("goroutine", &t.Goroutine),
		jsonread.May("firstPC", jsonread.Parse(p.Reader, &t.FirstPC, unwind.ParsePCKind)),
		jsonread.May("segments", jsonread.Objects(p.Reader, &t.Segments, p.segment)),
		jsonread.May("saved", func() error {
			t.Saved = &unwind.Saved{}
			return p.Struct(jsonread.Need("g", address(&t.Saved.G)), jsonread.May("registers", p.registers(&t.Saved.Registers)))
		}),
		jsonread.May("claims", jsonread.List(p.Reader, &t.Claims, func(i int) (unwind.Frame, error) {
			f, err := claim()
			if f.DelveFrame < 0 {
				f.DelveFrame = i
			}
			return f, err
		})),
	}
}

func (p parser) registers(to *unwind.Registers) func() error {
	return func() (err error) {
		*to, err = stackjson.ReadRegisters(p.Reader, p.s.Arch)
		return err
	}
}

func (p parser) segment(g *unwind.Segment) []jsonread.Field {
	return []jsonread.Field{
		jsonread.Need("low", address(&g.Low)), jsonread.Need("high", address(&g.High)),
		jsonread.Need("kind", jsonread.Parse(p.Reader, &g.Kind, unwind.ParseSegmentKind)),
	}
}

func (p parser) window(w *unwind.Window) []jsonread.Field {
	return []jsonread.Field{jsonread.Need("address", address(&w.Addr)), jsonread.Need("data", func() error {
		text, err := p.Text()
		if err != nil {
			return err
		}
		w.Data, err = base64.StdEncoding.Strict().AppendDecode(nil, text)
		if corrupt, ok := errors.AsType[base64.CorruptInputError](err); ok {
			return p.Errorf("not base64 from character %d of %d on", int64(corrupt), len(text))
		}
		return p.Wrap(err)
	})}
}

func parseArch(s string) (unwind.Arch, error) {
	arch, err := unwind.ParseArch(s)
	if err != nil || !known(arch) {
		return unwind.ArchUnknown, &ArchError{Name: s}
	}
	return arch, nil
}

// known reports whether there are snapshots of an architecture. ARM has rules for
// caller addresses, and no unwinder.
func known(arch unwind.Arch) bool {
	return slices.Contains([]unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386, unwind.S390X}, arch)
}

func parseByteOrder(s string) (binary.ByteOrder, error) {
	switch s {
	case "little":
		return binary.LittleEndian, nil
	case "big":
		return binary.BigEndian, nil
	}
	return nil, fmt.Errorf("unknown byte order %q (known: little, big)", s)
}

func parseBuildID(s string) ([]byte, error) {
	id, err := hex.DecodeString(s)
	if err != nil || len(id) == 0 || hex.EncodeToString(id) != s {
		return nil, fmt.Errorf("%.80q is not a build ID (lower-case hex, whole bytes, at least one)", s)
	}
	return id, nil
}
