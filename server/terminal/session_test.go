package terminal

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/spf13/cobra"
)

func TestParseRedirects(t *testing.T) {
	for _, c := range []struct {
		list []string
		want [3]string
		fail bool
	}{
		{nil, [3]string{}, false},
		{[]string{"in"}, [3]string{"in"}, false},
		{[]string{"stdout:out", "stdin:in", "stderr:err"}, [3]string{"in", "out", "err"}, false},
		{[]string{"stdout:a:b"}, [3]string{"", "a:b"}, false},
		{[]string{"in", "stdin:again"}, [3]string{"in"}, true},
	} {
		if got, err := parseRedirects(c.list); got != c.want || (err != nil) != c.fail {
			t.Errorf("%q: %q, %v", c.list, got, err)
		}
	}
}

func TestNetwork(t *testing.T) {
	for addr, want := range map[string][2]string{"unix:/a": {"unix", "/a"}, "localhost:1": {"tcp", "localhost:1"}, ":0": {"tcp", ":0"}} {
		if kind, at := network(addr); kind != want[0] || at != want[1] {
			t.Errorf("%s: %s %s", addr, kind, at)
		}
	}
}

// TestSplitArgs: what stands after -- is the program's.
func TestSplitArgs(t *testing.T) {
	for _, c := range []struct{ args, own, program []string }{
		{[]string{"a", "b"}, []string{"a", "b"}, nil},
		{[]string{"a", "--", "b", "--", "c"}, []string{"a"}, []string{"b", "--", "c"}},
		{[]string{"--", "b"}, nil, []string{"b"}},
	} {
		var own, program []string
		command := &cobra.Command{Run: func(c *cobra.Command, args []string) { own, program = splitArgs(c, args) }}
		command.SetArgs(c.args)
		if err := command.Execute(); err != nil || !slices.Equal(own, c.own) || !slices.Equal(program, c.program) {
			t.Errorf("%q: %q and %q, %v", c.args, own, program, err)
		}
	}
}

// TestCheckFlags: combinations that cannot be are refused.
func TestCheckFlags(t *testing.T) {
	for _, f := range []flags{
		{nonTerminal: true, continueOnStart: true},
		{headless: true, continueOnStart: true},
		{headless: true, redirects: []string{"a"}, tty: "/dev/tty"},
		{headless: true, redirects: []string{"a", "b"}},
	} {
		if _, code := (&session{flags: f}).check(); code != 1 {
			t.Errorf("%+v: %d", f, code)
		}
	}
	s := &session{flags: flags{nonTerminal: true, acceptMulti: true, redirects: []string{"stderr:x"}}}
	if redirects, code := s.check(); code != 0 || redirects[2] != "x" || s.flags.acceptMulti {
		t.Errorf("%q, %d", redirects, code)
	}
}

// answer keeps what a client gets.
type answer struct {
	service.RPCCallback
	out any
	err error
}

func (a *answer) Return(out any, err error) { a.out, a.err = out, err }

func TestCallback(t *testing.T) {
	var got answer
	failed := errors.New("failed")
	(&callback{&got, func(out any, err error) (any, error) { return out.(int) + 1, errors.Join(err, failed) }}).Return(1, nil)
	if got.out != 2 || !errors.Is(got.err, failed) {
		t.Errorf("%+v", got)
	}
}

// TestNoScope: a request about no frame, the innermost one, or one that cannot be, is
// Delve's; so are all of them where clew cannot look at the program.
func TestNoScope(t *testing.T) {
	in := scopes{&server{}}
	for _, scope := range []*api.EvalScope{nil, {}, {Frame: -1}, {Frame: maxDepth}, {Frame: 3}} {
		asked := false
		err := in.inFrame(scope, func() error { asked = true; return nil }, func(*clewFrame) error { return errors.New("clew's") })
		if err != nil || !asked {
			t.Errorf("%+v: %v, %v", scope, asked, err)
		}
	}
}
