package live

import (
	"context"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/debuginfod"
)

// downloads asks the servers that the user has set for debug files, in the background,
// for all processes that are looked at. It is nil where none is set.
var downloads = sync.OnceValue(func() *debuginfod.Background {
	client, err := debuginfod.Open()
	if err != nil {
		return nil
	}
	return debuginfod.NewBackground(client)
})

func debugFiles() func(buildID []byte) (path string, err error) {
	b := downloads()
	if b == nil {
		return nil
	}
	return askBackground(b)
}

func askBackground(b *debuginfod.Background) func([]byte) (string, error) {
	return func(buildID []byte) (path string, err error) {
		return b.Ask(debuginfod.Request{Kind: debuginfod.Debuginfo, BuildID: buildID})
	}
}

// showEvery is how often progress is shown.
const showEvery = 100 * time.Millisecond

// EndDownloads waits for the debug files that were asked for, so that they are there the
// next time, until ctx ends; show is told of their progress. With show nil it waits for
// none. What is pending afterwards is ended, and no more can be asked for.
func EndDownloads(ctx context.Context, show func(debuginfod.Progress)) {
	if b := downloads(); b != nil {
		endDownloads(ctx, b, show)
	}
}

func endDownloads(ctx context.Context, b *debuginfod.Background, show func(debuginfod.Progress)) {
	defer b.Close()
	for show != nil && ctx.Err() == nil {
		pending := b.Pending()
		if len(pending) == 0 {
			return
		}
		show(pending[0])
		wait, cancel := context.WithTimeout(ctx, showEvery)
		_ = b.Wait(wait) // or the time is over
		cancel()
	}
}
