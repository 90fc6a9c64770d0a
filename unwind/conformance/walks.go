package conformance

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/clewdbg/clew/unwind"
)

// minSteps is how far a strategy must get on one of the stacks, so that the
// other tests have something to test.
const minSteps = 3

func checkWalks(s *session) error {
	longest := 0
	err := s.eachWalk(func(request unwind.WalkRequest, result unwind.WalkResult) error {
		longest = max(longest, len(result.Steps))
		return nil
	})
	if err != nil {
		return err
	}
	if longest < minSteps {
		return fmt.Errorf("no walk of Options.Walks made %d steps or more: the suite has nothing to test", minSteps)
	}
	for _, w := range s.Walks {
		if w.Callers == nil {
			continue
		}
		result, err := s.walkOne(w.Request)
		if err != nil {
			return err
		}
		var got []uint64
		for i := range result.Steps {
			pc, _ := result.Steps[i].Caller.PC(w.Request.Arch)
			got = append(got, pc)
		}
		if !slices.Equal(got, w.Callers) {
			return fmt.Errorf("walk %q: callers %#x, want %#x\n%s", w.Name, got, w.Callers, describeResult(&result))
		}
	}
	return nil
}

// checkStarved begins without memory and passes each walk only the memory it
// asks for.
func checkStarved(s *session) error {
	return s.eachWalk(func(request unwind.WalkRequest, all unwind.WalkResult) error {
		memory := request.Stack
		request.Stack = nil
		// A step may need the record and every callee-saved register on its own.
		for range 40 * (request.MaxFrames + 1) {
			result, err := s.walkOne(request)
			if err != nil {
				return err
			}
			if err := prefix(result.Steps, all.Steps); err != nil {
				return fmt.Errorf("with less memory: %w", err)
			}
			if result.Stop != unwind.StopMemory {
				return same(result, all)
			}
			data := make([]byte, result.Need.End-result.Need.Start)
			if memory.ReadMemory(result.Need.Start, data) != nil {
				return same(result, all)
			}
			request.Stack = append(request.Stack, unwind.Window{Addr: result.Need.Start, Data: data})
		}
		return errors.New("asks for memory again and again")
	})
}

func checkLimit(s *session) error {
	return s.eachWalk(func(request unwind.WalkRequest, all unwind.WalkResult) error {
		for limit := 1; limit <= len(all.Steps); limit++ {
			request.MaxFrames = limit
			result, err := s.walkOne(request)
			if err != nil {
				return err
			}
			if len(result.Steps) != limit {
				return fmt.Errorf("%d steps with a limit of %d and a stack of %d", len(result.Steps), limit, len(all.Steps))
			}
			if err := prefix(result.Steps, all.Steps); err != nil {
				return fmt.Errorf("with a limit of %d: %w", limit, err)
			}
		}
		return nil
	})
}

// checkResumed asks for one step at a time. Only what a walk does after its
// first step is compared: there it has no more than the caller's registers
// either.
func checkResumed(s *session) error {
	return s.eachWalk(func(request unwind.WalkRequest, all unwind.WalkResult) error {
		request.MaxFrames = 1
		request.Function = nil
		for i := range all.Steps {
			request.Registers, request.Kind = all.Steps[i].Caller, all.Steps[i].CallerKind
			if request.Kind == unwind.KindInstruction && s.description.WantsCode {
				continue // the walk could not know the interrupted function's code
			}
			result, err := s.walkOne(request)
			if err != nil {
				return err
			}
			rest := all.Steps[i+1:]
			switch {
			case len(rest) > 0 && (len(result.Steps) != 1 || result.Steps[0] != rest[0]):
				return fmt.Errorf("resumed at step %d: %s\nwant %+v", i, describeResult(&result), rest[0])
			case len(rest) == 0 && all.Stop != unwind.StopLimit && (result.Stop != all.Stop || len(result.Steps) != 0):
				return fmt.Errorf("resumed at the end: %s\nwant stop %q", describeResult(&result), all.Stop)
			}
		}
		return nil
	})
}

