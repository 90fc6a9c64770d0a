package interpose

import (
	"testing"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/unwind"
)

// What tests need that have a session hold a program.

func (r *Runner) Forget() { r.resumed = false }

// Below is the process that a guard stands before.
func Below(p proc.ProcessInternal) proc.ProcessInternal {
	if g, ok := p.(*guard); ok {
		return g.ProcessInternal
	}
	return p
}

func guardHere(t *testing.T, target *proc.Target) *guard {
	t.Helper()
	g, err := guardOf(target, true)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// WithoutCode has no memory of a process hold code.
func WithoutCode(t *testing.T, target *proc.Target) (restore func()) {
	g := guardHere(t, target)
	g.executable, g.read = unwind.NewRangeSet(unwind.Range{Start: 1, End: 2}), resumes.Load()
	return func() { g.executable = nil }
}

func GuardedTwice(t *testing.T, target *proc.Target) bool {
	_, twice := guardHere(t, target).ProcessInternal.(*guard)
	return twice
}

// DebugWord is the word that leads to the loader's list.
func DebugWord(pid int) ([]byte, error) {
	w, err := findDebugWord(pid)
	if w == nil || err != nil {
		return nil, err
	}
	return w.value, nil
}

// LoadedLibraries are the paths of the libraries that a process has loaded.
func LoadedLibraries(mem proc.MemoryReader, bi *proc.BinaryInfo) (paths []string, err error) {
	list, err := loadedLibraries(mem, bi)
	for _, l := range list {
		paths = append(paths, l.path)
	}
	return paths, err
}
