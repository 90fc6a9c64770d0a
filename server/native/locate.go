package native

import (
	"regexp"
	"strconv"
	"strings"
)

// Locate returns the places that a person means by a location: a function's name, FILE:LINE, *ADDRESS, or /REGEXP/ for the functions
// with a match. The error is a [LocationError], with [ErrNoLocation] or [ErrAmbiguous] where the location can be understood.
func (c *Code) Locate(spec string) ([]Place, error) {
	spec = strings.TrimSpace(spec)
	found, more, err := c.locate(spec)
	switch {
	case err == nil && more:
		err = ErrAmbiguous
	case err == nil && len(found) == 0:
		err = ErrNoLocation
	}
	if err != nil {
		return nil, &LocationError{spec, err}
	}
	return found, nil
}

func (c *Code) locate(spec string) (found []Place, more bool, err error) {
	if addr, ok := strings.CutPrefix(spec, "*"); ok {
		return c.atAddress(addr)
	}
	if n := len(spec); n > 2 && spec[0] == '/' && spec[n-1] == '/' {
		re, err := regexp.Compile(spec[1 : n-1])
		if err != nil {
			return nil, false, err
		}
		all, more := c.Matching(re, maxPlaces)
		return c.bodies(all), more, nil
	}
	if i := strings.LastIndexByte(spec, ':'); i > 0 && spec[i-1] != ':' {
		if line, err := strconv.Atoi(spec[i+1:]); err == nil {
			found, more = c.line(spec[:i], line)
			return found, more, nil
		}
	}
	all, more := c.functions(spec)
	return c.bodies(all), more, nil
}

// bodies returns where functions have their arguments.
func (c *Code) bodies(all []Function) (found []Place) {
	seen := make(map[Place]bool)
	for i := range all {
		f := &all[i]
		p := Place{Addr: f.Body, File: f.File, Line: f.Line, Function: f.Name, Inlined: f.Inlined}
		if row, ok := c.Row(f.Body); ok && row.Line != 0 {
			p.File, p.Line = row.File, row.Line
		}
		if !seen[p] {
			seen[p] = true
			found = append(found, p)
		}
	}
	return found
}

// atAddress returns the place at an address.
func (c *Code) atAddress(text string) (found []Place, more bool, err error) {
	addr, err := strconv.ParseUint(strings.TrimSpace(text), 0, 64)
	if err != nil {
		return nil, false, err
	}
	if !c.IsNative(addr) {
		return nil, false, nil
	}
	p := Place{Addr: addr}
	if row, ok := c.Row(addr); ok {
		p.File, p.Line = row.File, row.Line
	}
	if all := c.FunctionsAt(addr); len(all) > 0 {
		p.Function, p.Inlined = all[0].Name, all[0].Inlined
	}
	return []Place{p}, false, nil
}
