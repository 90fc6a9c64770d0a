package delve

import (
	"fmt"
	"reflect"
	"sort"

	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

func (r *Remote) registersOf(thread int) (remoteRegisters, error) {
	if regs, ok := r.seen.registers[thread]; ok {
		return regs, nil
	}
	regs, err := r.readRegisters(thread)
	if err == nil {
		r.seen.registers[thread] = regs
	}
	return regs, err
}

// Threads is as [Session.Threads].
func (r *Remote) Threads(maps []imagemap.Mapping) ([]Thread, error) {
	list, err := r.listThreads()
	if err != nil {
		return nil, err
	}
	r.seen.threads = list
	out := make([]Thread, 0, len(list))
	for _, th := range list {
		thread, err := r.thread(th.ID, maps)
		if err != nil {
			return nil, err
		}
		out = append(out, thread)
	}
	return out, nil
}

// listThreads lists the threads by their IDs. The server takes them out of a map.
func (r server) listThreads() ([]*api.Thread, error) {
	list, err := r.client.ListThreads()
	if err != nil {
		return nil, &RemoteError{"list threads", err}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list, nil
}

// CurrentThread is as [Session.CurrentThread].
func (r *Remote) CurrentThread(maps []imagemap.Mapping) (Thread, error) {
	return r.thread(r.seen.current, maps)
}

func (r *Remote) thread(id int, maps []imagemap.Mapping) (Thread, error) {
	regs, err := r.registersOf(id)
	if err != nil {
		return Thread{}, err
	}
	thread := Thread{
		Thread:  unwind.Thread{ID: uint64(id), Registers: regs.Registers, FirstPC: unwind.KindInstruction},
		Current: id == r.seen.current,
	}
	rt := r.runtime()
	var g uint64
	if rt.layout != nil && rt.layout.tls != 0 {
		g = rt.readPointer(regs.tls, rt.layout.tls)
	}
	sp, _ := regs.SP(r.arch)
	rt.segments(&thread, g, sp, maps)
	thread.Runtime = thread.Goroutine == 0 && rt.madeByGo(g)
	return thread, nil
}

// Goroutines is as [Session.Goroutines].
func (r *Remote) Goroutines(threads []Thread) ([]Thread, error) {
	return r.runtime().goroutines(threads, r.address)
}

// address is that of a variable of the program's.
func (r server) address(name string) (uint64, error) {
	v, err := r.client.EvalVariable(api.EvalScope{GoroutineID: -1}, name, api.LoadConfig{})
	if err != nil {
		return 0, err
	}
	return v.Addr, nil
}

func (r *Remote) runtime() *goRuntime {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.layout == nil && !r.noLayout && r.code != nil {
		r.layout = r.readLayout()
		r.noLayout = r.layout == nil
	}
	return &goRuntime{layout: r.layout, arch: r.arch, memory: r.Memory()}
}

// readLayout reads the layout of the runtime's structures from variables of these
// types, whose fields the server returns with their addresses; where it cannot, from
// the runtime's code. The code also says where a thread's g is. Nil is where
// neither is to be had: a program that is position-independent.
func (r *Remote) readLayout() *layout {
	fromCode, err := codeLayout(r.arch, r.code)
	if err != nil {
		return nil
	}
	g, err := r.fields("runtime.g0")
	if err != nil {
		return fromCode
	}
	m, err := r.fields("runtime.m0")
	if err != nil {
		return fromCode
	}
	l, err := newLayout(g, m)
	if err != nil {
		return fromCode
	}
	l.tls = fromCode.tls
	return l
}

// fields returns a variable's structure.
func (r server) fields(name string) (remoteFields, error) {
	v, err := r.client.EvalVariable(api.EvalScope{GoroutineID: -1}, name, api.LoadConfig{MaxVariableRecurse: 1, MaxStructFields: -1})
	if err != nil {
		return remoteFields{}, err
	}
	if v.Kind != reflect.Struct || v.Addr == 0 {
		return remoteFields{}, fmt.Errorf("%s is no structure in memory", name)
	}
	return remoteFields{v}, nil
}

// remoteFields is a structure, from the server's answer for a variable of its type.
type remoteFields struct{ v *api.Variable }

func (f remoteFields) offset(path ...string) (int64, error) {
	at := f.v
	for _, name := range path {
		var next *api.Variable
		for i := range at.Children {
			if at.Children[i].Name == name {
				next = &at.Children[i]
			}
		}
		if next == nil {
			return 0, fmt.Errorf("%s has no field %s", f.v.Type, name)
		}
		at = next
	}
	if at.Addr < f.v.Addr {
		return 0, fmt.Errorf("%s: its field %v lies outside", f.v.Type, path)
	}
	return int64(at.Addr - f.v.Addr), nil
}

// size is that of the part that has fields with pointers' size and more: enough
// to read every field.
func (f remoteFields) size() int64 {
	var last uint64
	for i := range f.v.Children {
		last = max(last, f.v.Children[i].Addr)
	}
	if last < f.v.Addr {
		return 0
	}
	return int64(last-f.v.Addr) + 8
}
