package dap

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/pluginhost"
	"github.com/clewdbg/clew/server/stop"
)

// clewCommand is a command of clew's in the debug console. No expression has two
// names side by side, so none is taken for one.
var clewCommand = regexp.MustCompile(`^\s*clew\s+([a-z][a-z-]*)(?:\s+(.*))?$`)

// console carries out commands of clew's in the debug console.
type console struct {
	wire     *wire.Bridge
	exports  *exporter
	plugins  *pluginLister
	caps     *clientCapabilities
	state    *debuggee.State
	frames   *frames.IDs
	evaluate handler // handles what is no command of clew's
	// complete proposes what the last word of an expression can become in a frame.
	complete func(ctx context.Context, frame int, text string) (word string, names []proposal)
}

// consoleCall is a command that a user has typed into the console.
type consoleCall struct {
	m     *dapwire.Message
	frame int64 // that is selected, 0 for none
	args  []string
}

// consoleDepth bounds a stack in the console without --depth.
const consoleDepth = 200

// consoleHelp is what `clew help` says, and what it says of a command.
type consoleHelp struct{ name, synopsis, text string }

var consoleHelps = []consoleHelp{
	{"stack", "clew stack [ID | all | threads] [--depth N]", fmt.Sprintf(`Prints a stack as "clew stack" does, with strategy and trust for each frame: of
the selected frame's goroutine or thread, of the goroutine with that ID, of all
goroutines or of all threads. --depth is the most frames of a stack (%d; 0: no limit).`, consoleDepth)},
	{"export", "clew export [ID | all | threads] [--format FORMAT] [--depth N] FILE", `Writes stacks to a file, where clew runs. The format follows from the file's ending
(.txt .json .cbf .swift.json .pb.gz .snapshot.json) where it is not given. CBF
has its image map in a file beside it; of all goroutines or threads it is a folder.
A name with blanks is put into quotation marks.`},
	{"plugins", "clew plugins", "Lists this session's strategies by rank, and how their plugins are."},
	{"help", "clew help [COMMAND]", "Says what there is."},
}

// execute returns what a command prints.
func (c *console) execute(ctx context.Context, command string, call *consoleCall) (string, error) {
	switch command {
	case "help":
		return consoleHelpText(call.args)
	case "plugins":
		if len(call.args) > 0 {
			return "", errors.New("clew plugins takes no arguments")
		}
		body, err := c.plugins.list(ctx)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		err = pluginhost.WriteTable(&b, body.Plugins)
		return b.String(), err
	case "stack":
		return c.stack(ctx, call)
	case "export":
		return c.export(ctx, call)
	}
	return "", fmt.Errorf("there is no command %q: see clew help", command)
}

func consoleHelpText(args []string) (string, error) {
	var b strings.Builder
	for _, h := range consoleHelps {
		if len(args) == 0 || args[0] == h.name {
			fmt.Fprintf(&b, "%s\n    %s\n", h.synopsis, strings.ReplaceAll(h.text, "\n", "\n    "))
		}
	}
	switch {
	case len(args) > 1:
		return "", errors.New("clew help takes one command")
	case b.Len() == 0:
		return "", fmt.Errorf("there is no command %q: see clew help", args[0])
	case len(args) == 0:
		b.WriteString("Delve's own commands: dlv help\n")
	}
	return b.String(), nil
}

// onEvaluate carries out commands of clew's in the debug console; everything else
// is an expression.
func (c *console) onEvaluate(ctx context.Context, m *dapwire.Message) error {
	var args dap.EvaluateArguments
	if m.Decode("arguments", &args) != nil || args.Context != "repl" && args.Context != "" {
		return c.evaluate(ctx, m)
	}
	found := clewCommand.FindStringSubmatch(args.Expression)
	if found == nil {
		return c.evaluate(ctx, m)
	}
	ctx, done := c.wire.Begin(ctx, m)
	defer done()
	call := &consoleCall{m: m, frame: int64(args.FrameId)}
	text, err := "", error(nil)
	if call.args, err = words(found[2]); err == nil {
		text, err = c.execute(ctx, found[1], call)
	}
	switch {
	case err == nil:
		c.wire.Client.Respond(m, dap.EvaluateResponseBody{Result: strings.TrimSuffix(text, "\n")})
	case errors.Is(err, stop.ErrCancelled), errors.As(err, new(*wire.Refusal)):
	default:
		err = &wire.Refusal{ID: wire.Failed, Message: "Unable to run clew command", Details: err.Error()}
	}
	return err
}

