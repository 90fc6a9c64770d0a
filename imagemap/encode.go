package imagemap

import (
	"math/bits"
	"strings"
)

// EncodeOptions chooses the form that is written. The zero value is current Swift's.
type EncodeOptions struct {
	// NoPlatform leaves out the platform field, for readers that know none.
	NoPlatform bool
	// Swift62 avoids the two path forms that Swift 6.2 misreads: expansions of
	// prefix 64 and above, and frameworks without versions. Every reader
	// understands the result, which is longer where there are many folders.
	Swift62 bool
}

// AppendCIF writes the map to the end of dst. Addresses and numbers take their
// shortest form (a tie between absolute and relative is absolute, as in Swift),
// paths what Swift's encoder takes: the longest prefix, again and again, then a
// framework, else raw bytes.
func (m *ImageMap) AppendCIF(dst []byte, opts EncodeOptions) []byte {
	dst = append(dst, byte(bits.TrailingZeros8(uint8(m.ws))-4)) // version 0
	if !opts.NoPlatform {
		dst = append(dst, byte(len(m.platform)))
		dst = append(dst, m.platform...)
	}
	dst = appendNumber(dst, len(m.images))

	paths := newPathWriter(opts.Swift62)
	previous := uint64(0)
	for i := range m.images {
		img := &m.images[i]
		base, n, header := img.Base, m.ws.signedLen(img.Base), byte(0)
		if delta := (img.Base - previous) & m.ws.Max(); m.ws.signedLen(delta) < n {
			base, n, header = delta, m.ws.signedLen(delta), headerRelative
		}
		previous = img.Base
		length := img.EndOfText - img.Base
		ln := m.ws.signedLen(length)

		dst = append(dst, header|byte(n-1)<<3|byte(ln-1))
		dst = appendBig(dst, base, n)
		dst = appendBig(dst, length, ln)
		dst = appendNumber(dst, len(img.BuildID))
		dst = append(dst, img.BuildID...)
		dst = paths.append(dst, img.Path)
	}
	return dst
}

// signedLen is the number of bytes that hold v, 1 to w/8, when the reader
// sign-extends them to the word.
func (w WordSize) signedLen(v uint64) int {
	shift := 64 - uint(w)
	x := int64(v<<shift) >> shift
	return bits.Len64(uint64(x^(x>>63)))/8 + 1
}

// appendBig appends the n lowest bytes of v, most significant first.
func appendBig(dst []byte, v uint64, n int) []byte {
	for shift := 8 * (n - 1); shift >= 0; shift -= 8 {
		dst = append(dst, byte(v>>shift))
	}
	return dst
}

// appendNumber appends a 7-bit integer without padding.
func appendNumber(dst []byte, v int) []byte {
	for shift := (bits.Len(uint(v)|1) - 1) / 7 * 7; shift > 0; shift -= 7 {
		dst = append(dst, byte(v>>shift)|0x80)
	}
	return append(dst, byte(v)&0x7f)
}

// pathWriter writes paths. It keeps the prefixes as a trie over their bytes, so
// that the longest match costs no more than its length, whatever the number of
// prefixes.
type pathWriter struct {
	edges    map[edge]int // to a node
	codes    []int        // by node: the code of the prefix that ends there, or -1
	nextCode int
	swift62  bool
}

type edge struct {
	node int
	b    byte
}

func newPathWriter(swift62 bool) *pathWriter {
	w := &pathWriter{edges: make(map[edge]int), codes: []int{-1}, nextCode: firstDefinedPrefix, swift62: swift62}
	for code, prefix := range fixedPrefixes {
		w.define(w.walk(0, prefix), code)
	}
	return w
}

// walk adds the bytes of s to the trie from a node on, and returns the last node.
func (w *pathWriter) walk(node int, s string) int {
	for i := range len(s) {
		next, ok := w.edges[edge{node, s[i]}]
		if !ok {
			next = len(w.codes)
			w.codes = append(w.codes, -1)
			w.edges[edge{node, s[i]}] = next
		}
		node = next
	}
	return node
}

// define assigns its code to the prefix that ends at node. A prefix that is defined
// again keeps its first, lower code.
func (w *pathWriter) define(node, code int) {
	if w.codes[node] < 0 && (code < longPrefix || !w.swift62) {
		w.codes[node] = code
	}
}

// longest finds the longest prefix that s begins with; n is 0 if there is none.
func (w *pathWriter) longest(s string) (code, n int) {
	for i, node := 0, 0; i < len(s); i++ {
		next, ok := w.edges[edge{node, s[i]}]
		if !ok {
			break
		}
		if node = next; w.codes[node] >= 0 {
			code, n = w.codes[node], i+1
		}
	}
	return code, n
}

func (w *pathWriter) append(dst []byte, path string) []byte {
	rest := path
	for {
		code, n := w.longest(rest)
		if n == 0 {
			break
		}
		dst = appendExpand(dst, code)
		rest = rest[n:]
	}
	if version, name, ok := w.framework(rest); ok {
		dst = append(dst, opFramework|byte(len(name)-1), version)
		return append(dst, name...)
	}
	w.defineAll(rest)
	for rest != "" {
		n := chunk(rest)
		dst = append(dst, byte(n))
		dst = append(dst, rest[:n]...)
		rest = rest[n:]
	}
	return append(dst, opPathEnd)
}

func appendExpand(dst []byte, code int) []byte {
	if code < longPrefix {
		return append(dst, opExpand|byte(code))
	}
	v := uint64(code - longPrefix)
	n := max(1, (bits.Len64(v)+7)/8)
	return appendBig(append(dst, opLong|byte(n-1)), v, n)
}

// framework splits /N.framework/Versions/V/N (V one byte) and /N.framework/N.
func (w *pathWriter) framework(s string) (version byte, name string, ok bool) {
	name = BaseName(s)
	if len(name) < 1 || len(name) > 64 || !strings.HasPrefix(s, "/"+name+".framework/") {
		return 0, "", false
	}
	if s == "/"+name+".framework/"+name {
		return versionEmbedded, name, !w.swift62
	}
	at := 1 + len(name) + len(frameworkInfix)
	if len(s) <= at {
		return 0, "", false
	}
	version = s[at]
	ok = version != versionEmbedded && s == "/"+name+frameworkInfix+s[at:at+1]+"/"+name
	return version, name, ok
}

// defineAll defines the prefixes that the reader will define when it reads s as
// the raw bytes of a path.
func (w *pathWriter) defineAll(s string) {
	node, done := 0, 0
	for i := 1; i < len(s); i++ {
		if isSeparator(s[i]) {
			node, done = w.walk(node, s[done:i]), i
			w.define(node, w.nextCode)
			w.nextCode++
		}
	}
}

// chunk is how many bytes the next raw opcode takes. The one after it must not
// begin with a separator: older readers define no prefix there, newer ones do,
// and their tables would differ. Only a run of separators that fills a chunk
// leaves no choice.
func chunk(s string) int {
	if len(s) <= opMaxRaw {
		return len(s)
	}
	for n := opMaxRaw; n > 0; n-- {
		if !isSeparator(s[n]) {
			return n
		}
	}
	return opMaxRaw
}
