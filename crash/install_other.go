//go:build !linux || !(amd64 || arm64)

package crash

func install(Options) error { return ErrUnsupported }
