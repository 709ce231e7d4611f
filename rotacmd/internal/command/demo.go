package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rota-run/rota/rotacmd/internal/command/demo"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

const demoHelp = `Start three members on this machine, kill one, suspend one, let one leave, and measure what becomes of their tasks.
Takes well below a minute. Exit 0 only if every task ran on one member at a time, none was lost, no more moved than had to, and the gaps
stayed within bounds: crash 500 ms (on other systems than Linux 5 s on a server), suspension 5 s (TTL 4 s), leave 200 ms (500 ms on
Elasticsearch and OpenSearch).

With --store memory: all members are inside this process, each a whole one with its own handle on the store. Goroutines can be neither killed nor
suspended from outside, so something else replaces that:
  crash       the member loses the store, its tasks end without a word to the others, and then its handle falls, as that of a dead process does
  suspension  the store does not answer the member; its tasks go on, and it must stop them by its own clock before others start them. What they
              do until then counts: overlaps are real, and the gap begins with its own stop. The time of its silence is printed as well.`

func newDemo(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "demo", Short: "show what happens to tasks when members crash, sleep and leave",
		Long: demoHelp, Args: noArgs,
		Example: "  rota demo\n  rota demo --store memory: --rounds 3"}
	asJSON := formatFlag(cmd.Flags())
	var o demo.Options
	cmd.Flags().BoolVar(&o.NoSessions, "no-sessions", false,
		"heartbeats alone: a crash is then seen as late as a suspension (bound 5 s)")
	name := cmd.Flags().String("protocol", "", "how the members agree: "+protocolNames()+"; default "+
		protocols()[0].Name())
	on := cmd.Flags().String("store", "",
		"the store of the demonstration, which gets its own prefix there; etcd:, nats: and postgres: start a server with the program rota-demo-server, memory: plays it inside this process; default: a fresh directory")
	rounds := cmd.Flags().Int("rounds", 1, "how many times to play it; the outcome is the worst of all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		var err error
		if o.Protocol, err = protocolNamed(*name); err != nil {
			return err
		}
		stage, err := newStage(ctx, e, *on)
		if err != nil {
			return err
		}
		return errors.Join(runDemo(ctx, e, stage, o, max(1, *rounds), bool(*asJSON)), stage.stop())
	}
	return cmd
}

func runDemo(ctx context.Context, e env, on *stage, o demo.Options, rounds int, asJSON bool) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	to, file := e.stdout, e.outFile()
	if asJSON {
		to = e.stderr
		file, _ = to.(*os.File)
	}
	var screen demo.Screen = &demo.Plain{To: to}
	done := func() {}
	if file != nil && term.IsTerminal(int(file.Fd())) && e.getenv("TERM") != "dumb" {
		live := &demo.Live{To: to, Color: e.getenv("NO_COLOR") == "", Width: func() int { return width(file) }}
		screen, done = live, live.Close
	}
	var all []demo.Report
	for range rounds {
		o.Server = on.next()
		r, err := demo.Run(ctx, binary, o, screen)
		if err != nil {
			done()
			return failed("rota demo", "%w", err)
		}
		all = append(all, r)
	}
	done()
	r := demo.Worst(all)
	fmt.Fprintln(to, r)
	if asJSON {
		if err := e.printJSON(r); err != nil {
			return err
		}
	}
	if !r.OK {
		return errSilent
	}
	return nil
}

func width(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// insideServer is a fresh store inside this process, on which members run that are inside it too.
func insideServer(e env) *demo.Server {
	server := memory.New()
	return &demo.Server{
		Store: "memory:", Name: "memory:",
		Open: func(context.Context) (store.Full, error) { return server.Open(), nil },
		Inside: &demo.Inside{Store: server, Run: func(ctx context.Context, args []string, on store.Full,
			log io.Writer) error {
			return e.apart(log).runInside(ctx, args, on)
		}},
	}
}

// apart is the environment of a member that shares this process: what it says goes to its log, and no setting comes
// from around it.
func (e env) apart(log io.Writer) env {
	return env{stdin: strings.NewReader(""), stdout: log, stderr: log, getenv: func(name string) string {
		if strings.HasPrefix(name, "ROTA_") {
			return ""
		}
		return e.getenv(name)
	}}
}

// runInside is rota run with these arguments, on a store that is open. It leaves gracefully when ctx ends, and not for
// signals.
func (e env) runInside(ctx context.Context, args []string, on store.Full) error {
	cmd := &cobra.Command{Use: "run"}
	runFlags(cmd.Flags())
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	c, err := memberConfig(e, cmd, cmd.Flags().Args())
	if err != nil {
		return err
	}
	c.deaf = true
	return c.runOn(ctx, on)
}
