package listing

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// Ours says which code is the user's own: the main module's, and what patterns name. The zero value knows package main alone.
type Ours struct {
	Module   string   // path of the main module, "" if it is not known
	Image    string   // path of the executable
	Patterns []string // see Match
}

// Has says whether a frame is of the user's own code. C that is compiled into the executable is, unless its file is one of another
// module or a vendored one.
func (o *Ours) Has(f *unwind.Frame) bool {
	if f.Function == "" && f.Image == "" || glue(f.Function) {
		return false
	}
	for _, p := range o.Patterns {
		if Match(p, f) {
			return true
		}
	}
	if f.Function == "" || ofRuntime(f.Function) {
		return false
	}
	if isGo(f) {
		pkg := packageOf(f.Function)
		return pkg == "main" || o.Module != "" && (pkg == o.Module || strings.HasPrefix(pkg, o.Module+"/"))
	}
	return o.Image != "" && f.Image == o.Image && f.File != "" && !strings.Contains(f.File, "@v") && !strings.Contains(f.File, "/vendor/") && !strings.HasPrefix(f.File, "_cgo")
}

// Match says whether a frame is of a package, function or image that a pattern names: a package with those below it, the beginning of
// a function's name, or the name of an image's file. A star stands for anything but a slash.
func Match(pattern string, f *unwind.Frame) bool {
	if f.Image != "" {
		if ok, _ := path.Match(pattern, filepath.Base(f.Image)); ok {
			return true
		}
	}
	if f.Function == "" {
		return false
	}
	if pkg := packageOf(f.Function); isGo(f) {
		whole := strings.TrimSuffix(strings.TrimSuffix(pattern, "..."), "/")
		for at := pkg; at != "." && at != "/"; at = path.Dir(at) {
			if ok, _ := path.Match(whole, at); ok {
				return true
			}
		}
	}
	ok, _ := path.Match(pattern+"*", f.Function)
	return ok || strings.HasPrefix(f.Function, pattern)
}

// CheckPattern is an error if a pattern is none.
func CheckPattern(pattern string) error {
	_, err := path.Match(pattern, "")
	return err
}

func isGo(f *unwind.Frame) bool {
	return strings.HasSuffix(f.File, ".go") && strings.Contains(f.Function, ".") || f.Strategy == unwind.StrategyGopclntab
}

// packageOf is the package of a Go function: "github.com/a/b" of "github.com/a/b.(*T).M".
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	if bracket := strings.IndexByte(function, '['); bracket >= 0 && bracket < slash { // of a type argument
		slash = strings.LastIndexByte(function[:bracket], '/') + 1
	}
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + strings.ReplaceAll(name, "%2e", ".")
}

// glue says whether a function stands between Go and C.
func glue(function string) bool {
	return strings.Contains(function, "._Cfunc_") || strings.Contains(function, "._C2func_") || strings.HasPrefix(function, "_cgo") || strings.HasPrefix(function, "crosscall")
}

// Headline is where a stack stands, for who has written a part of it.
type Headline struct {
	Own   *unwind.Frame // the innermost of the user's own code; if there is none, the innermost that is not the runtime's; or nil
	Ours  bool          // Own is the user's
	Entry *unwind.Frame // the function of a library that it has called; nil if none
	Waits string        // what the innermost function waits for, where that is a call of the C library: "futex wait"; "" if it is not known
}

// Headline finds it.
func (o *Ours) Headline(s *unwind.Stack) (h Headline) {
	if len(s.Frames) > 0 {
		h.Waits = Waits(s.Frames[0].Function)
	}
	for i := range s.Frames {
		if f := &s.Frames[i]; o.Has(f) {
			h.Own, h.Ours = f, true
			for k := i - 1; k >= 0 && h.Entry == nil; k-- {
				if in := &s.Frames[k]; (in.Function != "" || in.Image != "") && !ofRuntime(in.Function) && !glue(in.Function) && Waits(in.Function) == "" {
					h.Entry = in
				}
			}
			return h
		}
	}
	h.Own = Own(s)
	return h
}

// waits are functions of C libraries by which threads wait, without what precedes and follows their names in C libraries.
var waits = map[string]string{
	"poll": "poll", "ppoll": "poll", "epoll_wait": "epoll wait", "epoll_pwait": "epoll wait", "epoll_pwait2": "epoll wait", "select": "select", "pselect": "select", "pselect6": "select",
	"nanosleep": "sleep", "clock_nanosleep": "sleep", "usleep": "sleep", "sleep": "sleep", "pause": "pause",
	"read": "read", "pread": "read", "readv": "read", "preadv": "read", "write": "write", "pwrite": "write", "writev": "write", "pwritev": "write",
	"recv": "receive", "recvfrom": "receive", "recvmsg": "receive", "recvmmsg": "receive", "send": "send", "sendto": "send", "sendmsg": "send",
	"accept": "accept", "accept4": "accept", "connect": "connect", "wait4": "wait for a process", "waitid": "wait for a process", "waitpid": "wait for a process",
	"fsync": "fsync", "fdatasync": "fsync", "flock": "file lock", "sigwait": "signal", "sigwaitinfo": "signal", "sigtimedwait": "signal", "sigsuspend": "signal",
	"lll_lock_wait": "futex wait", "lll_lock_wait_private": "futex wait", "timedwait_cp": "futex wait", "syscall_cp_asm": "syscall",
}

// Waits is what a function of a C library waits for, "" for any other function.
func Waits(function string) string {
	name := Plain(function)
	if strings.HasPrefix(name, "futex_") {
		return "futex wait"
	}
	for _, end := range []string{"_nocancel", "64_time64", "_time64", "64"} {
		name = strings.TrimSuffix(name, end)
	}
	return waits[name]
}

// Plain is a function's name without what a C library puts before it.
func Plain(function string) string {
	name := strings.TrimPrefix(function, "__GI_")
	if strings.HasPrefix(name, "__") {
		name = strings.TrimLeft(name, "_")
		name = strings.TrimPrefix(name, "libc_")
	}
	return name
}

// idle says whether a stack waits for work, as servers do.
func (h *Headline) idle(s *unwind.Stack) bool {
	switch h.Waits {
	case "epoll wait", "poll", "select", "accept", "sleep", "signal":
		return true
	}
	if s.State == nil || s.State.WaitReason != "IO wait" {
		return false
	}
	for i := range s.Frames {
		if name := s.Frames[i].Function; strings.HasSuffix(name, ".Accept") || strings.HasSuffix(name, ".accept") {
			return true
		}
	}
	return false
}
