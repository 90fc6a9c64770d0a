package remote

import (
	"fmt"
	"slices"

	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/native"
)

// Of breakpoints in native code, clew says where they are, in what is loaded, and a terminal has the server set them at these addresses. The rest is the server's:
// none is pending, conditions are evaluated by Delve, and after a restart the addresses are those of before.

// KnowMap tells what the program has loaded.
func (p *Program) KnowMap(m *codemap.Map, _ []imagemap.Mapping) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded = m
}

func (p *Program) known() *codemap.Map {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loaded
}

// LocateNative is [delve.Session.LocateNative].
func (p *Program) LocateNative(loc string) ([]api.Location, error) {
	m := p.known()
	if m == nil {
		return nil, held.ErrNoLocation
	}
	code := native.Of(m)
	if pattern, ok := breakpoints.Pattern(loc); ok {
		found, err := breakpoints.Matching(code, p.pid, pattern)
		if err == nil && len(found) == 0 {
			err = held.ErrNoLocation
		}
		return found, err
	}
	places, err := p.find(m, loc)
	if err != nil {
		return nil, err
	}
	return []api.Location{breakpoints.LocationOf(p.pid, places)}, nil
}

// find returns the native places of a location, unless the server finds Go code there.
func (p *Program) find(m *codemap.Map, loc string) ([]native.Place, error) {
	where := breakpoints.Parse(loc)
	places, err := where.Native(m)
	if err != nil {
		return nil, err
	}
	code := native.Of(m)
	if len(places) > 0 {
		found, _, _ := p.client.FindLocation(api.EvalScope{GoroutineID: -1}, loc, false, nil)
		inGo := func(l api.Location) bool { return l.PC != 0 && !code.IsNative(l.PC) }
		if slices.ContainsFunc(found, inGo) {
			return nil, held.ErrNoLocation
		}
		return places, nil
	}
	return nil, fmt.Errorf("%s: %w", loc, held.ErrNoLocation)
}

// WhereAt is [delve.Session.WhereAt].
func (p *Program) WhereAt(addr uint64) breakpoints.Where {
	if m := p.known(); m != nil && native.Of(m).IsNative(addr) {
		return breakpoints.At(m, addr)
	}
	return breakpoints.Where{}
}
