package source

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/work"
)

// decoder turns a tree into a task. It continues after a fault; the place in the file decides which one is reported.
type decoder struct {
	*file
	types   work.Types
	foreign func(name string) bool // types that are not in the table and are taken as they are; nil for none
	root    *node
	node    bool            // of a job: a task that has a name and is one of several
	label   string          // begins each message, to say which task is meant
	found   *MalformedError // nil for none

	from     []work.Ingress // what a task of a job takes segments from
	parts    int
	keyed    bool
	typed    bool           // its type is one of types
	segments *work.Segments // of its type
}

func (d *decoder) fail(at place, message, hint string) { d.note(d.faultAt(at, d.label+message, hint)) }

// note keeps the first fault in the file; of those at one place the one that was found first.
func (d *decoder) note(e *MalformedError) {
	if e != nil && d.counts(place{e.Line, e.Column}) {
		d.found = e
	}
}

// counts reports whether a fault at this place would be the first one.
func (d *decoder) counts(at place) bool {
	return d.found == nil || at.before(place{d.found.Line, d.found.Column})
}

// field is a field that a mapping may have, and what to do with its value. What set returns is why the value does not
// fit, and a hint.
type field struct {
	name string
	set  func(v *node) (message, hint string)
}

// fields reads a mapping strictly.
func (d *decoder) fields(n *node, prefix string, known []field) {
	for _, p := range n.pairs {
		d.field(p, prefix, known)
	}
}

func (d *decoder) field(p pair, prefix string, known []field) {
	names := make([]string, 0, len(known))
	for _, k := range known {
		if k.name != p.key {
			names = append(names, k.name)
			continue
		}
		if p.value.kind == nothing {
			d.fail(p.place, prefix+p.key+" has no value", "give it one, or drop the field")
		} else if message, hint := k.set(p.value); message != "" {
			d.fail(p.value.place, prefix+p.key+": "+message, hint)
		}
		return
	}
	d.unknown(p, prefix, names)
}

func (d *decoder) unknown(p pair, prefix string, known []string) {
	if !d.counts(p.place) { // there may be 100,000
		return
	}
	hint := didYouMean(p.key, known)
	switch other := otherWords(p.key); {
	case prefix != "":
		hint = suggest(p.key, known)
	case d.node:
		hint = d.jobHint(p.key, known)
	case p.key == "tasks" || p.key == "edges":
		d.fail(p.place, fmt.Sprintf("%q: this file defines one task", p.key),
			"give each task a file of its own; a job of several tasks is for rota job submit, and rota validate FILE checks it")
		return
	case p.key == "name" && d.several():
		hint = `did you mean "id"?`
	case p.key == "id" || p.key == "name":
		hint = "the id of a task is the name of its file"
	case other != "":
		hint = fmt.Sprintf("did you mean %q?", other)
	case hint == "" && d.fitsConfig():
		hint = "the fields of a task type belong below config"
	}
	d.fail(p.place, fmt.Sprintf("unknown field %q", oneLine(prefix+p.key)), hint)
}

// fitsConfig reports whether there is a config: then a stray field is likely one that slipped out of it.
func (d *decoder) fitsConfig() bool {
	_, ok := d.root.get("config")
	return ok
}

// several reports whether the file defines a job of several tasks.
func (d *decoder) several() bool {
	_, ok := d.root.get("tasks")
	return ok
}

// find is where a dotted path such as config.expect.status[1] leads; the nearest place above it that exists. Keys may
// have dots.
func (d *decoder) find(path string) place {
	at, n := d.root.place, d.root
	for path != "" {
		key, value, where, ok := n.step(path)
		if !ok {
			return at
		}
		at, n = where, value
		path = strings.TrimPrefix(path[len(key):], ".")
	}
	return at
}

// step goes one step along a path: the longest key, or index, that it begins with.
func (n *node) step(path string) (key string, value *node, at place, ok bool) {
	for _, p := range n.pairs {
		rest, fits := strings.CutPrefix(path, p.key)
		if fits && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(p.key) > len(key) {
			key, value, at, ok = p.key, p.value, p.place, true
		}
	}
	for i, item := range n.items {
		if index := fmt.Sprintf("[%d]", i); strings.HasPrefix(path, index) {
			return index, item, item.place, true
		}
	}
	return key, value, at, ok
}

// didYouMean suggests the nearest known name; "" when none is near.
func didYouMean(name string, known []string) string {
	if near, ok := safetext.Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// suggest is didYouMean, or the list of what is known.
func suggest(name string, known []string) string {
	if s := didYouMean(name, known); s != "" {
		return s
	}
	return oneOf(known)
}

func oneOf(known []string) string {
	if len(known) == 0 {
		return "none is known here"
	}
	return "one of " + strings.Join(known, ", ")
}

// otherWords are names that other tools use for what a definition calls differently.
func otherWords(name string) string {
	switch strings.ToLower(name) {
	case "interval", "period", "frequency", "refresh":
		return "every"
	case "schedule", "crontab":
		return "cron"
	case "kind", "check":
		return "type"
	case "params", "settings", "options", "args", "with":
		return "config"
	case "selector", "nodeselector", "node_selector", "placement", "constraints":
		return "labels"
	case "retries", "backoff":
		return "retry"
	case "member", "host", "node":
		return "pin"
	}
	return ""
}
