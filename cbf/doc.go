// Package cbf reads and writes the Compact Backtrace Format (CBF), version 0:
// a byte-coded list of the frames of one stack, innermost first.
//
// # Layout
//
// Byte 0 is the information byte, version<<2 | size, where size 0, 1 and 2
// mean machine words of 16, 32 and 64 bits. Instructions follow:
//
//	00000000  end    the backtrace ends here, complete
//	00000001  trunc  the backtrace ends here, cut short by whoever captured it
//	0001accc  pc     a program counter; ccc+1 bytes of address value follow
//	0010accc  ra     a return address; likewise
//	0011accc  async  an async resume point; likewise
//	010ccccc  omit   c+1 frames were left out here
//	011ccccc  omit   c+1 bytes follow: the number of frames left out
//	10000ccc  rep    the frame before occurs c+1 more times
//	10001ccc  rep    c+1 bytes follow: how many more times
//
// Address values are big-endian and sign-extended to the machine word; counts
// are big-endian and zero-extended. With a=1 the value is the address; with a=0
// it is added to the address computed last, wrapping at the word size.
//
// # Two dialects
//
// The format's document ("Compact Backtrace Format", Swift project) has no rep
// instruction and demands that the first address be absolute. Swift's runtime
// (6.2 and later), the only other implementation known, writes rep, and makes
// the first address relative to zero. This package reads both by default. With
// [DecodeOptions].Strict it reads the document's dialect only. It writes rep
// unless [EncodeOptions].Strict is set, and always an absolute first address:
// that costs no byte, because the distance from zero is the address itself.
//
// # How a backtrace ends
//
// The end instruction is optional where the length of the data is known. Data
// that ends between two instructions is therefore complete, and only trunc says
// truncated (Swift 6.2.3 writes neither, and its reader then reports a
// truncation that is not in the data). Data that ends inside an operand, or an opcode
// that is not defined, is an error with its byte offset; the frames read before
// it stay valid. Bytes after end or trunc are not part of the backtrace: they are
// counted ([Decoder.Trailing]) and not an error, because a container may pad.
//
// # Limits
//
// A rep of more than [MaxRepeat] is refused, as Swift refuses it; the encoder
// splits longer runs. Repeats are expanded lazily, so a hostile count costs time
// only to the caller that keeps asking. [Decode], which collects, stops at
// [MaxFrames].
package cbf
