package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// pair is an action by one kind of client, and what another kind sees of it.
type pair struct{ action, actor, observer, sees string }

// results are the latencies of each pair.
type results struct {
	order []pair
	times map[pair][]time.Duration
	wrong []string
}

// saved is a row of a file of latencies.
type saved struct {
	Action, Actor, Observer, Sees string
	Times                         []time.Duration
}

// load adds the latencies of a file; there need be none yet.
func (r *results) load(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var rows []saved
	if err == nil {
		err = json.Unmarshal(text, &rows)
	}
	for _, row := range rows {
		for _, d := range row.Times {
			r.add(pair{row.Action, row.Actor, row.Observer, row.Sees}, d)
		}
	}
	return err
}

// save writes the latencies to a file.
func (r *results) save(file string) error {
	rows := []saved{}
	for _, p := range r.order {
		rows = append(rows, saved{p.action, p.actor, p.observer, p.sees, r.times[p]})
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// limit is what 99 of 100 have to be within.
const limit = 100 * time.Millisecond

func (r *results) add(p pair, d time.Duration) {
	if r.times == nil {
		r.times = make(map[pair][]time.Duration)
	}
	if r.times[p] == nil {
		r.order = append(r.order, p)
	}
	r.times[p] = append(r.times[p], d)
}

// print writes the table, and returns whether everything is as it must be.
func (r *results) print(w io.Writer, title string) (ok bool) {
	fmt.Fprintf(w, "\n### %s\n\n| action | by | seen by | as | runs | within 100 ms | median | 99 of 100 | worst |\n|---|---|---|---|---|---|---|---|---|\n", title)
	ok = len(r.wrong) == 0
	for _, p := range r.order {
		all := slices.Sorted(slices.Values(r.times[p]))
		within := 0
		for _, d := range all {
			if d <= limit {
				within++
			}
		}
		ok = ok && 100*within >= 99*len(all)
		fmt.Fprintf(w, "| %s | %s | %s | %s | %d | %d | %s | %s | %s |\n", p.action, p.actor, p.observer, p.sees, len(all), within,
			ms(all[len(all)/2]), ms(all[len(all)*99/100]), ms(all[len(all)-1]))
	}
	for _, text := range r.wrong {
		fmt.Fprintf(w, "\nwrong: %s\n", text)
	}
	return ok
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
