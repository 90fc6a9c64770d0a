package imagemap

// Limits of a map.
const (
	// MaxImages is the most images that a map holds: the limit of Swift's
	// reader.
	MaxImages = 1 << 20
	// MaxBuildID is the most bytes of a build ID: likewise.
	MaxBuildID = 1024
	// MaxPath is the most bytes of a path: the limit of Windows, the largest of
	// the systems'. It bounds the expansion of a few opcodes.
	MaxPath = 1 << 15

	maxPlatform = 255 // its length is one byte
)

// fixedPrefixes are the path prefixes that every map starts with; the index is
// the code.
var fixedPrefixes = [...]string{
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
	"/opt/lib",
	"/System/Library/Frameworks",
	"/System/Library/PrivateFrameworks",
	"/System/iOSSupport",
	"/Library/Frameworks",
	"/System/Applications",
	"/Applications",
	`C:\Windows\System32`,
	`C:\Program Files`,
}

const (
	// firstDefinedPrefix is the code of the first prefix that a map defines itself.
	firstDefinedPrefix = 32
	// longPrefix is the first code that takes the long form of expand.
	longPrefix = 64

	headerRelative = 0x80 // in an image's header byte
	headerReserved = 0x40

	opPathEnd   = 0x00
	opFramework = 0x40 // to 0x7f; raw bytes below
	opExpand    = 0x80 // to 0xbf
	opLong      = 0xc0 // to 0xff
	opMaxRaw    = 0x3f // the most bytes of one raw opcode

	frameworkInfix = ".framework/Versions/"
	// versionEmbedded is the version byte that stands for a framework without
	// versions, /N.framework/N.
	versionEmbedded = 0x01
)

func isSeparator(b byte) bool { return b == '/' || b == '\\' }
