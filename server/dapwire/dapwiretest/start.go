package dapwiretest

import (
	"errors"
	"io"
	"os/exec"

	"github.com/clewdbg/clew/internal/testkit"
)

// Start starts a server that listens, as `clew dap` and `dlv dap` do, and connects to it.
func Start(cmd *exec.Cmd) (*Client, *testkit.Server, error) {
	server, err := testkit.Serve("DAP server listening at: ", cmd)
	if err != nil {
		return nil, nil, err
	}
	conn, err := testkit.Dial(server.Addr)
	if err != nil {
		server.Kill()
		return nil, nil, err
	}
	return NewClient(conn), server, nil
}

// StartPipe starts a server that speaks on its standard input and output.
func StartPipe(cmd *exec.Cmd) (*Client, error) {
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in}), nil
}
