package tasks

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rota-run/rota/tasks/program"
	"github.com/rota-run/rota/work"
)

// commandRunner runs an allow-listed program once, to its end: the batch twin of exec, whose config, list and output it shares. Code 0 finishes the
// partition, anything else is a failure, which is tried again after the back-off.
type commandRunner struct {
	c    execConfig
	room *program.Room
}

func (o Options) command() work.Type {
	return work.Type{
		Name: "command", Doc: "an allow-listed program, run once to its end", MaxConcurrent: 64, Stays: true,
		New: func(d work.Definition) (work.Runner, error) {
			var c execConfig
			if err := decode(d, &c); err != nil {
				return nil, err
			}
			var f faults
			c.check(&f, o)
			return checked(&commandRunner{c: c, room: o.Programs}, f)
		},
	}
}

// Run runs the program.
func (r *commandRunner) Run(ctx context.Context, g *work.Grant) error {
	env, err := r.c.environment()
	if err != nil {
		return fmt.Errorf("prepare environment: %w", err)
	}
	lines := newExecLines(r.c, g)
	tail := &lastBytes{limit: 1024}
	start := time.Now()
	ended, err := r.room.Run(ctx, r.c.command(append(env, identity(g)...), lines, tail))
	if err != nil {
		return fmt.Errorf("run %s: %w", r.c.Argv[0], err)
	}
	end := execEnd(ended)
	lines.flush()
	took := time.Since(start)
	if cut(ctx) {
		return context.Cause(ctx) // it was stopped; another run does it again
	}
	emitEnd(g, "command", end, took, lines)
	if err := lines.exceeded(); err != nil {
		g.Log.Warn("output is lost", "error", err) // what the program did is done all the same
	}
	return plainly(end.finding(ctx, tail.lastLine()))
}

// identity is what a program is told of its grant, so that it can find its part of the work, and refuse what comes under an older token.
func identity(g *work.Grant) []string {
	env := []string{
		"ROTA_JOB=" + string(g.Job), "ROTA_TASK=" + g.Task, "ROTA_KEY=" + g.Key, "ROTA_MEMBER=" + string(g.Member),
		"ROTA_TOKEN=" + strconv.FormatUint(uint64(g.Token), 10), "ROTA_ATTEMPT=" + strconv.FormatInt(g.Attempt, 10),
	}
	if g.Count > 0 {
		env = append(env, "ROTA_INDEX="+strconv.FormatInt(g.Index, 10), "ROTA_COUNT="+strconv.FormatInt(g.Count, 10))
	}
	return env
}
