package unwind

import "fmt"

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
func (t Trust) String() string {
	if int(t) < len(trustNames) {
		return trustNames[t]
	}
	return fmt.Sprintf("trust(%d)", uint8(t))
}

// ParseTrust parses the output of [Trust.String].
func ParseTrust(s string) (Trust, error) {
	for i, n := range trustNames {
		if n == s {
			return Trust(i), nil
		}
	}
	return 0, fmt.Errorf("unknown trust %q (known: none, scan, frame-pointer, cfi, context)", s)
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
