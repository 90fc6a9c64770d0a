package terminal

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/names"
	common "github.com/clewdbg/clew/server/session"
	"github.com/clewdbg/clew/server/stop"
)

// Front answers one client of a Delve server in another process. Methods that return a stack, or rest
// on one, are answered as on clew's own server; every other request is the server's, unchanged.
type Front struct {
	Client   net.Conn
	Upstream *Upstream
	Stacks   stop.StacksOptions
	// Open opens the server's program, when a stack is first asked for.
	Open func() (Held, stop.Program, error)
	// Owner is the session that this client shares with others of this process, unless the server is clew's and
	// owns it; nil: there are none.
	Owner *common.Session
	// Several says whether the server takes several clients. It may take its time.
	Several func() bool

	once sync.Once
	clew bool
}

// Serve answers requests until the client or the server is gone. NoMore tells the server that no more
// requests come. Serve closes neither connection.
func (f *Front) Serve(noMore func()) {
	s := &server{
		stacks: stop.NewStacks(f.Stacks, func() uint64 { return 0 }), // the program itself tells stops apart
		open:   f.open, late: true, names: names.Style("").On(false), plainSteps: true,
	}
	s.process = far{s}
	defer s.stacks.Close()
	c := newRPCConn(f.Client, nil)
	c.up = f.Upstream
	leave := func() {}
	c.before = func(method string) {
		if atAnyTime[method] || method == "RPCServer.Recorded" { // that a client asks before anything else
			return
		}
		c.before = nil
		alone := f.Owner == nil || f.isClew()
		events := newFrontEvents(f.Upstream, c.events.foreign, !alone)
		s.delve = frontMethods{upstreamMethods{f.Upstream}, events}
		if alone {
			c.add(frontTable(s, events))
			return
		}
		shared := newFrontClient(s, f.Owner, c, events)
		leave = func() { shared.leave(f.Several) }
		c.add(shared.table())
	}
	defer c.cancel()
	answered := make(chan struct{})
	go func() {
		select {
		case <-f.Upstream.lost:
			_ = f.Client.SetReadDeadline(time.Now())
		case <-answered:
		}
	}()
	c.answer()
	close(answered)
	leave()
	noMore()
	<-f.Upstream.lost // the server may still have something to say
	c.calls.Wait()
}

// errClew is returned for a server that needs no front.
var errClew = errors.New("the server is clew's")

// open opens the server's program, unless the server's answers are clew's already.
func (f *Front) open() (Held, stop.Program, error) {
	if f.isClew() {
		return nil, nil, errClew
	}
	return f.Open()
}

// versionPatience is how long a server may take to say what it is. One that does not answer could be anybody's: a client
// that has gone meanwhile must not be kept for it.
const versionPatience = 10 * time.Second

// isClew says whether the server is clew's. It is asked once.
func (f *Front) isClew() bool {
	f.once.Do(func() {
		clew := make(chan bool, 1)
		go func() {
			var version versionOut
			clew <- f.Upstream.call("GetVersion", api.GetVersionIn{}, &version) == nil && version.SupportsClew
		}()
		select {
		case f.clew = <-clew:
		case <-time.After(versionPatience):
		}
	})
	return f.clew
}

// never says that a program cannot be opened at another time either.
func never(err error) bool { return errors.Is(err, errClew) || errors.Is(err, live.ErrRecorded) }

// frontTable lists the methods that the server does not answer alone.
func frontTable(s *server, events *frontEvents) map[string]any {
	in := scopes{s}
	return map[string]any{
		"State":            s.state,
		"GetEvents":        events.get,
		"Command":          events.command(s),
		"Stacktrace":       s.stacktrace,
		"Eval":             in.eval,
		"Set":              in.set,
		"ListLocalVars":    in.locals,
		"ListFunctionArgs": in.arguments,
		"ListRegisters":    in.registers,
		"FindLocation":     in.findLocation,
		"CreateWatchpoint": in.watch,
		"ListGoroutines":   in.goroutines,
	}
}

// far is the process behind a server. Whether it runs is seen when it is read.
type far struct{ server *server }

func (far) IsRunning() bool   { return false }
func (f far) ProcessPid() int { return f.server.pid }
