package imagemap

import "fmt"

// readPath reads one path, whole even where it makes no sense, so that the data
// after it can be read and the prefix table stays right. The first thing wrong
// with it is the PathError (Base and Image not filled in), and then it is empty.
func (d *decoder) readPath() (string, *PathError, error) {
	p := pathReader{decoder: d, rawStart: -1}
	d.path = d.path[:0]
	for done := false; !done; {
		p.opcode = d.pos
		op, err := d.bytes(1, "path")
		if err != nil {
			return "", nil, err
		}
		switch {
		case op[0] == opPathEnd:
			done = true
		case op[0] < opFramework:
			err = p.readRaw(int(op[0]))
		case op[0] < opExpand:
			done = true
			err = p.readFramework(int(op[0]-opFramework) + 1)
		case op[0] < opLong:
			p.expand(uint64(op[0] - opExpand))
		default:
			err = p.readLong(int(op[0]-opLong) + 1)
		}
		if err != nil {
			return "", nil, err
		}
	}
	if p.err != nil {
		return "", p.err, nil
	}
	d.pathBytes -= len(d.path)
	return string(d.path), nil, nil
}

type pathReader struct {
	*decoder
	opcode   int // offset of the opcode being read
	rawStart int // where the raw bytes of this path begin in decoder.raw, or -1
	err      *PathError
}

// reject notes the first thing that is wrong with the path.
func (p *pathReader) reject(err error) {
	if p.err == nil {
		p.err = &PathError{Offset: p.opcode, Err: err}
	}
}

// append adds to the path unless it is lost already or gets too long.
func (p *pathReader) append(b []byte) {
	switch {
	case p.err != nil:
	case len(p.path)+len(b) > MaxPath:
		p.reject(fmt.Errorf("%w: more than %d bytes", ErrPathLength, MaxPath))
	case len(p.path)+len(b) > p.pathBytes:
		p.reject(fmt.Errorf("%w: all paths together exceed the limit", ErrPathLength))
	default:
		p.path = append(p.path, b...)
	}
}

func (p *pathReader) readRaw(n int) error {
	b, err := p.bytes(n, "path")
	if err != nil {
		return err
	}
	if p.rawStart < 0 {
		p.rawStart = len(p.raw)
	}
	for _, c := range b {
		if isSeparator(c) && len(p.raw) > p.rawStart {
			p.prefixes = append(p.prefixes, prefix{p.rawStart, len(p.raw)})
		}
		p.raw = append(p.raw, c)
	}
	p.append(b)
	return nil
}

func (p *pathReader) readFramework(n int) error {
	b, err := p.bytes(1+n, "framework")
	if err != nil {
		return err
	}
	version, name := b[:1], b[1:]
	p.append([]byte{'/'})
	p.append(name)
	if version[0] == versionEmbedded {
		p.append([]byte(".framework/"))
	} else {
		p.append([]byte(frameworkInfix))
		p.append(version)
		p.append([]byte{'/'})
	}
	p.append(name)
	return nil
}

// readLong reads an expand opcode with a number of n bytes.
func (p *pathReader) readLong(n int) error {
	b, err := p.bytes(n, "prefix number")
	if err != nil {
		return err
	}
	v := uint64(0)
	for _, c := range b {
		if v >= 1<<48 { // far above any table; do not overflow
			p.reject(fmt.Errorf("%w: number of %d bytes", ErrPrefix, n))
			return nil
		}
		v = v<<8 | uint64(c)
	}
	p.expand(v + longPrefix)
	return nil
}

func (p *pathReader) expand(code uint64) {
	switch index := code - firstDefinedPrefix; {
	case code < uint64(len(fixedPrefixes)):
		p.append([]byte(fixedPrefixes[code]))
	case code < firstDefinedPrefix:
		p.reject(fmt.Errorf("%w: code %d is reserved", ErrPrefix, code))
	case index >= uint64(len(p.prefixes)):
		p.reject(fmt.Errorf("%w: code %d", ErrPrefix, code))
	default:
		p.append(p.raw[p.prefixes[index].start:p.prefixes[index].end])
	}
}
