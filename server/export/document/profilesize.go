package document

import "fmt"

// maxParsed bounds what google/pprof makes of a profile, in bytes as profileSize counts them. With the text
// itself, which is at most maxProfile, that is 768 MiB; Go's heap may be twice what is in use before it is
// collected, which stays below 2 GiB.
const maxParsed = 512 << 20

// What things of a profile become in memory, in bytes: their structs, a pointer in a list that has grown
// (up to three times its size while it does), and the tables by identifier. A field without contents has two bytes in a file.
const (
	sizeValueType = 48 + 24
	sizeSample    = 128 + 24
	sizeMapping   = 128 + 24 + 48
	sizeLocation  = 64 + 24 + 48
	sizeFunction  = 96 + 24 + 48
	sizeLine      = 32 + 32 // and room for one before they are copied
	sizeString    = 48 + 16 // and its bytes
	sizeFrame     = 16 + 64 // a location's identifier and pointer, then a frame and its calls
	sizeNumber    = 24
	sizeLabel     = 64 + 300   // and its places in three tables
	sizeLabels    = 3*48 + 704 // the tables of a sample that has any, the first time
)

// ErrTooLarge: a profile becomes too much in memory.
var ErrTooLarge = fmt.Errorf("what is in the profile takes more than %d MiB of memory", maxParsed>>20)

// profileSize counts what google/pprof makes of a profile, a message of protobuf
// (https://github.com/google/pprof/blob/main/proto/profile.proto), in bytes. It stops where that
// parser does, at what it cannot read. What takes more than most is an error.
func profileSize(data []byte, most int) (int, error) {
	size := sizer{most: most}
	size.message(data, size.profile)
	if size.used > size.most {
		return size.used, ErrTooLarge
	}
	return size.used, nil
}

// sizer counts.
type sizer struct {
	used, most int
}

// field is a field of a message.
type field struct {
	number uint64
	bytes  []byte // nil for a number
}

// Wire types (https://protobuf.dev/programming-guides/encoding/).
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// message visits the fields of a message. It reports whether all of them were read.
func (s *sizer) message(data []byte, visit func(field) bool) bool {
	for at := 0; at < len(data); {
		f, n, ok := readField(data[at:])
		if !ok || !visit(f) || s.used > s.most {
			return false
		}
		at += n
	}
	return true
}

// readField reads the field at the beginning of data, which is n bytes long.
func readField(data []byte) (f field, n int, ok bool) {
	key, n := varint(data)
	if n == 0 {
		return f, 0, false
	}
	f.number = key >> 3
	length := uint64(0)
	switch key & 7 {
	case wireVarint:
		_, m := varint(data[n:])
		if m == 0 {
			return f, 0, false
		}
		length = uint64(m)
	case wireFixed64:
		length = 8
	case wireFixed32:
		length = 4
	case wireBytes:
		m := 0
		if length, m = varint(data[n:]); m == 0 {
			return f, 0, false
		}
		n += m
	default:
		return f, 0, false
	}
	if length > uint64(len(data)-n) {
		return f, 0, false
	}
	if key&7 == wireBytes {
		f.bytes = data[n : n+int(length)]
	}
	return f, n + int(length), true
}

// varint reads the number at the beginning of data, and returns how many bytes it has; 0 if there is no number. Like google/pprof,
// and unlike encoding/binary, it reads a number of ten bytes that does not fit into 64 bits.
func varint(data []byte) (x uint64, n int) {
	for i, b := range data[:min(len(data), 10)] {
		x |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return x, i + 1
		}
	}
	return 0, 0
}

// profile counts a field of the profile.
func (s *sizer) profile(f field) bool {
	switch f.number {
	case 1, 11: // types of samples, of a period
		s.used += sizeValueType
	case 2:
		s.used += sizeSample
		return s.message(f.bytes, s.sample())
	case 3:
		s.used += sizeMapping
	case 4:
		s.used += sizeLocation
		return s.message(f.bytes, s.location)
	case 5:
		s.used += sizeFunction
	case 6:
		s.used += sizeString + len(f.bytes)
	case 13: // comments: a number, then a string
		s.used += numbers(f) * (sizeNumber + sizeString)
	}
	return true
}

// sample returns what counts a field of a sample.
func (s *sizer) sample() func(field) bool {
	labels := 0
	return func(f field) bool {
		switch f.number {
		case 1:
			s.used += numbers(f) * sizeFrame
		case 2:
			s.used += numbers(f) * sizeNumber
		case 3:
			if s.used += sizeLabel; labels == 0 {
				s.used += sizeLabels
			}
			labels++
		}
		return true
	}
}

// location counts a field of a location.
func (s *sizer) location(f field) bool {
	if f.number == 4 {
		s.used += sizeLine
	}
	return true
}

// numbers is how many numbers a repeated field has. Each ends with a byte that has no sign bit.
func numbers(f field) int {
	if f.bytes == nil {
		return 1
	}
	n := 0
	for _, b := range f.bytes {
		if b < 0x80 {
			n++
		}
	}
	return n
}
