package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rota-run/rota/work"
)

// The bounds of what CatchUpAll catches up: the number of rounds, newest first, and their age.
const (
	maxOwed     = 100
	longestOwed = 31 * 24 * time.Hour
)

// plan is a schedule by the wall clock: Next is the first planned time after t, or the zero time if there is none.
type plan interface{ Next(t time.Time) time.Time }

// CheckSchedule reports what is wrong with the cron line, its time zone or the catch-up policy, as a *ConfigError.
func CheckSchedule(d *work.Definition) error {
	switch d.CatchUp {
	case "", work.CatchUpOnce, work.CatchUpSkip, work.CatchUpAll:
	default:
		return &work.ConfigError{Path: "catch_up", Err: fmt.Errorf("%.40q is not a choice", d.CatchUp),
			Hint: "one of once, skip, all"}
	}
	if d.Cron == "" && d.TimeZone != "" {
		return &work.ConfigError{Path: "time_zone", Err: errors.New("there is no cron line that it is for"),
			Hint: "drop it"}
	}
	if d.Cron == "" {
		return nil
	}
	p, err := cronPlan(d)
	if err == nil && p.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		err = &work.ConfigError{Path: "cron", Err: fmt.Errorf("%.40q names a time that never comes", d.Cron),
			Hint: cronHint}
	}
	return err
}

const cronHint = "five fields: minute hour day month weekday"

// cronPlan reads the cron line.
func cronPlan(d *work.Definition) (plan, error) {
	line := strings.TrimSpace(d.Cron)
	if strings.HasPrefix(line, "@every") {
		return nil, &work.ConfigError{Path: "cron", Err: fmt.Errorf("%.40q is a period", line),
			Hint: "use the field every"}
	}
	zone, err := time.LoadLocation(d.TimeZone) // "" is UTC
	switch {
	case err != nil:
		return nil, &work.ConfigError{Path: "time_zone",
			Err:  fmt.Errorf("%.40q is not a time zone that this machine knows", d.TimeZone),
			Hint: "such as Europe/Berlin"}
	case zone == time.Local:
		return nil, &work.ConfigError{Path: "time_zone",
			Err: errors.New("that of the machine may differ from member to member"), Hint: "such as Europe/Berlin"}
	}
	inUTC, err := cron.ParseStandard("CRON_TZ=UTC " + line)
	if err != nil {
		hint := cronHint
		if strings.Contains(err.Error(), "(7) above maximum (6)") { // cron(5) takes it
			hint = "Sunday is 0 or SUN"
		}
		return nil, &work.ConfigError{Path: "cron", Err: fmt.Errorf("%.40q is not a cron line: %w", line, err),
			Hint: hint}
	}
	if zone == time.UTC {
		return inUTC, nil
	}
	if namesHours(line) {
		return clockTimes{inUTC, zone}, nil
	}
	return cron.ParseStandard("CRON_TZ=" + zone.String() + " " + line)
}

// namesHours reports whether a line names times of the day. When clocks change, such a line keeps its number of rounds.
// Any other line runs whenever the clock shows a time of it, so twice in an hour that comes twice, as with the cron of
// most systems.
func namesHours(line string) bool {
	fields := strings.Fields(line)
	if len(fields) == 1 {
		return fields[0] != "@hourly"
	}
	return len(fields) > 1 && !strings.HasPrefix(fields[1], "*")
}

// clockTimes are the times that a wall clock shows once a day: a time that occurs twice when clocks are set back counts
// once, and a time that is skipped when they are set forward comes as much later.
type clockTimes struct {
	shown plan // of what the clock shows, read as UTC
	zone  *time.Location
}

// Next implements plan.
func (c clockTimes) Next(t time.Time) time.Time {
	shown := showing(t.In(c.zone), time.UTC)
	for {
		if shown = c.shown.Next(shown); shown.IsZero() {
			return shown
		}
		if at := showing(shown, c.zone); at.After(t) {
			return at.UTC()
		}
	}
}

// showing is when a clock in the zone shows what t shows.
func showing(t time.Time, zone *time.Location) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
}

// everyPeriod plans a time once per period, counted from one of them.
type everyPeriod struct {
	from   time.Time
	period time.Duration
}

// Next implements plan.
func (p everyPeriod) Next(t time.Time) time.Time {
	since := t.Sub(p.from)
	n := since / p.period
	if since < 0 && since%p.period != 0 {
		n--
	}
	return p.from.Add(n*p.period + p.period) //nolint:durationcheck // n is a count
}
