//go:build linux && (amd64 || arm64)

package sampled

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/offline"
	"github.com/clewdbg/clew/unwind"
)

// tally counts what became of the stacks of a workload.
type tally struct {
	of      [classes]int
	n       int
	reasons [classes]map[string]*reason
}

// reason is one difference, without its numbers.
type reason struct {
	n     int
	first string
	line  int
}

var number = regexp.MustCompile(`0x[0-9a-f]+|\b[0-9]+\b`)

func (t *tally) add(c class, why string, line int) {
	t.n++
	t.of[c]++
	if c == exact {
		return
	}
	if t.reasons[c] == nil {
		t.reasons[c] = make(map[string]*reason)
	}
	key := number.ReplaceAllString(why, "N")
	if t.reasons[c][key] == nil {
		t.reasons[c][key] = &reason{first: why, line: line}
	}
	t.reasons[c][key].n++
}

// right says whether no stack is wrong above scan or falsely complete.
func (t *tally) right() bool { return t.n > 0 && t.of[wrong] == 0 && t.of[falseEnd] == 0 }

// exactly is how many stacks of a hundred are exact.
func (t *tally) exactly() float64 { return 100 * float64(t.of[exact]) / float64(max(t.n, 1)) }

func (t *tally) sum(o *tally) {
	t.n += o.n
	for c := range o.of {
		t.of[c] += o.of[c]
	}
}

func (t *tally) print(name string) {
	fmt.Printf("| %s | %d | %.3f %% | %d | %d | %d | %d |\n", name, t.n, t.exactly(),
		t.of[truncated], t.of[falseScan], t.of[wrong], t.of[falseEnd])
}

// printReasons prints the most frequent reasons of each class.
func (t *tally) printReasons(most int) {
	for c, title := range map[class]string{wrong: "WRONG", falseEnd: "FALSE END", falseScan: "false at scan", truncated: "truncated"} {
		var list []*reason
		for _, r := range t.reasons[c] {
			list = append(list, r)
		}
		sort.Slice(list, func(i, j int) bool { return list[i].n > list[j].n })
		for _, r := range list[:min(most, len(list))] {
			fmt.Printf("    %5d x %s, line %d: %s\n", r.n, title, r.line, r.first)
		}
	}
}

// again judges the samples in a file, and holds them against the answers of the live
// process. The files of images lie below root.
func again(file string, only []string, root string, live map[int]unwind.Stack) (*tally, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, opener := &tally{}, &offline.Opener{Root: root}
	e, ctx := engine.New(inprocess.Strategies(only...)), context.Background()
	reader := snapshot.NewReader(f, snapshot.Options{})
	for taken, err := range reader.All() {
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, reader.Line(), err)
		}
		var want truth
		if text, err := taken.Expect.MarshalJSON(); err != nil || json.Unmarshal(text, &want) != nil {
			return nil, fmt.Errorf("%s:%d: no true stack", file, reader.Line())
		}
		in, threads, err := opener.Open(taken, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		in.Names = nil
		stack := e.Prepare(ctx, in).Stack(ctx, &threads[0], assembler.Options{})
		if other, ok := live[reader.Line()-1]; ok {
			if why := same(&other, &stack); why != "" {
				return nil, fmt.Errorf("%s:%d: the live process differs: %s", file, reader.Line(), why)
			}
		}
		c, why := code{taken.Arch, in.Target.Code.Function}.judge(&stack, want.Stacks[0].Frames)
		t.add(c, why, reader.Line())
	}
	return t, nil
}

// same compares two stacks, and returns how they differ.
func same(a, b *unwind.Stack) string {
	if len(a.Frames) != len(b.Frames) || a.Stop != b.Stop || a.Reason != b.Reason {
		return fmt.Sprintf("%d frames, %s: %s; here %d, %s: %s", len(a.Frames), a.Stop, a.Reason, len(b.Frames), b.Stop, b.Reason)
	}
	for i := range a.Frames {
		if f, g := &a.Frames[i], &b.Frames[i]; f.PC != g.PC || f.CFA != g.CFA || f.Strategy != g.Strategy || f.Trust != g.Trust || f.Rule != g.Rule {
			return fmt.Sprintf("frame %d is %#x by %s, and here %#x by %s", i, f.PC.Raw(), f.Strategy, g.PC.Raw(), g.Strategy)
		}
	}
	return ""
}
