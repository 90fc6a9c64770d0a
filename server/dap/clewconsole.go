package dap

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/pluginhost"
	"github.com/clewdbg/clew/server/stop"
)

// clewCommand is a command of clew's in the debug console. No expression has two
// names side by side, so none is taken for one.
var clewCommand = regexp.MustCompile(`^\s*clew\s+([a-z][a-z-]*)(?:\s+(.*))?$`)

// consoleCall is a command that was given in the console.
type consoleCall struct {
	m     *dapwire.Message
	frame int64 // that is selected, 0 for none
	args  []string
}

// consoleDepth bounds a stack in the console where nothing else is said.
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

// runConsole gives what a command prints.
func (p *Proxy) runConsole(ctx context.Context, command string, call *consoleCall) (string, error) {
	switch command {
	case "help":
		return consoleHelpText(call.args)
	case "plugins":
		if len(call.args) > 0 {
			return "", errors.New("clew plugins takes no arguments")
		}
		body, err := p.plugins(ctx)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		err = pluginhost.WriteTable(&b, body.Plugins)
		return b.String(), err
	case "stack":
		return p.consoleStack(ctx, call)
	case "export":
		return p.consoleExport(ctx, call)
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

// onConsole carries out commands of clew's in the debug console; everything else
// is an expression.
func (p *Proxy) onConsole(ctx context.Context, m *dapwire.Message) {
	var args struct {
		Expression string `json:"expression"`
		FrameID    int64  `json:"frameId"`
		Context    string `json:"context"`
	}
	if m.Decode("arguments", &args) != nil || args.Context != "repl" && args.Context != "" {
		p.onEvaluate(ctx, m)
		return
	}
	found := clewCommand.FindStringSubmatch(args.Expression)
	if found == nil {
		p.onEvaluate(ctx, m)
		return
	}
	ctx = p.requests.begin(ctx, m.Seq)
	defer p.requests.done(m.Seq)
	call := &consoleCall{m: m, frame: args.FrameID}
	text, err := "", error(nil)
	if call.args, err = words(found[2]); err == nil {
		text, err = p.runConsole(ctx, found[1], call)
	}
	switch {
	case errors.Is(err, errAnswered):
	case errors.Is(err, stop.ErrCancelled):
		p.refuseOwn(m, err)
	case err != nil:
		p.refuse(m, errOwn, "Unable to run clew command", err.Error())
	default:
		p.respond(m, map[string]any{"result": strings.TrimSuffix(text, "\n"), "variablesReference": 0})
	}
}

// errAnswered says that the client has its answer already.
var errAnswered = errors.New("answered")

// consoleStack is `clew stack`.
func (p *Proxy) consoleStack(ctx context.Context, call *consoleCall) (string, error) {
	want := exportArguments{Format: "text", Depth: consoleDepth}
	rest, err := p.consoleArguments(call, &want)
	if err != nil {
		return "", err
	}
	if len(rest) > 0 {
		return "", fmt.Errorf("%q is no goroutine's ID, all or threads", rest[0])
	}
	var b strings.Builder
	err = p.consoleSet(ctx, call, &want, func(set *export.Set, _ string) error { return set.Write(&b, want.Format) })
	return b.String(), err
}

// consoleExport is `clew export`.
func (p *Proxy) consoleExport(ctx context.Context, call *consoleCall) (string, error) {
	var want exportArguments
	rest, err := p.consoleArguments(call, &want)
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
			return "", fmt.Errorf("the ending of %s says no format: give --format, one of %v", filepath.Base(path), export.Formats)
		}
	}
	said := ""
	err = p.consoleSet(ctx, call, &want, func(set *export.Set, _ string) error {
		said = fmt.Sprintf("%s written to %s", export.Count(len(set.Stacks), "stack"), path)
		if n := truncatedOf(set.Stacks); n > 0 {
			said += fmt.Sprintf(" (%d truncated)", n)
		}
		return set.WritePath(path, want.Format)
	})
	return said, err
}

// consoleSet has stacks used that a command is about.
func (p *Proxy) consoleSet(ctx context.Context, call *consoleCall, want *exportArguments, use func(*export.Set, string) error) error {
	if err := want.check(); err != nil {
		return err
	}
	if !p.settle(ctx, call.m) {
		return errAnswered
	}
	return p.exportSet(ctx, call.m, want, use)
}

// consoleArguments reads the arguments that commands have in common, and gives
// those that are left.
func (p *Proxy) consoleArguments(call *consoleCall, want *exportArguments) (rest []string, err error) {
	for args := call.args; len(args) > 0; {
		word := args[0]
		args = args[1:]
		name, value, joined := strings.Cut(word, "=")
		if name == "--format" || name == "--depth" {
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
			continue
		}
		id, err := strconv.ParseInt(word, 10, 64)
		chosen := want.ThreadID != nil || want.All != ""
		switch {
		case strings.HasPrefix(word, "--"):
			return nil, fmt.Errorf("there is no flag %s: see clew help", name)
		case !chosen && err == nil:
			want.ThreadID = &id
		case !chosen && word == "all":
			want.All = "goroutines"
		case !chosen && word == "threads":
			want.All = "threads"
		default:
			rest = append(rest, word)
		}
	}
	if want.ThreadID == nil && want.All == "" {
		id := p.threadOfFrame(call.frame)
		want.ThreadID = &id
	}
	return rest, nil
}

// threadOfFrame gives the DAP thread of a frame that the client has selected, the
// current one where none is.
func (p *Proxy) threadOfFrame(frame int64) int64 {
	at, stopped := p.state.at()
	if ref, known, err := p.frames.find(at, frame); stopped && known && err == nil {
		if th := &ref.stack.found.Thread; th.Goroutine != 0 {
			return int64(th.Goroutine)
		} else if th.ID != 0 {
			return ownThreadID(th.ID)
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
		case open == 0 && slices.Contains([]rune(" \t\r\n"), c):
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
