package dap

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/unwind"
)

// memory refers editors to the memory of variables, and reads it. Delve does so for strings and slices only, by
// their address in hexadecimal; clew's references have the same form.
type memory struct {
	wire    *wire.Bridge
	program *debuggee.Program
	caps    *clientCapabilities
}

// maxReferred bounds the variables of one answer that are referred to their memory: Delve is asked for each.
const maxReferred = 256

// refer adds references to Delve's answer about a variable's children.
func (r *memory) refer(ctx context.Context, answer *dapwire.Message, reference int64) {
	raw, _ := answer.Get("body")
	body, err := dapwire.ParseObject(raw)
	if err != nil || !answer.Success {
		return
	}
	var items []json.RawMessage
	if list, _ := body.Get("variables"); json.Unmarshal(list, &items) != nil {
		return
	}
	for i, item := range items[:min(len(items), maxReferred)] {
		v, err := dapwire.ParseObject(item)
		if err != nil || v.Text("memoryReference") != "" {
			continue
		}
		if at := r.addressOf(ctx, v, reference); at != "" {
			v.Set("memoryReference", quote(at))
			items[i] = v.Bytes()
		}
	}
	if out, err := json.Marshal(items); err == nil {
		body.Set("variables", out)
		answer.Set("body", body.Bytes())
	}
}

var register = regexp.MustCompile(`^_[A-Z]`)

// addressOf returns where a variable's memory is: that a pointer points to, or a register, else its own.
// It returns "" for a variable without memory.
func (r *memory) addressOf(ctx context.Context, v *dapwire.Object, reference int64) string {
	value := v.Text("value")
	if register.MatchString(v.Text("evaluateName")) {
		return r.mapped(ctx, strings.TrimSpace(value), false)
	}
	answer, err := r.wire.Up.Inject(ctx, &dap.DataBreakpointInfoRequest{
		Request:   dap.Request{Command: "dataBreakpointInfo"},
		Arguments: dap.DataBreakpointInfoArguments{VariablesReference: int(reference), Name: v.Text("name")},
	})
	var info struct {
		DataID string `json:"dataId"`
	}
	if err != nil || !answer.Success || answer.Decode("body", &info) != nil {
		return ""
	}
	m := internals.DataAddress.FindStringSubmatch(info.DataID)
	if m == nil {
		return ""
	}
	return r.mapped(ctx, m[1], internals.Pointer.MatchString(value))
}

// mapped returns an address that has memory, or the one that a pointer there holds; "" for any other text.
func (r *memory) mapped(ctx context.Context, address string, pointer bool) string {
	at, err := strconv.ParseUint(address, 0, 64)
	if err == nil {
		err = r.program.AtStop(ctx, 0, func(_ context.Context, v *debuggee.View) error {
			memory := v.EngineInput().Target.Memory
			if word := make([]byte, 8); pointer {
				if err := memory.ReadMemory(at, word); err != nil {
					return err
				}
				at = binary.LittleEndian.Uint64(word)
			}
			return memory.ReadMemory(at, make([]byte, 1))
		})
	}
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%#x", at)
}

// maxRead bounds what is read for one request, in bytes.
const maxRead = 1 << 20

// onReadMemory has Delve read what it has referred to itself, and reads anything else.
func (r *memory) onReadMemory(ctx context.Context, m *dapwire.Message) error {
	var args dap.ReadMemoryArguments
	if m.Decode("arguments", &args) != nil {
		r.wire.Up.Forward(m, nil)
		return nil
	}
	answer, err := r.wire.Up.Ask(ctx, m)
	if err != nil {
		return nil // both connections end
	}
	at, err := strconv.ParseUint(args.MemoryReference, 0, 64)
	if answer.Success || err != nil || args.Count < 0 {
		r.wire.Client.Send(answer)
		return nil
	}
	at, count := at+uint64(int64(args.Offset)), min(args.Count, maxRead)
	body := dap.ReadMemoryResponseBody{Address: fmt.Sprintf("%#x", at)}
	err = r.program.AtStop(ctx, m.Seq, func(_ context.Context, v *debuggee.View) error {
		data := readable(v.EngineInput().Target.Memory, at, count)
		body.Data, body.UnreadableBytes = base64.StdEncoding.EncodeToString(data), count-len(data) // what was not tried is not unreadable
		return nil
	})
	if err == nil {
		r.wire.Client.Respond(m, body)
	}
	return err
}

