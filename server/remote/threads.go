package remote

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/unwind"
)

func (p *Program) registersOf(thread int) (registers, error) {
	if regs, ok := p.seen.registers[thread]; ok {
		return regs, nil
	}
	p.checked.Store(false)
	regs, err := p.readRegisters(thread)
	if err == nil {
		p.seen.registers[thread] = regs
	}
	return regs, err
}

// Threads is as [reading.Reader.Threads].
func (p *Program) Threads(maps []imagemap.Mapping) ([]reading.Thread, error) {
	p.checked.Store(false)
	list, err := p.listThreads()
	if err != nil {
		return nil, err
	}
	p.seen.threads = list
	out := make([]reading.Thread, 0, len(list))
	for _, th := range list {
		thread, err := p.thread(th.ID, maps)
		if err != nil {
			return nil, err
		}
		out = append(out, thread)
	}
	return out, nil
}

// listThreads lists the threads by their IDs. The server takes them out of a map.
func (s server) listThreads() ([]*api.Thread, error) {
	list, err := s.client.ListThreads()
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	list = present(list)
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list, nil
}

// CurrentThread is as [reading.Reader.CurrentThread].
func (p *Program) CurrentThread(maps []imagemap.Mapping) (reading.Thread, error) {
	return p.thread(p.seen.current, maps)
}

func (p *Program) thread(id int, maps []imagemap.Mapping) (reading.Thread, error) {
	regs, err := p.registersOf(id)
	if err != nil {
		return reading.Thread{}, err
	}
	rt := p.runtime()
	g := currentG(rt, uint64(id), regs.tls, func() map[uint64]uint64 {
		if p.seen.machines == nil {
			p.seen.machines = machinesOf(p, rt)
		}
		return p.seen.machines
	})
	thread := rt.Thread(uint64(id), regs.Registers, g, maps)
	thread.Current = id == p.seen.current
	return thread, nil
}

// currentG is the address of a thread's runtime.g, 0 for a thread that runs no Go code.
//
// Situation: on arm64 Go has it in x28 and C its own values there, and a server does not tell the
// thread pointer. So the runtime's list of threads says it. Test: TestCurrentG.
func currentG(rt *goruntime.Runtime, thread, tls uint64, machines func() map[uint64]uint64) uint64 {
	switch {
	case rt.Layout == nil:
		return 0
	case rt.Layout.TLS != 0:
		return rt.ReadPointer(tls, rt.Layout.TLS)
	case rt.Arch != unwind.ARM64:
		return 0
	}
	if g0 := machines()[thread]; g0 != 0 {
		return rt.UserG(g0)
	}
	return 0
}

// machinesOf maps the runtime's threads to their g0. There are none before the runtime has started, and
// where the server knows threads by other numbers than the program does, as in a container: then the
// first one is not there.
func machinesOf(p *Program, rt *goruntime.Runtime) map[uint64]uint64 {
	allM, err := p.address("runtime.allm")
	if err != nil {
		return map[uint64]uint64{}
	}
	out, err := (&goruntime.Bulk{Runtime: rt, AllM: allM}).Machines()
	if err != nil || out[uint64(p.pid)] == 0 {
		return map[uint64]uint64{}
	}
	return out
}

// Goroutines is as [reading.Reader.Goroutines].
func (p *Program) Goroutines(threads []reading.Thread) ([]reading.Thread, error) {
	return p.runtime().Goroutines(threads, p.address)
}

// Notes is as [reading.Reader.Notes].
func (p *Program) Notes() *goruntime.Notes {
	return p.runtime().Notes(p.address)
}

// address is that of a variable of the program's.
func (s server) address(name string) (uint64, error) {
	v, err := s.variable(name, api.LoadConfig{})
	if err != nil {
		return 0, err
	}
	return v.Addr, nil
}

func (p *Program) runtime() *goruntime.Runtime {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.layout == nil && !p.noLayout && p.code != nil {
		p.layout = p.readLayout()
		p.noLayout = p.layout == nil
	}
	return &goruntime.Runtime{Layout: p.layout, Arch: p.arch, Memory: p.Memory()}
}

// readLayout reads the layout of the runtime's structures from variables of these
// types, whose fields the server returns with their addresses; where it cannot, from
// the runtime's code. The code also says where a thread's g is, on amd64. Nil is where
// neither is to be had: a program that is position-independent.
func (p *Program) readLayout() *goruntime.Layout {
	fromCode, err := goruntime.CodeLayout(p.arch, p.code)
	if err != nil && p.arch != unwind.ARM64 {
		return nil
	}
	g, err := p.fields("runtime.g0")
	if err != nil {
		return fromCode
	}
	m, err := p.fields("runtime.m0")
	if err != nil {
		return fromCode
	}
	l, err := goruntime.NewLayout(g, m, func(string) goruntime.Structure { return nil })
	if err != nil {
		return fromCode
	}
	if fromCode != nil {
		l.TLS = fromCode.TLS
	}
	return l
}

// fields returns a variable's structure.
func (s server) fields(name string) (fields, error) {
	v, err := s.variable(name, api.LoadConfig{MaxVariableRecurse: 1, MaxStructFields: -1})
	if err != nil {
		return fields{}, err
	}
	if v.Kind != reflect.Struct || v.Addr == 0 {
		return fields{}, fmt.Errorf("%s is no structure in memory", name)
	}
	return fields{v}, nil
}

// fields is a structure, from the server's answer for a variable of its type.
type fields struct{ v *api.Variable }

// Offset implements [goruntime.Structure].
func (f fields) Offset(path string) (int64, error) {
	at := f.v
	for name := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(at.Children, func(v api.Variable) bool { return v.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("%s has no field %s", f.v.Type, name)
		}
		at = &at.Children[i]
	}
	if at.Addr < f.v.Addr {
		return 0, fmt.Errorf("%s: its field %v lies outside", f.v.Type, path)
	}
	return int64(at.Addr - f.v.Addr), nil
}

// Size is that of the part that has fields with pointers' size and more: enough
// to read every field.
func (f fields) Size() int64 {
	var last uint64
	for i := range f.v.Children {
		last = max(last, f.v.Children[i].Addr)
	}
	if last < f.v.Addr {
		return 0
	}
	return int64(last-f.v.Addr) + 8
}
