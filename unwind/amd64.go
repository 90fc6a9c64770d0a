package unwind

// Registers of amd64 that rules name.
const (
	AMD64RBX Register = 3
	AMD64RBP Register = 6
	AMD64RSP Register = 7
	AMD64R12 Register = 12
	AMD64RIP Register = 16
)

// amd64 follows the System V psABI.
var amd64 = facts{
	name:    "amd64",
	pointer: 8, instruction: 1, stack: 8,
	pc: AMD64RIP, sp: AMD64RSP, fp: AMD64RBP, lr: NoRegister,
	saved: []Register{AMD64RBX, AMD64RBP, AMD64R12, 13, 14, 15}, // figure 3.4
	// R4: between these two no address is canonical.
	userEnd: 0x0000_7fff_ffff_ffff, kernel: 0xffff_8000_0000_0000,
	register: listed("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"),
}
