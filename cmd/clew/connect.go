package main

import (
	"context"
	"fmt"

	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/proxy"
	"github.com/clewdbg/clew/server/remote"
)

// openRemote opens the program that a Delve server debugs. It does not change it.
func openRemote(ctx context.Context, addr string, debugFolders []string, notify func(string)) (*live.Process, func() error, error) {
	conn, err := proxy.Dial(ctx, addr)
	if err != nil {
		return nil, nil, failf("%v", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	program, err := remote.Connect(ctx, conn)
	if err != nil {
		stop()
		return nil, nil, failf("%s: %v", addr, err)
	}
	return program.Process(debugFolders), func() error {
		stop()
		if !program.Several() {
			notify(fmt.Sprintf("the Delve server at %s takes one client only and ends with it; started with --accept-multiclient it stays", addr))
		}
		return program.Close()
	}, nil
}
