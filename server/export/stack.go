package export

import (
	"encoding/hex"
	"fmt"
	"io"
	"iter"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/internal/version"
	"github.com/clewdbg/clew/unwind"
)

type imageForm struct {
	Base      stackjson.Address `json:"base"`
	EndOfText stackjson.Address `json:"endOfText"`
	BuildID   string            `json:"buildID,omitempty"`
	Name      string            `json:"name,omitempty"`
	Path      string            `json:"path,omitempty"`
}

// JSON writes {"stacks":[...],"images":[...],"producer":"..."} on one line: the images are those that
// frames lie in, which a reader elsewhere needs for names. With registers, each
// frame says every register that was recovered. images may be nil.
func JSON(w io.Writer, arch unwind.Arch, stacks iter.Seq[unwind.Stack], images *imagemap.ImageMap, registers bool) error {
	return writeJSON(w, arch, func(yield func(stackjson.Stack, *unwind.Stack) bool) {
		for s := range stacks {
			if !yield(stackjson.FromStack(arch, &s, registers), &s) {
				return
			}
		}
	}, images)
}

// writeJSON writes forms of stacks, each as it comes.
func writeJSON(w io.Writer, arch unwind.Arch, stacks iter.Seq2[stackjson.Stack, *unwind.Stack], images *imagemap.ImageMap) error {
	used := make(map[uint64]bool) // by the images' bases
	before := `{"stacks":[`
	for form, s := range stacks {
		line, err := stackjson.Marshal(form)
		if err != nil {
			return fmt.Errorf("stacks as JSON: %w", err)
		}
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		before = ","
		for j := range s.Frames {
			if images == nil {
				break
			}
			if img, ok := images.Lookup(uint64(s.Frames[j].PC.Lookup(arch))); ok {
				used[img.Base] = true
			}
		}
	}
	if before != "," {
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
	}
	producer, err := stackjson.Marshal(version.Get().String())
	if err != nil {
		return err
	}
	end := `],"producer":` + string(producer) + "}\n"
	if len(used) > 0 {
		list, err := stackjson.Marshal(imagesOf(used, images))
		if err != nil {
			return fmt.Errorf("images as JSON: %w", err)
		}
		end = `],"images":` + string(list) + end[1:]
	}
	_, err = io.WriteString(w, end)
	return err
}

// imagesOf lists the images with these bases, in the order of their addresses.
func imagesOf(used map[uint64]bool, images *imagemap.ImageMap) (out []imageForm) {
	for _, img := range images.All() {
		if used[img.Base] {
			out = append(out, imageForm{
				stackjson.Address(img.Base), stackjson.Address(img.EndOfText), hex.EncodeToString(img.BuildID), img.Name, img.Path,
			})
		}
	}
	return out
}

// Addresses is a stack in CBF's terms, which takes far less memory than its
// frames: the package comment says how frames are exported.
type Addresses struct{ frames []cbf.Frame }

// Add adds frames, innermost first. It is an [assembler.Sink].
func (a *Addresses) Add(frames []unwind.Frame) {
	for i := range frames {
		f := &frames[i]
		if f.Inlined {
			continue
		}
		kind := cbf.RA
		if len(a.frames) == 0 || f.PC.Kind() == unwind.KindInstruction {
			kind = cbf.PC
		}
		a.frames = append(a.frames, cbf.Frame{Kind: kind, Address: f.PC.Raw()})
	}
}

// Frames returns a stack in CBF's terms, with the calls of its ancestors behind it. A truncated stack ends in a frame of kind
// [cbf.Truncated].
func Frames(s *unwind.Stack) []cbf.Frame {
	a := Addresses{frames: make([]cbf.Frame, 0, len(s.Frames)+1)}
	a.Add(s.Frames)
	return a.of(s)
}

// of returns the frames of the stack, whose own frames are not looked at.
func (a *Addresses) of(s *unwind.Stack) []cbf.Frame {
	if s.State != nil {
		for _, from := range s.State.Ancestors {
			for _, c := range from.Calls {
				a.frames = append(a.frames, cbf.Frame{Kind: cbf.Async, Address: uint64(c.PC)})
			}
		}
	}
	if truncated(s) {
		return append(a.frames, cbf.Frame{Kind: cbf.Truncated})
	}
	return a.frames
}

// truncated says whether the stack is cut short: a limit on its depth does that
// too, whatever the walk had to say of its last frame.
func truncated(s *unwind.Stack) bool { return s.Stop == unwind.Truncated || s.DepthLimited }

// EncodeStack writes the stack in CBF, with its end marked: Swift's reader takes
// data that merely stops for truncated. It fails with a [*cbf.FrameError] for an
// address that exceeds the word.
func EncodeStack(s *unwind.Stack, ws cbf.WordSize, opts cbf.EncodeOptions) ([]byte, error) {
	return encode(s, Frames(s), ws, opts)
}

func encode(s *unwind.Stack, frames []cbf.Frame, ws cbf.WordSize, opts cbf.EncodeOptions) ([]byte, error) {
	ending := cbf.EndMark
	if truncated(s) {
		ending = cbf.EndTruncated
	}
	data, err := cbf.AppendFrames(nil, ws, frames, ending, opts)
	if err != nil {
		return nil, fmt.Errorf("%s as CBF: %w", title(s), err)
	}
	return data, nil
}

// WordSize is the size of the architecture's machine words.
func WordSize(arch unwind.Arch) cbf.WordSize { return cbf.WordSize(8 * arch.PointerSize()) }

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

// title names a stack: "goroutine 1, thread 4711".
func title(s *unwind.Stack) string {
	switch {
	case s.Goroutine != 0 && s.Thread != 0:
		return fmt.Sprintf("goroutine %d, thread %d", s.Goroutine, s.Thread)
	case s.Goroutine != 0:
		return fmt.Sprintf("goroutine %d", s.Goroutine)
	case s.Thread != 0:
		return fmt.Sprintf("thread %d", s.Thread)
	}
	return "stack"
}
