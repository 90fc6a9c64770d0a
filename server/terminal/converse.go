package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/go-delve/delve/pkg/config"
	delveterminal "github.com/go-delve/delve/pkg/terminal"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/internal/bounded"
)

// converse runs Delve's terminal. It prints what it is told as it is: names of files, variables and types that come from
// debugging information, and a server's errors.
func converse(conn net.Conn, conf *config.Config, initFile string, attach bool) int {
	answers := bounded.NewAnswers(conn)
	server := rpc.NewClientWithCodec(harmless{jsonrpc.NewClientCodec(answers)})
	client, err := internals.NewClient(server)
	if err = cmp.Or(answers.Why(), err); err != nil { // NewClient is silent about a first answer that did not come
		return complain("%v\n", err)
	}
	if first, ok := conn.(*firstAnswer); ok && first.over() {
		return complain("the server at %s has not answered for %v\n", conn.RemoteAddr(), firstPatience)
	}
	if !halt(client) {
		return 1
	}
	t := delveterminal.New(client, conf, attach)
	t.InitFile = initFile
	if err := addCommands(t, client, server); err != nil {
		return complain("%v\n", err)
	}
	code, err := t.Run()
	if err != nil {
		fmt.Println(err)
	}
	return code
}

// How long a server is waited for that does not answer: a Delve server takes connections before it has read the program or fetched its debug files, and serves
// one client after another.
const (
	firstNotice   = 10 * time.Second // then the user is told
	firstPatience = 10 * time.Minute
)

// firstAnswer is a connection to a server that may never answer. Test: in integration, TestSilentServer.
type firstAnswer struct {
	net.Conn
	notice *time.Timer
	silent atomic.Bool
}

func waitForFirst(conn net.Conn) *firstAnswer {
	_ = conn.SetReadDeadline(time.Now().Add(firstPatience))
	return &firstAnswer{Conn: conn, notice: time.AfterFunc(firstNotice, func() {
		complain("the server at %s has not answered for %v. It may still read its program, or serve another client: without --accept-multiclient it serves one. Waiting for it; Ctrl-C ends this\n",
			conn.RemoteAddr(), firstNotice)
	})}
}

// Read implements [net.Conn].
func (c *firstAnswer) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.silent.Store(true)
	}
	return n, err
}

// over ends the wait, and reports whether the first answer has not come.
func (c *firstAnswer) over() (silent bool) {
	c.notice.Stop()
	_ = c.SetReadDeadline(time.Time{})
	return c.silent.Load()
}

// halt halts a program that runs for other clients: a terminal begins at a stop.
func halt(client *rpc2.RPCClient) bool {
	if !client.IsMulticlient() {
		return true
	}
	state, _ := client.GetStateNonBlocking() // its error comes again
	if state == nil || !state.Running {
		return true
	}
	if _, err := client.Halt(); err != nil {
		complain("could not halt: %v\n", err)
		return false
	}
	return true
}

// harmless makes what a server answers safe to show in a terminal. Test: TestHarmless.
type harmless struct{ rpc.ClientCodec }

// ReadResponseHeader implements [rpc.ClientCodec].
func (h harmless) ReadResponseHeader(r *rpc.Response) error {
	err := h.ClientCodec.ReadResponseHeader(r)
	r.Error = printable.Lines(r.Error)
	return err
}

// ReadResponseBody implements [rpc.ClientCodec].
func (h harmless) ReadResponseBody(x any) error {
	err := h.ClientCodec.ReadResponseBody(x)
	if err == nil && x != nil {
		disarm(reflect.ValueOf(x))
	}
	return err
}

var (
	variableType  = reflect.TypeFor[api.Variable]()
	registersType = reflect.TypeFor[rpc2.ListRegistersOut]()
)

// disarm makes every text in v safe, which must be addressable, or a pointer. A string of the program's stays: the terminal quotes it.
func disarm(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(printable.Safe(v.String()))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			disarm(v.Elem())
		}
	case reflect.Struct:
		disarmFields(v)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				disarm(v.Index(i))
			}
		}
	case reflect.Map:
		disarmMap(v)
	}
}

func disarmFields(v reflect.Value) {
	quoted := v.Type() == variableType && v.Addr().Interface().(*api.Variable).Kind == reflect.String
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case !f.IsExported(), quoted && f.Name == "Value":
		case v.Type() == registersType && f.Name == "Registers":
			v.Field(i).SetString(printable.Lines(v.Field(i).String()))
		default:
			disarm(v.Field(i))
		}
	}
}

func disarmMap(v reflect.Value) {
	safe := func(s reflect.Value) reflect.Value {
		if s.Kind() != reflect.String {
			return s
		}
		return reflect.ValueOf(printable.Safe(s.String())).Convert(s.Type())
	}
	for _, key := range v.MapKeys() {
		value := v.MapIndex(key)
		v.SetMapIndex(key, reflect.Value{})
		v.SetMapIndex(safe(key), safe(value))
	}
}
