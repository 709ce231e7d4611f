package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

// fields are what a definition file may say.
type fields struct {
	Type        string            `yaml:"type"`
	Every       string            `yaml:"every"`
	Cron        string            `yaml:"cron"`
	Timeout     string            `yaml:"timeout"`
	Spread      string            `yaml:"spread"`
	Partitions  []string          `yaml:"partitions"`
	Weight      int64             `yaml:"weight"`
	Handover    string            `yaml:"handover"`
	Labels      map[string]string `yaml:"labels"`
	SpreadOver  string            `yaml:"spread_over"`
	Pin         string            `yaml:"pin"`
	Tags        map[string]string `yaml:"tags"`
	Retry       retry             `yaml:"retry"`
	OnStoreLoss string            `yaml:"on_store_loss"`
	Config      any               `yaml:"config"`
}

type retry struct {
	Min      string `yaml:"min"`
	Max      string `yaml:"max"`
	Attempts int64  `yaml:"attempts"`
}

var fieldNames = []string{
	"type", "every", "cron", "timeout", "spread", "partitions", "weight", "handover", "labels", "spread_over", "pin", "tags", "retry",
	"on_store_loss", "config", "min", "max", "attempts",
}

// task turns the fields into a task.
func (f *definition) task(in *fields) (cluster.TaskSpec, error) {
	t := cluster.TaskSpec{
		Type: in.Type, Weight: in.Weight, SpreadOver: in.SpreadOver, Pin: cluster.MemberID(in.Pin),
		MaxAttempts: in.Retry.Attempts, Partitions: in.Partitions, Selector: labels(in.Labels),
	}
	kind, ok := f.types[in.Type]
	if !ok {
		return t, f.unknownType(in.Type)
	}
	if err := f.choices(in, &t); err != nil {
		return t, err
	}
	d, err := f.definition(in, kind)
	if err != nil {
		return t, err
	}
	if _, err := kind.New(d); err != nil {
		return t, f.configFault(err)
	}
	t.Definition, err = json.Marshal(d)
	if err != nil {
		return t, f.fault(nil, err.Error(), "")
	}
	return t, nil
}

func (f *definition) unknownType(name string) error {
	known := make([]string, 0, len(f.types))
	for n := range f.types {
		if !strings.HasPrefix(n, "rota.") {
			known = append(known, n)
		}
	}
	slices.Sort(known)
	if name == "" {
		return f.fault(f.root.GetToken(), "the field type is missing", "one of "+strings.Join(known, ", "))
	}
	hint := didYouMean(name, known)
	if hint == "" {
		hint = "one of " + strings.Join(known, ", ")
	}
	return f.fault(f.at("type"), fmt.Sprintf("unknown type %q", name), hint)
}

func (f *definition) choices(in *fields, t *cluster.TaskSpec) error {
	if in.Spread != "" {
		if err := t.Spread.UnmarshalText([]byte(in.Spread)); err != nil {
			return f.fault(f.at("spread"), err.Error(), "")
		}
	}
	if in.Handover != "" {
		if err := t.Handover.UnmarshalText([]byte(in.Handover)); err != nil {
			return f.fault(f.at("handover"), err.Error(), "")
		}
	}
	switch work.OnStoreLoss(in.OnStoreLoss) {
	case "", work.StoreLossStop, work.StoreLossKeep:
		return nil
	}
	return f.fault(f.at("on_store_loss"), fmt.Sprintf("%q is neither stop nor keep", in.OnStoreLoss), "")
}

// definition is what the runner's side reads.
func (f *definition) definition(in *fields, kind work.Type) (work.Definition, error) {
	d := work.Definition{Cron: in.Cron, Tags: in.Tags, OnStoreLoss: work.OnStoreLoss(in.OnStoreLoss)}
	err := errors.Join(
		f.duration("every", in.Every, &d.EveryMS), f.duration("timeout", in.Timeout, &d.TimeoutMS),
		f.duration("retry.min", in.Retry.Min, &d.Retry.MinMS), f.duration("retry.max", in.Retry.Max, &d.Retry.MaxMS),
	)
	if err != nil {
		return d, first(err)
	}
	switch {
	case in.Every != "" && in.Cron != "":
		return d, f.fault(f.at("cron"), "every and cron exclude each other", "drop one of them")
	case !kind.Periodic && (in.Every != "" || in.Cron != ""):
		return d, f.fault(f.at("every"), fmt.Sprintf("type %s runs all the time: it has no period", in.Type), "drop every and cron")
	case in.Cron != "":
		if _, err := cron.ParseStandard(in.Cron); err != nil {
			return d, f.fault(f.at("cron"), fmt.Sprintf("%q is not a cron line: %v", in.Cron, err), "five fields, UTC: minute hour day month weekday")
		}
	}
	if in.Config != nil {
		config, err := json.Marshal(in.Config)
		if err != nil {
			return d, f.fault(f.at("config"), err.Error(), "")
		}
		d.Config = config
	}
	return d, nil
}

func first(err error) error {
	var e *MalformedError
	errors.As(err, &e)
	return e
}

const maxPeriod = 366 * 24 * time.Hour

func (f *definition) duration(field, text string, ms *int64) error {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return f.fault(f.at(field), fmt.Sprintf("%s: %q is not a duration", field, text), "such as 10s or 1m30s")
	case d < time.Millisecond:
		return f.fault(f.at(field), fmt.Sprintf("%s: %s is too short", field, text), "at least 1ms")
	case d > maxPeriod:
		return f.fault(f.at(field), fmt.Sprintf("%s: %s is too long", field, text), "at most a year")
	}
	*ms = d.Milliseconds()
	return nil
}

func (f *definition) configFault(err error) error {
	var ce *work.ConfigError
	if errors.As(err, &ce) {
		return f.fault(f.at(ce.Path), ce.Error(), ce.Hint)
	}
	return f.fault(f.at("config"), err.Error(), "")
}

func labels(m map[string]string) []cluster.Label {
	out := make([]cluster.Label, 0, len(m))
	for k, v := range m {
		out = append(out, cluster.Label{Key: k, Value: v})
	}
	slices.SortFunc(out, func(a, b cluster.Label) int { return strings.Compare(a.Key, b.Key) })
	return out
}
