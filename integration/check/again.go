package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	alone = 3 // how often a test that failed must pass when it runs alone
	few   = 3 // more failed tests than this are no accident
)

// again runs the few tests that failed in the last run alone. Tests of live
// processes share the machine with hundreds of others, and where a scheduler or
// a signal decides, one run in many takes a way that a test did not foresee. One
// that then passes as often as alone says does not fail the whole run; it is
// named as unsteady, below its output, to be mended. A test that is wrong fails
// here too.
func again(r *report, args ...string) error {
	if len(r.failures) > few {
		return nil
	}
	for _, n := range slices.SortedFunc(maps.Keys(r.failures), func(a, b name) int { return strings.Compare(a.String(), b.String()) }) {
		fmt.Fprintf(r.out, "again, alone, %d times: %s\n", alone, n)
		tries := newReport(r.out)
		err := test(tries, []string{n.pkg}, append(args, fmt.Sprintf("-count=%d", alone), "-run=^"+n.test+"$")...)
		if err != nil {
			return err
		}
		if tries.failed == 0 && !tries.broken && tries.passed >= alone {
			r.failed -= r.failures[n]
			delete(r.failures, n)
			r.unsteady = append(r.unsteady, n)
		}
	}
	return nil
}
