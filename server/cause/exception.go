package cause

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/unwind"
)

// An exception that nobody catches ends the program in std::terminate, with its object still there. It lies behind a header that the
// runtime of C++ has written (Itanium C++ ABI, struct __cxa_exception, whose last member is struct _Unwind_Exception): the class of
// exceptions first, by which it is recognised. Pointers to it lie in the frames of the functions that carry it to its end.
const (
	headerSize = 32 // of struct _Unwind_Exception, on machines of 64 bits
	typeBefore = 80 // the pointer to the type, before it
	// gnuClass and llvmClass are the classes of exceptions in C++, little-endian; the last byte of a dependent one (rethrow_exception) is 1.
	gnuClass  = 0x474e5543432b2b00
	llvmClass = 0x434c4e47432b2b00
	rustClass = 0x4d4f5a0052555354 // "MOZ\0RUST", big-endian as a number
	// maxCarried bounds the stack that is searched, in bytes.
	maxCarried = 64 << 10
)

// terminates are the functions of C++ that an uncaught exception ends in.
var terminates = []string{"std::terminate", "__cxxabiv1::__terminate", "__cxa_call_terminate", "__clang_call_terminate", "std::__terminate", "__gxx_personality_v0"}

// exception describes the exception that nobody has caught, "" if there is none or it is not known which.
func (r *reader) exception(frames []unwind.Frame) string {
	if r.target.Arch.PointerSize() != 8 || len(frames) == 0 {
		return ""
	}
	first, last := -1, -1
	for i := range frames {
		name := names.Demangle(frames[i].Function)
		for _, t := range terminates {
			if strings.HasPrefix(name, t) {
				if first < 0 {
					first = i
				}
				last = i
			}
		}
		if last >= 0 && (strings.HasPrefix(name, "__cxa_throw") || strings.HasPrefix(name, "__cxa_rethrow") || strings.HasPrefix(name, "_Unwind_RaiseException")) {
			last = i
		}
	}
	if first < 0 {
		return ""
	}
	low, ok := frames[first].Registers.SP(r.target.Arch)
	high := frames[last].CFA
	if !ok || high <= low || high-low > maxCarried {
		return ""
	}
	found := make(map[uint64]bool)
	object := uint64(0)
	for at := low; at < high; at += 8 {
		word, ok := r.word(at)
		if !ok {
			break
		}
		for _, header := range []uint64{word, word - headerSize} {
			if class, ok := r.word(header); ok && word%8 == 0 && (class&^1 == gnuClass || class&^1 == llvmClass) && !found[header+headerSize] {
				object = header + headerSize
				found[object] = true
			}
		}
	}
	if len(found) != 1 { // none, or which of them is not known
		return ""
	}
	return r.describeException(object)
}

func (r *reader) describeException(object uint64) string {
	typ, ok := r.word(object - headerSize - typeBefore)
	if !ok {
		return ""
	}
	name := r.typeName(typ)
	if name == "" {
		return ""
	}
	shown := names.Demangle("_Z" + "TS" + name)
	shown = strings.TrimPrefix(shown, "typeinfo name for ")
	if what, ok := r.what(object, typ, name); ok {
		return shown + ": " + what
	}
	return shown
}

// typeName reads the name of a type's description (std::type_info: the table of virtual functions, the name).
func (r *reader) typeName(typ uint64) string {
	at, ok := r.word(typ + 8)
	if !ok {
		return ""
	}
	name := strings.TrimPrefix(r.text(at, 4<<10), "*")
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return ""
		}
	}
	return name
}

// Names of types, as the compiler has them.
const (
	runtimeError = "St13runtime_error"
	logicError   = "St11logic_error"
)

// fixedWhat is what() of the library's exceptions that hold no text.
var fixedWhat = map[string]string{"St9bad_alloc": "std::bad_alloc", "St8bad_cast": "std::bad_cast", "St10bad_typeid": "std::bad_typeid", "St9exception": "std::exception"}

// what is the text that an exception has: std::runtime_error and std::logic_error hold a pointer to it behind the table of virtual
// functions, in the libraries of GNU and of LLVM, and so do classes derived from them. A class that has a what() of its own may say
// something else; that is known by its table of virtual functions.
func (r *reader) what(object, typ uint64, name string) (string, bool) {
	switch name {
	case "i":
		if v, ok := r.word(object); ok {
			return fmt.Sprint(int32(v)), true
		}
		return "", false
	case "PKc", "Pc":
		if at, ok := r.word(object); ok {
			return r.text(at, maxText), true
		}
		return "", false
	case "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE":
		at, ok1 := r.word(object)
		n, ok2 := r.word(object + 8)
		if ok1 && ok2 {
			return r.bytes(at, n)
		}
		return "", false
	}
	if what, ok := fixedWhat[name]; ok {
		return what, true
	}
	table, ok := r.word(object)
	if !ok {
		return "", false
	}
	const depth = 16 // of classes derived from each other
	for range depth {
		if name == runtimeError || name == logicError {
			at, ok := r.word(object + 8)
			if !ok || !r.libraryWhat(table) {
				return "", false
			}
			return r.text(at, maxText), true
		}
		// A class with one base: its description has a pointer to the base's (abi::__si_class_type_info).
		if vtable, ok := r.word(typ); !ok || !strings.Contains(r.tableName(vtable), "__si_class_type_info") {
			return "", false
		}
		if typ, ok = r.word(typ + 16); !ok {
			return "", false
		}
		name = r.typeName(typ)
	}
	return "", false
}

// tableName is the name of the table of virtual functions at an address.
func (r *reader) tableName(addr uint64) string {
	name, _ := r.code.VTable(addr)
	return names.Demangle(name)
}

// libraryWhat says whether what(), the third virtual function, is the library's own.
func (r *reader) libraryWhat(table uint64) bool {
	what, ok := r.word(table + 16)
	if !ok {
		return false
	}
	fn, ok := r.code.Function(unwind.InstructionAddr(what).Lookup(r.target.Arch))
	if !ok {
		return false
	}
	name := names.Demangle(fn.Name)
	return strings.HasPrefix(name, "std::runtime_error::what") || strings.HasPrefix(name, "std::logic_error::what")
}
