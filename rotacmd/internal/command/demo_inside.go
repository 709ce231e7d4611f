package command

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/rotacmd/internal/command/demo"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// insideServer is a fresh store inside this process, on which members run that are inside it too.
func insideServer(e env) *demo.Server {
	server := memory.New()
	return &demo.Server{
		Store: "memory:", Name: "memory:",
		Open: func(context.Context) (store.Full, error) { return server.Open(), nil },
		Inside: &demo.Inside{Store: server, Run: func(ctx context.Context, args []string, on store.Full, log io.Writer) error {
			return e.apart(log).runInside(ctx, args, on)
		}},
	}
}

// apart is the environment of a member that shares this process: what it says goes to its log, and no setting comes from around it.
func (e env) apart(log io.Writer) env {
	return env{stdin: strings.NewReader(""), stdout: log, stderr: log, getenv: func(name string) string {
		if strings.HasPrefix(name, "ROTA_") {
			return ""
		}
		return e.getenv(name)
	}}
}

// runInside is rota run with these arguments, on a store that is open. It leaves gracefully when ctx ends, and not for signals.
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
