package delve

import (
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"
)

// layout holds byte offsets of fields in runtime.g and runtime.m, read from the
// program's own DWARF and not from a Go version number.
type layout struct {
	gStackLo, gStackHi                int64
	gM, gGoid, gStatus, gStartPC      int64
	gSchedSP, gSchedPC, gSchedBP      int64
	gSchedLR                          int64
	gSyscallSP, gSyscallPC, gSyscallB int64
	gLockedM                          int64
	mG0, mGsignal, mCurg              int64
	mIsExtra                          int64
	tls                               int64 // where the thread's g is, from the TLS base on; 0 if Delve has to say
	gSize                             int64
}

// structure says where a structure's fields are.
type structure interface {
	// offset returns that of a field, which may lie in another.
	offset(path ...string) (int64, error)
	size() int64
}

// readLayout reads the layout from DWARF.
func readLayout(bi *proc.BinaryInfo) (*layout, error) {
	g, err := structType(bi, "runtime.g")
	if err != nil {
		return nil, err
	}
	m, err := structType(bi, "runtime.m")
	if err != nil {
		return nil, err
	}
	return newLayout(dwarfFields{g}, dwarfFields{m})
}

// newLayout reads the layout; an error means that the runtime has changed beyond
// recognition.
func newLayout(g, m structure) (l *layout, err error) {
	l = &layout{gSize: g.size()}
	for _, f := range []struct {
		in   structure
		path []string
		to   *int64
	}{
		{g, []string{"stack", "lo"}, &l.gStackLo},
		{g, []string{"stack", "hi"}, &l.gStackHi},
		{g, []string{"m"}, &l.gM},
		{g, []string{"goid"}, &l.gGoid},
		{g, []string{"startpc"}, &l.gStartPC},
		{g, []string{"atomicstatus"}, &l.gStatus},
		{g, []string{"sched", "sp"}, &l.gSchedSP},
		{g, []string{"sched", "pc"}, &l.gSchedPC},
		{g, []string{"sched", "bp"}, &l.gSchedBP},
		{g, []string{"syscallsp"}, &l.gSyscallSP},
		{g, []string{"syscallpc"}, &l.gSyscallPC},
		{m, []string{"g0"}, &l.mG0},
		{m, []string{"gsignal"}, &l.mGsignal},
		{m, []string{"curg"}, &l.mCurg},
	} {
		if *f.to, err = f.in.offset(f.path...); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		in   structure
		path []string
		to   *int64
	}{
		{g, []string{"sched", "lr"}, &l.gSchedLR}, // a machine without a link register may do without
		{g, []string{"syscallbp"}, &l.gSyscallB},  // Go 1.23 and later; before, the frame pointer of a system call is unknown
		{m, []string{"isextra"}, &l.mIsExtra},     // Go 1.21 and later
		{g, []string{"lockedm"}, &l.gLockedM},
	} {
		if *f.to, err = f.in.offset(f.path...); err != nil {
			*f.to = -1
		}
	}
	return l, nil
}

// dwarfFields is a structure as DWARF describes it.
type dwarfFields struct{ t *godwarf.StructType }

func (f dwarfFields) offset(path ...string) (int64, error) { return fieldOffset(f.t, path...) }
func (f dwarfFields) size() int64                          { return f.t.ByteSize }

func structType(bi *proc.BinaryInfo, name string) (*godwarf.StructType, error) {
	t, err := bi.FindType(name)
	if err != nil {
		return nil, fmt.Errorf("type %s: %w", name, err)
	}
	st, ok := godwarf.ResolveTypedef(t).(*godwarf.StructType)
	if !ok {
		return nil, fmt.Errorf("type %s is not a structure", name)
	}
	return st, nil
}

func fieldOffset(st *godwarf.StructType, path ...string) (int64, error) {
	var off int64
	for i, name := range path {
		var field *godwarf.StructField
		for _, f := range st.Field {
			if f.Name == name {
				field = f
			}
		}
		if field == nil {
			return 0, fmt.Errorf("%s has no field %s", st.StructName, name)
		}
		off += field.ByteOffset
		if i+1 < len(path) {
			inner, ok := godwarf.ResolveTypedef(field.Type).(*godwarf.StructType)
			if !ok {
				return 0, fmt.Errorf("field %s of %s is not a structure", name, st.StructName)
			}
			st = inner
		}
	}
	return off, nil
}
