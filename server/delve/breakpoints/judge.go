package breakpoints

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"slices"
	"strconv"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/server/values"
)

// Conditions and log messages of breakpoints are expressions of the code that they stand in: of native code clew evaluates them, and Delve
// does not see them. Delve keeps them all the same, for its clients and across a restart. As it takes a condition only if it
// is an expression of Go's, it gets one of native code as a string ([Spell]), which [Judge] reads, and clients are shown what it says ([Shown]).

// Spell returns a condition of native code as Delve keeps it.
func Spell(cond string) string {
	if cond == "" || spelled(cond) {
		return cond
	}
	return strconv.Quote(cond)
}

// spelled says that a condition is a string and nothing else, which no condition of Go's is.
func spelled(cond string) bool {
	_, err := strconv.Unquote(cond)
	return err == nil && strings.HasPrefix(cond, `"`)
}

// Shown returns a condition as its author wrote it.
func Shown(cond string) string {
	if spelled(cond) {
		cond, _ = strconv.Unquote(cond)
	}
	return cond
}

// ConditionError says that the condition of a breakpoint cannot be evaluated. The program stops for it.
type ConditionError struct {
	Cond string
	Err  error
}

// Error names the condition.
func (e *ConditionError) Error() string {
	return fmt.Sprintf("error evaluating the breakpoint's condition %s: %v", e.Cond, e.Err)
}

// Unwrap returns the reason.
func (e *ConditionError) Unwrap() error { return e.Err }

// Judge evaluates the conditions of the breakpoints that threads have come to in native code, before Delve looks at them. A thread whose condition does
// not hold is at no breakpoint of the user's: its hits are not counted. A message is logged if the hit condition holds too, and the
// program goes on.
func (s *Set) Judge(t *proc.Target) {
	s.failed = nil
	for _, th := range t.ThreadList() {
		state := th.Breakpoint()
		bp := state.Breakpoint
		if bp == nil || bp.Logical == nil || bp.WatchType != 0 {
			continue
		}
		user := bp.UserBreaklet()
		cond := Shown(bp.Logical.Cond())
		var message *message
		if b := s.all[bp.Logical.LogicalID]; b != nil {
			message = b.message
		}
		if user == nil {
			continue
		}
		if all := s.at(bp.Addr); len(all) > 1 && s.IsNative(t, bp.Addr) && s.Has(bp.LogicalID()) {
			s.judgeAll(t, th, user, all)
			continue
		}
		if cond == "" && message == nil {
			continue
		}
		s.judge(t, th, user, cond, message)
	}
}

// judge is Judge of one thread.
func (s *Set) judge(t *proc.Target, th proc.Thread, user *proc.Breaklet, cond string, message *message) {
	state := th.Breakpoint()
	bp := state.Breakpoint
	if !s.IsNative(t, bp.Addr) {
		s.leaveToDelve(th, user, cond)
		return
	}
	user.Cond = nil
	user.SetCallback(func(th proc.Thread, t *proc.Target) (bool, error) {
		if err := s.failed[th.ThreadID()]; err != nil || message == nil {
			return true, err
		}
		s.log(t, th, message)
		return false, nil
	})
	if cond == "" {
		return
	}
	holds, err := s.holds(t, th, cond)
	if values.OfGo(cond, err) && ofGo(cond) { // as runtime.curg.goid
		s.leaveToDelve(th, user, cond)
		return
	}
	switch {
	case err != nil:
		s.fail(th, err)
	case !holds:
		passed := *bp
		passed.Breaklets = slices.DeleteFunc(slices.Clone(bp.Breaklets), func(b *proc.Breaklet) bool { return b == user })
		state.Breakpoint = &passed
	}
}

func (s *Set) fail(th proc.Thread, err error) {
	if s.failed == nil {
		s.failed = make(map[int]error)
	}
	s.failed[th.ThreadID()] = err
}

// leaveToDelve has Delve evaluate a condition, as in Go code.
func (s *Set) leaveToDelve(th proc.Thread, user *proc.Breaklet, cond string) {
	if cond == "" {
		return
	}
	parsed, err := parser.ParseExpr(cond)
	if err != nil {
		s.fail(th, &ConditionError{cond, err})
		user.SetCallback(func(th proc.Thread, _ *proc.Target) (bool, error) { return true, s.failed[th.ThreadID()] })
	}
	user.Cond = parsed
	if err != nil {
		user.Cond = nil
	}
}

// ofGo says that a condition of Go's syntax is about variables of packages alone: Delve would evaluate those of native code too.
func ofGo(cond string) bool {
	parsed, err := parser.ParseExpr(cond)
	if err != nil {
		return false
	}
	packages := make(map[*ast.Ident]bool)
	only := true
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				packages[x] = x.Name == "runtime" || x.Name == "delve"
			}
			packages[n.Sel] = true
		case *ast.Ident:
			only = only && packages[n]
		}
		return only
	})
	return only
}

// InFrame does work in the innermost frame of a thread that stands in native code.
func (s *Set) InFrame(t *proc.Target, th proc.Thread, work func(*values.Frame) error) (err error) {
	defer func() {
		if r := recover(); r != nil { // what is read there was written by others
			err = fmt.Errorf("internal error: %v", r)
		}
	}()
	code := s.known(t)
	if code == nil {
		return errNotKnown
	}
	standing, err := stand(t, th)
	if err != nil {
		return err
	}
	f, err := s.tables.frame(code, code.Arch(), standing)
	if err != nil {
		return err
	}
	return work(f)
}

// IsNative says that an address of a stopped process is in native code.
func (s *Set) IsNative(t *proc.Target, addr uint64) bool {
	code := s.known(t)
	return code != nil && native.Of(code).IsNative(addr)
}

var errNotKnown = errors.New("what the process has loaded cannot be read")

// known is what a process had loaded when it was resumed, which is read if it is not known.
func (s *Set) known(t *proc.Target) *codemap.Map {
	if s.code != nil && s.pid == t.Pid() {
		return s.code
	}
	return s.Code(t)
}