// stack is `clew stack`.
func (c *console) stack(ctx context.Context, call *consoleCall) (string, error) {
	want := exportArguments{Format: "text", Depth: consoleDepth, names: c.exports.program.Config.Get().Names}
	rest, err := c.arguments(call, &want)
	if err != nil {
		return "", err
	}
	if len(rest) > 0 {
		return "", fmt.Errorf("%q is no goroutine's ID, all or threads", rest[0])
	}
	var b strings.Builder
	err = c.withStacks(ctx, call, &want, func(set *export.Set, _ string) error { return set.Write(&b, want.Format) })
	return b.String(), err
}

// export is `clew export`.
func (c *console) export(ctx context.Context, call *consoleCall) (string, error) {
	var want exportArguments
	rest, err := c.arguments(call, &want)
	if err != nil {
		return "", err
	}
	if len(rest) != 1 {
		return "", errors.New("clew export needs one FILE: see clew help export")
	}
	path, err := filepath.Abs(rest[0]) // from where Delve takes relative paths, too
	if err != nil {
		return "", err
	}
	if want.Format == "" {
		if want.Format = export.FormatOf(path); want.Format == "" {
			return "", fmt.Errorf("the ending of %s says no format: give --format, one of %v", filepath.Base(path), export.FormatNames())
		}
	}
	written := ""
	err = c.withStacks(ctx, call, &want, func(set *export.Set, _ string) error {
		all, n := countStacks(set)
		written = fmt.Sprintf("%s written to %s", export.Count(all, "stack"), path)
		if n > 0 {
			written += fmt.Sprintf(" (%d truncated)", n)
		}
		return set.WritePath(path, want.Format)
	})
	return written, err
}

// withStacks has stacks used that a command is about.
func (c *console) withStacks(ctx context.Context, call *consoleCall, want *exportArguments, use func(*export.Set, string) error) error {
	if err := want.check(); err != nil {
		return err
	}
	if err := c.wire.Settle(ctx, call.m); err != nil {
		return err
	}
	return c.exports.exportSet(ctx, call.m, want, use)
}

// arguments reads the arguments that commands have in common, and returns the others.
func (c *console) arguments(call *consoleCall, want *exportArguments) (rest []string, err error) {
	for args := call.args; len(args) > 0; {
		word := args[0]
		args = args[1:]
		if !strings.HasPrefix(word, "--") {
			if !want.choose(word) {
				rest = append(rest, word)
			}
			continue
		}
		name, value, joined := strings.Cut(word, "=")
		if name != "--format" && name != "--depth" {
			return nil, fmt.Errorf("there is no flag %s: see clew help", name)
		}
		if !joined {
			if len(args) == 0 {
				return nil, fmt.Errorf("%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		if name == "--format" {
			want.Format = value
		} else if want.Depth, err = strconv.Atoi(value); err != nil {
			return nil, fmt.Errorf("--depth %q is no number", value)
		}
	}
	if want.ThreadID == nil && want.All == "" {
		id := c.threadOfFrame(call.frame)
		want.ThreadID = &id
	}
	return rest, nil
}

// choose takes a word for the stacks that are wanted. It returns false if the word says
// none, or an earlier one did.
func (a *exportArguments) choose(word string) bool {
	if a.ThreadID != nil || a.All != "" {
		return false
	}
	switch word {
	case "all":
		a.All = "goroutines"
	case "threads":
		a.All = "threads"
	default:
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return false
		}
		a.ThreadID = &id
	}
	return true
}

// threadOfFrame returns the DAP thread of a frame that the client has selected, the
// current one where none is.
func (c *console) threadOfFrame(frame int64) int64 {
	at, stopped := c.state.At()
	if ref, known, err := c.frames.Find(at, frame); stopped && known && err == nil {
		if th := ref.Thread(); th.Goroutine != 0 {
			return int64(th.Goroutine)
		} else if th.ID != 0 {
			return debuggee.ThreadID(th.ID)
		}
	}
	return -1
}

var errQuotation = errors.New("a quotation mark is not closed")

// words splits a command's arguments at blanks; quotation marks keep them together.
func words(s string) (out []string, err error) {
	var word strings.Builder
	open, any := rune(0), false
	for _, c := range s {
		switch {
		case open != 0 && c == open:
			open = 0
		case open == 0 && (c == '"' || c == '\''):
			open, any = c, true
		case open == 0 && strings.ContainsRune(" \t\r\n", c):
			if any {
				out = append(out, word.String())
				word.Reset()
			}
			any = false
		default:
			word.WriteRune(c)
			any = true
		}
	}
	if any {
		out = append(out, word.String())
	}
	if open != 0 {
		return nil, errQuotation
	}
	return out, nil
}
