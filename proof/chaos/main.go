// Command rotachaos plays chaos with real processes and real file systems, and judges what they wrote down.
//
//	rotachaos [--events 200] [--seed 1] [--json]             kill, suspend, fill disks, …; see package chaos
//	rotachaos kills [--store etcd] [--times 20] [--json]     how long tasks of killed members are without an owner
//	rotachaos powercut [--cuts 50] [--seed 1] [--json]       cut the power of file systems; see package powercut
//	rotachaos mutants [--seed 1] [--json]                    flawed binaries, each of which must be found out; see package mutants
//
// Exit codes: 0 all promises were kept, 1 one was not or it could not be played, 2 usage. A machine on which the power of no file system can be
// cut (no root, no loop device) is told so, loudly, with exit code 0.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rota-run/rota/proof/server"
)

func main() {
	if server.Child() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	play := playChaos
	if len(args) > 0 {
		switch args[0] {
		case "powercut":
			play, args = playPowercut, args[1:]
		case "kills":
			play, args = playKills, args[1:]
		case "mutants":
			play, args = playMutants, args[1:]
		case writerCommand:
			play, args = write, args[1:]
		}
	}
	err := play(ctx, args, stdout, stderr)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		return 2
	case errors.Is(err, errNotKept):
		return 1
	}
	fmt.Fprintf(stderr, "rotachaos: %v\n", err)
	return 1
}

// errNotKept ends with exit code 1 without another line: the report has told.
var errNotKept = errors.New("a promise was not kept")

// tell ends a play: the report goes to stdout as JSON if asked for.
func tell(stdout io.Writer, asJSON bool, report any, kept bool) error {
	if asJSON {
		if err := json.NewEncoder(stdout).Encode(report); err != nil {
			return err
		}
	}
	if !kept {
		return errNotKept
	}
	return nil
}

// people is where what people read goes: not between the lines that machines read.
func people(stdout, stderr io.Writer, asJSON bool) io.Writer {
	if asJSON {
		return stderr
	}
	return stdout
}