var errNoFunctions = errors.New("cannot disassemble: Delve knows no function of the program")

// maxInstructions bounds what is disassembled for one request, and how far from its address. Each takes some 470 bytes of memory while
// Delve answers.
const maxInstructions = 1 << 16

// onDisassemble refuses to disassemble a program of which Delve knows no function: Delve fails then while it holds
// a lock, and never answers again (service/dap, getValidRange).
func (r *memory) onDisassemble(ctx context.Context, m *dapwire.Message) error {
	var args dap.DisassembleArguments
	if err := m.Decode("arguments", &args); err == nil && (max(args.InstructionCount, args.InstructionOffset) > maxInstructions || args.InstructionOffset < -maxInstructions) {
		return fmt.Errorf("at most %d instructions are disassembled at once, and as far from an address", maxInstructions)
	}
	err := r.disassembleNative(ctx, m, &args)
	if !errors.Is(err, held.ErrNoLocation) {
		return err
	}
	if t, ok := r.program.Target().(interface{ KnowsFunctions() bool }); ok && !t.KnowsFunctions() {
		return errNoFunctions
	}
	r.wire.Up.Forward(m, nil)
	return nil
}

// disassembler is a target whose native code clew knows.
type disassembler interface {
	DisassembleAround(addr uint64, offset, count int, syntax native.Syntax) (found []native.Instruction, skipped int, err error)
}

// disassembleNative answers for native code. The error wraps [held.ErrNoLocation] for any other.
func (r *memory) disassembleNative(ctx context.Context, m *dapwire.Message, args *dap.DisassembleArguments) error {
	t, ok := r.program.Target().(disassembler)
	at, err := strconv.ParseUint(args.MemoryReference, 0, 64)
	if !ok || err != nil || args.InstructionCount <= 0 {
		return held.ErrNoLocation
	}
	var body dap.DisassembleResponseBody
	err = r.program.AtStop(ctx, m.Seq, func(context.Context, *debuggee.View) error {
		found, skipped, err := t.DisassembleAround(at+uint64(int64(args.Offset)), args.InstructionOffset, args.InstructionCount, r.program.Config.Get().Syntax)
		body.Instructions = r.instructions(found, skipped, args.InstructionCount)
		return err
	})
	if err == nil {
		r.wire.Client.Respond(m, body)
	}
	return err
}

// instructions are those that were found, with as many around them that are none as a client has asked for: it counts on their number.
func (r *memory) instructions(found []native.Instruction, skipped, count int) (out []dap.DisassembledInstruction) {
	none := func(address string) dap.DisassembledInstruction {
		return dap.DisassembledInstruction{Address: address, Instruction: "invalid instruction"}
	}
	for range skipped {
		out = append(out, none("0x0"))
	}
	file, line := "", -1
	for i := range found {
		one := dap.DisassembledInstruction{Address: fmt.Sprintf("%#x", found[i].Addr), InstructionBytes: hex.EncodeToString(found[i].Bytes), Instruction: found[i].Text}
		if i == 0 || found[i].Function != found[i-1].Function {
			one.Symbol = found[i].Function
		}
		if f := &found[i]; f.Line > 0 && (f.File != file || f.Line != line) { // of the first instruction of a line, as Delve
			one.Location, one.Line = r.program.Config.Source(f.File, ""), f.Line
			file, line = f.File, f.Line
		}
		out = append(out, one)
	}
	for len(out) < count {
		out = append(out, none(fmt.Sprintf("%#x", uint64(math.MaxUint64))))
	}
	return out
}

// page is the size of the pieces of memory that can be read or not.
const page = 4096

// readable returns the bytes from an address on that can be read.
func readable(from unwind.Memory, at uint64, count int) (out []byte) {
	for count > 0 {
		piece := make([]byte, min(uint64(count), page-at%page))
		if from.ReadMemory(at, piece) != nil {
			return out
		}
		out, at, count = append(out, piece...), at+uint64(len(piece)), count-len(piece)
		if at == 0 {
			return out // the end of the address space
		}
	}
	return out
}
