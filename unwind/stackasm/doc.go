// Package stackasm is a small assembler for synthetic stacks: memory is laid
// out word by word from an address upwards, addresses get labels, and words and
// registers may refer to labels that are defined later. It follows the test
// assembler of Breakpad and rust-minidump.
//
// A stack of two frames on amd64, as an unwinder's test writes it:
//
//	s := stackasm.New(unwind.AMD64, 0x7fff_0000_0000)
//	s.Mark("sp").Pad(16)
//	s.Mark("fp0").Ref("fp1").Word(0x40_1234) // caller's rbp, return address
//	s.Pad(32)
//	s.Mark("fp1").Word(0, 0x40_5678)
//	m, err := s.Assemble()
//	...
//	regs, err := m.Registers(unwind.AMD64, stackasm.Values{
//		"rip": stackasm.Num(0x40_1111), "rsp": stackasm.At("sp"), "rbp": stackasm.At("fp0"),
//	})
//	request := unwind.WalkRequest{Stack: m.Windows(), Segment: m.Segment(unwind.SegmentThread), ...}
//
// Both byte orders and word sizes of 4 and 8 bytes are supported. A mistake in
// the description (a label that is missing or defined twice, a value that does
// not fit a word, memory that runs over the end of the address space) is an
// error of Assemble or Registers, never a wrong stack.
package stackasm
