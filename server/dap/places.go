package dap

import (
	"context"
	"errors"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/values"
)

// place is what a part of a frame's memory holds, or a register.
type place struct {
	Name     string             `json:"name"`
	Kind     string             `json:"kind"` // argument, local, saved
	Type     string             `json:"type,omitempty"`
	Value    string             `json:"value,omitempty"`
	Address  *stackjson.Address `json:"address,omitempty"`
	Register string             `json:"register,omitempty"`
	RestsOn  string             `json:"restsOn,omitempty"` // of a register, in words
	Size     int64              `json:"size"`
}

// placesBody is the answer to clew/places.
type placesBody struct {
	Places []place `json:"places"`
	// Lack says why a frame has no variables.
	Lack string `json:"lack,omitempty"`
}

var errNoFrame = errors.New("frameId is missing, or is not of the present stop")

// onPlaces answers clew/places: what the memory of a frame holds. Of Go's frames nothing is known here.
func (n *natives) onPlaces(ctx context.Context, m *dapwire.Message) error {
	var args struct {
		FrameID int `json:"frameId"`
	}
	if err := m.Decode("arguments", &args); err != nil {
		return wire.ArgumentError(err)
	}
	_, ref, ok := n.frameOf(args.FrameID)
	if !ok {
		return errNoFrame
	}
	body := placesBody{Places: []place{}}
	native, err := n.inFrame(ctx, m.Seq, ref, func(f *values.Frame) error {
		all, err := f.Places()
		if err != nil {
			body.Lack = err.Error()
		}
		for i := range all {
			body.Places = append(body.Places, placeOf(&all[i]))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !native {
		body.Lack = "Go's variables are Delve's, which does not say where they lie"
	}
	n.wire.Client.Respond(m, body)
	return nil
}

func placeOf(p *values.Place) place {
	out := place{Name: p.Name, Size: p.Size, Register: p.Register, Kind: "saved"}
	if p.Value != nil {
		out.Kind = "local"
		if p.Value.Argument {
			out.Kind = "argument"
		}
		out.Type, out.Value = p.Value.Type(), p.Value.Text()
	}
	if p.Register != "" {
		out.RestsOn = p.Origin.String()
	} else {
		at := stackjson.Address(p.Address)
		out.Address = &at
	}
	return out
}
