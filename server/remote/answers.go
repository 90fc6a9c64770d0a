package remote

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-delve/delve/service/api"
)

// Delve's client returns what the server has sent as it is: a part that is missing is a nil pointer. Whatever
// this package reads through a pointer is asked for here.

// errNothing: the server's answer has nothing in it.
var errNothing = errors.New("the Delve server's answer is empty")

// ask returns the server's state, whatever the program does.
func (s server) ask() (*api.DebuggerState, error) {
	state, err := s.client.GetStateNonBlocking()
	if err == nil && state == nil {
		err = errNothing
	}
	return state, err
}

// variable evaluates a variable of the program's.
func (s server) variable(name string, cfg api.LoadConfig) (*api.Variable, error) {
	v, err := s.client.EvalVariable(api.EvalScope{GoroutineID: -1}, name, cfg)
	if err == nil && v == nil {
		err = fmt.Errorf("%s: %w", name, errNothing)
	}
	return v, err
}

// present returns the elements of a list that are there.
func present[T any](list []*T) []*T {
	return slices.DeleteFunc(list, func(v *T) bool { return v == nil })
}
