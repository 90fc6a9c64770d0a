package internals

import (
	"fmt"
	"net/rpc"
	"reflect"
	"sync"
	"unsafe"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/dap"
	"github.com/go-delve/delve/service/debugger"
	"github.com/go-delve/delve/service/rpc2"
)

// Names of the entries that are private fields.
const (
	EntryProcess      = "process"
	EntryProcessGroup = "process-group"
	EntryDownloads    = "downloads"
	EntryDAPDebugger  = "dap-debugger"
	EntryTargetLock   = "target-lock"
	EntryGoroutines   = "goroutine-list"
	EntryClient       = "terminal-client"
)

var fieldEntries = []Entry{
	{
		Name: EntryProcess, Where: "pkg/proc/target.go, Target.proc",
		Breaks: "a breakpoint can be written outside of code: the guard does not stand before the process",
		Proof:  "Check", check: process.check,
	},
	{
		Name: EntryProcessGroup, Where: "pkg/proc/target_group.go, TargetGroup.procgrp; pkg/proc/interface.go, ProcessGroup",
		Breaks: "no return breakpoint is placed for a step; int3 in unknown code is passed over; a process that Delve leaves is killed by a pending SIGTRAP",
		Proof: "Check: the field, and that the interface has no other way to run the program; that Delve resumes through it, Session.Arm and Session.EndStep: " +
			"a return breakpoint that was not placed is an error",
		check: checkProcessGroup,
	},
	{
		Name: EntryDownloads, Where: "pkg/proc/bininfo.go, BinaryInfo.cancelDownloadsMu and cancelDownloads",
		Breaks: "an editor cannot pause a program that it has attached to and that links a library",
		Proof:  "Check", check: func() error { return firstError(downloadsMu.check, downloads.check) },
	},
	{
		Name: EntryDAPDebugger, Where: "service/dap/server.go, Session.debugger",
		Breaks: "editors get Delve's own stacks: the program of Delve's DAP session is out of reach",
		Proof:  "Check", check: dapDebugger.check,
	},
	{
		Name: EntryTargetLock, Where: "service/debugger/debugger.go, Debugger.targetMutex and target",
		Breaks: "a request that comes while the program runs waits for its next stop, and those that would stop it wait behind",
		Proof:  "Check", check: func() error { return firstError(targetLock.check, targetGroup.check) },
	},
	{
		Name: EntryGoroutines, Where: "pkg/proc/target.go, Target.gcache; pkg/proc/goroutine_cache.go, goroutineCache.allglenAddr and allgentryAddr",
		Breaks: "a damaged program or core file that claims any number of goroutines keeps the debugger busy for ever",
		Proof:  "Check", check: func() error { return goroutinesErr },
	},
	{
		Name: EntryClient, Where: "service/rpc2/client.go, RPCClient.client",
		Breaks: "a terminal prints control characters of names, and of a server's errors",
		Proof:  "Check", check: clientOf.check,
	},
}

// field is a private field of type T in Delve's struct S.
type field[S, T any] struct {
	name   string
	offset uintptr
	err    error
}

func fieldOf[S, T any](name string) field[S, T] {
	found, err := lookUp(reflect.TypeFor[S](), name, reflect.TypeFor[T]())
	return field[S, T]{name: name, offset: found.Offset, err: err}
}

func (f *field[S, T]) check() error { return f.err }

// in returns the field's address. It must not be called where [Check] has failed.
func (f *field[S, T]) in(s *S) *T { return (*T)(unsafe.Add(unsafe.Pointer(s), f.offset)) }

// lookUp finds a field in a struct; want is its type, nil for any.
func lookUp(in reflect.Type, name string, want reflect.Type) (reflect.StructField, error) {
	if in.Kind() != reflect.Struct {
		return reflect.StructField{}, fmt.Errorf("%v is not a struct", in)
	}
	f, ok := in.FieldByName(name)
	switch {
	case !ok:
		return f, fmt.Errorf("%v has no field %s", in, name)
	case len(f.Index) != 1:
		return f, fmt.Errorf("%s is not a field of %v itself", name, in)
	case want != nil && f.Type != want:
		return f, fmt.Errorf("field %s of %v is a %v, not a %v", name, in, f.Type, want)
	}
	return f, nil
}

