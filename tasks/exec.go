package tasks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/tasks/program"
	"github.com/rota-run/rota/work"
)

// execConfig of exec.
type execConfig struct {
	Argv  []string              `json:"argv"`  // the program's absolute path and its arguments; no shell
	Env   map[string]secretText `json:"env"`   // the environment besides a minimal PATH, with names that the member allows; values may be env:NAME or file:/path
	Dir   string                `json:"dir"`   // working directory; default "/"
	Grace work.Duration         `json:"grace"` // from SIGTERM to SIGKILL at the timeout; default 2s, at most 10s
	// MaxOutput is how many bytes of output are read, default 4 MiB, at most 64 MiB; MaxPoints how many points of
	// samples, default 10,000, at most 1,000,000. The rest is dropped and counted.
	MaxOutput int `json:"max_output"`
	MaxPoints int `json:"max_points"`
}

// execPath is all that a program finds by name.
const execPath = "PATH=/usr/local/bin:/usr/bin:/bin"

// execRunner starts an allow-listed program once per round. The list is no sandbox: it decides which program, and
// whoever writes definitions decides its arguments and environment; do not allow-list interpreters.
type execRunner struct {
	c       execConfig
	room    *program.Room
	timeout time.Duration
	found   finder
}

func (o Options) exec() work.Type {
	return work.Type{
		Name: "exec", Doc: "an allow-listed program; its output as samples", Periodic: true, DefaultEvery: time.Minute,
		MaxConcurrent: 16,
		New: typed(func(c execConfig, d work.Definition, f *faults) work.Runner {
			c.check(f, o)
			return &execRunner{c: c, room: o.Programs, timeout: execTimeout(d), found: finder{prefix: "exec"}}
		}),
	}
}

