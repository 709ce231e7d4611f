package source

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/plain"
)

// didYouMean suggests the nearest known name; "" when none is near.
func didYouMean(name string, known []string) string {
	if near, ok := plain.Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// suggest is didYouMean, or the list of what is known.
func suggest(name string, known []string) string {
	if s := didYouMean(name, known); s != "" {
		return s
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
