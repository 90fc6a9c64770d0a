package symbolstore

import (
	"context"
	"errors"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/debuginfod"
	"github.com/clewdbg/clew/server/symbols"
)

// Debuginfod returns the store of debuginfod servers. Requests wait for them as long
// as the client's bounds allow, or until ctx ends; progress is told of it, nil for
// not.
func Debuginfod(ctx context.Context, client *debuginfod.Client, progress func(debuginfod.Progress)) *Store {
	return newStore("the debuginfod servers", &remote{ctx, client, progress})
}

// remote is a source of files from servers.
type remote struct {
	ctx      context.Context
	client   *debuginfod.Client
	progress func(debuginfod.Progress)
}

// find implements source: the debug file, and the executable where there is no debug
// file or that lacks Go's table, which is part of what is loaded.
func (r *remote) find(id []byte) (out []*symbols.File, err error) {
	path, err := r.client.Get(r.ctx, debuginfod.Request{Kind: debuginfod.Debuginfo, BuildID: id}, r.progress)
	var debug *symbols.File
	if err == nil {
		debug, err = symbols.Open(path)
	}
	if err == nil && !hasGoTable(path) {
		return []*symbols.File{debug}, nil
	}
	path, failed := r.client.Get(r.ctx, debuginfod.Request{Kind: debuginfod.Executable, BuildID: id}, r.progress)
	if failed == nil {
		var executable *symbols.File
		if executable, failed = symbols.Open(path); failed == nil {
			out = append(out, executable)
		}
	}
	if debug != nil {
		out = append(out, debug)
	}
	if errors.Is(err, debuginfod.ErrNotFound) {
		err = nil
	}
	return out, errors.Join(err, failed)
}

// hasGoTable says whether the image that a debug file is of has a table of Go's
// functions: the debug file has the section's header only.
func hasGoTable(path string) bool {
	f, err := elffile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Section(".gopclntab") != nil || f.Section(".data.rel.ro.gopclntab") != nil
}