// execTimeout is the time limit, else the period: programs may take long.
func execTimeout(d work.Definition) time.Duration {
	for _, ms := range []int64{d.TimeoutMS, d.EveryMS} {
		if ms > 0 {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return time.Minute
}

func (c *execConfig) check(f *faults, o Options) {
	checkProgram(f, c.Argv, o.ExecAllow)
	execOutput.settle(f, &c.MaxOutput)
	execPoints.settle(f, &c.MaxPoints)
	for i, a := range c.Argv {
		if strings.ContainsRune(a, 0) {
			f.add(fmt.Sprintf("argv[%d]", i), "", "a NUL byte cannot be passed to a program")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if err := checkVariable(name); err != nil {
			f.add("env."+name, "", "%w", err)
		} else if !o.allowsVariable(name) {
			f.add("env."+name, "start the members with --allow-env "+name, "this member does not let tasks set %s",
				name)
		}
		if err := c.Env[name].check(); err != nil {
			f.add("env."+name, "env:NAME or file:/absolute/path", "%w", err)
		}
	}
	c.Dir = cmp.Or(c.Dir, "/")
	if !filepath.IsAbs(c.Dir) {
		f.add("dir", "", "%q is not an absolute path", c.Dir)
	}
	c.Grace = cmp.Or(c.Grace, work.Duration(2*time.Second))
	if c.Grace < 0 || time.Duration(c.Grace) > 10*time.Second {
		f.add("grace", "", "%v is not between 0s and 10s", time.Duration(c.Grace))
	}
}

func checkProgram(f *faults, argv, allowed []string) {
	switch {
	case !program.Supported:
		f.add("argv", "let a Linux member run this task", "programs can only be run on Linux")
	case len(argv) == 0:
		f.add("argv", `such as ["/usr/bin/df", "-k"]`, "missing")
	case !filepath.IsAbs(argv[0]) || filepath.Clean(argv[0]) != argv[0]:
		f.add("argv[0]", "write the whole path, such as /usr/bin/df", "%q is not a plain absolute path", argv[0])
	case !slices.Contains(allowed, argv[0]):
		f.add("argv[0]", "start the members with --allow-exec "+argv[0], "this member may not run %s", argv[0])
	}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// allowsVariable reports whether definitions may set a variable: how programs show languages and times, and what the
// member names.
func (o Options) allowsVariable(name string) bool {
	return slices.ContainsFunc(append([]string{"LANG", "LANGUAGE", "LC_*", "TZ"}, o.EnvAllow...),
		func(allowed string) bool {
			front, star := strings.CutSuffix(allowed, "*")
			return name == allowed || star && strings.HasPrefix(name, front)
		})
}

// checkVariable refuses variables with which a definition could make an allowed program run another one, whatever the
// member allows.
func checkVariable(name string) error {
	if !variableName.MatchString(name) {
		return fmt.Errorf("%q is not the name of a variable", name)
	}
	for _, front := range []string{"LD_", "DYLD_", "GCONV_"} {
		if strings.HasPrefix(name, front) {
			return fmt.Errorf("variables that begin with %s change what a program loads", front)
		}
	}
	if slices.Contains([]string{"PATH", "ENV", "BASH_ENV", "IFS", "SHELLOPTS"}, name) {
		return fmt.Errorf("%s changes what a program runs", name)
	}
	return nil
}

// environment resolves secrets again in every round.
func (c *execConfig) environment() ([]string, error) {
	out := []string{execPath}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		value, err := c.Env[name].resolve()
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", name, err)
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}

// run runs the program to its end. identity is what it is told besides its environment.
func (c *execConfig) run(ctx context.Context, room *program.Room, g *work.Grant, identity ...string) (*execEnd, error) {
	env, err := c.environment()
	if err != nil {
		return nil, fmt.Errorf("prepare environment: %w", err)
	}
	e := &execEnd{lines: newExecLines(*c, g)}
	tail := &lastBytes{limit: 1024}
	start := time.Now()
	e.End, err = room.Run(ctx, program.Command{
		Argv: c.Argv, Env: append(env, identity...), Dir: c.Dir, Grace: time.Duration(c.Grace),
		Stdout: e.lines, Stderr: tail,
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	e.lines.flush()
	e.took, e.said = time.Since(start), tail.lastLine()
	return e, nil
}

// Run makes one round: the complete run of the program.
func (r *execRunner) Run(ctx context.Context, g *work.Grant) error {
	round, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	end, err := r.c.run(round, r.room, g)
	if err != nil {
		return err
	}
	found := end.finding(round)
	if found == nil {
		found = end.lines.exceeded()
	}
	out := r.found.report(ctx, g, found)
	if !cut(ctx) {
		end.emit(g, "exec")
	}
	return out
}

// execEnd is how a program ended, and what it has put out.
type execEnd struct {
	program.End
	lines *execLines
	said  string // its last line on standard error
	took  time.Duration
}

// emit says how a program ended, and what of its output was not taken.
func (e *execEnd) emit(g *work.Grant, prefix string) {
	g.Value(prefix+".exit_code", float64(e.Code), nil)
	g.Value(prefix+".duration_ms", float64(e.took)/1e6, nil)
	for name, n := range map[string]int{".lines_ignored": e.lines.ignored, ".lines_malformed": e.lines.malformed,
		".bytes_dropped": e.lines.dropped, ".samples_dropped": e.lines.over} {
		if n > 0 {
			g.Value(prefix+name, float64(n), nil)
		}
	}
}

// finding is nil for code 0, else an *unexpected with the reason timeout, signal or exit.
func (e *execEnd) finding(round context.Context) error {
	said := ""
	if e.said != "" {
		said = ": " + e.said
	}
	switch {
	case round.Err() != nil:
		return &unexpected{"timeout", fmt.Errorf("the program did not end in time and was stopped%s", said)}
	case e.Signal != "":
		return &unexpected{"signal", fmt.Errorf("the program was ended by signal %s%s", e.Signal, said)}
	case e.Code != 0:
		return &unexpected{"exit", fmt.Errorf("the program ended with code %d%s", e.Code, said)}
	}
	return nil
}

// commandRunner runs an allow-listed program once, to its end: the batch twin of exec, whose config, list and output it
// shares. Code 0 finishes the partition, anything else is a failure, which is tried again after the back-off.
type commandRunner struct {
	c    execConfig
	room *program.Room
}

func (o Options) command() work.Type {
	return work.Type{
		Name: "command", Doc: "an allow-listed program, run once to its end", MaxConcurrent: 64, Stays: true,
		New: typed(func(c execConfig, _ work.Definition, f *faults) work.Runner {
			c.check(f, o)
			return &commandRunner{c: c, room: o.Programs}
		}),
	}
}

// Run runs the program.
func (r *commandRunner) Run(ctx context.Context, g *work.Grant) error {
	end, err := r.c.run(ctx, r.room, g, identity(g)...)
	if err != nil {
		return err
	}
	if cut(ctx) {
		return context.Cause(ctx) // it was stopped; another run does it again
	}
	end.emit(g, "command")
	if err := end.lines.exceeded(); err != nil {
		g.Log.Warn("output is lost", "error", err) // what the program did is done all the same
	}
	return plainly(end.finding(ctx))
}

// identity is what a program is told of its grant, so that it can find its part of the work, and refuse what comes
// under an older token.
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
