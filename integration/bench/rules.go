package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// randomAddresses is how many addresses are looked up in a round.
const randomAddresses = 10_000

// rules measures DWARF call-frame information: the C library's .eh_frame, at
// random addresses that have an FDE.
func rules(t *table) error {
	t.title = "DWARF call-frame information of the C library"
	t.header = []string{"what", "ns", "allocations"}
	section, header, code, err := libc()
	if err != nil {
		return err
	}
	opts := cfi.Options{Arch: unwind.AMD64, Code: code, Header: header}
	bare := opts
	bare.Header = cfi.Section{}
	whole := cfi.New(section, opts)
	var fdes []cfi.FDE
	for f := range whole.All() {
		fdes = append(fdes, f)
	}
	if len(fdes) < 1000 {
		return fmt.Errorf("the C library has %d FDEs", len(fdes))
	}
	t.notes = []string{fmt.Sprintf("%d FDEs, %d random addresses. Cold: the row is decoded anew. Warm: the row is kept, as the strategy keeps\n"+
		"it for an address that comes again.", len(fdes), randomAddresses)}
	rng := rand.New(rand.NewPCG(1, 2))
	addresses := make([]uint64, randomAddresses)
	for i := range addresses {
		f := &fdes[rng.IntN(len(fdes))]
		addresses[i] = f.Start + rng.Uint64N(f.End-f.Start)
	}
	find := func(addr uint64) (r rule.Rule, err error) {
		f, ok := whole.Find(addr)
		if !ok {
			return r, fmt.Errorf("no FDE at %#x", addr)
		}
		row, err := whole.Row(&f, addr)
		if err != nil {
			return r, err
		}
		return row.Rule(), nil
	}
	frame, caller := stackForRules(), rule.Caller{}
	step := func(r *rule.Rule) error {
		err := r.Apply(&frame, &caller)
		if err == rule.ErrOutermost { //nolint:errorlint // never wrapped
			return nil
		}
		return err
	}
	kept := make([]rule.Rule, 0, len(addresses))
	usable := addresses[:0]
	for _, addr := range addresses {
		r, err := find(addr)
		if err != nil {
			return err
		}
		if step(&r) == nil { // some need registers that the made-up stack does not hold
			kept, usable = append(kept, r), append(usable, addr)
		}
	}
	if len(usable) < randomAddresses*9/10 {
		return fmt.Errorf("only %d of %d rows can be applied", len(usable), randomAddresses)
	}
	each := func(f func(i int) error) func() error {
		return func() error {
			for i := range usable {
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		}
	}
	r, err := compare(t.rounds,
		contender{name: "index with header", run: func() error { t := cfi.New(section, opts); _, ok := t.Find(usable[0]); return found(ok) }},
		contender{name: "index without header", run: func() error { t := cfi.New(section, bare); _, ok := t.Find(usable[0]); return found(ok) }},
		contender{name: "find", run: each(func(i int) error { _, ok := whole.Find(usable[i]); return found(ok) })},
		contender{name: "cold step", run: each(func(i int) error {
			r, err := find(usable[i])
			if err != nil {
				return err
			}
			return step(&r)
		})},
		contender{name: "warm step", run: each(func(i int) error { return step(&kept[i]) })},
	)
	if err != nil {
		return err
	}
	t.row("tables ready, with .eh_frame_hdr", r[0].per(1), r[0].objects())
	t.row("tables ready, without", r[1].per(1), r[1].objects())
	for i, what := range []string{"an address's FDE is found", "a step, cold", "a step, warm"} {
		n := len(usable)
		t.row(what, r[i+2].per(n), fmt.Sprintf("%.1f", r[i+2].allocs/float64(n)))
	}
	return nil
}

func found(ok bool) error {
	if !ok {
		return fmt.Errorf("no FDE")
	}
	return nil
}

// libc returns the C library's tables.
func libc() (section, header cfi.Section, code unwind.RangeSet, err error) {
	cc, err := testneed.Compiler.Find()
	if err != nil {
		return section, header, nil, err
	}
	path, err := exec.Command(cc, "-print-file-name=libc.so.6").Output()
	if err != nil {
		return section, header, nil, err
	}
	f, err := symbols.Open(strings.TrimSpace(string(path)))
	if err != nil {
		return section, header, nil, err
	}
	get := func(name string) cfi.Section {
		c, ok := f.Section(name)
		if !ok {
			err = fmt.Errorf("%s has no %s", strings.TrimSpace(string(path)), name)
		}
		return cfi.Section{Name: name, Addr: c.Vaddr, Data: c.Data}
	}
	section, header = get(".eh_frame"), get(".eh_frame_hdr")
	return section, header, unwind.NewRangeSet(f.Executable()...), err
}

// stackForRules is a frame in the middle of memory that holds any rule's words.
func stackForRules() rule.Frame {
	const base, size = 0x7ffd_0000_0000, 1 << 20
	var regs unwind.Registers
	for reg := range unwind.Register(17) {
		regs.Set(reg, base+size/2)
	}
	return rule.Frame{Registers: &regs, Kind: unwind.KindInstruction, Memory: unwind.Windows{{Addr: base, Data: make([]byte, size)}}}
}
