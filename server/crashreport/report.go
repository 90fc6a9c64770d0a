package crashreport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/listing"
	"github.com/clewdbg/clew/unwind"
)

// Version is that of the form.
const Version = 1

// Report is report.json.
type Report struct {
	Version      int                `json:"version"`
	Producer     string             `json:"producer"` // "clew v1.28.0 (...)"
	Program      string             `json:"program"`  // the file's name, without folders
	Pid          int                `json:"pid"`
	OS           string             `json:"os"`
	Architecture string             `json:"architecture"`
	Crash        *stackjson.Crash   `json:"crash"`
	Stacks       []stackjson.Stack  `json:"stacks"`         // the one that died first, then groups of equal ones
	Left         int                `json:"left,omitzero"`  // groups that were left out for size
	CBF          []Place            `json:"cbf,omitempty"`  // of each stack in crash.cbf
	Images       []export.ImageForm `json:"images"`         // that frames lie in
	Text         string             `json:"text,omitempty"` // what Go's runtime has printed, as far as it was kept
	Held         string             `json:"held,omitempty"` // how long the program was kept from its death: "120ms"
}

// Place is a stack's place in crash.cbf, in bytes.
type Place struct {
	Offset int `json:"offset"`
	Length int `json:"length"`
}

// Files of a report.
const (
	JSONFile     = "report.json"
	TextFile     = "report.txt"
	CBFFile      = "crash.cbf"
	ImagesFile   = "crash.cif"
	SnapshotFile = "crash.snapshot.json"
)

// maxFile bounds a report that is read, in bytes.
const maxFile = 64 << 20

// ErrVersion says that a report is of another version.
var ErrVersion = errors.New("it is no crash report of version 1")

// Parse reads report.json.
func Parse(data []byte) (*Report, error) {
	r := new(Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if r.Version != Version || r.Crash == nil || len(r.Stacks) == 0 || r.Crash.Frame != nil && *r.Crash.Frame < 0 {
		return nil, ErrVersion
	}
	if _, err := unwind.ParseArch(r.Architecture); err != nil {
		return nil, err
	}
	if _, err := r.domain(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Report) arch() unwind.Arch {
	arch, _ := unwind.ParseArch(r.Architecture) // see Parse
	return arch
}

// domain are the stacks in the domain's terms.
func (r *Report) domain() ([]unwind.Stack, error) {
	answer := stackjson.Answer{Stacks: r.Stacks}
	return answer.Domain(r.arch())
}

// maxCounted bounds what a group's count may have a page count.
const maxCounted = 1 << 20

// Page writes the report for people.
func (r *Report) Page(w io.Writer, o export.TextOptions) error {
	stacks, err := r.domain()
	if err != nil {
		return err
	}
	page := &export.Page{Title: fmt.Sprintf("%s, process %d", r.Program, r.Pid), Crash: r.Crash, Summary: new(listing.Summary), Left: r.Left}
	for i := range stacks {
		form, g := &r.Stacks[i], &listing.Group{Stack: stacks[i]}
		add := func(goroutine, thread uint64) {
			s := stacks[i]
			if s.Goroutine = goroutine; s.Thread == 0 {
				s.Thread = thread
			}
			page.Summary.Add(&s)
		}
		switch {
		case len(form.Goroutines) > 0:
			g.Goroutines = form.Goroutines
			for _, id := range form.Goroutines {
				add(id, 0)
			}
		case stacks[i].Goroutine != 0:
			g.Goroutines = []uint64{stacks[i].Goroutine}
			add(stacks[i].Goroutine, 0)
		default:
			for range min(max(form.Count, 1), maxCounted) {
				g.Threads = append(g.Threads, stacks[i].Thread)
				add(0, 1)
			}
		}
		page.Groups = append(page.Groups, g)
	}
	return page.Text(w, o)
}

// ImageMap is the map of the images that are in the report.
func (r *Report) ImageMap() (*imagemap.ImageMap, error) {
	images := make([]imagemap.Image, 0, len(r.Images))
	for i := range r.Images {
		f := &r.Images[i]
		id, err := f.ID()
		if err != nil {
			return nil, err
		}
		images = append(images, imagemap.Image{Base: uint64(f.Base), EndOfText: uint64(f.EndOfText), BuildID: id, Name: f.Name, Path: f.Path})
	}
	return imagemap.New(imagemap.WordSize(export.WordSize(r.arch())), "", images)
}

// encode makes the files of a report that has so many bytes at most; 0 is no limit. What is too much is left out: first groups of stacks,
// the largest last, never the one that died.
func (r *Report) encode(stacks []unwind.Stack, images *imagemap.ImageMap, size int) (map[string][]byte, error) {
	if size <= 0 {
		size = 1 << 40
	}
	arch, ws := r.arch(), export.WordSize(r.arch())
	all := r.Stacks
	// Half of it is for the JSON, whose text has an eighth of it, a quarter for the page.
	r.Text = cutText(r.Text, size/8)
	for kept := len(all); ; kept = max(1, kept*3/4) {
		r.Stacks, r.Left = all[:kept], len(all)-kept
		if r.Images = export.UsedImages(arch, stacks[:kept], images); r.Images == nil {
			r.Images = []export.ImageForm{}
		}
		r.CBF = nil
		var out bytes.Buffer
		for i := range stacks[:kept] {
			data, err := export.EncodeStack(&stacks[i], ws, cbf.EncodeOptions{})
			if err != nil {
				return nil, err
			}
			r.CBF = append(r.CBF, Place{out.Len(), len(data)})
			out.Write(data)
		}
		text, err := stackjson.Marshal(r)
		if err != nil {
			return nil, err
		}
		var page bytes.Buffer
		if err := r.Page(&page, export.TextOptions{}); err != nil {
			return nil, err
		}
		used, err := r.ImageMap()
		if err != nil {
			return nil, err
		}
		cif, err := export.ImagesData(arch, used)
		if err != nil {
			return nil, err
		}
		files := map[string][]byte{JSONFile: append(text, '\n'), TextFile: page.Bytes(), CBFFile: out.Bytes(), ImagesFile: cif}
		total := 0
		for _, data := range files {
			total += len(data)
		}
		if total <= size {
			return files, nil
		}
		if kept == 1 {
			if !r.shorten(&stacks[0]) {
				return files, nil
			}
		}
	}
}

// shortest is how many frames the stack that died has at least.
const shortest = 32

// shorten halves the stack that died, which is then truncated, with its reason. It is false where the stack is short.
func (r *Report) shorten(s *unwind.Stack) bool {
	form := &r.Stacks[0]
	n := len(form.Frames) / 2
	if n < shortest || r.Crash.Frame != nil && n <= *r.Crash.Frame {
		return false
	}
	form.Frames, s.Frames = form.Frames[:n], s.Frames[:n]
	form.Stop, form.Reason = stackjson.StopTruncated, "left out for the size of the report"
	s.Stop, s.Reason = unwind.Truncated, form.Reason
	return true
}

// cutText leaves the beginning of a text, by whole lines.
func cutText(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "?")
	}
	cut := text[:most]
	if i := strings.LastIndexByte(cut, '\n'); i > 0 {
		cut = cut[:i+1]
	}
	return strings.ToValidUTF8(cut, "?") + "...\n"
}
