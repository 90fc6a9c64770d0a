//go:build !(linux && amd64)

package sframe

import (
	"testing"

	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
)

func startNative(*testing.T, *steptest.Tracer, *stepProgram) {} // TestStep asks for the platform
