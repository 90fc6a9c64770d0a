package snapshot

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/clewdbg/clew/internal/unwind/jsonread"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

var (
	snapshotFields = jsonread.Fields{
		Required: []string{"version", "arch", "os", "images", "threads", "memory"},
		Optional: []string{"producer", "byteOrder", "maps", "pacMask", "expect"},
	}
	imageFields   = jsonread.Fields{Required: []string{"path", "base"}, Optional: []string{"end", "buildID"}}
	mapFields     = jsonread.Fields{Required: []string{"start", "end", "perm"}, Optional: []string{"path"}}
	threadFields  = jsonread.Fields{Required: []string{"registers"}, Optional: []string{"id", "goroutine", "firstPC", "segments", "saved", "claims"}}
	savedFields   = jsonread.Fields{Required: []string{"g"}, Optional: []string{"registers"}}
	segmentFields = jsonread.Fields{Required: []string{"low", "high", "kind"}}
	windowFields  = jsonread.Fields{Required: []string{"address", "data"}}
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
	err = r.Struct(&snapshotFields, func(name string) error {
		if name == "threads" {
			threads = r.Mark()
			return nil
		}
		return p.field(name)
	})
	if err != nil {
		return nil, err
	}
	r.Seek(threads)
	if p.s.Threads, err = jsonread.Slice(r, p.thread); err != nil {
		return nil, err
	}
	if p.s.ByteOrder == nil {
		p.s.ByteOrder = p.s.Arch.ByteOrder()
	}
	if err := p.s.Validate(); err != nil {
		return nil, err
	}
	return p.s, nil
}

func (p parser) field(name string) (err error) {
	s := p.s
	switch name {
	case "version":
		var v uint64
		if v, err = p.Uint(math.MaxUint64); err == nil && v != Version {
			err = p.Wrap(&VersionError{Version: v})
		}
	case "producer":
		s.Producer, err = p.String()
	case "arch":
		s.Arch, err = jsonread.Parse(p.Reader, parseArch)
	case "byteOrder":
		s.ByteOrder, err = jsonread.Parse(p.Reader, parseByteOrder)
	case "os":
		s.OS, err = p.String() // Validate knows which there are
	case "images":
		s.Images, err = jsonread.Slice(p.Reader, p.image)
	case "maps":
		s.Maps, err = jsonread.Slice(p.Reader, p.mapping)
	case "pacMask":
		s.PACMask, err = p.address()
	case "memory":
		s.Memory, err = jsonread.Slice(p.Reader, p.window)
	case "expect":
		var e stackjson.Expectation
		e, err = stackjson.ReadExpectation(p.Reader)
		s.Expect = &e
	}
	return err
}

func (p parser) address() (uint64, error) {
	a, err := stackjson.ReadAddress(p.Reader)
	return uint64(a), err
}

func (p parser) image(int) (i Image, err error) {
	err = p.Struct(&imageFields, func(name string) (err error) {
		switch name {
		case "path":
			i.Path, err = p.String()
		case "base":
			i.Base, err = p.address()
		case "end":
			i.End, err = p.address()
		case "buildID":
			i.BuildID, err = jsonread.Parse(p.Reader, parseBuildID)
		}
		return err
	})
	return i, err
}

func (p parser) mapping(int) (m Map, err error) {
	err = p.Struct(&mapFields, func(name string) (err error) {
		switch name {
		case "start":
			m.Start, err = p.address()
		case "end":
			m.End, err = p.address()
		case "perm":
			m.Perm, err = p.String()
		case "path":
			m.Path, err = p.String()
		}
		return err
	})
	return m, err
}

func (p parser) thread(int) (t unwind.Thread, err error) {
	err = p.Struct(&threadFields, func(name string) (err error) {
		switch name {
		case "id":
			t.ID, err = p.Uint(math.MaxUint64)
		case "goroutine":
			t.Goroutine, err = p.Uint(math.MaxUint64)
		case "registers":
			t.Registers, err = stackjson.ReadRegisters(p.Reader, p.s.Arch)
		case "firstPC":
			t.FirstPC, err = jsonread.Parse(p.Reader, parsePCKind)
		case "segments":
			t.Segments, err = jsonread.Slice(p.Reader, p.segment)
		case "saved":
			t.Saved, err = p.saved()
		case "claims":
			t.Claims, err = jsonread.Slice(p.Reader, p.claim)
		}
		return err
	})
	return t, err
}

func (p parser) claim(i int) (unwind.Frame, error) {
	f, err := stackjson.ReadClaim(p.Reader, p.s.Arch)
	if f.DelveFrame < 0 {
		f.DelveFrame = i
	}
	return f, err
}

func (p parser) saved() (*unwind.Saved, error) {
	out := &unwind.Saved{}
	err := p.Struct(&savedFields, func(name string) (err error) {
		switch name {
		case "g":
			out.G, err = p.address()
		case "registers":
			out.Registers, err = stackjson.ReadRegisters(p.Reader, p.s.Arch)
		}
		return err
	})
	return out, err
}

func (p parser) segment(int) (g unwind.Segment, err error) {
	err = p.Struct(&segmentFields, func(name string) (err error) {
		switch name {
		case "low":
			g.Low, err = p.address()
		case "high":
			g.High, err = p.address()
		case "kind":
			g.Kind, err = jsonread.Parse(p.Reader, unwind.ParseSegmentKind)
		}
		return err
	})
	return g, err
}

func (p parser) window(int) (w unwind.Window, err error) {
	err = p.Struct(&windowFields, func(name string) (err error) {
		if name == "address" {
			w.Addr, err = p.address()
			return err
		}
		text, err := p.Text()
		if err != nil {
			return err
		}
		w.Data, err = base64.StdEncoding.Strict().AppendDecode(nil, text)
		var corrupt base64.CorruptInputError
		if errors.As(err, &corrupt) {
			return p.Errorf("not base64 from character %d of %d on", int64(corrupt), len(text))
		}
		return p.Wrap(err)
	})
	return w, err
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
	switch arch {
	case unwind.AMD64, unwind.ARM64, unwind.I386, unwind.S390X:
		return true
	}
	return false
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

func parsePCKind(s string) (unwind.PCKind, error) {
	for _, k := range []unwind.PCKind{unwind.KindInstruction, unwind.KindReturn} {
		if k.String() == s {
			return k, nil
		}
	}
	return 0, fmt.Errorf("unknown kind of PC %q (known: instruction, return)", s)
}

func parseBuildID(s string) ([]byte, error) {
	id, err := hex.DecodeString(s)
	if err != nil || len(id) == 0 || hex.EncodeToString(id) != s {
		return nil, fmt.Errorf("%.80q is not a build ID (lower-case hex, whole bytes, at least one)", s)
	}
	return id, nil
}
