package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// Settings are the settings of the cluster; see [Configure].
type Settings struct {
	MoveBudget int64 // most partitions in hand-over at once
	Retention  int64 // most ended jobs that stay visible
	// JobScheduler shares the slots of the cluster among its jobs.
	JobScheduler schedule.JobScheduler
	Placement    Placement
	// Pinned: what has an owner stays with it while that lives, is not draining, and may run it. A newcomer gets only
	// what is new or free.
	Pinned      bool
	Rebalancing bool // it is pinned, and moves until the load is even: see [Rebalance]
}

// The default settings.
const (
	defaultMoveBudget = 256
	defaultRetention  = 1000
)

func (s Settings) withDefaults() Settings {
	if s.MoveBudget == 0 {
		s.MoveBudget = defaultMoveBudget
	}
	if s.Retention == 0 {
		s.Retention = defaultRetention
	}
	return s
}

func codeSettings(x *coder, s *Settings) {
	codeInt(x, &s.MoveBudget)
	codeInt(x, &s.Retention)
	codeEnum(x, &s.JobScheduler, schedule.JobsPercentage)
	codeEnum(x, &s.Placement, PlacementShared)
	codeFlags(x, &s.Pinned, &s.Rebalancing)
	x.must(s.Pinned || !s.Rebalancing, "it rebalances, and is not pinned")
}

// settingsHash is zero for a cluster where nothing was configured, so that the empty value has digest zero.
func (d *draft) settingsHash() Hash {
	if d.settings == (Settings{}) {
		return 0
	}
	codeSettings(d.encode(), &d.settings)
	return d.hash(kindSettings)
}

// Configure changes settings of the cluster; zero fields stay as they are.
type Configure struct {
	MoveBudget   int64  // most partitions in hand-over at once, or NoMoves
	Retention    int64  // number of ended jobs that stay visible
	JobScheduler string // name of a schedule.JobScheduler
}

func (Configure) tag() byte { return 15 }

func (c Configure) code(x *coder) Command {
	codeInt(x, &c.MoveBudget)
	codeInt(x, &c.Retention)
	codeText(x, &c.JobScheduler)
	return made(x, c)
}

func (c Configure) check() error {
	budget := c.MoveBudget
	if budget == NoMoves {
		budget = 0
	}
	return errors.Join(at("move_budget", notNegative(budget)), at("retention", notNegative(c.Retention)),
		at("job_scheduler", checkScheduler(c.JobScheduler)))
}

// String returns the command on one line: what it changes.
func (c Configure) String() string {
	s := "configure"
	if c.MoveBudget != 0 {
		s += fmt.Sprintf(" move_budget=%d", max(c.MoveBudget, 0))
	}
	if c.Retention != 0 {
		s += fmt.Sprintf(" retention=%d", c.Retention)
	}
	if c.JobScheduler != "" {
		s += " job_scheduler=" + c.JobScheduler
	}
	return s
}

func checkScheduler(name string) error {
	var s schedule.JobScheduler
	if name == "" {
		return nil
	}
	return s.UnmarshalText([]byte(name))
}

func (c Configure) apply(d *draft) string {
	if why := d.schedulerRefused(c.JobScheduler); why != "" {
		return why
	}
	d.digest -= d.settingsHash()
	d.settings.pin(c.MoveBudget)
	if c.JobScheduler != "" {
		d.setScheduler(c.JobScheduler)
	}
	if c.Retention != 0 {
		d.settings.Retention = c.Retention
		d.forgetJobs()
	}
	d.digest += d.settingsHash()
	d.replan = true
	return ""
}

// percentRefused returns why a job cannot have its percentage, "" if it can.
func (d *draft) percentRefused(id JobID, spec *JobSpec) string {
	if d.settings.JobScheduler != schedule.JobsPercentage || spec.Percent == 0 {
		return ""
	}
	if sum := d.percentages(id) + spec.Percent; sum > 100 {
		return fmt.Sprintf("spec.percent: with the other live jobs the percentages come to %d, at most 100 are allowed",
			sum)
	}
	return ""
}

