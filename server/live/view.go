// Package live reads a process that is stopped under Delve: its images, code, threads
// and goroutines, as input for the engine, and as a snapshot from which the same
// stacks are made offline.
package live

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/unwind"
)

// View is one stop of a process. It is valid until the process runs again or its
// memory is written to.
// Threads and goroutines are read when they are asked for. It is not safe for
// concurrent use.
type View struct {
	source     Source
	place      Place
	loaded     *loaded
	recorder   *engine.Recorder // nil unless recording
	threads    []reading.Thread // nil until they are asked for, as goroutines
	goroutines []reading.Thread
	corrupt    []error    // goroutines that cannot be read
	described  *described // nil until a stack is described
	Input      engine.Input
}

// Images is the image map of the process.
func (v *View) Images() *imagemap.ImageMap { return v.loaded.images }

// Maps are the mappings of the process.
func (v *View) Maps() []imagemap.Mapping { return v.loaded.maps }

// Code is the process's code.
func (v *View) Code() *codemap.Map { return v.loaded.code }

// Threads returns every thread.
func (v *View) Threads() (threads []reading.Thread, err error) {
	if v.threads == nil {
		v.threads, err = v.source.Threads(v.loaded.maps)
	}
	return v.threads, err
}

// Current is the thread that stopped the process.
func (v *View) Current() (reading.Thread, error) { return v.source.CurrentThread(v.loaded.maps) }

// Goroutines returns every goroutine, sorted by their IDs.
func (v *View) Goroutines() (goroutines []reading.Thread, err error) {
	if v.goroutines == nil {
		var threads []reading.Thread
		if threads, err = v.Threads(); err == nil {
			v.goroutines, err = v.source.Goroutines(threads)
		}
		v.goroutines = slices.DeleteFunc(v.goroutines, func(th reading.Thread) bool {
			if th.Corrupt != nil {
				v.corrupt = append(v.corrupt, th.Corrupt)
			}
			return th.Corrupt != nil
		})
	}
	return v.goroutines, err
}

// Corrupt says which goroutines could not be read, once [View.Goroutines] was called.
func (v *View) Corrupt() []error { return v.corrupt }

// Goroutine returns the goroutine with that ID. The current one is found without
// reading the others.
func (v *View) Goroutine(id uint64) (reading.Thread, error) {
	if th, err := v.Current(); err == nil && th.Goroutine == id {
		return th, nil
	}
	all, err := v.Goroutines()
	if err != nil {
		return reading.Thread{}, err
	}
	// An editor asks for one after another, of many.
	if i, ok := slices.BinarySearchFunc(all, id, func(th reading.Thread, id uint64) int { return cmp.Compare(th.Goroutine, id) }); ok {
		return all[i], nil
	}
	return reading.Thread{}, fmt.Errorf("there is no goroutine %d", id)
}

// Claims returns Delve's frames of a thread of control, at most depth of them.
func (v *View) Claims(th reading.Thread, depth int) ([]unwind.Frame, error) {
	return v.source.Claims(th, depth)
}

// Apart says that Delve can be asked for frames while the process's memory is read.
func (v *View) Apart() bool {
	_, here := v.place.(running)
	return here && v.recorder == nil
}

// EngineInput is what strategies and the assembler work with.
func (v *View) EngineInput() *engine.Input { return &v.Input }
