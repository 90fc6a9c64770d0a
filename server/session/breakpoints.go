package session

import (
	"fmt"
	"slices"
	"sync"
)

// Breakpoints are those that clients have asked for. A request of the Debug Adapter Protocol
// replaces a whole list, as that of a file; Delve gets the union of all clients' lists.
type Breakpoints struct {
	mu    sync.Mutex
	lists map[string]map[*Client][]Wanted
}

// Wanted is one breakpoint of a client's list.
type Wanted struct {
	Key                                 string // where it is, within the list
	Condition, HitCondition, LogMessage string
	Raw                                 []byte // as the client has sent it
}

// ConflictError says that a breakpoint cannot be merged with that of another client.
type ConflictError struct{ By, HitCondition string }

// Error names the other client and what is in the way.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s has a breakpoint here with another hit condition, %s", e.By, e.HitCondition)
}

// Union sets a client's list, and returns what Delve gets: the client's breakpoints first,
// in their order, then those of the others. Refused has an error for each of the client's
// that cannot be had; its place in the union is that of the other client's.
func (b *Breakpoints) Union(c *Client, list string, own []Wanted) (union []Wanted, refused map[int]error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lists == nil {
		b.lists = make(map[string]map[*Client][]Wanted)
	}
	if b.lists[list] == nil {
		b.lists[list] = make(map[*Client][]Wanted)
	}
	union, refused = slices.Clone(own), make(map[int]error)
	for other, theirs := range b.lists[list] {
		if other == c {
			continue
		}
		for _, w := range theirs {
			i := slices.IndexFunc(union, func(u Wanted) bool { return u.Key == w.Key })
			if i < 0 {
				union = append(union, w)
				continue
			}
			if conflict(&union[i], &w) && i < len(own) {
				refused[i] = &ConflictError{other.name, w.HitCondition}
				union[i] = w
				continue
			}
			union[i] = merge(union[i], w)
		}
	}
	kept := slices.Clone(own)
	for i := len(kept) - 1; i >= 0; i-- {
		if refused[i] != nil {
			kept = slices.Delete(kept, i, i+1)
		}
	}
	if b.lists[list][c] = kept; len(kept) == 0 {
		delete(b.lists[list], c)
	}
	return union, refused
}

// Others returns where other clients have breakpoints in a list, by their keys.
func (b *Breakpoints) Others(c *Client, list string) map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[string]bool)
	for other, wanted := range b.lists[list] {
		for _, w := range wanted {
			out[w.Key] = out[w.Key] || other != c
		}
	}
	return out
}

// forget drops the lists of a client that has left. Delve keeps its breakpoints until another
// client sets the list: so one that connects again finds them.
func (b *Breakpoints) forget(c *Client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, clients := range b.lists {
		delete(clients, c)
	}
}

// conflict says that no breakpoint of Delve's does for both: it counts hits in one way.
func conflict(a, b *Wanted) bool {
	return a.HitCondition != "" && b.HitCondition != "" && a.HitCondition != b.HitCondition
}

// merge returns a breakpoint that stops wherever one of two does. One that stops does
// not log.
func merge(a, b Wanted) Wanted {
	a.Condition = either(a.Condition, b.Condition, func() string { return "(" + a.Condition + ") || (" + b.Condition + ")" })
	a.HitCondition = either(a.HitCondition, b.HitCondition, func() string { return a.HitCondition })
	a.LogMessage = either(a.LogMessage, b.LogMessage, func() string { return a.LogMessage + " | " + b.LogMessage })
	return a
}

// either returns what two breakpoints have in common, nothing where one has nothing.
func either(a, b string, both func() string) string {
	switch {
	case a == "" || b == "":
		return ""
	case a == b:
		return a
	}
	return both()
}
