package export

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

// CBF's files: a stack's, and the image map's beside it.
const (
	cbfEnding    = ".cbf"
	imagesEnding = ".cif"
)

// cbf writes a file with its image map beside it, or a folder of all.
func (s *Set) cbf(path string) error {
	if s.All {
		return WriteFolder(path, s)
	}
	st, err := s.one()
	if err != nil {
		return err
	}
	return WriteStack(path, s.Arch, st, s.Images)
}

// cbfFiles are what cbf would write.
func (s *Set) cbfFiles(name string) (files []File, err error) {
	if s.All {
		err := s.fill(func(f File) error {
			files = append(files, f)
			return nil
		})
		return files, err
	}
	st, err := s.one()
	if err != nil {
		return nil, err
	}
	data, err := EncodeStack(st, WordSize(s.Arch), cbf.EncodeOptions{})
	if err != nil {
		return nil, err
	}
	cif, err := ImagesData(s.Arch, s.Images)
	if err != nil {
		return nil, err
	}
	return []File{{name + cbfEnding, data}, {name + imagesEnding, cif}}, nil
}

// one returns the single stack of a set that is not of all.
func (s *Set) one() (*unwind.Stack, error) {
	for st := range s.traces() {
		return &st, nil
	}
	return nil, errors.New("there is no stack to write")
}

// traces are the stacks for CBF: without ancestors, unless those are asked for.
func (s *Set) traces() iter.Seq[unwind.Stack] {
	if s.Ancestors {
		return s.Stacks
	}
	return func(yield func(unwind.Stack) bool) {
		for st := range s.Stacks {
			if st.State != nil && len(st.State.Ancestors) > 0 {
				state := *st.State
				state.Ancestors, st.State = nil, &state
			}
			if !yield(st) {
				return
			}
		}
	}
}

// WriteStack writes one stack to a file, and its images beside it: x.cbf and
// x.cif, for any other name NAME and NAME.cif.
func WriteStack(path string, arch unwind.Arch, s *unwind.Stack, images *imagemap.ImageMap) error {
	var a Addresses
	a.Add(s.Frames)
	return WriteAddresses(path, arch, s, &a, images)
}

// WriteAddresses is [WriteStack] for a stack whose frames were taken as they were
// found.
func WriteAddresses(path string, arch unwind.Arch, s *unwind.Stack, a *Addresses, images *imagemap.ImageMap) error {
	data, err := encode(s, a.of(s), WordSize(arch), cbf.EncodeOptions{})
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, imagesEnding) {
		return fmt.Errorf("write %s: .cif is the name of the image map that comes with it; name the stack .cbf", path)
	}
	cif, err := ImagesData(arch, images)
	if err != nil {
		return err
	}
	backtrace, err := stage(path, writes(data))
	if err != nil {
		return err
	}
	maps, err := stage(strings.TrimSuffix(path, cbfEnding)+imagesEnding, writes(cif))
	if err != nil {
		backtrace.discard()
		return err
	}
	// The images first: who finds the stack finds its images.
	if err := maps.commit(); err != nil {
		backtrace.discard()
		return err
	}
	return backtrace.commit()
}

func writes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// ImagesData is the image map as CIF; without one it is a map without images.
func ImagesData(arch unwind.Arch, m *imagemap.ImageMap) ([]byte, error) {
	if m == nil {
		var err error
		if m, err = imagemap.New(imagemap.WordSize(WordSize(arch)), "", nil); err != nil {
			return nil, err
		}
	}
	return m.AppendCIF(nil, imagemap.EncodeOptions{}), nil
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