// checkRepeated makes the walks in other orders, and with another unwinder.
func checkRepeated(s *session) error {
	other, err := newSession(s.newUnwinder, s.Options)
	if err != nil {
		return err
	}
	defer other.close()
	requests := s.requests()
	first, err := s.walk(requests...)
	if err != nil {
		return err
	}
	for i := len(requests) - 1; i >= 0; i-- {
		for _, session := range []*session{s, other, s} {
			result, err := session.walkOne(requests[i])
			if err != nil {
				return err
			}
			if err := same(result, first[i]); err != nil {
				return fmt.Errorf("walk %q, repeated: %w", s.Walks[i].Name, err)
			}
		}
	}
	return nil
}

func checkConcurrent(s *session) error {
	requests := s.requests()
	want, err := s.walk(requests...)
	if err != nil {
		return err
	}
	const workers, rounds = 8, 5
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for round := range rounds {
				for i := range requests {
					i = (i + w + round) % len(requests)
					result, err := s.walkOne(requests[i])
					if err == nil {
						err = same(result, want[i])
					}
					if err != nil {
						errs[w] = fmt.Errorf("walk %q beside others: %w", s.Walks[i].Name, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func checkBatches(s *session) error {
	if _, err := s.walk(); err != nil {
		return fmt.Errorf("an empty batch: %w", err)
	}
	var requests []unwind.WalkRequest
	var want []unwind.WalkResult
	err := s.eachWalk(func(request unwind.WalkRequest, result unwind.WalkResult) error {
		requests, want = append(requests, request), append(want, result)
		return nil
	})
	if err != nil {
		return err
	}
	for range 3 {
		results, err := s.walk(requests...)
		if err != nil {
			return err
		}
		for i := range results {
			if err := same(results[i], want[i]); err != nil {
				return fmt.Errorf("request %d of a batch: %w", i, err)
			}
		}
		requests, want = append(requests, requests[0]), append(want, want[0])
		slices.Reverse(requests)
		slices.Reverse(want)
	}
	return nil
}

func checkRegisters(s *session) error {
	return s.eachWalk(func(request unwind.WalkRequest, all unwind.WalkResult) error {
		request.AllRegisters = false
		result, err := s.walkOne(request)
		if err != nil {
			return err
		}
		if len(result.Steps) != len(all.Steps) || result.Stop != all.Stop {
			return fmt.Errorf("without AllRegisters: %s\nwith: %s", describeResult(&result), describeResult(&all))
		}
		for i := range result.Steps {
			few, many := &result.Steps[i].Caller, &all.Steps[i].Caller
			for reg, v := range few.All() {
				if w, ok := many.Get(reg); !ok || v != w {
					return fmt.Errorf("step %d: %s is %#x, and with AllRegisters %#x (known: %v)",
						i, request.Arch.RegisterName(reg), v, w, ok)
				}
			}
			if i == len(result.Steps)-1 && !reflect.DeepEqual(few, many) {
				return fmt.Errorf("the last step's registers are not complete: %d of %d", few.Len(), many.Len())
			}
		}
		return nil
	})
}

// checkYield lets another strategy have the code of one caller after another.
func checkYield(s *session) error {
	return s.eachWalk(func(request unwind.WalkRequest, all unwind.WalkResult) error {
		for i := range all.Steps {
			pc, _ := all.Steps[i].Caller.PC(request.Arch)
			lookup := uint64(unwind.Code(pc, all.Steps[i].CallerKind).Lookup(request.Arch))
			first := slices.IndexFunc(all.Steps, func(step unwind.Step) bool { // recursion comes there earlier
				at, _ := step.Caller.PC(request.Arch)
				return at == pc
			})
			if err := s.yield(unwind.Range{Start: 0x10, End: 0x20}, unwind.Range{Start: lookup, End: lookup + 1}); err != nil {
				return err
			}
			result, err := s.walkOne(request)
			if err != nil {
				return err
			}
			if result.Stop != unwind.StopYield || len(result.Steps) != first+1 {
				return fmt.Errorf("with %#x yielded: %s\nwant %d steps", lookup, describeResult(&result), first+1)
			}
			if err := prefix(result.Steps, all.Steps); err != nil {
				return err
			}
		}
		if err := s.yield(); err != nil {
			return err
		}
		result, err := s.walkOne(request)
		if err != nil {
			return err
		}
		return same(result, all)
	})
}
