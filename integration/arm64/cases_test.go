package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestChoose finds cases by name, the long ones too, and refuses a name that no case has.
func TestChoose(t *testing.T) {
	for _, name := range []string{"brk", longCases[0].name} {
		chosen, err := choose(cases, []string{name})
		if err != nil || len(chosen) != 1 || chosen[0].name != name {
			t.Errorf("%s: %v, %v", name, chosen, err)
		}
	}
	if chosen, err := choose(cases, []string{"brk", "none"}); !errors.Is(err, errUsage) {
		t.Errorf("%v, %v", chosen, err)
	}
	if chosen, err := choose(ciCases, nil); err != nil || len(chosen) != len(ciCases) {
		t.Errorf("%d of %d, %v", len(chosen), len(ciCases), err)
	}
}

// TestBuilds: matrix, cores and steps take builds that the user names, other cases none.
func TestBuilds(t *testing.T) {
	o := options{builds: "one,another"}
	chosen, err := o.chosen([]string{"matrix", "cores", "steps"})
	if err != nil || len(chosen) != 3 {
		t.Fatalf("%d cases, %v", len(chosen), err)
	}
	for _, c := range chosen {
		if !strings.Contains(c.script, "-build one,another ") {
			t.Errorf("%s runs %s", c.name, c.script)
		}
	}
	if strings.Contains(cases[3].script, "one,another") {
		t.Errorf("the list has changed: %s", cases[3].script)
	}
	if chosen, err := o.chosen([]string{"brk"}); !errors.Is(err, errUsage) {
		t.Errorf("%v, %v", chosen, err)
	}
}

// TestNeeds: testneed knows every program that a case needs.
func TestNeeds(t *testing.T) {
	for _, c := range append(append(cases[:len(cases):len(cases)], longCases...), ciCases...) {
		for _, name := range c.needs {
			if _, err := testneed.Named(name); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestStage: a part that takes too long ends with an error that says which.
func TestStage(t *testing.T) {
	err := stage(t.Context(), "waiting", time.Millisecond, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || !strings.Contains(err.Error(), "waiting, after") || !strings.Contains(err.Error(), "not done within") {
		t.Error(err)
	}
}

// TestLimit: each case has its time; a slow machine has more, within bounds.
func TestLimit(t *testing.T) {
	const minutes = 8 * time.Minute
	one := limit(minutes, 1)
	if one < minutes || one > longest {
		t.Errorf("one case has %v", one)
	}
	if three, none := limit(minutes, 3), limit(minutes, 0); three < 3*minutes || three > 3*longest || none > longest {
		t.Errorf("three cases have %v, a script has %v", three, none)
	}
	if hour := limit(time.Hour, 1); hour != time.Hour {
		t.Errorf("an hour has become %v", hour)
	}
}

// TestKernelFile: a kernel of the user's own that is not there is an error before anything is downloaded.
func TestKernelFile(t *testing.T) {
	if m, err := prepare(t.Context(), t.TempDir()+"/Image"); !errors.Is(err, fs.ErrNotExist) || m != nil {
		t.Errorf("%v, %v", m, err)
	}
}
