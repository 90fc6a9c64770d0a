package crashguard

import (
	"flag"
	"io"
	"strconv"
	"time"
)

// The command of clew that these processes are.
const (
	Command   = "crash-monitor"
	WorkStage = "--work" // its first argument, of the worker
)

// Options say what is done with a crash.
type Options struct {
	Pid      int           // of the program
	Dir      string        // where reports go
	Keep     int           // most reports there; 0: no limit
	Age      time.Duration // longest that one stays; 0: no limit
	PerMin   int           // most reports in a minute; 0: no limit
	Size     int           // most bytes of a report, without a snapshot; 0: no limit
	Snapshot bool          // of the crashed stack, with the memory that it was read from
	Output   bool          // a file that gets Go's text, too, is the descriptor [OutputFD]
}

// MaxHold is how long a program may be held before the guard lets go of it, MaxWork how long its report may take after that.
const (
	MaxHold = 10 * time.Second
	MaxWork = 2 * time.Minute
)

// Descriptors of the worker and the guard: the socket, the file that gets Go's text, and a pipe that the worker closes when
// it has let go of the program.
const (
	SocketFD = 3
	OutputFD = 4
	DoneFD   = 5
)

// Defaults are the options that hold where nothing else is said.
var Defaults = Options{Keep: 100, Age: 30 * 24 * time.Hour, PerMin: 30, Size: 64 << 10}

func (o *Options) flags() *flag.FlagSet {
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.Pid, "pid", 0, "")
	fs.StringVar(&o.Dir, "dir", "", "")
	fs.IntVar(&o.Keep, "keep", 0, "")
	fs.DurationVar(&o.Age, "age", 0, "")
	fs.IntVar(&o.PerMin, "per-minute", 0, "")
	fs.IntVar(&o.Size, "size", 0, "")
	fs.BoolVar(&o.Snapshot, "snapshot", false, "")
	fs.BoolVar(&o.Output, "output", false, "")
	return fs
}

// Args are the options as arguments of the command.
func (o *Options) Args() []string {
	return []string{
		"--pid", strconv.Itoa(o.Pid), "--dir", o.Dir, "--keep", strconv.Itoa(o.Keep), "--age", o.Age.String(), "--per-minute", strconv.Itoa(o.PerMin),
		"--size", strconv.Itoa(o.Size), "--snapshot=" + strconv.FormatBool(o.Snapshot), "--output=" + strconv.FormatBool(o.Output),
	}
}

// Parse reads arguments.
func Parse(args []string) (o Options, err error) {
	err = o.flags().Parse(args)
	return o, err
}
