package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

const submitHelp = `Submits the job that a file in YAML or JSON defines: tasks, the order in which they are served, and how they share slots.

  id: wordcount
  tasks:
    - {name: split, type: wordcount.split, max: 1}
    - {name: count, type: wordcount.count, after: split}

A task type with a dot in its name, or named by --type, is one that the members' own program brings: this command does not check its config.
The fields are described in docs/guide/jobs.md.`

func newSubmit(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "submit FILE", Short: "submit a job from a file, or from standard input as -", Long: submitHelp,
		Args:    exactArg("a file that defines a job, or -"),
		Example: "  rota job submit etl.yaml --wait\n  rota job submit - --id etl",
	}
	flags := cmd.Flags()
	var s submission
	flags.StringVar(&s.protocol, "protocol", "", protocolUsage())
	flags.StringVar(&s.id, "id", "", "submit it under this id instead of the file's")
	queueFlag(flags)
	s.typeFlags(flags)
	flags.BoolVar(&s.update, "update", false,
		"let a live job of this id go on by the new definition; what is finished stays so")
	flags.BoolVar(&s.again, "again", false, "run a job again that has ended, also one that was killed")
	flags.BoolVar(&s.wait, "wait", false, "wait until the job has ended; exit 1 unless it is completed")
	asked(flags, "id", "update", "again", "wait")
	return framed(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		if err := s.read(e, args[0]); err != nil {
			return err
		}
		if err := o.open(ctx, change); err != nil {
			return err
		}
		return s.send(ctx, o)
	})
}

// typeFlags say what a command may take on trust about task types.
func (s *submission) typeFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.foreign, "type", nil, "a task type of the members' own program, not checked here")
	flags.StringSliceVar(&s.allow.exec, "allow-exec", nil, "program that the members allow tasks of type exec to start")
	flags.StringSliceVar(&s.allow.env, "allow-env", nil, "variable that the members allow tasks to set for programs")
	flags.StringSliceVar(&s.allow.tail, "allow-tail", nil,
		"directory that the members allow tasks of type tail to read")
	flags.StringSliceVar(&s.allow.net, "allow-net", nil,
		"private address ranges (CIDR) that the members allow tasks to connect to")
	flags.StringSliceVar(&s.allow.write, "allow-write", nil,
		"directory that the members allow tasks of type files.write to write")
}

// submission is one job on its way.
type submission struct {
	id       string
	protocol string
	foreign  []string
	allow    allowed
	update   bool
	again    bool
	wait     bool
	job      cluster.JobID
	spec     cluster.JobSpec
}

// Submitted is what rota job submit prints as JSON.
type Submitted struct {
	Proposed
	Known bool     `json:"known,omitempty"` // the same job with the same definition was there already
	Job   view.Job `json:"job"`
}

// stdinName is how what was read from standard input is named in errors; YAML includes JSON.
const stdinName = "stdin.yaml"

