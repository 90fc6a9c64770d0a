package unwind

// Registers of 386 that rules name.
const (
	I386ESP Register = 4
	I386EBP Register = 5
	I386EIP Register = 8
)

// i386 follows the System V ABI for i386.
var i386 = facts{
	name:    "386",
	pointer: 4, instruction: 1, stack: 4,
	pc: I386EIP, sp: I386ESP, fp: I386EBP, lr: NoRegister,
	saved:    []Register{3, I386EBP, 6, 7}, // ebx, esi, edi too: table 2.14
	userEnd:  0xffff_ffff,
	register: listed("eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"),
}
