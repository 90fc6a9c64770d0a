package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/listing"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// valueFlags say which values of frames are shown.
type valueFlags struct {
	which     string
	registers bool
}

// whichValues are the words of --values.
var whichValues = []string{"args", "locals", "all"}

func (f *valueFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.which, "values", "", "show what frames hold: `which` is "+strings.Join(whichValues, ", "))
	fl.BoolVar(&f.registers, "registers", false, "add every register of each frame, and what it rests on")
	_ = c.RegisterFlagCompletionFunc("values", cobra.FixedCompletions(whichValues, cobra.ShellCompDirectiveNoFileComp))
}

func (f *valueFlags) selected() export.Which {
	return export.Which{Arguments: f.which == "args" || f.which == "all", Locals: f.which == "locals" || f.which == "all", Registers: f.registers}
}

func (f *valueFlags) wanted() bool { return f.selected().Any() }

func (f *valueFlags) check() error {
	if f.which != "" && !slices.Contains(whichValues, f.which) {
		return unknown("kind of values", f.which, whichValues)
	}
	return nil
}

// checkValues refuses flags that do not go with values.
func (f *stackFlags) checkValues() error {
	if err := f.values.check(); err != nil {
		return err
	}
	if !f.values.wanted() {
		return nil
	}
	for _, r := range []refusal{
		{!slices.Contains([]string{"text", "json", "snapshot"}, f.format), "--values and --registers are for --format text, json and snapshot: " + f.format + " has no place for them"},
		{f.again.wanted(), "--values and --registers are for one listing, without --count and --watch"},
		{f.listing.group != "" && listing.By(f.listing.group) != listing.None, "--values and --registers show each stack by itself: leave out --group"},
	} {
		if r.when {
			return usageErrorf("%s", r.why)
		}
	}
	return nil
}

// valuesTime bounds the reading of a listing's values.
const valuesTime = 30 * time.Second

// held are the values of stacks.
type held struct {
	flags  *valueFlags
	reader export.Values
	of     map[[2]uint64][][]stackjson.Value // by goroutine and thread
	noGo   bool                              // there are Go frames that nothing here reads
}

// newHeld reads values of a stop from memory.
func newHeld(f *valueFlags, memory unwind.Memory) *held {
	return &held{flags: f, of: make(map[[2]uint64][][]stackjson.Value), reader: newReader(f, memory)}
}

func newReader(f *valueFlags, memory unwind.Memory) export.Values {
	return export.Values{Which: f.selected(), Memory: memory, Until: time.Now().Add(valuesTime)}
}

// read reads the values of a stack of a stop.
func (h *held) read(at *stop.Stopped, th *reading.Thread, st *unwind.Stack) {
	h.reader.OfGo = func(s *unwind.Stack, frame int, which export.Which) (out []stackjson.Value, err error) {
		args, locals, err := at.GoValues(th, s, frame)
		if errors.Is(err, stop.ErrNoGo) {
			h.noGo = true
			return nil, nil
		}
		if which.Arguments {
			out = args
		}
		if which.Locals {
			out = append(out, locals...)
		}
		return out, err
	}
	frames, err := at.ValuesOf(st, &h.reader)
	if err != nil {
		return
	}
	h.of[[2]uint64{st.Goroutine, st.Thread}] = h.reader.Of(st, frames, at.IsGo)
}

// add has a set written with the values.
func (h *held) add(set *export.Set) {
	if h == nil {
		return
	}
	set.Registers = h.flags.registers
	set.Values = func(s *unwind.Stack) [][]stackjson.Value { return h.of[[2]uint64{s.Goroutine, s.Thread}] }
}

// tell says what is not there.
func (h *held) tell(notify func(string)) {
	if h != nil && h.noGo {
		notify("variables of Go frames are read where a debugger holds the process: --goroutine ID, or a program that clew runs")
	}
}
