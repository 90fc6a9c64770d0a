package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/clewdbg/clew/unwind"
)

// MaxNeed is the most memory in bytes that a walk may ask for at once.
const MaxNeed = 64 << 10

// Options are the suite's input for an unwinder.
type Options struct {
	// Images is sent to every new unwinder first.
	Images unwind.ImageDelta
	// Walks are stacks; the strategy must make three steps or more on one of
	// them at least.
	Walks []Walk
	// Timeout bounds one call; zero means 20 seconds.
	Timeout time.Duration
}

// Walk is a stack that the unwinder is to walk.
type Walk struct {
	Name string
	// Request asks for the walk. Its Stack holds all memory there is.
	Request unwind.WalkRequest
	// Callers are the return addresses that the walk must find, innermost
	// first; nil if the suite is not to compare them.
	Callers []uint64
}

// Run tests the unwinders that newUnwinder makes. One that implements
// [io.Closer] is closed after its subtest.
func Run(t *testing.T, newUnwinder func() unwind.Unwinder, opts Options) {
	t.Helper()
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) {
			if err := check(p, newUnwinder, opts); err != nil {
				t.Error(err)
			}
		})
	}
}

// property is one thing that the suite asks of an unwinder.
type property struct {
	name  string
	check func(s *session) error
}

var properties = []property{
	{"describe", checkDescribe},
	{"update", checkUpdate},
	{"corrupt images", checkCorruptImages},
	{"walks", checkWalks},
	{"starved", checkStarved},
	{"limit", checkLimit},
	{"resumed", checkResumed},
	{"repeated", checkRepeated},
	{"concurrent", checkConcurrent},
	{"batches", checkBatches},
	{"registers", checkRegisters},
	{"yield", checkYield},
	{"foreign architecture", checkForeignArch},
	{"hostile", checkHostile},
}

func check(p property, newUnwinder func() unwind.Unwinder, opts Options) error {
	opts.Timeout = cmp.Or(opts.Timeout, 20*time.Second)
	s, err := newSession(newUnwinder, opts)
	if err != nil {
		return err
	}
	defer s.close()
	return p.check(s)
}

// session is one unwinder under test, told of the images.
type session struct {
	Options
	newUnwinder func() unwind.Unwinder
	unwinder    unwind.Unwinder
	description unwind.Description
	reports     []unwind.ImageReport
}

func newSession(newUnwinder func() unwind.Unwinder, opts Options) (*session, error) {
	s := &session{Options: opts, newUnwinder: newUnwinder, unwinder: newUnwinder()}
	err := s.call("Describe", func(ctx context.Context) (err error) {
		s.description, err = s.unwinder.Describe(ctx)
		return err
	})
	if err == nil {
		s.reports, err = s.update(opts.Images)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() {
	if c, ok := s.unwinder.(io.Closer); ok {
		_ = c.Close() // the test is over; only its findings count
	}
}

var errHangs = errors.New("does not return")

// call runs one call under the time limit. A panic is an error of the call.
func (s *session) call(what string, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeout)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("panic: %v", p)
			}
		}()
		done <- f(ctx)
	}()
	// Some time is left for an implementation that keeps to the deadline.
	late := time.NewTimer(s.Timeout + s.Timeout/4)
	defer late.Stop()
	var err error
	select {
	case err = <-done:
	case <-late.C:
		err = errHangs
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (s *session) update(delta unwind.ImageDelta) (reports []unwind.ImageReport, err error) {
	err = s.call("Update", func(ctx context.Context) (err error) {
		reports, err = s.unwinder.Update(ctx, delta)
		return err
	})
	return reports, err
}

func (s *session) yield(ranges ...unwind.Range) error {
	return s.call("Yield", func(ctx context.Context) error {
		return s.unwinder.Yield(ctx, unwind.NewRangeSet(ranges...))
	})
}

// walk makes walks and checks the validity of every answer.
func (s *session) walk(requests ...unwind.WalkRequest) (results []unwind.WalkResult, err error) {
	err = s.call("Walk", func(ctx context.Context) (err error) {
		results, err = s.unwinder.Walk(ctx, requests)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(results) != len(requests) {
		return nil, fmt.Errorf("%d results for %d requests", len(results), len(requests))
	}
	for i := range results {
		if len(results[i].Steps) == 0 {
			results[i].Steps = nil // a process boundary does not keep the difference
		}
		if err := judge(&s.description, &requests[i], &results[i]); err != nil {
			return nil, fmt.Errorf("request %d (%s): %w", i, describeRequest(&requests[i]), err)
		}
	}
	return results, nil
}

func (s *session) walkOne(request unwind.WalkRequest) (unwind.WalkResult, error) {
	results, err := s.walk(request)
	if err != nil {
		return unwind.WalkResult{}, err
	}
	return results[0], nil
}

// requests are the walks' requests, with all registers, so that steps of
// different answers can be compared.
func (s *session) requests() []unwind.WalkRequest {
	requests := make([]unwind.WalkRequest, len(s.Walks))
	for i, w := range s.Walks {
		requests[i] = w.Request
		requests[i].AllRegisters = true
	}
	return requests
}

// eachWalk calls f with every walk's request and the answer to it.
func (s *session) eachWalk(f func(unwind.WalkRequest, unwind.WalkResult) error) error {
	for i, request := range s.requests() {
		result, err := s.walkOne(request)
		if err == nil {
			err = f(request, result)
		}
		if err != nil {
			return fmt.Errorf("walk %q: %w", s.Walks[i].Name, err)
		}
	}
	return nil
}

// same compares answers.
func same(got, want unwind.WalkResult) error {
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return fmt.Errorf("the answer differs:\n got %s\nwant %s", describeResult(&got), describeResult(&want))
}

// prefix reports whether got is the beginning of want.
func prefix(got, want []unwind.Step) error {
	if len(got) > len(want) {
		return fmt.Errorf("%d steps, where all are %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("step %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	return nil
}
