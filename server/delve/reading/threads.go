package reading

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// Thread is a stopped thread of the target, or a goroutine that is parked.
type Thread = goruntime.Thread

// Threads returns every thread with its registers, its goroutine if it runs one,
// and the stacks that its frames can lie on. Claims are not filled in.
func (s *Reader) Threads(maps []imagemap.Mapping) ([]Thread, error) {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return nil, err
	}
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return nil, err
	}
	list := t.ThreadList()
	sort.Slice(list, func(i, j int) bool { return list[i].ThreadID() < list[j].ThreadID() })
	machines := s.machines(t)
	out := make([]Thread, 0, len(list))
	for _, th := range list {
		thread, err := s.thread(t, th, maps, machines)
		if err != nil {
			return nil, err
		}
		out = append(out, thread)
	}
	return out, nil
}

// CurrentThread returns the thread that stopped the program, as [Session.Threads]
// does, without reading the others.
func (s *Reader) CurrentThread(maps []imagemap.Mapping) (Thread, error) {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return Thread{}, err
	}
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return Thread{}, err
	}
	return s.thread(t, t.CurrentThread(), maps, s.machines(t))
}

// machines maps threads to their g0, where the runtime's list of them is what is known;
// nil elsewhere.
func (s *Reader) machines(t *proc.Target) map[uint64]uint64 {
	s.loadLayout(t)
	allM := s.variables["runtime.allm"]
	if allM == 0 && listsThreads(t, !s.program.Live()) {
		allM, _ = s.addresses(t)("runtime.allm") // 0: what x28 holds must serve
	}
	if allM == 0 || s.layout == nil {
		return nil
	}
	bulk := goruntime.Bulk{Runtime: s.runtime(t), AllM: allM}
	out, _ := bulk.Machines() // there are none before the runtime has started
	if !s.program.Live() {
		return out // a core file has the threads' own IDs
	}
	if inside := procfs.Inside(t.Pid()); inside != nil {
		here := make(map[uint64]uint64, len(out))
		for _, th := range t.ThreadList() {
			id := uint64(th.ThreadID())
			here[id] = out[inside(id)]
		}
		return here
	}
	return out
}

// listsThreads says that the runtime's list of threads tells goroutines better than registers do.
//
// Situation: on arm64 Go has its g in x28, C its own values; where a thread's g is for C's sake, from the thread pointer on,
// Delve does not know in core files, and takes x28. Example: a goroutine is in pthread_create, which keeps something else there: it
// was listed without a frame, and its thread without a goroutine. Test: "abort" of the case faults (integration/arm64).
func listsThreads(t *proc.Target, recorded bool) bool {
	return recorded && targets.Arch(t) == unwind.ARM64
}

// thread reads one thread.
func (s *Reader) thread(t *proc.Target, th proc.Thread, maps []imagemap.Mapping, machines map[uint64]uint64) (Thread, error) {
	regs, tls, err := targets.Registers(th)
	if err != nil {
		return Thread{}, fmt.Errorf("thread %d: %w", th.ThreadID(), err)
	}
	thread := s.runtime(t).Thread(uint64(th.ThreadID()), regs, s.currentG(t, th, tls, machines), maps)
	thread.Current = th.ThreadID() == t.CurrentThread().ThreadID()
	return thread, nil
}

// Goroutines returns every goroutine with a stack: those that run on a thread
// with that thread's registers, the others as they were parked.
func (s *Reader) Goroutines(threads []Thread) ([]Thread, error) {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return nil, err
	}
	defer unlock()
	t := group.Selected
	s.loadLayout(t)
	return s.runtime(t).Goroutines(threads, s.addresses(t))
}

// addresses finds variables of the program's, each once.
func (s *Reader) addresses(t *proc.Target) func(name string) (uint64, error) {
	return func(name string) (uint64, error) {
		if at := cmp.Or(s.variables[name], s.addressOf[name]); at != 0 {
			return at, nil
		}
		scope, err := proc.ThreadScope(t, t.CurrentThread())
		if err != nil {
			return 0, err
		}
		v, err := scope.EvalExpression(name, proc.LoadConfig{})
		if err != nil {
			return 0, err
		}
		if s.addressOf == nil {
			s.addressOf = make(map[string]uint64)
		}
		s.addressOf[name] = v.Addr
		return v.Addr, nil
	}
}