// load reads the file, or standard input for "-", up to the size of a definition.
func (e env) load(path string) (name string, data []byte, err error) {
	from := e.stdin
	if name = stdinName; path != "-" {
		name = path
		f, err := os.Open(path)
		if err != nil {
			return name, nil, misused("another file, or - for standard input", "read job: %w", err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.Size() > source.MaxFile { // what cannot tell its size, a pipe, is found too large by reading
			return name, nil, e.malformed(source.TooLarge(path, info.Size()))
		}
		from = f
	}
	data, err = io.ReadAll(io.LimitReader(from, source.MaxFile+1))
	if err != nil {
		return name, nil, misused("another file, or - for standard input", "read job: %w", err)
	}
	return name, data, nil
}

// read reads the job, and checks it with the types of this binary.
func (s *submission) read(e env, path string) error {
	name, data, err := e.load(path)
	if err != nil {
		return err
	}
	types, err := e.typesOf(s.allow, false)
	if err != nil {
		return err
	}
	id, spec, err := source.ParseJob(name, data, types, s.accepts)
	switch {
	case err != nil:
		return e.malformed(err)
	case s.id != "":
		id = cluster.JobID(s.id)
	case path == "-" && id == source.ID(stdinName):
		return misused("rota job submit - --id NAME, or id: NAME in the definition",
			"submit from standard input: the job has no id")
	}
	if err := operate.CheckJob(id, spec); err != nil {
		return misused("another --id", "%w", err)
	}
	s.job, s.spec = id, spec
	s.tellForeign(e, types)
	tellDropped(e, s.spec, types)
	return nil
}

// accepts tells the types of the members' own program.
func (s *submission) accepts(name string) bool {
	return slices.Contains(s.foreign, name) || foreignType(name)
}

// tellForeign says which types were taken on trust.
func (s *submission) tellForeign(e env, types work.Types) {
	var foreign []string
	for i := range s.spec.Tasks {
		name := s.spec.Tasks[i].Type
		if _, ok := types[name]; !ok && !slices.Contains(foreign, name) {
			foreign = append(foreign, name)
		}
	}
	if len(foreign) > 0 {
		e.say("not checked here, the members' own program knows: %s", strings.Join(foreign, ", "))
	}
}

// tellDropped says which tasks make segments that no task takes: most likely the end of the flow was forgotten.
func tellDropped(e env, spec cluster.JobSpec, types work.Types) {
	for i := range spec.Tasks {
		t := &spec.Tasks[i]
		made := types[t.Type].Segments
		if made == nil || made.Out == "" ||
			slices.ContainsFunc(spec.Edges, func(edge cluster.Edge) bool { return edge.From == t.Name }) {
			continue
		}
		e.say("! no task takes the segments of %s: they are dropped   → a task with from: %s, such as files.write", t.Name,
			t.Name)
	}
}

// allowHere turns what a member would have to be started with into what this command needs: it knows of no member what
// that allows.
func allowHere(hint string) string {
	if flags, ok := strings.CutPrefix(hint, "start the members with "); ok {
		return flags + " here too, where the members run with it"
	}
	return hint
}

// malformed shows the lines of the file concerned.
func (e env) malformed(err error) error {
	var m *source.MalformedError
	if !errors.As(err, &m) {
		return err
	}
	for _, l := range m.Lines {
		e.say("%s", printable(l))
	}
	try := cmp.Or(allowHere(m.Hint), "docs/guide/jobs.md")
	if strings.Contains(m.Message, "unknown type") {
		try += "; or --type NAME for one that the members' own program brings"
	}
	short := *m
	short.Hint = ""
	return misused(try, "%w", &short)
}

// send proposes the job.
func (s *submission) send(ctx context.Context, o *observer) error {
	op, err := o.operatorOn(ctx, o.store, nil, s.protocol, nil)
	if f := new(fault); errors.As(err, &f) {
		return err
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", o.name, err)
	}
	a, err := op.Submit(ctx, s.job, s.spec, s.mode())
	if err != nil {
		return s.fault(o, err)
	}
	o.journaled(a)
	if err := o.refresh(ctx); err != nil {
		return err
	}
	return s.tell(o, a)
}

func (s *submission) mode() (m operate.Mode) {
	if s.update {
		m |= operate.Update
	}
	if s.again {
		m |= operate.Again
	}
	return m
}

func (s *submission) fault(o *observer, err error) error {
	var r *operate.RefusedError
	var f *fault
	switch other := otherProtocol(err); {
	case errors.As(other, &f):
		return other
	case errors.Is(err, operate.ErrKilled):
		return failed("--again to run it again", "submit job %s: it was killed, and stays so", s.job)
	case errors.As(err, &r):
		try := "--id with another name; --update to go on by the new definition; or rota job stop %s --store %s first"
		return failed(fmt.Sprintf(try, s.job, storeWord(o.url)), "submit job %s: %s", s.job, r.Reason)
	}
	for _, passing := range []error{store.ErrUnknown, store.ErrUnavailable, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, passing) {
			return failed("submit it again: a job that is there already is not submitted twice", "store %s: %w", o.name, err)
		}
	}
	return failed("rota store check "+storeWord(o.url), "store %s: %w", o.name, err)
}

// tell says what became of the submission, and follows the job where that is wanted.
func (s *submission) tell(o *observer, a operate.Answer) error {
	job, _ := view.Of(o.value).Job(s.job)
	known, verb := !a.Changed, "submitted"
	if a.Updated {
		verb = "updated"
	}
	switch {
	case known && job.Ended():
		o.say("%s is %s already, by this very definition: nothing runs again · to run it again: --again, or --id with"+
			" another name", job.Job, job.State)
	case known:
		o.say("%s is there already, by this very definition", job.Job)
	default:
		o.say("%s is %s: %s", job.Job, verb, many(len(job.Tasks), "task"))
	}
	if job.Reason != nil && !known {
		o.say("! it waits: %s: %s   → %s", job.Reason.Rule, job.Reason.Text, dash(job.Reason.Try))
	}
	last := func(job view.Job) error {
		if o.json {
			return o.printJSON(Submitted{Proposed{a.Said, true}, known, job})
		}
		return nil
	}
	if s.wait {
		return o.follow(o.cmd.Context(), &follower{job: s.job, out: o.stderr, quiet: o.json, last: last})
	}
	if !o.json && !job.Ended() {
		o.say("follow it: rota job show %s --follow --store %s", job.Job, storeWord(o.url))
	}
	return last(job)
}
