package export

import (
	"fmt"
	"io"
	"iter"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
	"github.com/clewdbg/clew/unwind"
)

func (s *Set) swift(w io.Writer) error { return Swift(w, s.Arch, s.traces(), s.Images) }

// swiftNames are the architectures that Swift knows, by their names there.
var swiftNames = map[unwind.Arch]string{
	unwind.AMD64: envelope.X86_64,
	unwind.I386:  envelope.I386,
	unwind.ARM64: envelope.ARM64,
	unwind.ARM:   envelope.ARM,
}

// SwiftName is the architecture's name in Swift's envelope. Those that Swift does
// not know keep their own.
func SwiftName(arch unwind.Arch) string {
	if name, ok := swiftNames[arch]; ok {
		return name
	}
	return arch.String()
}

// Swift writes one of Swift's envelopes a line for each stack. The images are in
// the form that Swift 6.2 reads without mistakes; nil leaves them out.
func Swift(w io.Writer, arch unwind.Arch, stacks iter.Seq[unwind.Stack], images *imagemap.ImageMap) error {
	e := envelope.Envelope{Architecture: SwiftName(arch)}
	if images != nil {
		e.ImageMap = images.AppendCIF(nil, imagemap.EncodeOptions{Swift62: true})
	}
	for s := range stacks {
		var err error
		if e.Backtrace, err = EncodeStack(&s, WordSize(arch), cbf.EncodeOptions{}); err != nil {
			return err
		}
		line, err := envelope.Marshal(e)
		if err != nil {
			return fmt.Errorf("%s: %w", title(&s), err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
