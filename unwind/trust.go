package unwind

import (
	"fmt"
	"slices"
	"strings"
)

// Trust says how far a frame can be believed (R1). Higher is better.
type Trust uint8

// The levels of trust, low to high.
const (
	TrustNone Trust = iota
	TrustScan
	TrustFramePointer
	TrustCFI
	TrustContext
)

var trustNames = [...]string{"none", "scan", "frame-pointer", "cfi", "context"}

// String returns the level's name in JSON.
func (t Trust) String() string { return nameOf(trustNames[:], t, "trust") }

// Weakness orders evidence by how wrong it may be: 0 for what is as good as certain, 1 for frame
// pointers, 2 for guesses.
func (t Trust) Weakness() int { return min(max(int(TrustCFI)-int(t), 0), 2) }

// ParseTrust parses the output of [Trust.String].
func ParseTrust(s string) (Trust, error) { return parseName[Trust](trustNames[:], s, "trust") }

// nameOf returns the name of a value that has one.
func nameOf[T ~uint8](names []string, v T, what string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", what, uint8(v))
}

// parseName parses the output of nameOf.
func parseName[T ~uint8](names []string, s, what string) (T, error) {
	if i := slices.Index(names, s); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("unknown %s %q (known: %s)", what, s, strings.Join(names, ", "))
}

// Names of the strategies that come with clew. A third party's plugin has a
// name of its own.
const (
	StrategyRegisters = "registers" // the innermost frame: the registers themselves
	StrategyDelve     = "delve"     // a frame that only Delve's own unwinder found
	StrategyGopclntab = "gopclntab" // Go's own tables, applied by the host
	StrategyCode      = "code"      // the code's own flow, followed by the host
	StrategyDWARF     = "dwarfcfi"  // plugin
	StrategySFrame    = "sframe"    // plugin
	StrategyCompact   = "compactunwind"
	StrategyFP        = "fpwalk"
	StrategyScan      = "scan"
)
