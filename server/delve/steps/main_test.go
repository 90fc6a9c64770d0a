package steps_test

import (
	"os"
	"testing"

	"github.com/clewdbg/clew/server/delve/delvetest"
)

func TestMain(m *testing.M) { os.Exit(delvetest.Main(m)) }
