package source

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/work"
)

// Parse parses a definition in YAML or JSON, by the file's extension, checks it with the member's task types, and
// returns its job, whose Source the caller sets. The error is a *[MalformedError]; with one, the spec is empty and the
// id comes from the file's name.
func Parse(name string, data []byte, types work.Types) (cluster.JobID, cluster.JobSpec, error) {
	id := ID(name)
	if err := CheckFile(name); err != nil {
		return id, cluster.JobSpec{}, err
	}
	f, root, err := read(name, data)
	if err != nil {
		return id, cluster.JobSpec{}, err
	}
	spec, err := (&decoder{file: f, types: types, root: root}).jobOfOne(id)
	return id, spec, err
}

// jobOfOne reads the one task of a job.
func (d *decoder) jobOfOne(id cluster.JobID) (cluster.JobSpec, error) {
	return d.jobOf(id, d.task())
}

// jobOf makes a job of a task that was read, if nothing is wrong with it.
func (d *decoder) jobOf(id cluster.JobID, task cluster.TaskSpec) (cluster.JobSpec, error) {
	if d.found != nil {
		return cluster.JobSpec{}, d.shown(d.found)
	}
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}
	if err := cluster.CheckCommand(cluster.SubmitJob{Job: id, Spec: spec}); err != nil {
		at, message := d.refused(err, "spec.tasks[0]: ")
		return cluster.JobSpec{}, d.fault(at, message, "")
	}
	return spec, nil
}

// CheckFile reports why a file of this name defines no task, whatever it says, as a *[MalformedError]; nil if it may.
func CheckFile(name string) error {
	f, id := &file{path: name}, ID(name)
	switch err := cluster.CheckName(string(id)); {
	case !Extension(name):
		return f.fault(place{}, "its name ends neither with .yaml, .yml nor .json", "rename the file")
	case err != nil:
		return f.fault(place{}, "the file's name cannot be the id of a task: "+err.Error(), "rename the file")
	case strings.HasPrefix(string(id), "rota."):
		return f.fault(place{}, `names that begin with "rota." are reserved`, "rename the file")
	}
	return nil
}

// refused is what the cluster would say about the job, without a prefix, and the place of the field concerned.
func (d *decoder) refused(err error, prefix string) (at place, message string) {
	message, _, _ = strings.Cut(err.Error(), "\n")
	message = strings.TrimPrefix(message, prefix)
	path, _, _ := strings.Cut(message, ":")
	return d.valueAt(path, message), message
}

// ReadTask parses the one task of a job that a program defines: a JSON object with the fields of a task file, and min,
// max and repartition for spread pool. It is checked like a file; its *[MalformedError] has no line.
func ReadTask(id cluster.JobID, data []byte, types work.Types) (cluster.JobSpec, error) {
	f := &file{path: string(id), data: string(data)}
	switch err := cluster.CheckName(string(id)); {
	case err != nil:
		return cluster.JobSpec{}, f.fault(place{}, "it cannot be the id of a job: "+err.Error(), "")
	case strings.HasPrefix(string(id), "rota."):
		return cluster.JobSpec{}, f.fault(place{}, `names that begin with "rota." are reserved`, "another name")
	}
	root, err := f.readJSON()
	if err != nil {
		return cluster.JobSpec{}, withoutPlace(err)
	}
	root.nowhere()
	t := &taskDecoder{decoder: &decoder{file: f, types: types, root: root, node: true}}
	t.body(&t.spec, append(t.placement(&t.spec), t.onSlots()...))
	t.checkSpread()
	_, every := root.get("every")
	_, cron := root.get("cron")
	if kind := types[t.spec.Type]; kind.Periodic && kind.DefaultEvery == 0 && !every && !cron {
		t.fail(place{}, fmt.Sprintf("type %s is periodic and has no period of its own", kind.Name),
			"give it every, or a cron line")
	}
	return t.jobOf(id, t.spec)
}

// nowhere takes the places out of a tree that nobody has written by hand.
func (n *node) nowhere() {
	n.place = place{}
	for _, item := range n.items {
		item.nowhere()
	}
	for i := range n.pairs {
		n.pairs[i].place = place{}
		n.pairs[i].value.nowhere()
	}
}

// withoutPlace takes the place out of a fault of a text that nobody has written by hand.
func withoutPlace(err error) error {
	if e, ok := errors.AsType[*MalformedError](err); ok {
		e.Line, e.Column, e.Lines = 0, 0, nil
	}
	return err
}

// MalformedError is a fault of a definition, with its place.
type MalformedError struct {
	Path    string
	Storage string // what kind of storage Path is in; "" for a directory
	Line    int    // from 1; 0 when it is about the whole file
	Column  int    // from 1, in characters
	Message string
	Hint    string   // what to try; "" for none
	Lines   []string // the relevant lines, numbered, with a caret below the place
}

// Error returns one line: path:line:column: message (hint).
func (e *MalformedError) Error() string {
	s := oneLine(e.Path)
	if e.Line > 0 {
		s += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	return s + ": " + e.text()
}

func (e *MalformedError) text() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Record returns the fault as a record of the journal, under the task that the file defines.
func (e *MalformedError) Record() journal.Record {
	return journal.Record{
		Kind: journal.Malformed, Partition: string(ID(e.Path)), Message: e.text(),
		Storage: &journal.Storage{Type: cmp.Or(e.Storage, "directory"), Path: e.Path, Line: e.Line, Column: e.Column,
			Lines: e.Lines},
	}
}

// maxText bounds messages, in characters: they go into the journal.
const maxText = 500

// oneLine makes what came from a file or a task type fit into one line.
func oneLine(s string) string {
	s = safetext.Line(strings.ToValidUTF8(strings.TrimSpace(s), "\ufffd"), ' ')
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText]) + "…"
	}
	return s
}

// maxExtract bounds the lines that are shown, in characters.
const maxExtract = 120

// extract shows the line before, the line, and a caret below the place. Of a long line the part around the place is
// shown, and no secret.
func extract(lines []string, line, column int) []string {
	from := max(0, column-maxExtract+20)
	var out []string
	var v veil
	for i := range line {
		lines[i] = v.hide(lines[i])
	}
	if line > 1 {
		out = append(out, numbered(line-1, window(lines[line-2], 0)))
	}
	out = append(out, numbered(line, window(lines[line-1], from)))
	caret := column - 1 - from
	if from > 0 {
		caret++ // the … at the left
	}
	return append(out, fmt.Sprintf("%6s │ %s^", "", strings.Repeat(" ", caret)))
}

func numbered(line int, s string) string {
	return strings.TrimRight(fmt.Sprintf("%6d │ %s", line, s), " ")
}

// window is the visible part of a line. A tab becomes a space, so that the caret is at the right column.
func window(line string, from int) string {
	r := []rune(safetext.Line(line, ' '))
	left, right := "", ""
	if from > 0 {
		left = "…"
	}
	r = r[min(from, len(r)):]
	if len(r) > maxExtract {
		r, right = r[:maxExtract], "…"
	}
	return left + string(r) + right
}
