package symbolstore

import (
	"context"
	"errors"

	"github.com/clewdbg/clew/server/debuginfod"
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

// find implements source. Names need the executable where there is no debug file, or
// one that lacks Go's table, which is part of what is loaded.
func (r *remote) find(id []byte, code bool) (paths []string, err error) {
	debug, err := r.get(id, debuginfod.Debuginfo)
	if debug != "" && !code && !hasGoTable(debug) {
		return []string{debug}, nil
	}
	executable, failed := r.get(id, debuginfod.Executable)
	for _, path := range []string{executable, debug} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths, errors.Join(err, failed)
}

// get returns the path of a file, "" where no server has it.
func (r *remote) get(id []byte, kind debuginfod.Kind) (string, error) {
	path, err := r.client.Get(r.ctx, debuginfod.Request{Kind: kind, BuildID: id}, r.progress)
	if errors.Is(err, debuginfod.ErrNotFound) {
		return "", nil
	}
	return path, err
}

// folders implements source.
func (r *remote) folders() []string { return nil }
