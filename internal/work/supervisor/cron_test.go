package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
)

// TestClocksAreSet: a line that names hours runs once a day, one that goes on all day runs whenever the clock shows its
// time. In Berlin clocks are set forward from 02:00 to 03:00 on 29 March 2026, and back from 03:00 to 02:00 on 25 October.
func TestClocksAreSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, zone, from, want string }{
		{"30 6 * * *", "", "2026-03-28T00:00", "28T06:30 29T06:30 30T06:30"},
		{"30 6 * * *", "Europe/Berlin", "2026-03-28T00:00", "28T05:30 29T04:30 30T04:30"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00", "28T01:30 29T01:30 30T00:30"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T00:00", "24T00:30 25T01:30 26T01:30"},
		{"*/30 * * * *", "Europe/Berlin", "2026-10-25T00:15", "25T00:30 25T01:00 25T01:30"},
		{"*/30 * * * *", "Europe/Berlin", "2026-03-29T00:15", "29T00:30 29T01:00 29T01:30"},
		{"0 */2 * * *", "Europe/Berlin", "2026-03-28T22:30", "28T23:00 29T02:00 29T04:00"},
		{"0 */2 * * *", "Europe/Berlin", "2026-10-24T22:30", "25T00:00 25T01:00 25T03:00"},
		{"@daily", "America/New_York", "2026-10-31T12:00", "01T04:00 02T05:00 03T05:00"},
	} {
		d := work.Definition{Cron: c.line, TimeZone: c.zone}
		must.Succeed(t, CheckSchedule(&d))
		p, err := cronPlan(&d)
		must.Succeed(t, err)
		at, err := time.Parse("2006-01-02T15:04", c.from)
		must.Succeed(t, err)
		var got []string
		for range 3 {
			at = p.Next(at).UTC()
			got = append(got, at.Format("02T15:04"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in %q: %v, want %s", c.line, c.zone, got, c.want)
		}
	}
}

func TestCheckSchedule(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]work.Definition{
		"cron: \"every day\" is not a cron line": {Cron: "every day"},
		"cron: \"@every 1h\" is a period":        {Cron: "@every 1h"},
		"cron: \"0 0 31 2 *\" names a time":      {Cron: "0 0 31 2 *"},
		"time_zone: \"Mars/Olympus\" is not":     {Cron: "0 0 * * *", TimeZone: "Mars/Olympus"},
		"time_zone: that of the machine":         {Cron: "0 0 * * *", TimeZone: "Local"},
		"time_zone: there is no cron line":       {TimeZone: "Europe/Berlin"},
		"catch_up: \"never\" is not a choice":    {Cron: "0 0 * * *", CatchUp: "never"},
	} {
		if err := CheckSchedule(&d); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
