package delve

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/go-delve/delve/pkg/proc"
)

// forgetDownloads lets an editor pause a program that was attached to.
//
// Situation: Delve notes, for every library that it adds, how to cancel the download
// of its debug information, and forgets that at the end of each run of the program. A
// pause that comes while there is such a note cancels the download, does nothing else,
// and is not answered. Example: an editor attaches to a program that links a library,
// and pauses it: the program runs on, whatever the editor asks, until it stops for
// another reason. Attaching downloads nothing: there is nothing to cancel then. Test:
// in integration/dap, TestPauseAfterAttach.
func forgetDownloads(bi *proc.BinaryInfo) {
	info := reflect.ValueOf(bi).Elem()
	mu, cancel := info.FieldByName("cancelDownloadsMu"), info.FieldByName("cancelDownloads")
	if !mu.IsValid() || mu.Type() != reflect.TypeFor[sync.Mutex]() || !cancel.IsValid() || cancel.Type() != reflect.TypeFor[func()]() {
		return // another release of Delve
	}
	lock := (*sync.Mutex)(unsafe.Pointer(mu.UnsafeAddr()))
	lock.Lock()
	defer lock.Unlock()
	*(*func())(unsafe.Pointer(cancel.UnsafeAddr())) = nil
}
