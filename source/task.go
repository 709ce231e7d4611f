package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/work"
)

// task decides what a tree means.
func (d *decoder) task() cluster.TaskSpec {
	var t cluster.TaskSpec
	if d.root.kind != mapping {
		d.fail(d.root.place, "a definition is a mapping of fields to values, this is "+d.root.kind.String(),
			"write at least: type: http")
		return t
	}
	d.body(&t, d.placement(&t))
	return t
}

// body reads the fields of a task, known and those that say how it runs, into its definition.
func (d *decoder) body(t *cluster.TaskSpec, known []field) {
	var def work.Definition
	var tags []cluster.Label
	var config *node
	d.fields(d.root, "", append(known, d.running(t, &def, &tags, &config)...))
	for _, l := range tags {
		if def.Tags == nil {
			def.Tags = make(map[string]string, len(tags))
		}
		def.Tags[l.Key] = l.Value
	}
	kind, ok := d.kind(t.Type)
	d.typed, d.segments = ok, kind.Segments
	if _, said := d.root.get("stay"); !said && t.Spread != cluster.SpreadPool && t.Spread != cluster.SpreadEvery {
		t.Stay = kind.Stays
	}
	def.From, def.Parts, def.Keyed = d.from, d.parts, d.keyed
	if ok && kind.Segments != nil && !d.node {
		d.fail(d.find("type"), fmt.Sprintf("type %s is a stage of a flow", t.Type),
			"write a job with tasks, and give one of them from: {task: NAME}")
	}
	d.partitions(t)
	d.retry(def.Retry)
	d.schedule(&def, kind, ok)
	d.config(&def, config)
	if ok && d.found == nil {
		d.check(def, kind)
	}
	encoded, err := json.Marshal(def)
	if err != nil {
		d.fail(d.root.place, err.Error(), "")
	}
	t.Definition = encoded
}

const weightHint = "leave it out for the usual weight, 100"

// placement are the fields that say where the task runs.
func (d *decoder) placement(t *cluster.TaskSpec) []field {
	var pin = (*string)(&t.Pin)
	return []field{
		{"type", textTo(&t.Type)},
		{"spread", d.spreadTo(&t.Spread)},
		{"partitions", d.keysTo(&t.Partitions)},
		{"weight", wholeTo(&t.Weight, 1, 1<<31, weightHint)},
		{"handover", choiceTo(&t.Handover, []string{"at-most-one", "no-gap", "fast"},
			[]cluster.Handover{cluster.HandoverAtMostOne, cluster.HandoverNoGap, cluster.HandoverFast})},
		{"labels", d.pairsOf("labels", &t.Selector)},
		{"spread_over", textTo(&t.SpreadOver)},
		{"pin", textTo(pin)},
		{"stay", choiceTo(&t.Stay, []string{"true", "false"}, []bool{true, false})},
	}
}

// spreadTo reads a spread. A task by itself has no slots to share with others.
func (d *decoder) spreadTo(to *cluster.Spread) setter {
	names := []string{"single", "every", "partitioned"}
	spreads := []cluster.Spread{cluster.SpreadSingle, cluster.SpreadEvery, cluster.SpreadPartitioned}
	if d.node {
		names, spreads = append(names, "pool"), append(spreads, cluster.SpreadPool)
	}
	return choiceTo(to, names, spreads)
}

// running are the fields that say how it runs.
func (d *decoder) running(t *cluster.TaskSpec, def *work.Definition, tags *[]cluster.Label, config **node) []field {
	return []field{
		{"every", durationTo(&def.EveryMS)},
		{"cron", textTo(&def.Cron)},
		{"time_zone", textTo(&def.TimeZone)},
		{"catch_up", choiceTo(&def.CatchUp, []string{"once", "skip", "all"},
			[]work.CatchUp{work.CatchUpOnce, work.CatchUpSkip, work.CatchUpAll})},
		{"timeout", durationTo(&def.TimeoutMS)},
		{"tags", d.pairsOf("tags", tags)},
		{"on_store_loss", choiceTo(&def.OnStoreLoss, []string{"stop", "keep"},
			[]work.OnStoreLoss{work.StoreLossStop, work.StoreLossKeep})},
		{"retry", func(v *node) (string, string) {
			if v.kind != mapping {
				return wrongKind(v, "a mapping such as {min: 1s, max: 5m, attempts: 10}")
			}
			d.fields(v, "retry.", []field{
				{"min", durationTo(&def.Retry.MinMS)},
				{"max", durationTo(&def.Retry.MaxMS)},
				{"attempts", wholeTo(&t.MaxAttempts, 0, 1<<31, "0 for no limit")},
			})
			return "", ""
		}},
		{"config", func(v *node) (string, string) {
			if v.kind != mapping {
				return wrongKind(v, "a mapping")
			}
			*config = v
			return "", ""
		}},
	}
}

func (d *decoder) kind(name string) (work.Type, bool) {
	if p, stands := d.root.get("type"); stands {
		if kind, ok := d.types[name]; ok && !strings.HasPrefix(name, "rota.") {
			return kind, true
		}
		if name != "" && (d.foreign == nil || !d.foreign(name)) {
			d.fail(p.value.place, fmt.Sprintf("unknown type %.40q", name), suggest(name, d.known()))
		}
		return work.Type{}, false
	}
	d.fail(d.root.place, "the field type is missing", oneOf(d.known()))
	return work.Type{}, false
}

// known are the types that a file may name.
func (d *decoder) known() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.types)),
		func(n string) bool { return strings.HasPrefix(n, "rota.") })
}

func (d *decoder) partitions(t *cluster.TaskSpec) {
	p, stands := d.root.get("partitions")
	switch {
	case stands && t.Spread != cluster.SpreadPartitioned:
		d.fail(p.place, "partitions: only a task with spread partitioned has them", "add spread: partitioned")
	case !stands && t.Spread == cluster.SpreadPartitioned:
		d.fail(d.find("spread"), "spread partitioned needs partitions", "add partitions: [a, b]")
	}
}

func (d *decoder) retry(r work.Retry) {
	least, most := max(r.MinMS, 1), cmp.Or(r.MaxMS, (5*time.Minute).Milliseconds())
	if least > most {
		d.fail(d.find("retry.min"), fmt.Sprintf("retry.min: it is above the maximum, %s",
			time.Duration(most)*time.Millisecond), "raise retry.max")
	}
}

func (d *decoder) schedule(def *work.Definition, kind work.Type, known bool) {
	every, hasEvery := d.root.get("every")
	line, hasCron := d.root.get("cron")
	var fault *work.ConfigError
	if errors.As(supervisor.CheckSchedule(def), &fault) && (fault.Path != "cron" || def.Cron != "") {
		d.fail(d.valueAt(fault.Path, ""), fault.Error(), fault.Hint)
	}
	if p, ok := d.root.get("catch_up"); ok && !hasCron && hasEvery && def.EveryMS < supervisor.KeptFrom.Milliseconds() {
		d.fail(p.place, fmt.Sprintf("catch_up: rounds are kept from a period of %s on", supervisor.KeptFrom), "drop it")
	}
	switch {
	case hasEvery && hasCron:
		d.fail(line.place, "every and cron exclude each other", "drop one of them")
	case !known || kind.Periodic:
	case hasEvery:
		d.fail(every.place, fmt.Sprintf("type %s runs all the time: it has no period", kind.Name), "drop every")
	case hasCron:
		d.fail(line.place, fmt.Sprintf("type %s runs all the time: it has no schedule", kind.Name), "drop cron")
	}
}