func firstError(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

var (
	process      = fieldOf[proc.Target, proc.ProcessInternal]("proc")
	processGroup = fieldOf[proc.TargetGroup, proc.ProcessGroup]("procgrp")
	downloadsMu  = fieldOf[proc.BinaryInfo, sync.Mutex]("cancelDownloadsMu")
	downloads    = fieldOf[proc.BinaryInfo, func()]("cancelDownloads")
	clientOf     = fieldOf[rpc2.RPCClient, *rpc.Client]("client")
	dapDebugger  = fieldOf[dap.Session, *debugger.Debugger]("debugger")
	targetLock   = fieldOf[debugger.Debugger, sync.Mutex]("targetMutex")
	targetGroup  = fieldOf[debugger.Debugger, *proc.TargetGroup]("target")
)

// get returns the field's address, or the error of [Check].
func (f *field[S, T]) get(s *S) (*T, error) {
	if err := Check(); err != nil {
		return nil, err
	}
	return f.in(s), nil
}

// Process returns where a target holds its process.
func Process(t *proc.Target) (*proc.ProcessInternal, error) { return process.get(t) }

// goroutineOffsets are where a target holds the addresses of the number of goroutines and of their list. Their type is private.
type goroutineOffsets struct{ count, list uintptr }

var goroutines, goroutinesErr = findGoroutines()

func findGoroutines() (o goroutineOffsets, err error) {
	held, err := lookUp(reflect.TypeFor[proc.Target](), "gcache", nil)
	if err != nil {
		return o, err
	}
	count, err := lookUp(held.Type, "allglenAddr", reflect.TypeFor[uint64]())
	if err != nil {
		return o, err
	}
	list, err := lookUp(held.Type, "allgentryAddr", reflect.TypeFor[uint64]())
	return goroutineOffsets{held.Offset + count.Offset, held.Offset + list.Offset}, err
}

// GoroutineList returns the addresses of the runtime's number of goroutines and of their list, 0 where the program has no DWARF.
func GoroutineList(t *proc.Target) (count, list uint64, err error) {
	if err := Check(); err != nil {
		return 0, 0, err
	}
	at := func(offset uintptr) uint64 { return *(*uint64)(unsafe.Add(unsafe.Pointer(t), offset)) }
	return at(goroutines.count), at(goroutines.list), nil
}

// ProcessGroup returns where a group holds what runs its processes.
func ProcessGroup(group *proc.TargetGroup) (*proc.ProcessGroup, error) {
	return processGroup.get(group)
}

// groupMethods are those of [proc.ProcessGroup]. One more could be another way to
// run the program.
var groupMethods = []string{"Close", "ContinueOnce", "Detach", "StepInstruction"}

func checkProcessGroup() error {
	if err := processGroup.check(); err != nil {
		return err
	}
	t := reflect.TypeFor[proc.ProcessGroup]()
	if t.NumMethod() != len(groupMethods) {
		return fmt.Errorf("%v has %d methods, not %d", t, t.NumMethod(), len(groupMethods))
	}
	for i, name := range groupMethods { // in alphabetical order
		if t.Method(i).Name != name {
			return fmt.Errorf("%v has a method %s, and no %s", t, t.Method(i).Name, name)
		}
	}
	return nil
}

// ForgetDownloads has a program forget how to cancel downloads.
func ForgetDownloads(bi *proc.BinaryInfo) error {
	if err := Check(); err != nil {
		return err
	}
	mu := downloadsMu.in(bi)
	mu.Lock()
	defer mu.Unlock()
	*downloads.in(bi) = nil
	return nil
}

// NewClient returns Delve's client over a connection that is set up already.
func NewClient(conn *rpc.Client) (*rpc2.RPCClient, error) {
	c := new(rpc2.RPCClient)
	held, err := clientOf.get(c)
	if err != nil {
		return nil, err
	}
	*held = conn
	// As rpc2.NewClientFromConn does. Another error comes again.
	_ = conn.Call("RPCServer.SetApiVersion", api.SetAPIVersionIn{APIVersion: 2}, new(api.SetAPIVersionOut))
	return c, nil
}

// DAPDebugger returns the debugger of a DAP session, nil before it has one. The
// field is set once, before the `initialized` event is sent.
func DAPDebugger(s *dap.Session) *debugger.Debugger {
	if Check() != nil {
		return nil
	}
	return *dapDebugger.in(s)
}

// TargetLock returns the lock that a debugger holds while its program runs, and what that protects.
func TargetLock(d *debugger.Debugger) (*sync.Mutex, **proc.TargetGroup, error) {
	if err := Check(); err != nil {
		return nil, nil, err
	}
	return targetLock.in(d), targetGroup.in(d), nil
}