// Notes reads what goroutines' states refer to, at this stop; nil where the layout of
// the runtime's structures is not known.
func (s *Reader) Notes() *goruntime.Notes {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return nil
	}
	defer unlock()
	t := group.Selected
	s.loadLayout(t)
	return s.runtime(t).Notes(s.addresses(t))
}

// runtime reads what Go's runtime knows. The caller holds the target's lock.
func (s *Reader) runtime(t *proc.Target) *goruntime.Runtime {
	return &goruntime.Runtime{Layout: s.layout, Arch: targets.Arch(t), Memory: s.memory(t)}
}

// memory is the program's memory, without Delve's breakpoints.
func (s *Reader) memory(t *proc.Target) unwind.Memory {
	return targets.Memory{Delve: t.Memory(), PID: s.program.LocalPid(t)}
}

// loadLayout reads the layout, or tries again where a library may have brought Go.
func (s *Reader) loadLayout(t *proc.Target) {
	images := len(t.BinInfo().Images)
	if s.layout != nil || s.noLayout == images {
		return
	}
	var err error
	if s.layout, err = readLayout(t.BinInfo()); err != nil {
		s.findLayout(t)
	}
	if s.layout == nil && s.code != nil {
		s.noLayout = images
	}
}

// findLayout finds the layout where there is no DWARF: by type descriptors, else what
// stacks need of it by code.
func (s *Reader) findLayout(t *proc.Target) {
	coded, _ := goruntime.CodeLayout(targets.Arch(t), s.code)
	if s.symbols != nil {
		s.layout, s.variables, _ = goruntime.Find(targets.Arch(t), s.memory(t), s.symbols, s.maps)
	}
	if s.layout == nil {
		s.layout = coded // nil: mappings must suffice, see segments
	} else if coded != nil {
		s.layout.TLS = coded.TLS
	}
}

// currentG is the address of the runtime.g that the thread's TLS names, 0 for a
// thread that runs no Go code.
func (s *Reader) currentG(t *proc.Target, th proc.Thread, tls uint64, machines map[uint64]uint64) uint64 {
	if s.layout == nil {
		return 0
	}
	regs, err := th.Registers()
	if err != nil {
		return 0
	}
	g0 := machines[uint64(th.ThreadID())]
	addr, register := regs.GAddr()
	if register && g0 != 0 && listsThreads(t, !s.program.Live()) {
		return s.runtime(t).UserG(g0)
	}
	if register {
		return addr
	}
	if s.layout.TLS != 0 {
		return s.runtime(t).ReadPointer(tls, s.layout.TLS)
	}
	if g0 != 0 {
		return s.runtime(t).UserG(g0)
	}
	if bi := t.BinInfo(); tls != 0 && held.GoInLibrary(bi) {
		return s.runtime(t).LibraryG(tls, s.slots.of(bi))
	}
	off, err := t.BinInfo().GStructOffset(th.ProcessMemory())
	if err != nil || tls == 0 {
		return 0
	}
	return s.runtime(t).ReadPointer(tls+off, 0)
}

// RegisterList lists registers, of amd64 or arm64, as Delve's interface has them.
func RegisterList(a unwind.Arch, regs unwind.Registers, floatingPoint bool) api.Registers {
	words := proc.AMD64Arch("linux") // registers have the same names on each system
	if a == unwind.ARM64 {
		words = proc.ARM64Arch("linux")
	}
	list := op.NewDwarfRegisters(0, nil, binary.LittleEndian, uint64(a.PC()), uint64(a.SP()), uint64(a.FP()), 0)
	for reg, value := range regs.All() {
		list.AddReg(uint64(reg), op.DwarfRegisterFromUint64(value))
	}
	return api.ConvertRegisters(list, words.DwarfRegisterToString, floatingPoint)
}
