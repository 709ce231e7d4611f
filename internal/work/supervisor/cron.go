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
	return clockShows{inUTC, zone}, nil
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

// clockShows are all instants at which a wall clock shows a time: two of a time that occurs twice, none of one that is
// skipped.
type clockShows struct {
	shown plan // of what the clock shows, read as UTC
	zone  *time.Location
}

// Next implements plan. From one setting of the clocks to the next the clock goes as UTC does.
func (c clockShows) Next(t time.Time) time.Time {
	after := showing(t.In(c.zone), time.UTC)
	for {
		_, offset := t.In(c.zone).Zone()
		_, set := t.In(c.zone).ZoneBounds()
		shown := c.shown.Next(after)
		if shown.IsZero() {
			return shown
		}
		at := shown.Add(-time.Duration(offset) * time.Second)
		if set.IsZero() || at.Before(set) {
			return at
		}
		t, after = set, showing(set.In(c.zone), time.UTC).Add(-time.Nanosecond)
	}
}

// clockTimes are the times that a wall clock shows once a day: a time that occurs twice when clocks are set back counts
// once, and a time that is skipped when they are set forward comes as much later.
type clockTimes struct {
	shown plan // of what the clock shows, read as UTC
	zone  *time.Location
}

// setBy is the most that clocks are set forward or back.
const setBy = 3 * time.Hour

// Next implements plan. What the clock shows does not say what is over: after it was set back it shows again what it
// has shown, and what it has skipped comes when it shows more. So the times around are looked at too.
func (c clockTimes) Next(t time.Time) (next time.Time) {
	shown := showing(t.In(c.zone), time.UTC).Add(-setBy)
	var until time.Time // what the clock shows then cannot come before next
	for {
		shown = c.shown.Next(shown)
		if shown.IsZero() || !next.IsZero() && shown.After(until) {
			return next
		}
		at := c.at(shown)
		if !at.After(t) {
			continue
		}
		if next.IsZero() {
			until = shown.Add(setBy)
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
}

// at is when the clock shows a time, or would show it had it not been set forward.
func (c clockTimes) at(shown time.Time) time.Time {
	at := showing(shown, c.zone)
	if at.Hour() == shown.Hour() && at.Minute() == shown.Minute() {
		return at.UTC()
	}
	_, before := at.Add(-setBy).Zone() // time.Date may have taken the offset before or the one after
	return shown.Add(-time.Duration(before) * time.Second)
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