// percentages is the sum over the live jobs but one.
func (d *draft) percentages(but JobID) (sum int64) {
	ordered.Each(&d.derived.pools, func(_ string, id JobID) bool {
		if j, _ := ordered.Get(&d.jobs, id); id != but {
			sum += j.Spec.Percent
		}
		return true
	})
	return sum
}

// schedulerRefused returns why the job scheduler cannot be chosen, "" if it can.
func (d *draft) schedulerRefused(name string) string {
	if name != schedule.JobsPercentage.String() {
		return ""
	}
	if sum := d.percentages(""); sum > 100 {
		return fmt.Sprintf("job_scheduler: the percentages of the live jobs come to %d, at most 100 are allowed", sum)
	}
	return ""
}

// setScheduler chooses one whose name was checked.
func (d *draft) setScheduler(name string) {
	var s schedule.JobScheduler
	if s.UnmarshalText([]byte(name)) == nil {
		d.settings.JobScheduler, d.allocate = s, true
	}
}

// Placement is how free partitions get owners. It is chosen once for a store, by its protocol.
type Placement uint8

// The placements.
const (
	PlacementPlanned Placement = iota // the value's plan grants it, and its owner has it at once
	PlacementOffered                  // the plan offers it; the owner has it when it has accepted the offer
	PlacementClaimed                  // members claim free partitions
	PlacementShared                   // owners share their partitions
)

// Place chooses the placement of a cluster that has none yet, before the first member joins. The first [Lead] implies
// PlacementOffered.
type Place struct{ Placement Placement }

func (Place) tag() byte { return 44 }

func (c Place) code(x *coder) Command {
	codeEnum(x, &c.Placement, PlacementShared)
	return made(x, c)
}

func (c Place) check() error {
	if c.Placement > PlacementShared {
		return errors.New("placement: an unknown choice")
	}
	return nil
}

// String returns the command on one line.
func (c Place) String() string { return "place " + c.Placement.String() }

func (c Place) apply(d *draft) string {
	switch {
	case c.Placement == d.settings.Placement:
		return ""
	case d.settings.Placement != PlacementPlanned || ordered.Len(&d.Value.members) > 0:
		return "the placement of this cluster is " + d.settings.Placement.String()
	case c.Placement == PlacementOffered:
		return "a leader chooses it, by its first entry"
	}
	d.setPlacement(c.Placement)
	return ""
}

func (d *draft) setPlacement(p Placement) {
	d.digest -= d.settingsHash()
	d.settings.Placement = p
	d.digest += d.settingsHash()
}

// NoMoves, as the MoveBudget of a [Configure], pins what runs: see Settings.Pinned.
const NoMoves = -1

// Rebalance evens the load of a cluster that is pinned, once: what runs moves within Settings.MoveBudget until all
// moves have begun that are worth it.
type Rebalance struct{}

func (Rebalance) tag() byte { return 18 }

func (c Rebalance) code(x *coder) Command { return made(x, c) }

// String is the command on one line.
func (Rebalance) String() string { return "rebalance" }

func (Rebalance) apply(d *draft) string {
	if !d.settings.Pinned {
		return "nothing is pinned: the load is evened all the time"
	}
	d.rebalance(true)
	return ""
}

// rebalance begins or ends that what is pinned moves.
func (d *draft) rebalance(on bool) {
	d.digest -= d.settingsHash()
	d.settings.Rebalancing = on
	d.digest += d.settingsHash()
}

// pin takes the budget of a [Configure].
func (s *Settings) pin(budget int64) {
	switch {
	case budget == NoMoves:
		s.Pinned = true
	case budget > 0:
		s.MoveBudget, s.Pinned, s.Rebalancing = budget, false, false
	}
}

// fixed reports whether the items of a class stay where they are: all do in a pinned cluster, and some in any, unless
// their member may not keep them.
func (v *Value) fixed(c *schedule.Class, m *schedule.Member) bool {
	pinned := v.settings.Pinned && !v.settings.Rebalancing
	if kindOf(c) != kindWindows && !pinned || m.Draining || c.Pin != "" && c.Pin != m.ID {
		return false
	}
	return !slices.ContainsFunc(c.Selector, func(l schedule.Label) bool { return !slices.Contains(m.Labels, l) })
}
