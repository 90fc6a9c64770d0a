package dap

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// moduleColumns are the columns that a module has besides those of the protocol: the unwind information, last.
const moduleColumns = `[{"attributeName":"buildID","label":"Build ID","type":"string"},{"attributeName":"unwind","label":"Unwind information","type":"string"}]`

// module is one of the protocol's, with the columns above.
type module struct {
	dap.Module
	BuildID string `json:"buildID,omitempty"`
	Unwind  string `json:"unwind"`
}

type modulesBody struct {
	Modules []module `json:"modules"`
	Total   int      `json:"totalModules"`
}

// onModules answers the protocol's own request for what clew/images has in full.
func (l *imageLister) onModules(ctx context.Context, m *dapwire.Message) error {
	var args dap.ModulesArguments
	if err := m.Decode("arguments", &args); err != nil {
		args = dap.ModulesArguments{} // they may be left out
	}
	all, err := l.images(ctx, m)
	if err != nil {
		return err
	}
	body := modulesBody{Modules: []module{}, Total: len(all)}
	all = all[min(max(args.StartModule, 0), len(all)):]
	if args.ModuleCount > 0 {
		all = all[:min(args.ModuleCount, len(all))]
	}
	for i := range all {
		body.Modules = append(body.Modules, moduleOf(&all[i], l.program.Config.ClientPath(all[i].Path)))
	}
	l.wire.Client.Respond(m, body)
	return nil
}

func moduleOf(b *imageBody, path string) module {
	out := module{
		Module:  dap.Module{Id: fmt.Sprintf("%#x", uint64(b.Base)), Name: filepath.Base(path), Path: path, AddressRange: fmt.Sprintf("%#x-%#x", uint64(b.Base), uint64(b.End))},
		BuildID: b.BuildID,
	}
	var parts []string
	for _, c := range b.Unwind {
		if c.CoveredBytes > 0 {
			parts = append(parts, fmt.Sprintf("%s %.1f %%", c.Strategy, c.Share*100))
		}
		if c.Problem != "" {
			parts = append(parts, c.Strategy+": "+c.Problem)
		}
	}
	if out.Unwind = strings.Join(parts, ", "); out.Unwind == "" {
		out.Unwind = "none"
	}
	return out
}
