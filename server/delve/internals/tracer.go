package internals

import (
	"reflect"
	"strings"
	"unsafe"

	"github.com/go-delve/delve/pkg/proc"
)

// EntryTracer is the name of the entry for the thread by which Delve traces a process.
const EntryTracer = "tracer"

var tracerEntries = []Entry{{
	Name: EntryTracer, Where: "pkg/proc/native/proc.go, nativeProcess.ptraceThread; ptraceThread.ptraceChan and ptraceDoneChan",
	Breaks: "arm64's sequences of LDXR and STXR are stepped in for ever: a thread cannot run through one while the others stand",
	Proof:  "TestTracer",
}}

// Tracer returns what runs functions on the one thread that the kernel lets trace a process, and nil for a process that
// Delve does not trace itself: a core file, a recording. It must not be used while the process runs.
func Tracer(p proc.ProcessInternal) (run func(func()), err error) {
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer || !strings.HasSuffix(v.Type().Elem().PkgPath(), "/proc/native") {
		return nil, nil
	}
	thread := v.Elem().FieldByName("ptraceThread")
	if thread.Kind() != reflect.Pointer || thread.IsNil() {
		return nil, Changed(EntryTracer, "%v has no ptraceThread", v.Type())
	}
	work, done := thread.Elem().FieldByName("ptraceChan"), thread.Elem().FieldByName("ptraceDoneChan")
	if !work.IsValid() || work.Type() != reflect.TypeFor[chan func()]() || !done.IsValid() || done.Type() != reflect.TypeFor[chan any]() {
		return nil, Changed(EntryTracer, "%v has other fields", thread.Type())
	}
	in, out := *(*chan func())(unsafe.Pointer(work.UnsafeAddr())), *(*chan any)(unsafe.Pointer(done.UnsafeAddr()))
	return func(f func()) {
		in <- f
		<-out
	}, nil
}
