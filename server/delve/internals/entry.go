package internals

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// Entry is one thing that clew relies on and that Delve's API does not promise.
type Entry struct {
	Name string
	// Where it is in Delve: the file, and the type or function.
	Where string
	// Breaks says what clew can no longer do without it.
	Breaks string
	// Proof says how clew notices that it has changed.
	Proof string
	// check proves it without a program, in microseconds; nil where only a live
	// program shows it. Proof then names where it is proven at first use, or the test.
	check func() error
}

// Static says whether [Check] proves the entry.
func (e *Entry) Static() bool { return e.check != nil }

// Error says that this release of Delve is not the one that clew was written for.
type Error struct {
	Entry   string // its name
	Where   string // in Delve
	Version string // of Delve's module
	Err     error  // what was found instead
}

// Error names Delve's version, the entry, and what was found.
func (e *Error) Error() string {
	return fmt.Sprintf("Delve %s is not the release that clew was written for: %s (%s): %v", e.Version, e.Entry, e.Where, e.Err)
}

// Unwrap returns what was found.
func (e *Error) Unwrap() error { return e.Err }

// Entries lists everything that clew relies on.
func Entries() []Entry {
	return slices.Concat(fieldEntries, stackEntries, wireEntries, behaviourEntries, opcodeEntries, tracerEntries, commandEntries)
}

// Check proves every entry that can be proven without a program, once. The error
// joins an [*Error] for each entry that has changed. Every session calls it before
// it begins, and does not begin if there is an error.
func Check() error { return checked() }

var checked = sync.OnceValue(func() error {
	var all error
	for _, e := range Entries() {
		if e.check == nil {
			continue
		}
		if err := e.check(); err != nil {
			all = errors.Join(all, e.changed(err))
		}
	}
	return all
})

// Changed returns the error for an entry that a live program has shown to have
// changed.
func Changed(name, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	for _, e := range Entries() {
		if e.Name == name {
			return e.changed(err)
		}
	}
	return &Error{Entry: name, Where: "unknown", Version: Version(), Err: err}
}

func (e *Entry) changed(err error) error {
	return &Error{Entry: e.Name, Where: e.Where, Version: Version(), Err: err}
}

const modulePath = "github.com/go-delve/delve"

// Version is the version of Delve's module that this program was built with.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of an unknown version"
	}
	for _, m := range info.Deps {
		if m.Path != modulePath {
			continue
		}
		if m.Replace != nil {
			return m.Version + " (replaced by " + m.Replace.Path + ")"
		}
		return m.Version
	}
	return "of an unknown version" // a test binary has no list of modules
}
