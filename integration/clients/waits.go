package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// answerLimit is the time in which every request is answered or refused while the program runs.
const answerLimit = time.Second

// cell is what became of a request in a state.
type cell struct {
	ending
	wrong string // "" where it is right
}

// waits asks every request in every state, at one place, by one kind of client.
type waits struct {
	seat  *seat // nil before the first
	work  *work
	place *place
	byDlv bool
	limit time.Duration
	cells map[string]map[string]cell // by request and state
	order []string
}

// askAll fills the table.
func (a *waits) askAll(states []string) error {
	a.cells = make(map[string]map[string]cell)
	defer a.stand()
	for _, state := range states {
		if state == notStarted && a.byDlv && !a.place.has {
			continue // it cannot have joined yet
		}
		a.stand()
		if err := a.sit(state); err != nil {
			return fmt.Errorf("%s: %w", state, err)
		}
		for i, r := range a.requests() {
			err := a.ask(state, i)
			if err == nil && a.cells[r.name][state].wrong != "" {
				// What waits for another request waits for it in a new session too; a machine that was busy for a second is not.
				a.stand()
				err = a.ask(state, i)
			}
			if err != nil {
				return fmt.Errorf("%s, %s: %w", state, r.name, err)
			}
		}
	}
	return nil
}

// requests are those of the kind of client, with what is known now.
func (a *waits) requests() []request {
	if a.byDlv {
		return a.work.rpcRequests(&a.seat.at)
	}
	return a.work.dapRequests(&a.seat.at)
}

// stand ends the session.
func (a *waits) stand() {
	if a.seat != nil {
		a.seat.leave()
	}
	a.seat = nil
}

// sit begins a session, unless there is one.
func (a *waits) sit(state string) (err error) {
	if a.seat == nil {
		a.seat, err = a.place.sit(a.work, a.byDlv, state)
	}
	return err
}

// ask asks one request in a state. Behind it comes another one, which must not wait for it.
func (a *waits) ask(state string, index int) error {
	if err := a.sit(state); err != nil {
		return err
	}
	r := a.requests()[index]
	var underway []*call
	if !a.seat.ended {
		var err error
		if underway, err = a.seat.bring(state); err != nil { // the request before it may have moved the program
			a.stand()
			if err = a.sit(state); err == nil {
				underway, err = a.seat.bring(state)
			}
		}
		if err != nil {
			return err
		}
	}
	c, err := a.seat.send(r)
	if err != nil {
		return err
	}
	behind, err := a.seat.send(a.behind())
	if err != nil && !r.ends {
		return err
	}
	a.note(state, &r, c, behind)
	switch {
	case r.ends || state == notStarted && resumes(&r):
		a.stand()
		return nil
	case state == hasEnded || state == notStarted:
		return nil
	}
	if err := a.seat.stops(); err != nil {
		a.stand() // the request has ended it
		return nil
	}
	for _, c := range append(underway, c) {
		if c.wait(patience).outcome == nothing && c.of.waits != forEvent {
			return fmt.Errorf("%s is not answered at the stop", c.of.command)
		}
	}
	return nil
}

// behind is the request that is sent behind another.
func (a *waits) behind() request {
	if a.byDlv {
		return request{command: "IsMulticlient", arguments: struct{}{}}
	}
	return request{command: "threads"}
}

// note writes down what becomes of a request, and what is wrong with that.
func (a *waits) note(state string, r *request, c, behind *call) {
	limit := a.limit
	runs := a.byDlv && (state == stopped || state == notStarted || state == stopping) && resumes(r) // its answer is the stop
	if r.waits != "" || runs {
		limit = 20 * time.Millisecond // it may wait
	}
	out := cell{ending: c.wait(limit)}
	switch {
	case out.outcome == nothing && r.waits == "" && !runs:
		out.wrong = "it is neither answered nor refused"
	case out.outcome == nothing:
		out.outcome = "waits for " + r.waits
		if runs {
			out.outcome = "runs"
		}
	}
	if !r.ends {
		if e := behind.wait(a.limit); e.outcome == nothing || e.outcome == over {
			out.wrong = strings.TrimPrefix(out.wrong+"; the request behind it is neither answered nor refused "+e.text, "; ")
		}
	}
	if a.cells[r.name] == nil {
		a.cells[r.name] = make(map[string]cell)
		a.order = append(a.order, r.name)
	}
	a.cells[r.name][state] = out
}

// wrong lists what is wrong.
func (a *waits) wrong() (out []string) {
	for _, name := range a.order {
		for _, state := range states {
			if c := a.cells[name][state]; c.wrong != "" {
				out = append(out, fmt.Sprintf("%s, %s, %s: %s %s", a.place.name, state, name, c.wrong, c.text))
			}
		}
	}
	return out
}

// printWaits writes one table of all places where a kind of client asked.
func printWaits(w io.Writer, title string, all []*waits) {
	fmt.Fprintf(w, "\n### %s\n\n| request | %s |\n|---|%s\n", title, strings.Join(states, " | "), strings.Repeat("---|", len(states)))
	var slowest time.Duration
	var which string
	for _, name := range all[0].order {
		row := []string{name}
		for _, state := range states {
			var seen []string
			for _, a := range all {
				c, ok := a.cells[name][state]
				if !ok {
					continue
				}
				if whileRunning[state] && c.after > slowest {
					slowest, which = c.after, fmt.Sprintf("%s, %s, %s", name, state, a.place.name)
				}
				if !slices.Contains(seen, c.outcome) {
					seen = append(seen, c.outcome)
				}
			}
			slices.Sort(seen)
			row = append(row, strings.Join(seen, " or "))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintf(w, "\nThe slowest while the program ran: %s (%s).\n", ms(slowest), which)
}
