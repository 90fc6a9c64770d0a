package live

import (
	"errors"
	"sync"

	"github.com/clewdbg/clew/server/debuginfod"
)

// debugFiles asks the servers that the user has set for debug files, in the
// background, for all processes that are looked at. It is nil where none is set.
var debugFiles = sync.OnceValue(func() func(buildID []byte) (path string, pending bool) {
	client, err := debuginfod.Open()
	if err != nil {
		return nil
	}
	return askBackground(debuginfod.NewBackground(client))
})

func askBackground(b *debuginfod.Background) func([]byte) (string, bool) {
	return func(buildID []byte) (path string, pending bool) {
		path, err := b.Ask(debuginfod.Request{Kind: debuginfod.Debuginfo, BuildID: buildID})
		return path, errors.Is(err, debuginfod.ErrPending)
	}
}
