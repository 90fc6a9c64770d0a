package singlestep

// Registers has registers by DWARF number; a program counter that has none (arm64:
// 32, s390x: 65) is where clew has it.
type Registers [80]uint64

// Result is the result of one step.
type Result struct {
	Ended  bool
	Status int // of a program that has ended
	// Signal says that nothing was executed: a signal comes next.
	Signal bool
}

// Program is a program that stands before an instruction.
type Program interface {
	Step() (Result, error)
	Registers() (Registers, error)
	// Read reads memory and says how many bytes it could.
	Read(addr uint64, p []byte) int
	// RunTo lets the program run until it stands before the instruction at an
	// address.
	RunTo(addr uint64) error
}
