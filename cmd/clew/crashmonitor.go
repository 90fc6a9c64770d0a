package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/internal/crashguard"
	"github.com/clewdbg/clew/server/crashreport"
	"github.com/clewdbg/clew/server/engine"
)

func crashMonitorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   crashguard.Command,
		Short: "Wait for a program's crash: what package crash starts.",
		Long: `The process that package crash (github.com/clewdbg/clew/crash) starts beside a program of
Go. It sleeps until the program crashes, takes all stacks, and writes a report, which
clew crash show prints. It is not for use by hand.`,
		RunE: func(*cobra.Command, []string) error {
			_, err := crashguard.WorkArgs(nil)
			return usageErrorf("%v", err)
		},
	}
}

// takeCrash is the worker: it takes the report of a program that dies.
func takeCrash(args []string) int {
	o, err := crashguard.WorkArgs(args)
	if err != nil {
		tell(os.Stderr, "%v", err)
		return exitUsage
	}
	if err := writeCrash(&o); err != nil {
		crashreport.Note(o.Dir, fmt.Sprintf("no report of the crash of process %d: %v", o.Pid, err))
		return exitFailed
	}
	return exitDone
}

func writeCrash(o *crashguard.Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), crashguard.MaxWork)
	defer cancel()
	if err := syscall.SetNonblock(crashguard.SocketFD, true); err != nil { // for deadlines
		return err
	}
	done := os.NewFile(crashguard.DoneFD, "done")
	socket := &crashreport.Socket{File: os.NewFile(crashguard.SocketFD, "crash output"), Done: func() { _ = done.Close() }}
	if o.Output {
		output := os.NewFile(crashguard.OutputFD, "output")
		defer output.Close()
		socket.Output = output
	}
	strats, err := openStrategies("", nil, func(string) {})
	if err != nil {
		return errors.Join(err, socket.File.Close())
	}
	defer strats.close()
	return crashreport.Take(ctx, *o, engine.New(strats.order), strats.debugFolders, socket, func(program string, files map[string][]byte) error {
		_, err := crashreport.Write(o, program, files)
		return err
	})
}
